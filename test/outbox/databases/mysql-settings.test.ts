// How MySQL and MariaDB are set up: sql_mode, character sets, time zones, isolation levels and locks.

import type mysql from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore } from "../port.ts";

import { newText } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { runStatements } from "./statements.ts";

const text = { ...newText, createdAt: 1 };

/** Runs a statement on each connection of a pool before anything else. */
function withSession(pool: mysql.Pool, ...statements: string[]): mysql.Pool {
	pool.on("connection", (connection) => {
		// It is the connection of mysql2 that takes callbacks, whatever its type says.
		for (const statement of statements) void connection.query(statement);
	});
	return pool;
}

/** Runs every statement of a store. */
async function runAll(store: OutboxStore): Promise<void> {
	for (const id of ["t0", "t1", "t2", "t3"])
		await store.insert({ ...text, id, to: "+447700900001", agencyId: "agy_1" }, undefined);
	await runStatements(store);
	await store.recover(1);
	await store.erase({ to: "+447700900001" });
	expect(await store.purge(1_000_000)).toBeGreaterThanOrEqual(0);
}

const claim = { now: 10, limit: 9, each: 9, leaseMs: 60_000, isReading: false };

describe.each(mysqlKinds)("%s", (kind) => {
	const { create, openPool, query } = useMysql(kind);

	const open = async (...session: string[]) => {
		const url = await create();
		const pool = withSession(await openPool(url), ...session);
		const store = mysqlStore(pool);
		await store.migrate();
		return { url, pool, store };
	};
	/** A transaction on a connection of its own. */
	const begin = async (pool: mysql.Pool, statement = "start transaction") => {
		const tx = await pool.getConnection();
		await tx.query(statement);
		return tx;
	};
	const end = async (tx: mysql.PoolConnection, how = "commit") => {
		await tx.query(how);
		tx.release();
	};

	test.each([
		["", "set sql_mode = ''"],
		["NO_BACKSLASH_ESCAPES", "set sql_mode = 'NO_BACKSLASH_ESCAPES'"],
		["ANSI, strict", "set sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,PAD_CHAR_TO_FULL_LENGTH'"],
		["serializable", "set session transaction isolation level serializable"],
		["read uncommitted", "set session transaction isolation level read uncommitted"],
		["read committed", "set session transaction isolation level read committed"],
		["a connection in latin1", "set collation_connection = latin1_swedish_ci, character_set_client = latin1"],
		...(kind === "MariaDB" ? [["snapshot isolation", "set innodb_snapshot_isolation = on"]] : []),
	])("with the setting %s a text comes back to the letter, and changes once", async (_, session = "") => {
		const { pool, store } = await open(session);
		const body = "Één 'quoted' \"text\" \\' -- \\\\ \u{1F44B}\u{2070E} $1 ? \n\0";
		const tx = await begin(pool);
		await store.insert({ ...text, id: "a'\\", body }, tx);
		await store.insert({ ...text, id: "a'\\", body: "Another" }, tx);
		await end(tx);
		const row = await store.find("a'\\");
		expect(row).toMatchObject({ body, state: "waiting" });
		if (!row) throw new Error("no row");
		const saves = [store.save({ ...row, state: "sending" }), store.save({ ...row, state: "cancelled" })];
		expect((await Promise.all(saves)).sort()).toEqual([false, true]);
		await store.stop(text, "cancelAll");
		await store.insert({ ...text, id: "b" }, undefined);
		expect((await store.open(text, 10, 1)).find(({ id }) => id === "b")?.isStopped).toBe(false);
	});

	test("ids that differ by case, an accent or a space at the end are different ids", async () => {
		const { store } = await open();
		const ids = ["a", "A", "á", "a ", "a\t", "\u{1F600}", "\u{1F601}", "ß", "ss"];
		for (const id of ids) await store.insert({ ...text, id, body: id, agencyId: id }, undefined);
		for (const id of ids) {
			expect(await store.find(id)).toMatchObject({ id, body: id });
			expect(await store.open({ ...text, agencyId: id }, 10, 1)).toMatchObject([{ id }]);
		}
		await store.purge(10);
		await store.stop({ ...text, agencyId: "a" }, "cancelAll");
		const stopped = ids.map(async (agencyId) => (await store.open({ ...text, agencyId }, 1, 1))[0]?.isStopped);
		expect(await Promise.all(stopped)).toEqual([true, ...ids.slice(1).map(() => false)]);
	});

	test("what a column cannot hold is refused, and not cut off", async () => {
		const { store } = await open("set sql_mode = ''");
		for (const field of ["id", "agencyId", "consentLanguage"])
			await expect(store.insert({ ...text, id: "a", [field]: "x".repeat(256) }, undefined)).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field,
			});
		const long = { ...text, id: "x".repeat(255), body: "\u{1F44B}".repeat(40_000) };
		await store.insert(long, undefined);
		expect(await store.find(long.id)).toMatchObject(long);
	});

	test("a stop counts by UTC, whatever the time zones of the sessions are", async () => {
		const { url, store } = await open("set time_zone = '+13:00'");
		const west = mysqlStore(withSession(await openPool(url), "set time_zone = '-11:00'"));
		await store.insert({ ...text, id: "a" }, undefined);
		await west.stop(text, "cancelAll");
		await store.insert({ ...text, id: "b" }, undefined);
		await store.stop(text, "cancelAll");
		await west.insert({ ...text, id: "c" }, undefined);
		const stops = Object.fromEntries((await west.open(text, 10, 1)).map(({ id, isStopped }) => [id, isStopped]));
		expect(stops).toEqual({ a: true, b: true, c: false });
	});

	test("a stop covers a text whose transaction commits later, and none that is enqueued later", async () => {
		const { pool, store } = await open();
		const stored = await begin(pool);
		await store.insert({ ...text, id: "stored" }, stored);
		// A transaction that began before the stop, and enqueues after it.
		const decided = await begin(pool, "start transaction with consistent snapshot");
		await store.stop(text, "cancelAll");
		await store.insert({ ...text, id: "decided" }, decided);
		await store.insert({ ...text, id: "later" }, undefined);
		for (const tx of [stored, decided]) await end(tx);
		const rows = await store.open(text, 10, 1);
		expect(Object.fromEntries(rows.map(({ id, isStopped }) => [id, isStopped]))).toEqual({
			stored: true,
			decided: false,
			later: false,
		});
		for (const { isStopped, ...row } of rows)
			expect(await store.save({ ...row, state: "sending" }, { unlessStopped: true })).toBe(!isStopped);
	});

	test.each(["repeatable read", "read committed", "serializable"])(
		"with %s an id that another transaction has committed meanwhile gives its row",
		async (level) => {
			const { pool, store } = await open(`set session transaction isolation level ${level}`);
			const tx = await begin(pool);
			// The snapshot of the transaction is older than the other text.
			await tx.query("select 1 from outbox_workers");
			await store.insert({ ...text, id: "a", body: "First" }, undefined);
			expect(await store.insert({ ...text, id: "a", body: "Second" }, tx)).toMatchObject({ body: "First" });
			await end(tx);
			expect(await store.find("a")).toMatchObject({ body: "First" });
		},
	);

	test("two transactions with one id at the same moment: the second gets the row of the first", async () => {
		const { pool, store } = await open();
		const [first, second] = [await begin(pool), await begin(pool)];
		await store.insert({ ...text, id: "a", body: "First" }, first);
		const waiting = store.insert({ ...text, id: "a", body: "Second" }, second);
		await end(first);
		expect(await waiting).toMatchObject({ body: "First" });
		await end(second);
	});

	test("no statement of a worker waits for a transaction that has enqueued", async () => {
		const { pool, store } = await open("set innodb_lock_wait_timeout = 1");
		const row = await store.insert({ ...text, id: "a" }, undefined);
		const ended = await store.insert({ ...text, id: "e", to: "+447700900102" }, undefined);
		await store.save({ ...ended, state: "sent", nextAt: null, since: 1 });
		const tx = await begin(pool);
		await store.insert({ ...text, id: "b" }, tx);
		await store.insert({ ...text, id: "c", to: "+447700900102" }, tx);
		// A statement that waits would fail with a time-out.
		const claimed = await store.claim(claim);
		expect(claimed.map(({ to }) => to)).toEqual([text.to]);
		for (const lease of claimed) {
			await store.renew([lease.token], 60_000);
			await store.release(lease, { at: 60, band: 1 });
		}
		await store.save({ ...row, nextAt: 60 });
		await store.wake(text, 20);
		await store.wake({ to: text.to }, 15);
		await store.recover(10);
		await store.erase({ to: "+447700900102" });
		expect(await store.purge(10)).toBe(0);
		await store.migrate();
		const now = await store.find("a");
		if (!now) throw new Error("no row");
		expect(now).toMatchObject({ nextAt: 10, version: row.version + 3 });
		expect(await store.save({ ...now, state: "sending" }, { unlessStopped: true })).toBe(true);
		await store.stop(text, "cancelAll");
		await store.save({ ...now, version: now.version + 1, state: "dropped", nextAt: null });
		await store.acknowledge([{ id: "a", revision: 1 }], tx);
		// Nor does another caller, whose ids are beside those of the transaction.
		const other = await begin(pool);
		for (const id of ["0", "aa", "bb", "d", "z"]) await store.insert({ ...text, id, agencyId: "agy_3" }, other);
		await end(other);
		await end(tx);
		expect(await store.open(text, 10, 1)).toMatchObject([{ id: "b", isStopped: true }]);
	});

	test("a statement that is ended by a deadlock or a lock time-out is repeated", async () => {
		const { pool, store } = await open("set innodb_lock_wait_timeout = 1");
		for (const id of ["a", "b"]) await store.insert({ ...text, id, notAfter: 900 }, undefined);
		await pool.query("update outbox_texts set next_at = 100");
		await pool.query("create table ballast (n int)");
		const other = await begin(pool);
		// The transaction that has changed less is ended: that is the store's statement.
		await other.query(`insert into ballast values ${Array.from({ length: 50 }, (_, n) => `(${n})`).join(", ")}`);
		await other.query("update outbox_texts set body = 'B' where id = 'b'");
		const woken = store.wake(text, 50);
		await other.query("set innodb_lock_wait_timeout = 20");
		await other.query("update outbox_texts set body = 'A' where id = 'a'");
		// Longer than the time-out of the store's statement.
		await new Promise((resolve) => setTimeout(resolve, 1_500));
		await end(other);
		await woken;
		expect([await store.find("a"), await store.find("b")]).toMatchObject([
			{ body: "A", nextAt: 50 },
			{ body: "B", nextAt: 50 },
		]);
	});

	test("settings that lose texts are refused by name", async () => {
		for (const [options, session, rule] of [
			[{ charset: "latin1_swedish_ci" }, "do 0", /utf8mb4/],
			[{}, "set autocommit = 0", /autocommit/],
		] as const) {
			const pool = withSession(await openPool(undefined, options), session);
			await expect(mysqlStore(pool).migrate()).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "pool",
				operation: "migrate",
				rule: expect.stringMatching(rule),
			});
			const [tables] = await pool.query("show tables");
			expect(tables).toEqual([]);
		}
		const pool = await openPool();
		for (const prefix of ["1texts", "texts; drop", "a.b.c", ""])
			expect(() => mysqlStore(pool, { prefix })).toThrow(
				expect.objectContaining({ field: "prefix", rule: expect.stringContaining("database.name") }),
			);
	});

	test.each(["utf8_general_ci", "latin1_swedish_ci"])(
		"a connection in %s reads no text and stores none, also once another one has migrated",
		async (charset) => {
			const { url, store } = await open();
			await store.insert({ ...text, id: "a", body: "Hi \u{1F44B}" }, undefined);
			const pool = await openPool(url, { charset });
			const damaging = mysqlStore(pool);
			const refusal = (field: string) => ({
				_tag: "PartnerInvalidInput",
				field,
				rule: expect.stringContaining("utf8mb4"),
			});
			for (const act of [
				() => damaging.open(text, 10, 1),
				() => damaging.find("a"),
				() => damaging.unfinished(text),
				() => damaging.insert({ ...text, id: "b" }, undefined),
			])
				await expect(act()).rejects.toMatchObject(refusal("pool"));
			const tx = await begin(pool);
			for (const of of [store, damaging])
				await expect(of.insert({ ...text, id: "b" }, tx)).rejects.toMatchObject(refusal("tx"));
			await end(tx);
			expect(await store.find("b")).toBeUndefined();
			// The row has the same columns as before.
			expect(await store.find("a")).toMatchObject({ body: "Hi \u{1F44B}" });
			expect(Object.keys((await store.find("a")) ?? {})).not.toContain("wave");
		},
	);

	test("sql_safe_updates refuses no statement", async () => {
		const { pool, store } = await open("set sql_safe_updates = 1");
		await runAll(store);
		const tx = await begin(pool);
		await store.insert({ ...text, id: "in a transaction" }, tx);
		await store.acknowledge([{ id: "in a transaction", revision: 1 }], tx);
		await end(tx);
		expect(await store.find("in a transaction")).toMatchObject({ state: "waiting" });
	});

	test("processes that start at the same moment all find their tables, also in a database of their own", async () => {
		const pool = await openPool();
		const database = `crm_${crypto.randomUUID().slice(0, 8)}`;
		await Promise.all(
			["outbox", `${database}.outbox`].flatMap((prefix) => [1, 2, 3].map(() => mysqlStore(pool, { prefix }).migrate())),
		);
		await mysqlStore(pool, { prefix: `${database}.outbox` }).insert({ ...text, id: "a" }, undefined);
		const [rows] = await pool.query(`select id from ${database}.outbox_texts`);
		expect(rows).toEqual([{ id: "a" }]);
		expect(await mysqlStore(pool, { prefix: "outbox" }).find("a")).toBeUndefined();
		await pool.query(`drop database ${database}`);
	});

	test("a user who may only read and write rows can migrate, enqueue and work once the tables are there", async () => {
		const { url, pool, store } = await open();
		const database = new URL(url).pathname.slice(1);
		const user = `app_${crypto.randomUUID().slice(0, 8)}`;
		const limited = new URL(url);
		limited.username = user;
		limited.password = "sesame";
		await pool.query(`create user ${user} identified by 'sesame'`);
		await pool.query(`grant select, insert, update, delete on ${database}.* to ${user}`);
		const app = await openPool(limited.href);
		for (const prefix of ["outbox", `${database}.outbox`]) {
			const own = mysqlStore(app, { prefix });
			await own.migrate();
			await own.insert({ ...text, id: prefix }, undefined);
		}
		expect(await store.claim(claim)).toHaveLength(1);
		// Missing tables still need the right.
		await expect(mysqlStore(app, { prefix: "other" }).migrate()).rejects.toMatchObject({
			code: "ER_TABLEACCESS_DENIED_ERROR",
		});
		await pool.query(`drop user ${user}`);
	});

	test("a text that cannot be read back in a transaction fails with the database's code", async () => {
		const { url, pool, store } = await open();
		await query(url, "rename table outbox_texts to elsewhere");
		const tx = await begin(pool);
		await expect(store.insert({ ...text, id: "a" }, tx)).rejects.toMatchObject({ code: "ER_NO_SUCH_TABLE" });
		await end(tx, "rollback");
	});

	test("a row whose transaction was not proven counts as absent", async () => {
		const { pool, store } = await open();
		const left = async (id: string) => {
			await store.insert({ ...text, id, body: "Left over" }, undefined);
			await pool.query(
				"update outbox_texts set state = 'unconfirmed', next_at = null, queue_id = 'token' where id = ?",
				[id],
			);
		};
		const count = async () => ((await pool.query("select id from outbox_texts")) as unknown[][])[0]?.length;
		await left("a");
		expect(await store.find("a")).toBeUndefined();
		expect([await store.open(text, 10, 1), await store.unfinished(text), await store.claim(claim)]).toEqual([
			[],
			[],
			[],
		]);
		expect(await store.insert({ ...text, id: "a", body: "New" }, undefined)).toMatchObject({ body: "New" });
		await left("b");
		const tx = await begin(pool);
		expect(await store.insert({ ...text, id: "b", body: "New" }, tx)).toMatchObject({ body: "New" });
		await end(tx);
		expect(await store.find("b")).toMatchObject({ body: "New", state: "waiting", queueId: null, nextAt: 1 });
		await left("c");
		await store.erase({ to: text.to });
		expect(await count()).toBe(2);
		await left("d");
		expect([await store.purge(10), await count()]).toEqual([1, 2]);
	});

	test("an enqueue outside of a transaction leaves no row behind", async () => {
		const { pool, store } = await open();
		const connection = await pool.getConnection();
		await expect(store.insert({ ...text, id: "a" }, connection)).rejects.toMatchObject({ field: "tx" });
		connection.release();
		expect((await pool.query("select id from outbox_texts"))[0]).toEqual([]);
	});
});
