import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, owner } from "./install.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const consumer = mkdtempSync(join(tmpdir(), "consumer-"));
const installed = join(consumer, "node_modules/messaging-conversations");

beforeAll(() => installPacked(consumer));

afterAll(() => rmSync(consumer, { recursive: true }));

function run(file: string, code: string): string {
	writeFileSync(join(consumer, file), code);
	return execFileSync(process.execPath, [file], { cwd: consumer, encoding: "utf8" });
}

function filesOf(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
		.sort();
}

/** The first page of the site. Pictures are too large for a package. */
const notPacked = ["index.md"];

test("S39 the tarball holds what its users need and nothing else", () => {
	const entries = ["index", "node", "sync/index", "outbox/index", "sandbox/index", "sandbox/msw", "sandbox/server"];
	const built = entries.flatMap((entry) =>
		[".cjs", ".d.cts", ".d.ts", ".js"].map((ending) => `dist/${entry}${ending}`),
	);
	// The types that several entries share are in files of their own, named by their content.
	const shared = /^dist\/(openapi|transport|phone|sandbox)\.d-[\w-]+\.d\.c?ts$/;
	expect(filesOf(installed).filter((file) => !shared.test(file))).toEqual(
		[
			"AGENTS.md",
			"CHANGELOG.md",
			"LICENSE",
			"README.md",
			"THIRD-PARTY.md",
			"SECURITY.md",
			"dist/cli.js",
			"llms.txt",
			...readdirSync(join(root, "docs")).flatMap((file) =>
				/\.(md|svg)$/.test(file) && !notPacked.includes(file) ? `docs/${file}` : [],
			),
			...readdirSync(join(root, "docs/diagrams")).map((file) => `docs/diagrams/${file}`),
			...readdirSync(join(root, "examples")).flatMap((file) => (file.endsWith(".ts") ? `examples/${file}` : [])),
			"openapi.json",
			"package.json",
			"sbom.cdx.json",
			...built,
		].sort(),
	);
});

test("each link of a packed page leads to a packed file, or to the repository at the tag of the version", () => {
	const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
	const pages = filesOf(installed).filter((file) => /\.md$|^llms\.txt$/.test(file));
	const missing = pages.flatMap((page) => {
		const text = readFileSync(join(installed, page), "utf8").replace(/^```.*?^```/gms, "");
		const links = [...text.matchAll(/\]\(([^)\s]+)|\b(?:src|srcset|href)="([^"]+)/g)].map(
			([, one, two]) => one ?? two ?? "",
		);
		return links
			.filter((link) => {
				const [, path] = /^https:\/\/(?:raw\.)?github(?:usercontent)?\.com\/example\/sdk\/(.+)$/.exec(link) ?? [];
				const [, inRepository] = new RegExp(`^(?:(?:blob|tree)/)?v${version}/([^#]+)`).exec(path ?? "") ?? [];
				if (inRepository !== undefined) return !existsSync(join(root, decodeURI(inRepository)));
				if (/^https?:|^#/.test(link)) return path !== undefined && path !== "security/advisories/new";
				return page === "README.md" || !existsSync(join(installed, dirname(page), link.replace(/#.*/, "")));
			})
			.map((link) => `${page}: ${link}`);
	});
	expect(missing).toEqual([]);
	expect(readFileSync(join(installed, "README.md"), "utf8")).toContain(
		`(https://github.com/example/sdk/blob/v${version}/docs/`,
	);
});

test("the packed pages say where to report a bug and a vulnerability", () => {
	const { author, homepage, repository, bugs } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
	expect({ author, homepage, repository, bugs }).toEqual(owner);
	for (const page of ["README.md", "SECURITY.md"])
		expect(readFileSync(join(installed, page), "utf8")).toContain(`(${owner.bugs.url})`);
	const security = readFileSync(join(installed, "SECURITY.md"), "utf8");
	expect(security).toContain("(https://github.com/example/sdk/security/advisories/new)");
});

test("S39 the package runs no script at its users' and needs no other package", () => {
	const { scripts, dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
	for (const script of ["preinstall", "install", "postinstall", "prepare"]) expect(scripts).not.toHaveProperty(script);
	expect(dependencies).toBeUndefined();
});

test("S38 what is inlined is what the list of third parties names, and no path of the build machine is in it", () => {
	const inlined = new Set<string | undefined>();
	for (const file of filesOf(join(installed, "dist")).filter((name) => /\.c?js$/.test(name))) {
		const text = readFileSync(join(installed, "dist", file), "utf8");
		expect(text).not.toContain(root);
		// The bundler says above each module where it is from.
		for (const [, name] of text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)) inlined.add(name);
		const imports = /(?:\bfrom\s*|require\(|import\()["']([^."'\n][^"'\n]*)["'](?=[;)])/g;
		const outside = [...text.matchAll(imports)].map(([, name]) => name);
		expect(outside.filter((name) => !/^(msw|node:.*|messaging-conversations.*)$/.test(name ?? ""))).toEqual([]);
	}
	const list = readFileSync(join(installed, "THIRD-PARTY.md"), "utf8");
	// The script of the sandbox's page is a text in the server's entry, without such comments.
	const inPage = ["@preact/signals", "@preact/signals-core", "preact"];
	expect([...list.matchAll(/^## (\S+) \d/gm)].map(([, name]) => name).sort()).toEqual([...inlined, ...inPage].sort());
});

const story = `
const sandbox = createSandbox();
const client = createClient({ ...sandbox.connection });
const anna = sandbox.agency().contact("+447700900101");
anna.writes("Hello?");
const sent = await client.agency(sandbox.agency().id).messages.send({ to: anna.phoneNumber, body: "Hi" });
const server = await serve(sandbox, { port: 0 });
const me = await createClient({ baseUrl: server.baseUrl, apiKey: sandbox.connection.apiKey }).me.get();
await server.close();
console.log(sent.queued, anna.inbox().length, me.agencies.length, typeof handlers);
`;

test("it runs as an ES module", () => {
	const imports = `import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
const handlers = () => {};`;
	expect(run("esm.mjs", imports + story)).toBe("false 1 1 function\n");
});

test("a sample runs as .mts in the CommonJS project that npm init makes, and an example where it is installed", () => {
	const guide = readFileSync(join(installed, "docs/first-send.md"), "utf8");
	const [, sample = ""] = /```ts\n([\s\S]*?)```/.exec(guide) ?? [];
	const file = /npx tsx (\S+)`/.exec(guide)?.[1] ?? "no file";
	const project = join(consumer, "commonjs");
	mkdirSync(project);
	writeFileSync(join(project, "package.json"), '{ "type": "commonjs" }');
	writeFileSync(join(project, file), sample);
	const tsx = (path: string) =>
		execFileSync(process.execPath, [join(root, "node_modules/tsx/dist/cli.mjs"), path], {
			cwd: project,
			encoding: "utf8",
		});
	expect(tsx(file)).toContain("It is. Would Friday suit you?");
	expect(tsx(join(installed, "examples/send.ts"))).toContain("sent as");
});

test("its command shows its usage without a command, and refuses one that it lacks", () => {
	const cli = join(installed, "dist/cli.js");
	expect(execFileSync(process.execPath, [cli], { encoding: "utf8" })).toMatch(
		/^Usage: messaging-conversations sandbox/m,
	);
	const wrong = spawnSync(process.execPath, [cli, "sandpit"], { encoding: "utf8" });
	expect(wrong.status).toBe(1);
	expect(wrong.stderr).toMatch(/^There is no command "sandpit"\. Did you mean sandbox\?/);
	const key = spawnSync(process.execPath, [cli, "key_Secret123"], { encoding: "utf8" });
	expect([key.status, key.stderr]).toEqual([1, expect.not.stringContaining("Secret123")]);
});

test("it runs as a CommonJS module", () => {
	const requires = `const { createClient } = require("messaging-conversations");
const { createSandbox } = require("messaging-conversations/sandbox");
const { serve } = require("messaging-conversations/sandbox/server");
const handlers = () => {};
(async () => {${story}})();`;
	expect(run("cjs.cjs", requires)).toBe("false 1 1 function\n");
});

const mirror = `
const sandbox = createSandbox();
sandbox.agency().contact("+447700900101").writes("Hello?");
const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
let handed = 0;
for await (const { messages } of changes(agency, { since: "beginning" })) handed += messages.length;
let refused;
try { changes(agency, { since: "yesterday" }); } catch (error) { refused = error; }
console.log(handed, refused instanceof PartnerInvalidInput);
`;

test("./sync uses the client of the main entry, as an ES module and as a CommonJS module", () => {
	const names = [
		["createClient, PartnerInvalidInput", "messaging-conversations"],
		["createSandbox", "messaging-conversations/sandbox"],
		["changes", "messaging-conversations/sync"],
	];
	const imports = names.map(([name, entry]) => `import { ${name} } from "${entry}";`).join("\n");
	const requires = names.map(([name, entry]) => `const { ${name} } = require("${entry}");`).join("\n");
	expect(run("sync.mjs", imports + mirror)).toBe("1 true\n");
	expect(run("sync.cjs", `${requires}(async () => {${mirror}})();`)).toBe("1 true\n");
	for (const file of ["index.js", "index.cjs"]) {
		const code = (entry: string) => readFileSync(join(installed, "dist", entry, file), "utf8");
		const client = /^function createClient/m;
		expect([client.test(code("")), client.test(code("sync"))]).toEqual([true, false]);
	}
});

test("instanceof holds across the ESM and the CommonJS copy", () => {
	const code = `import { createRequire } from "node:module";
import { PartnerError, PartnerInvalidInput, PartnerNotFound, toE164 } from "messaging-conversations";
const other = createRequire(import.meta.url)("messaging-conversations");
try { other.toE164("x"); } catch (error) {
	console.log(other.PartnerError !== PartnerError, error instanceof PartnerError, error instanceof PartnerInvalidInput, error instanceof PartnerNotFound);
}`;
	expect(run("copies.mjs", code)).toBe("true true true false\n");
});

test("nodeHttp of ./node is what createClient takes, and its refusals are the main entry's errors", () => {
	const code = `import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
try { nodeHttp({ maxSockets: 0 }); } catch (error) { console.log(error instanceof PartnerConfigurationError); }
const server = await serve(createSandbox(), { port: 0 });
const transport = nodeHttp();
const { agencies } = await createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey, transport }).me.get();
transport.close();
await server.close();
console.log(agencies.length);`;
	expect(run("node-http.mjs", code)).toBe("true\n1\n");
});

test("the outbox uses the main entry beside it, as an ES module and as a CommonJS one", () => {
	const check = `
const problem = checkDelivery(undefined, { to: "x", body: "x", since: "never" }).catch((error) => error);
problem.then((error) => console.log(error instanceof PartnerInvalidInput, error.constructor === PartnerInvalidInput));`;
	const names = ["{ PartnerInvalidInput }", "{ checkDelivery }"] as const;
	const esm = `import ${names[0]} from "messaging-conversations";\nimport ${names[1]} from "messaging-conversations/outbox";${check}`;
	const cjs = `const ${names[0]} = require("messaging-conversations");\nconst ${names[1]} = require("messaging-conversations/outbox");${check}`;
	expect([run("outbox.mjs", esm), run("outbox.cjs", cjs)]).toEqual(["true true\n", "true true\n"]);
});

test.each(["nodenext", "bundler"])("its types hold for a strict consumer with module resolution %s", (resolution) => {
	const config = {
		compilerOptions: {
			module: resolution === "bundler" ? "esnext" : "nodenext",
			moduleResolution: resolution,
			target: "es2022",
			lib: ["es2022", "dom", "dom.iterable"],
			types: [],
			strict: true,
			exactOptionalPropertyTypes: true,
			skipLibCheck: false,
			noEmit: true,
		},
		files: resolution === "bundler" ? ["use.ts"] : ["use.ts", "use.cts"],
	};
	const use = `import { createClient, type Sent } from "messaging-conversations";
import { createOutbox, type DatabaseStore, postgresStore, type OutboxStatus } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { type ChangeFeed, changes } from "messaging-conversations/sync";
const sandbox = createSandbox();
const client = createClient({ ...sandbox.connection });
export const feed: ChangeFeed = changes(client.agency("agy_1"), { since: "now" });
export const store: DatabaseStore = postgresStore({ query: async () => ({ rows: [] }) });
const outbox = createOutbox({ client, store });
export const stored: Promise<OutboxStatus> = outbox.enqueue({ id: "1", agencyId: "agy_1", to: "+447700900101", body: "Hi" });
export const sent: Promise<Sent> = client.agency("agy_1").messages.send({ to: "+447700900101", body: "Hi" });
`;
	writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify(config));
	writeFileSync(join(consumer, "use.ts"), use);
	writeFileSync(join(consumer, "use.cts"), use);
	const tsc = join(root, "node_modules/typescript/bin/tsc");
	expect(spawnSync(process.execPath, [tsc, "-p", consumer], { encoding: "utf8" }).stdout).toBe("");
});

test.for([
	["isPartnerError", ["country_calling_codes", "ZodObject", "createFinalURL"]],
	["isWindowOpen", ["country_calling_codes", "ZodObject"]],
	["operationIdFrom", ["country_calling_codes", "ZodObject"]],
	["toE164", ["ZodObject"]],
] as const)("a bundle that uses %s alone leaves the large parts out that it does not need", async ([name, others]) => {
	const { outputFiles } = await build({
		stdin: { contents: `export { ${name} } from "messaging-conversations";`, resolveDir: consumer },
		bundle: true,
		format: "esm",
		platform: "neutral",
		write: false,
	});
	const text = outputFiles[0]?.text ?? "";
	expect(text).toContain(`function ${name}(`);
	for (const other of others) expect(text).not.toContain(other);
});
