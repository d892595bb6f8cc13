import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A piece of documentation that a reader may paste. */
export interface Sample {
	name: string;
	code: string;
}

const guides = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));

export const pages = ["README.md", "llms.txt", ...guides.map((file) => `docs/${file}`)].map((name) => ({
	name,
	text: readFileSync(join(root, name), "utf8"),
}));

const beginning = `import { createClient as create } from "messaging-conversations";
const client = create({ baseUrl: process.env.MESSAGING_BASE_URL, apiKey: process.env.MESSAGING_API_KEY });
const agency = client.agency((await client.me.get()).agencies[0]?.id ?? "");
`;

/** The samples of the pages. One that goes on from the first begins where that ends. */
export const pageSamples: Sample[] = pages.flatMap(({ name, text }) =>
	[...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""], index) => ({
		name: `${name}, sample ${index + 1}`,
		code: /\b(client|agency)\b/.test(code) && !/const client = /.test(code) ? `${beginning}${code}` : code,
	})),
);

const imports = `import { createClient, isWindowOpen, operationIdFrom, toE164 } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
`;

const importsOfSandbox = `import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { serve } from "messaging-conversations/sandbox/server";
import { setupServer } from "msw/node";
import { createWorld } from "../world.ts";
`;

const importsOfOutbox = `import { createOutbox, fateOf, pgBossEngine, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { memoryStore } from "../outbox/memory.ts";
`;

/** Stands for a database and a queue, which the package's own install does not bring. */
const outboxWorld = `const store = memoryStore();
const pool = { query: async () => ({ rows: [] }) };
const db = { prepare: () => ({ all: () => [], run: () => {} }) };
const boss = { createQueue: async () => {}, send: async () => {}, work: async () => "", offWork: async () => {} };
const outbox = createOutbox({ client, store });
`;

/** For each example anew: some controls end it. */
const world = `const { sandbox, agency, anna, sent, id, baseUrl, apiKey, before, text, flow, fault, expect } = await createWorld();
`;

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
	file.endsWith(".ts"),
);

/** The examples of the TSDoc of one file, each in a block of its own, after what is there already when one reads them. */
export const exampleSamples: Sample[] = sources.flatMap((file) => {
	const examples = examplesOf(readFileSync(join(root, "src", file), "utf8")).map(printing);
	// They import what they use: each is a file of its own.
	if (file.startsWith("sync/")) {
		return examples.map((example, index) => ({
			name: `src/${file}, example ${index + 1}`,
			code: `${beginning}${example}`,
		}));
	}
	if (examples.length > 0 && file.startsWith("outbox/"))
		return [
			{
				name: `src/${file}, its examples`,
				code: `${importsOfOutbox}${beginning}${examples.map((example) => `{\n${outboxWorld}{\n${example}}\n}\n`).join("")}`,
			},
		];
	const code = file.startsWith("sandbox/")
		? `${importsOfSandbox}${examples.map((example) => `{\n${world}{\n${example}}\n}\n`).join("")}`
		: `${beginning}${imports}${examples.map((example) => `{\n${example}}\n`).join("")}`;
	return examples.length > 0 ? [{ name: `src/${file}, its examples`, code }] : [];
});

function examplesOf(source: string): string[] {
	const comments = [...source.matchAll(/\/\*\*(.*?)\*\//gs)].map(([, comment = ""]) =>
		comment.replace(/^\s*\* ?/gm, ""),
	);
	return comments.flatMap((comment) =>
		comment
			.split(/@(?=example\b)/)
			.slice(1)
			.map((part) => `${part.replace(/^example\s/, "").trim()}\n`),
	);
}

/** What stands behind an expression is what it gives. */
function printing(code: string): string {
	return code.replace(/^(?!const |await |console)(\S.*); (\/\/ .*)$/gm, "console.log($1); $2");
}

/** What a sample says that it prints: the literals behind its lines of `console.log`. One may end in `…`. */
export function promised(code: string): string[] {
	const lines = code.matchAll(/console\.log\(.*\).*; \/\/ (true|false|null|-?\d+|"[^"]*"|Partner\w+)(?=: |$)/gm);
	return [...lines].map(([, literal = ""]) => literal.replace(/^"(.*)"$/, "$1"));
}
