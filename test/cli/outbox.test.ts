// What the command outbox says without a database. test/outbox/databases/command.test.ts has one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { outboxActions, run, start } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the help lists the actions, and each has a help of its own, in the width of the terminal", async () => {
	const { code, out } = await run(["outbox", "--help"]);
	expect([code, outboxActions.filter((name) => !out.includes(`  ${name} `))]).toEqual([0, []]);
	for (const name of outboxActions) {
		const helped = start(["outbox", name, "--help"], {}, fetch, { columns: 60 });
		expect(await helped.status).toBe(0);
		expect(helped.out()).toMatch(new RegExp(`^Usage: messaging-conversations outbox ${name} `));
		expect(
			helped
				.out()
				.split("\n")
				.filter((line) => line.length > 60),
		).toEqual([]);
	}
	expect((await run(["outbox"])).code).toBe(2);
});

test.each([
	[["hlth"], /outbox has no action "hlth"\. Did you mean health\?/],
	[["postgres://u:hunter2@h/x"], /outbox has no action of this name\./],
	[["health", "--prefxi", "x"], /Unknown option --prefxi\. Did you mean --prefix\?/],
	[["health", "postgres://u:hunter2@h/x"], /outbox health takes options only/],
	[["list", "--state", "delivrd"], /--state must be one of waiting, .*, unknown\. Did you mean delivered\?/],
	[["list", "--form", "x"], /Unknown option --form/],
	[["list", "--limit", "0"], /--limit must be a number from 1 to 1000/],
	[["explain"], /outbox explain needs the id of a text/],
	[["report"], /outbox report needs --since/],
	[["report", "--since", "2026-03-01"], /outbox report needs --until/],
	[["suspend"], /outbox suspend needs --reason/],
	[["resolve", "a"], /outbox resolve needs --as sent or --as not_sent/],
	[["resolve", "a", "--as", "failed"], /--as must be one of sent, not_sent/],
	[["resolve", "a", "b", "--as", "sent"], /outbox resolve takes one id and options/],
	[["restored"], /outbox restored needs --backup-at/],
	[["opted-out"], /outbox opted-out needs the number of a contact/],
	[["opted-out", "+447700900101"], /outbox opted-out needs --agency/],
	[["import"], /outbox import needs a file/],
	[["export", "contacts.ndjson"], /outbox export takes options only/],
	[["health"], /DATABASE_URL is not set/],
	// As from a variable of the shell that is not set: it is not all agencies, and not any reason.
	[["list", "--agency="], /--agency is empty\. It needs a value\./],
	[["suspend", "--agency=", "--reason", "Stop", "--yes"], /--agency is empty\. It needs a value\./],
	[["resume", "--agency=", "--yes"], /--agency is empty\. It needs a value\./],
	[["suspend", "--reason=", "--yes"], /--reason is empty\. It needs a value\./],
	[["health", "--prefix="], /--prefix is empty\. It needs a value\./],
])("%s is refused with status 2, without the address of the database", async (args, message) => {
	const { code, out, err } = await run(["outbox", ...args]);
	expect([code, out, err]).toEqual([2, "", expect.stringMatching(message)]);
	expect(err).not.toContain("hunter2");
});

test("the address comes from --database, then the environment, then the file", async () => {
	const file = join(folder, "variables");
	writeFileSync(file, "DATABASE_URL=oracle://file\n");
	const none = join(folder, "none.db");
	const missing = `There is no file at ${none}. --database or DATABASE_URL names it.`;
	const tried = async (env: Record<string, string>, ...args: string[]) =>
		(await run(["outbox", "health", ...args], env)).err.trim();
	expect(await tried({}, "--env", file)).toContain("begins with none of");
	expect(await tried({ DATABASE_URL: none }, "--env", file)).toBe(missing);
	expect(await tried({ DATABASE_URL: "oracle://x" }, "--database", `file:${none}`)).toBe(missing);
});

test("a folder in place of the file of the database is named", async () => {
	const { code, err } = await run(["outbox", "health"], { DATABASE_URL: folder });
	expect([code, err.trim()]).toEqual([
		2,
		`There is no file, but a folder, at ${folder}. --database or DATABASE_URL names it.`,
	]);
});

test.for([
	"postgres//ann:hunter2@127.0.0.1/crm",
	"ann:hunter2@127.0.0.1/crm",
	"ann/hunter2@127.0.0.1",
	"host=127.0.0.1 password=hunter2 dbname=crm",
	"crm.db?authToken=hunter2",
	"partner_live.k7f3a9.hunter2",
])("a path that may be an address with a password, or a key, is not repeated: %s", async (url) => {
	const { code, out, err } = await run(["outbox", "health"], { DATABASE_URL: url });
	expect([code, out]).toEqual([2, ""]);
	expect(err).toMatch(/^(There is no file at the path of the database|The address of the database begins with none)/);
	expect(err).not.toContain("hunter2");
});
