// What changes very many texts does it in statements that a database with a time limit lets end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import Libsql from "libsql";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { sqliteStore } from "../port.ts";
import { agencyId, frequent, type Many, manyOnMariadb, manyOnPostgres, manyOnSqlite } from "./many.ts";
import { type MysqlServer, startMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const { create } = usePostgres(import.meta.url);
let mariadb: MysqlServer | undefined;
beforeAll(async () => {
	mariadb = await startMysql();
});
afterAll(async () => mariadb?.close());

/** A third of them are to one number, and half of them have ended. */
const count = 12_000;
const to = { to: frequent };
const openPostgres = async (texts: number, limitMs = 0): Promise<Many> =>
	manyOnPostgres(await create(), texts, limitMs);
const openMariadb = async (texts: number, limitMs = 0): Promise<Many> =>
	manyOnMariadb((await mariadb?.create()) ?? "", texts, limitMs);

test.each([
	["PostgreSQL", openPostgres],
	["MariaDB", openMariadb],
	["SQLite", (texts: number) => manyOnSqlite(newFile(), texts)],
])("what changes very many texts changes a few hundred at once: %s", async (_, open) => {
	const many = await open(count);
	const { store, run, statements } = many;
	const counted = async (where: string, table = "outbox_texts"): Promise<number> =>
		Number(Object((await run(`select count(*) as n from ${table} where ${where}`))[0]).n);
	try {
		const [all, waiting] = [await counted("1 = 1"), await counted("state = 'waiting'")];
		expect([all, waiting]).toEqual([count, count / 2]);
		statements();
		expect(await store.unfinished(to)).toHaveLength(count / 6);
		const turn = await store.open({ ...to, agencyId }, count, 1);
		expect(turn.map(({ seq }) => seq)).toEqual((await store.unfinished(to)).map(({ seq }) => seq));
		// Of a whole agency, half of whose texts have ended.
		expect(new Set((await store.unfinished({ agencyId })).map(({ seq }) => seq)).size).toBe(waiting);
		await store.wake({ ...to, agencyId }, 900_000);
		expect(await counted("next_at = 900000")).toBe(count / 6);
		// Of the few that sleep it reads no others.
		await run(
			"update outbox_texts set reason = 'quiet_hours', next_at = 1234567 where state = 'waiting' and seq % 20 = 0",
		);
		const asleep = await counted("next_at = 1234567");
		const before = statements();
		await store.awaken({ agencyId, until: 1_234_567 }, 850_000);
		const awakening = statements();
		expect(await counted("next_at = 850000")).toBe(asleep);
		const ofTexts = awakening.filter(({ sql }) => !sql.includes("outbox_queues"));
		expect(ofTexts.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(2 * asleep + 1);
		await store.recover(800_000);
		expect(await counted("next_at = 800000")).toBe(waiting);
		expect(await counted("due_at > 800000", "outbox_queues")).toBe(0);
		await store.endSuspension(agencyId, 700_000);
		expect(await counted("due_at > 700000", "outbox_queues")).toBe(0);
		expect(await store.restored({ from: 1, to: 9e12 }, "restored")).toMatchObject({ count: waiting });
		expect(await counted("restored_from = 1 and restored_to = 9000000000000")).toBe(waiting);
		await store.erase(to);
		expect(await counted("recipient = ''")).toBe(count / 6);
		// What was erased stays, so that no id is used again.
		expect(await store.purge(1_000)).toBe(count / 2 - count / 6);
		expect(await counted("1 = 1")).toBe(waiting + count / 6);
		const ran = [...before, ...awakening, ...statements()];
		expect(ran.length).toBeGreaterThan(30);
		expect(ran.filter(({ rows }) => rows > 500)).toEqual([]);
		expect(ran.filter(({ rows }) => rows === 500).length).toBeGreaterThan(60);
	} finally {
		await many.close();
	}
});

/**
 * Each row that is changed takes a millisecond, so that the limit does not depend on the machine: all of them take longer than it. Many
 * rows nap at once, because a busy machine wakes late.
 */
const each = 5_000;
const limitMs = 4_500;
const naps = 50;

test.each([
	[
		"statement_timeout of PostgreSQL",
		openPostgres,
		[
			`create function nap() returns trigger language plpgsql as $$ begin
				if old.seq % ${2 * naps} < 2 then perform pg_sleep(${naps / 1_000}); end if;
				if tg_op = 'DELETE' then return old; end if; return new; end $$`,
			"create trigger nap before update or delete on outbox_texts for each row execute function nap()",
		],
	],
	[
		"max_statement_time of MariaDB",
		openMariadb,
		["update", "delete"].map(
			(what) => `create trigger nap_${what} before ${what} on outbox_texts for each row
				do if(old.seq % ${2 * naps} < 2, sleep(${naps / 1_000}), 0)`,
		),
	],
])("purge and erase end under the %s", async (_, open, triggers) => {
	const many = await open(2 * each, limitMs);
	try {
		await many.run(`update outbox_texts set state = 'read', next_at = null,
			recipient = case when seq % 2 = 0 then '${frequent}' else '+447700900002' end`);
		for (const sql of triggers) await many.run(sql);
		await many.store.erase(to);
		expect(await many.run("select 1 as one from outbox_texts where recipient = ''")).toHaveLength(each);
		expect(await many.store.purge(1_000)).toBe(each);
	} finally {
		await many.close();
	}
});

test("a purge passes over what nobody has acknowledged, however much that is, and deletes what comes after it", async () => {
	const many = await openPostgres(5_000);
	try {
		await many.run("update outbox_texts set unacknowledged = 1 where state = 'read' and seq <= 2400");
		expect(await many.store.unacknowledged(10)).toHaveLength(10);
		expect(await many.store.purge(1_000)).toBe(100);
	} finally {
		await many.close();
	}
});

/** Writes to another table of the file, and notes how many texts it sees. */
const neighbour = `const Libsql = require("libsql");
const db = new Libsql(process.argv[1]);
db.exec("pragma busy_timeout = 60000");
process.stdout.write("writes\\n");
setInterval(() => db.exec("insert into seen select count(*) from outbox_texts"), 5);`;

test("another process writes to SQLite during a purge", async () => {
	const file = newFile();
	const many = await manyOnSqlite(file, 20_000);
	await many.run("create table seen (n integer)");
	const child = spawn(process.execPath, ["-e", neighbour, file], {
		cwd: new URL(".", import.meta.url),
		stdio: ["ignore", "pipe", "inherit"],
	});
	try {
		await once(child.stdout ?? child, "data");
		expect(await many.store.purge(1_000)).toBe(10_000);
	} finally {
		child.kill("SIGKILL");
		await once(child, "exit");
	}
	const seen = new Libsql(file).prepare("select n from seen where n not in (10000, 20000)").all();
	expect(seen.length).toBeGreaterThan(0);
	await many.close();
});

test("a purge waits for as long as its statements took before it goes on, so that others get their turn", async () => {
	const file = newFile();
	const many = await manyOnSqlite(file, 4_000);
	await many.close();
	vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
	onTestFinished(() => void vi.useRealTimers());
	const db = new Libsql(file);
	let ran = 0;
	const takes40 = <Result>(result: Result): Result => {
		ran++;
		vi.advanceTimersByTime(40);
		return result;
	};
	const prepare = (sql: string) => {
		const statement = db.prepare(sql);
		const all = (...values: unknown[]) => takes40(statement.all(...values));
		return { all, run: (...values: unknown[]) => takes40(statement.run(...values)) };
	};
	let isOver = false;
	const purging = sqliteStore({ prepare })
		.purge(1_000)
		.finally(() => (isOver = true));
	await vi.advanceTimersByTimeAsync(0);
	let pauses = 0;
	for (; !isOver; pauses++) {
		// Those that find and delete the texts.
		const before = ran;
		await vi.advanceTimersByTimeAsync(79);
		expect(ran).toBe(before);
		await vi.advanceTimersByTimeAsync(1);
		expect(ran).toBeGreaterThan(before);
	}
	expect(await purging).toBe(2_000);
	expect(pauses).toBeGreaterThan(2);
	db.close();
});
