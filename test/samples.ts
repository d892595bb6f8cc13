import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programs } from "../scripts/generate/recipes.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Part of a document. */
interface Excerpt {
	readonly file: string;
	/** The number of its first line. */
	readonly line: number;
	/** Whole lines. */
	readonly code: string;
}

/** A piece of documentation that a reader may paste. */
export interface Sample {
	name: string;
	code: string;
	/** The place of each line of the code, such as `README.md:12`. A line that was added to the document's has none. */
	places: (string | undefined)[];
}

/** Joins excerpts with the code around them, which is whole lines too. */
function sample(name: string, ...parts: readonly (string | Excerpt)[]): Sample {
	let code = "";
	const places: (string | undefined)[] = [];
	for (const part of parts) {
		const excerpt = typeof part === "string" ? undefined : part;
		const added = typeof part === "string" ? part : part.code;
		for (const index of added.split("\n").slice(1).keys())
			places.push(excerpt && `${excerpt.file}:${excerpt.line + index}`);
		code += added;
	}
	return { name, code, places };
}

/** The number of the line that a text has at this index. */
const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

const guides = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));

export const pages = ["README.md", "llms.txt", "AGENTS.md", ...guides.map((file) => `docs/${file}`)].map((name) => ({
	name,
	text: readFileSync(join(root, name), "utf8"),
}));

const beginning = `import { createClient as create } from "messaging-conversations";
const client = create({ baseUrl: process.env.MESSAGING_BASE_URL, apiKey: process.env.MESSAGING_API_KEY });
const agency = client.agency(process.env.MESSAGING_AGENCY_ID ?? "");
const myPhone = process.env.MY_PHONE ?? "";
`;

/**
 * The samples of the pages. One that continues the first sample starts where that one ends. What its reader has already,
 * such as a database, is in a comment before it, which nobody sees: `<!-- the reader has:`, code, `-->`. The programs that a page
 * shows have tests of their own.
 */
export const pageSamples: Sample[] = pages.flatMap(({ name: file, text: whole }) => {
	// As long as before, so that the lines stay the same.
	const text = whole.replace(programs, (block) => block.replaceAll(/^.*$/gm, ""));
	const samples = text.matchAll(/(?:^<!-- the reader has:\n(.*?)^-->\n\n)?^```ts\n(.*?)^```/gms);
	return [...samples].map((match, number) => {
		const [block, given = "", code = ""] = match;
		const continues = /\b(client|agency)\b/.test(given + code) && !/const client = /.test(given + code);
		const excerpt = { file, line: lineAt(text, match.index + block.indexOf("```ts")) + 1, code };
		return sample(`${file}, sample ${number + 1}`, ...(continues ? [beginning] : []), given, excerpt);
	});
});

const imports = `import { createClient, isWindowOpen, operationIdFrom, cachedKey, toE164 } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
`;

const importsOfSandbox = `import { createClient } from "messaging-conversations";
import { createSandbox, sandboxFetch } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { serve } from "messaging-conversations/sandbox/server";
import { setupServer } from "msw/node";
import { createWorld } from "../world.ts";
`;

const importsOfOutbox = `import { bullmqEngine, checkDelivery, createOutbox, isOptOut, mysqlStore, pgBossEngine, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { memoryStore } from "../outbox/memory.ts";
`;

/** Stands for a database and a queue, which the package's own install does not bring. */
const outboxWorld = `const store = memoryStore();
const pool = { query: async (sql: string) => ({ rows: /indisvalid/.test(sql) ? [{ valid: true }] : [] }) };
const rowsOf = (sql: string) =>
	/schema_version|sqlite_master|information_schema/.test(sql) ? [{ schema_version: 1 }] : [];
const db = { prepare: (sql: string) => ({ all: () => rowsOf(sql), run: () => {} }) };
const settings = [{ autocommit: 1, wave: "👋", exact: "utf8mb4_0900_bin" }];
const answerOf = (sql: string) =>
	/^select @@/.test(sql) ? settings : /^select/.test(sql) ? rowsOf(sql) : { affectedRows: 1 };
const mysqlPool = { escape: String, query: async ({ sql }: { sql: string }) => [answerOf(sql), []] };
const queue = { name: "messaging-outbox", opts: {}, add: async () => {}, waitUntilReady: async () => {}, on: () => {} };
class Worker { on() {} async close() {} }
const boss = { createQueue: async () => {}, send: async () => {}, work: async () => "", offWork: async () => {} };
const outbox = createOutbox({ client, store });
const otherOutbox = createOutbox({ client, store: memoryStore() });
const openEmptyStore = async () => memoryStore();
const test = (title: string, run: () => Promise<void>) => {};
`;

/** For each example anew: some controls end it. */
const world = `const { sandbox, agency, anna, sent, id, baseUrl, apiKey, before, text, flow, fault, expect } = await createWorld();
`;

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
	file.endsWith(".ts"),
);

/** The examples of each file's TSDoc, each in a block of its own behind what its reader has at that point. */
export const exampleSamples: Sample[] = sources.flatMap((file) => {
	const examples = examplesOf(`src/${file}`);
	// They import what they use: each is a file of its own.
	if (file.startsWith("sync/"))
		return examples.map((example, index) => sample(`src/${file}, example ${index + 1}`, beginning, example));
	if (examples.length === 0) return [];
	const inBlocks = (given: string) => examples.flatMap((example) => [`{\n${given}{\n`, example, "}\n}\n"]);
	const name = `src/${file}, its examples`;
	if (file.startsWith("outbox/")) return [sample(name, importsOfOutbox, beginning, ...inBlocks(outboxWorld))];
	if (file.startsWith("sandbox/")) return [sample(name, importsOfSandbox, ...inBlocks(world))];
	return [sample(name, beginning, imports, ...inBlocks(""))];
});

function examplesOf(file: string): Excerpt[] {
	const source = readFileSync(join(root, file), "utf8");
	return [...source.matchAll(/\/\*\*(.*?)\*\//gs)].flatMap(({ 1: raw = "", index }) => {
		const comment = raw.replace(/^[^\S\n]*\* ?/gm, "");
		return [...comment.matchAll(/(?<=@example\s+)\S.*?(?=\s*(?:@example\b|$))/gs)].map((example) => ({
			file,
			line: lineAt(source, index) + lineAt(comment, example.index) - 1,
			code: `${printing(example[0])}\n`,
		}));
	});
}

/** The comment behind an expression is the value that it prints. */
function printing(code: string): string {
	return code.replace(/^(?!const |await |console)(\S.*); (\/\/ .*)$/gm, "console.log($1); $2");
}

/** What a sample says that it prints: the literals behind its lines of `console.log`. One may end in `…`. */
export function promised(code: string): string[] {
	const lines = code.matchAll(/console\.log\(.*\).*; \/\/ (true|false|null|-?\d+|"[^"]*"|Partner\w+)(?=: |$)/gm);
	return [...lines].map(([, literal = ""]) => literal.replace(/^"(.*)"$/, "$1"));
}
