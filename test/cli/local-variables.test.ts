// What a reporter of errors finds in the local variables of a command, in a process of its own (S14). With --import any reporter
// can be in it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { refusal, type Script, scripted } from "../scripted.ts";
import { watchedCommand } from "./watched.ts";

const secret = "LOCALKEYCANARY";
const password = "PASSWORDCANARY";
const apiKey = `test_live.key0001.${secret}`;
const run = await watchedCommand([secret], 3);
/** One level deep, as Sentry reads. The pool of a driver holds its address in a field of a field. */
const runOnDatabase = await watchedCommand(["PASSWORDCANARY"], 1);

const folder = mkdtempSync(join(tmpdir(), "local-variables-"));
afterAll(() => rmSync(folder, { recursive: true }));

const commands: readonly (readonly string[])[] = [
	["doctor"],
	["tail", "--every", "1"],
	["capture", "--agency", "agy_1", "--contact", "+447700900101", "--yes"],
];

const services: readonly [what: string, script: Script][] = [
	["refuses the key", () => refusal(401, `no ${apiKey}`)],
	["answers as a gateway", () => ({ status: 413, text: "<html>" })],
	["breaks the contract", ({ headers }) => ({ json: { integration: headers.authorization } })],
	["cuts the connection", () => "reset"],
];

/** Waits for nothing: each of the services fails for good. */
const failing = services.flatMap(([what, script]) => commands.map((args) => [args[0], what, args, script] as const));

test.for(failing)("S14 no variable of %s holds the key when the service %s", async ([, , args, script]) => {
	const service = await scripted(script);
	const { code, out, err, found, pauses } = await run(args, {
		MESSAGING_BASE_URL: service.baseUrl,
		MESSAGING_API_KEY: apiKey,
	});
	expect(pauses).toBeGreaterThan(0);
	expect(code).not.toBe(0);
	expect(found).toEqual([]);
	expect(out + err).not.toContain(secret);
});

const settings: readonly [what: string, lines: readonly string[]][] = [
	["without a base URL", [`MESSAGING_API_KEY=${apiKey}`]],
	["with a base URL that is none", ["MESSAGING_BASE_URL=no", `MESSAGING_API_KEY=${apiKey}`]],
	["with a key in the base URL", [`MESSAGING_BASE_URL=https://${apiKey}@example.com/api/v1`, "MESSAGING_API_KEY="]],
	["with a key with spaces", ["MESSAGING_BASE_URL=http://127.0.0.1:9/api/v1", `MESSAGING_API_KEY="a ${apiKey}"`]],
	[
		"with a sandbox key for the service",
		["MESSAGING_BASE_URL=https://a.invalid/api/v1", `MESSAGING_API_KEY=sandbox_live.${secret}`],
	],
];

test.for(settings)("S14 no variable of a command holds a key that it reads from a file %s", async ([, lines]) => {
	const file = join(folder, "variables");
	writeFileSync(file, lines.join("\n"));
	for (const args of commands) {
		const { code, found, out, err } = await run([...args, "--env", file], {});
		expect([args[0], code === 0, found]).toEqual([args[0], false, []]);
		expect(out + err).not.toContain(secret);
	}
});

test("S14 no variable holds the key when a file of variables can't be read, or what is asked for is wrong", async () => {
	const env = { MESSAGING_BASE_URL: "http://127.0.0.1:9/api/v1", MESSAGING_API_KEY: apiKey };
	const noText = join(folder, "no-text");
	writeFileSync(noText, Buffer.concat([Buffer.from(`MESSAGING_API_KEY=${apiKey}\n`), Buffer.from([0xff, 0xfe, 0x80])]));
	const wrong = [
		["doctor", "--env", noText],
		["tail", "--every", "0"],
		["tail", "--evry", "1"],
		["capture"],
		["sandbox", "--port", "x"],
		["outbox", "health"],
	];
	for (const args of wrong) {
		const { code, found, pauses } = await run(args, env);
		expect([args, code === 0, pauses > 0, found]).toEqual([args, false, true, []]);
	}
});

/** The folder of a project with a driver. */
function project(driver: string, source: string): string {
	const cwd = mkdtempSync(join(folder, "project-"));
	const place = join(cwd, "node_modules", driver);
	mkdirSync(place, { recursive: true });
	writeFileSync(
		join(place, "package.json"),
		JSON.stringify({ name: driver, exports: { ".": "./index.js", "./promise": "./index.js" } }),
	);
	writeFileSync(join(place, "index.js"), source);
	return cwd;
}

/** One that can be decoded, and one that can't. */
const passwords = ["LOCAL%25PASSWORDCANARY", "LOCAL%PASSWORDCANARY"] as const;
const drivers: readonly [scheme: string, driver: string, made: string, methods: readonly string[]][] = [
	["postgres", "pg", "Pool", ["query", "connect"]],
	["mysql", "mysql2", "createPool", ["query", "execute", "getConnection", "escape"]],
	["mariadb", "mariadb", "createPool", ["query", "batch", "getConnection", "escape"]],
	["libsql", "@libsql/client", "createClient", ["execute", "batch", "transaction"]],
];

/** A driver that answers so many statements, and then fails. */
const driverThat = (made: string, methods: readonly string[], answered: number, first = ""): string => `
exports.${made} = function (given) {
	${first}
	let asked = 0;
	const run = async () => {
		if (asked++ < ${answered}) return { rows: [{ found: 1, schema_version: 1 }], rowCount: 1 };
		throw new Error("cannot be reached");
	};
	return { options: given, ${methods.map((name) => `${name}: run`).join(", ")}, end() {}, close() {}, on() {} };
};`;

test.for(drivers.flatMap((each) => passwords.map((given) => [...each, given] as const)))(
	"S14 no variable of the command outbox holds the password when a driver of %s fails (%s, %s, %s, %s)",
	async ([scheme, driver, made, methods, given]) => {
		for (const first of ['throw new Error("cannot be reached");', ""]) {
			const env = { DATABASE_URL: `${scheme}://crm:${given}@127.0.0.1:1/crm` };
			const cwd = project(driver, driverThat(made, methods, 0, first));
			const { code, out, err, found, pauses } = await runOnDatabase(["outbox", "health"], env, cwd);
			expect(pauses).toBeGreaterThan(0);
			expect([code, found]).toEqual([2, []]);
			expect(out + err).not.toContain("CANARY");
		}
	},
);

test.for([
	["health"],
	["list"],
	["explain", "a"],
	["suspend", "--reason", "a", "--yes"],
	["resolve", "a", "--as", "sent"],
])("S14 no variable holds the password when the database fails during %s", async (action) => {
	const env = { DATABASE_URL: `postgres://crm:${password}@127.0.0.1:1/crm` };
	const cwd = project("pg", driverThat("Pool", ["query", "connect"], 3));
	const { code, out, err, found, pauses } = await runOnDatabase(["outbox", ...action], env, cwd);
	expect(pauses).toBeGreaterThan(0);
	expect([code, err.includes("cannot be reached"), found]).toEqual([2, true, []]);
	expect(out + err).not.toContain("CANARY");
});

test.for<[what: string, url: string]>([
	["of no database", `oracle://crm:${password}@127.0.0.1/crm`],
	["without a driver", `postgres://crm:${password}@127.0.0.1/crm`],
	["that lacks its colon", `postgres//crm:${password}@127.0.0.1/crm`],
	["that is no URL", `mariadb://crm:${password}@:::/crm`],
])("S14 no variable of the command outbox holds the password of an address %s", async ([, url]) => {
	const cwd = mkdtempSync(join(folder, "empty-"));
	const { code, out, err, found, pauses } = await runOnDatabase(["outbox", "health"], { DATABASE_URL: url }, cwd);
	expect(pauses).toBeGreaterThan(0);
	expect([code, found]).toEqual([2, []]);
	expect(out + err).not.toContain("CANARY");
});

test("the search finds a key in a variable of a command", async () => {
	const { found } = await run(["doctor", `--${secret}`], {});
	expect(found).not.toEqual([]);
});
