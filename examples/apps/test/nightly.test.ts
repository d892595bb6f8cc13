import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient as openDatabase } from "@libsql/client";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, afterEach, expect, test } from "vitest";
import { seedContacts } from "../nightly/crm.ts";
import { runNightly, schema } from "../nightly/job.ts";
import { createProgress } from "../nightly/progress.ts";

const folder = mkdtempSync(join(tmpdir(), "nightly-"));
const opened: Client[] = [];
afterEach(() => {
	for (const db of opened.splice(0)) db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function open(count: number, url = ":memory:") {
	const sandbox = createSandbox({ seed: "busy" });
	const client = createClient({ ...sandbox.connection, retry: false });
	const db = openDatabase({ url });
	opened.push(db);
	await db.executeMultiple(schema);
	await seedContacts(db, count);
	const chats = async () =>
		(await db.execute("select * from chat order by contact_id")).rows.map((row) => ({ ...row }));
	return { sandbox, db, chats, agency: client.agency(sandbox.agency().id) };
}

test("50,000 contacts are looked up and written, with a bar", async () => {
	const { sandbox, db, agency } = await open(50_000);
	const lines: string[] = [];
	const bar = createProgress(50_000, 0, { isTTY: false, write: (line: string) => lines.push(line) > 0 });
	await runNightly({ db, agency, night: "2026-01-05", progress: bar });
	const { rows } = await db.execute(`select count(*) as rows, count(last_message_at) as conversations,
		sum(phone_number is null) as unusable, sum(total_messages) as messages from chat`);
	expect({ ...rows[0] }).toEqual({ rows: 50_000, conversations: 250, unusable: 500, messages: expect.any(Number) });
	expect(lines).toHaveLength(10);
	expect(lines.at(-1)).toContain("█".repeat(30));
	expect(lines.at(-1)).toContain("50,000/50,000");
	// 25 batches of 2,000 in hundreds, the unusable left out: not one request too many.
	expect(sandbox.requests()).toHaveLength(500);
	expect(sandbox.violations()).toEqual([]);
});

test("a run that breaks off goes on where it was, and a second run of the night changes nothing", async () => {
	const { sandbox, db, agency, chats } = await open(5_000, `file:${join(folder, "crm.db")}`);
	const run = (night: string) => runNightly({ db, agency, night, batch: 1_000 });
	sandbox.faults.add({ operation: "conversations.lookup", skip: 25, times: 1, effect: { status: 500 } });
	await expect(run("monday")).rejects.toMatchObject({ _tag: "PartnerInternalError" });
	expect(await chats()).toHaveLength(2_000);

	const asked = () => sandbox.requests().filter(({ status }) => status === 200).length;
	const before = asked();
	expect(await run("monday")).toEqual({ looked: 5_000 });
	expect(await chats()).toHaveLength(5_000);
	expect(asked() - before).toBe(30); // the 3,000 that were left

	const [first] = [await chats()];
	const finished = asked();
	await run("monday");
	expect(asked()).toBe(finished);
	await run("tuesday");
	expect(asked()).toBe(finished + 50);
	expect(await chats()).toEqual(first);
});

test("a later night writes over what has changed", async () => {
	const { sandbox, db, agency, chats } = await open(200);
	await runNightly({ db, agency, night: "monday" });
	sandbox.clock.advance({ hours: 1 });
	sandbox.agency().contact("+447700900101").writes("Hello again");
	await runNightly({ db, agency, night: "tuesday" });
	const [anna, ...others] = await chats();
	expect(anna).toMatchObject({ phone_number: "+447700900101", last_inbound_at: "2026-01-05T10:00:00.000Z" });
	expect(others.every((row) => row.last_message_at === null)).toBe(true);
});
