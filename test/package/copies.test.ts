/* Two copies of the package in one program, as a monorepo installs them: which work together, and what the others say. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { another, numberless } from "../protocol.ts";
import { installPacked } from "./install.ts";

type Format = "esm" | "cjs";

const checkout = fileURLToPath(new URL("../..", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "copies-"));
const modulesOf = (folder: string): string => join(root, folder, "node_modules");

/** The folders of the monorepo, each with a copy of its own, and how that one differs from the one that is packed. */
const folders = ["app", "same", "patch", "later", "earlier", "numberless"] as const;

beforeAll(() => {
	mkdirSync(join(root, "app"));
	installPacked(join(root, "app"));
	for (const folder of folders.slice(1)) cpSync(join(root, "app"), join(root, folder), { recursive: true });
	edit("patch", /"version": "\d[^"]*"/g, '"version": "99.0.1"');
	edit("patch", /\bversion = "\d[^"]*"/g, 'version = "99.0.1"');
	edit("later", /\bprotocol = 1;/g, "protocol = 2;");
	edit("earlier", /\bprotocol = 1;/g, "protocol = 0;");
	edit("numberless", /Object\.assign\(of, \{ \[key\d*\]: protocol \}\)/g, "of");
	// What the program in this folder needs beside the package: msw, and a store without a database.
	symlinkSync(join(checkout, "node_modules/msw"), join(modulesOf("app"), "msw"));
	buildSync({
		entryPoints: [join(checkout, "test/outbox/memory.ts")],
		outfile: join(root, "app/memory.mjs"),
		bundle: true,
		format: "esm",
		platform: "node",
		external: ["messaging-conversations"],
	});
});
afterAll(() => rmSync(root, { recursive: true }));

/** Makes another version of the copy in a folder. */
function edit(folder: (typeof folders)[number], what: RegExp, by: string): void {
	const place = join(modulesOf(folder), "messaging-conversations");
	let count = 0;
	for (const file of readdirSync(place, { recursive: true, encoding: "utf8" })) {
		if (!/\.c?js$|package\.json$/.test(file)) continue;
		const before = readFileSync(join(place, file), "utf8");
		const after = before.replace(what, by);
		if (after === before) continue;
		count++;
		writeFileSync(join(place, file), after);
	}
	expect(count, `edits of ${folder}`).toBeGreaterThan(0);
}

/** Code that loads an entry of the copy in a folder. */
function load(folder: string, entry: string, format: Format): string {
	if (format === "cjs") return `createRequire("${join(root, folder, "x.js")}")("messaging-conversations${entry}")`;
	const file = { "": "index", "/sync": "sync/index", "/outbox": "outbox/index", "/sandbox": "sandbox/index" }[entry];
	return `await import("${join(modulesOf(folder), "messaging-conversations/dist", `${file ?? entry.slice(1)}.js`)}")`;
}

/**
 * Runs a program in the folder `app` with the client and the sandbox of another copy, and returns what it prints: what each
 * function does with them, or the error that it throws.
 */
function run(folder: (typeof folders)[number], format: Format, ownFormat: Format): string[] {
	const program = `
import { createRequire } from "node:module";
import { memoryStore } from "./memory.mjs";
const { createClient } = ${load(folder, "", format)};
const { createSandbox } = ${load(folder, "/sandbox", format)};
const { PartnerConfigurationError } = ${load("app", "", ownFormat)};
const { checkDelivery, createOutbox } = ${load("app", "/outbox", ownFormat)};
const { changes, reconcile, watch, watchAgencies } = ${load("app", "/sync", ownFormat)};
const { serve } = ${load("app", "/sandbox/server", ownFormat)};
const { handlers } = ${load("app", "/sandbox/msw", ownFormat)};

const sandbox = createSandbox();
const anna = sandbox.agency().contact("+447700900101");
anna.writes("Is the flat free?");
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);
const { now } = sandbox.clock;

async function print(name, act) {
	try {
		console.log(name, await act());
	} catch (error) {
		const { field, message } = error;
		const isOwn = error instanceof PartnerConfigurationError && message.startsWith(field + ": ");
		console.log(name, isOwn ? message : "NO ERROR OF A CONFIGURATION: " + error.stack);
	}
}
async function first(feed) {
	for await (const { phoneNumber } of feed) return phoneNumber;
}

await print("createOutbox", async () => {
	const outbox = createOutbox({ client, store: memoryStore(), now });
	await outbox.enqueue({ id: "1", agencyId: agency.id, to: anna.phoneNumber, body: "Yes!" });
	await outbox.runOnce();
	return (await outbox.status("1")).state;
});
const text = { to: anna.phoneNumber, body: "Never sent", since: now() };
await print("checkDelivery", async () => (await checkDelivery(agency, text, { now })).status);
await print("changes", () => first(changes(agency, { since: "beginning" })));
await print("watch", () => first(watch(agency, { since: "beginning" })));
await print("reconcile", () => first(reconcile(agency, { stored: [] })));
await print("watchAgencies", () => first(watchAgencies(client, { load: () => null })));
await print("serve", async () => {
	const server = await serve(sandbox);
	await server.close();
	return "served";
});
await print("handlers", () => "handlers: " + handlers(sandbox).length);
`;
	writeFileSync(join(root, "app/program.mjs"), program);
	const printed = execFileSync(process.execPath, ["program.mjs"], { cwd: join(root, "app"), encoding: "utf8" });
	return printed.trim().split("\n");
}

test.each([
	["another copy of the same version", "same", "esm", "esm"],
	["the CommonJS copy beside ESM", "app", "cjs", "esm"],
	["the ESM copy beside CommonJS", "app", "esm", "cjs"],
	["a CommonJS copy of another folder", "same", "cjs", "esm"],
	["another version with the same number", "patch", "esm", "esm"],
	["another version with the same number, in CommonJS", "patch", "cjs", "cjs"],
	["another version with the same number, in CommonJS beside ESM", "patch", "cjs", "esm"],
] as const)("#49 the client and the sandbox of %s work with everything else", (_name, folder, format, ownFormat) => {
	expect(run(folder, format, ownFormat)).toEqual([
		"createOutbox sent",
		"checkDelivery unknown",
		"changes +447700900101",
		"watch +447700900101",
		"reconcile +447700900101",
		"watchAgencies +447700900101",
		"serve served",
		"handlers handlers: 1",
	]);
});

test.each([
	["a later number", "later", another(2), "esm", "esm"],
	["a later number, in CommonJS beside ESM", "later", another(2), "cjs", "esm"],
	["a later number, in ESM beside CommonJS", "later", another(2), "esm", "cjs"],
	["an earlier number", "earlier", another(0), "esm", "esm"],
	["no number", "numberless", numberless, "esm", "esm"],
] as const)(
	"#49 a client and a sandbox of %s are refused by each function",
	(_name, folder, rule, format, ownFormat) => {
		expect(run(folder, format, ownFormat)).toEqual([
			`createOutbox client: ${rule}`,
			`checkDelivery agency: ${rule}`,
			`changes agency: ${rule}`,
			`watch agency: ${rule}`,
			`reconcile agency: ${rule}`,
			`watchAgencies client: ${rule}`,
			`serve sandbox: ${rule}`,
			`handlers sandbox: ${rule}`,
		]);
	},
);
