import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "@libsql/client";
import Libsql from "libsql";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText, storeSuite } from "../store-suite.ts";
import { emptyPglite, newFile, openLibsql, openLibsqlClient, openPglite } from "./open.ts";
import { usePostgres } from "./server.ts";
import { checkSources } from "./sources.ts";

const { openPool } = usePostgres(import.meta.url);

const text = { ...newText, createdAt: 1 };

let shared: Promise<pg.Pool> | undefined;

/** An empty database on the server. A suite shares one, because creating it takes longer than emptying it. */
async function emptyPool(): Promise<pg.Pool> {
	shared ??= openPool();
	const pool = await shared;
	await pool.query("drop schema if exists public, crm cascade; create schema public");
	return pool;
}

describe("libsql", () => storeSuite(openLibsql));
describe("@libsql/client", () => storeSuite(openLibsqlClient));
describe("a PostgreSQL server", () =>
	storeSuite(async () => postgresStore(await emptyPool()), {
		async transaction(act) {
			const client = await (await shared)?.connect();
			if (!client) throw new Error("no store was opened");
			try {
				await client.query("begin");
				await act(client);
				await client.query("commit");
			} catch (error) {
				await client.query("rollback");
				throw error;
			} finally {
				client.release();
			}
		},
	}));
if (isLong) {
	describe("PGlite", () => storeSuite(openPglite));
	describe("a PostgreSQL server, in a schema of its own", () =>
		storeSuite(async () => {
			const pool = await emptyPool();
			await pool.query("create schema crm");
			return postgresStore(pool, { prefix: "crm.outbox" });
		}));
}

// Another 190 MB of Node. The statements are those of libsql.
if (isLong)
	test("node:sqlite and better-sqlite3, which need Node 22 or later", async () => {
		const cwd = fileURLToPath(new URL(".", import.meta.url));
		const node = join(cwd, "node_modules/node-24/bin/node");
		const vitest = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
		const { stdout } = await promisify(execFile)(node, [vitest, "run", "--config", "vitest.newer.config.ts"], {
			cwd,
			env: { ...process.env, NO_COLOR: "1" },
		});
		expect(stdout).toMatch(/Tests {2}\d+ passed \(\d+\)/);
	});

test("what is known of a contact is under a hash that cannot be reversed: each database has a key of its own", async () => {
	const hashes = async () => {
		const db = new Libsql(newFile());
		const store = sqliteStore(db);
		await store.migrate();
		await store.stop(text, "cancelAll");
		await store.stop({ to: text.to }, "cancelAll");
		await store.note(text, { optedOut: { service: 1 } }, "reading");
		const rows = db.prepare("select agency_id, hash from outbox_contacts order by agency_id").all();
		expect(rows).toMatchObject([{ agency_id: "" }, { agency_id: text.agencyId }]);
		expect(JSON.stringify(rows)).not.toContain(text.to.slice(1));
		return (rows as { hash: string }[]).map(({ hash }) => hash);
	};
	const all = [...(await hashes()), ...(await hashes())];
	// One for the number in each database, whatever the agency.
	expect(new Set(all).size).toBe(2);
});

describe("each fact is stored with what told of it", () => {
	test("on SQLite", async () => {
		const db = new Libsql(newFile());
		await checkSources(sqliteStore(db), async (sql) => db.prepare(sql).all());
	});
	test("on PostgreSQL", async () => {
		const pool = await openPool();
		await checkSources(postgresStore(pool), async (sql) => (await pool.query(sql)).rows);
	});
});

test("processes that start at the same moment all find their tables on a PostgreSQL server", async () => {
	const pool = await openPool();
	await Promise.all([1, 2, 3, 4].map(() => pool.query("select pg_sleep(0.1)")));
	for (let round = 0; round < (isLong ? 10 : 4); round++) {
		const prefix = `outbox_${round}`;
		await Promise.all([1, 2, 3, 4].map(() => postgresStore(pool, { prefix }).migrate()));
	}
});

test("migrating again waits for no transaction that has enqueued on a PostgreSQL server", async () => {
	const pool = await openPool(undefined, "-c lock_timeout=1000");
	const store = postgresStore(pool);
	await store.migrate();
	const tx = await pool.connect();
	try {
		await tx.query("begin");
		await store.insert({ ...text, id: "a" }, tx);
		await store.migrate();
		await tx.query("commit");
	} finally {
		tx.release(true);
	}
	expect((await store.find("a"))?.id).toBe("a");
});

test.each(["outbox", "crm.outbox"])("an index that is missing is created: %s", async (prefix) => {
	const pool = await openPool();
	await pool.query("create schema crm");
	const store = postgresStore(pool, { prefix });
	await store.migrate();
	const definition = "select indexdef from pg_indexes where indexname like '%_texts_queue'";
	const { rows: before } = await pool.query(definition);
	await pool.query(`drop index ${prefix}_texts_queue`);
	await store.migrate();
	expect((await pool.query(definition)).rows).toEqual(before);
	expect(before).toHaveLength(1);
});

test.each([
	["of a contact", { agencyId: text.agencyId, to: text.to }],
	["of an agency", { agencyId: text.agencyId }],
])("a stop %s covers a text whose transaction commits later, and none that is enqueued later", async (_, whose) => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	await store.insert({ ...text, id: "held" }, undefined);
	const [first, second] = [await pool.connect(), await pool.connect()];
	try {
		for (const tx of [first, second]) await tx.query("begin");
		// Both transactions began before the stop. One text is enqueued before it, the other one after it.
		await store.insert({ ...text, id: "stored" }, first);
		await store.stop(whose, "cancelAll");
		await store.insert({ ...text, id: "begun" }, second);
		await store.insert({ ...text, id: "later" }, undefined);
		for (const tx of [first, second]) await tx.query("commit");
		const open = await store.open(text, 10, 1);
		expect(Object.fromEntries(open.map(({ id, isStopped }) => [id, isStopped]))).toEqual({
			held: true,
			stored: true,
			begun: false,
			later: false,
		});
		for (const { id, isStopped, ...row } of open) {
			const isSaved = await store.save({ ...row, id, state: "sending" }, { unlessStopped: true });
			expect([id, isSaved]).toEqual([id, !isStopped]);
		}
	} finally {
		for (const tx of [first, second]) tx.release(true);
	}
});

test.each(["commit", "rollback"])("an acknowledgement in the caller's transaction: %s", async (end) => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	const row = await store.insert({ ...text, id: "a" }, undefined);
	await store.save({ ...row, state: "sent", unacknowledged: 1 });
	const tx = await pool.connect();
	await tx.query("begin");
	await store.acknowledge([{ id: "a", revision: 1 }], tx);
	expect(await store.unacknowledged(10)).toHaveLength(1);
	await tx.query(end);
	tx.release();
	expect(await store.unacknowledged(10)).toHaveLength(end === "commit" ? 0 : 1);
});

test("a statement that PostgreSQL ends because of a deadlock is repeated", async () => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	for (const id of ["a", "b"]) await store.insert({ ...text, id }, undefined);
	await pool.query("update outbox_texts set next_at = 100");
	const other = await pool.connect();
	try {
		// The store's statement is the one that is ended.
		await other.query("set deadlock_timeout = '1min'");
		await other.query("begin");
		await other.query("update outbox_texts set body = 'B' where id = 'b'");
		const woken = store.wake(text, 50);
		const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
		await expect.poll(async () => (await pool.query(waiting)).rows.length).toBe(1);
		await other.query("update outbox_texts set body = 'A' where id = 'a'");
		await other.query("commit");
		await woken;
	} finally {
		other.release(true);
	}
	expect([await store.find("a"), await store.find("b")]).toMatchObject([
		{ body: "A", nextAt: 50 },
		{ body: "B", nextAt: 50 },
	]);
});

describe("a text in the caller's transaction is there with the caller's row, or neither is", () => {
	async function both(store: OutboxStore, write: (id: string, fail: boolean) => Promise<void>): Promise<void> {
		await store.migrate();
		await write("a", false);
		await expect(write("b", true)).rejects.toThrow("thought better");
		expect([(await store.find("a"))?.id, await store.find("b")]).toEqual(["a", undefined]);
	}

	test("@libsql/client", async () => {
		const db = createClient({ url: `file:${newFile()}` });
		const store = sqliteStore(db);
		await both(store, async (id, fail) => {
			const tx = await db.transaction("write");
			await store.insert({ ...text, id }, tx);
			if (!fail) return tx.commit();
			await tx.rollback();
			await expect(store.insert({ ...text, id }, tx)).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "tx",
			});
			throw new Error("thought better of it");
		});
	});

	test("libsql, in its synchronous transaction", async () => {
		const db = new Libsql(newFile());
		const store = sqliteStore(db);
		await both(store, async (id, fail) => {
			const inserted: Promise<unknown>[] = [];
			db.transaction(() => {
				inserted.push(Promise.resolve(store.insert({ ...text, id }, db)).catch(() => {}));
				if (fail) throw new Error("thought better of it");
			})();
			await Promise.all(inserted);
		});
	});

	test("libsql: an object that only looks like a database, or whose transaction has ended", async () => {
		const db = new Libsql(newFile());
		const store = sqliteStore(db);
		await store.migrate();
		const statement = { all: () => [], run: () => ({ changes: 1 }) };
		const statements = new Map<string, ReturnType<typeof db.prepare>>();
		const cached = (sql: string) => statements.get(sql) ?? statements.set(sql, db.prepare(sql)).get(sql);
		// What the cache knows from outside of a transaction proves nothing inside of one.
		await expect(store.insert({ ...text, id: "a" }, { prepare: cached } as never)).rejects.toMatchObject({
			field: "tx",
		});
		db.exec("begin");
		await store.insert({ ...text, id: "open" }, { prepare: cached } as never);
		db.exec("commit");
		for (const tx of [
			{ prepare: () => statement },
			{ prepare: () => statement, inTransaction: true },
			{ prepare: cached },
			{ prepare: (sql: string) => db.prepare(sql), inTransaction: true },
		]) {
			const refusal = { _tag: "PartnerInvalidInput", field: "tx" };
			await expect(store.insert({ ...text, id: "a" }, tx as never)).rejects.toMatchObject(refusal);
			await expect(store.acknowledge([{ id: "open", revision: 1 }], tx as never)).rejects.toMatchObject(refusal);
		}
		expect([(await store.find("open"))?.id, await store.find("a")]).toEqual(["open", undefined]);
	});

	test("libsql, while a transaction is open on the connection: the worker's own statements wait for its end", async () => {
		const db = new Libsql(newFile());
		const store = sqliteStore(db);
		await store.migrate();
		await store.insert({ ...text, id: "a" }, undefined);
		const row = await store.find("a");
		if (!row) throw new Error("no row");
		db.exec("begin");
		const saved = store.save({ ...row, state: "sending" });
		await store.insert({ ...text, id: "b" }, db);
		await new Promise((resolve) => setTimeout(resolve, 30));
		db.exec("rollback");
		expect(await saved).toBe(true);
		expect([(await store.find("a"))?.state, await store.find("b")]).toEqual(["sending", undefined]);
	});

	test("PGlite", async () => {
		const db = await emptyPglite();
		const store = postgresStore(db);
		await both(store, (id, fail) =>
			db.transaction(async (tx) => {
				await store.insert({ ...text, id }, tx);
				if (fail) throw new Error("thought better of it");
			}),
		);
	});

	test("PGlite: a transaction of it is a tx, and the database itself is none", async () => {
		const db = await emptyPglite();
		const store = postgresStore(db);
		await store.migrate();
		await expect(store.insert({ ...text, id: "a" }, db)).rejects.toMatchObject({ field: "tx" });
		await db.transaction(async (tx) => store.insert({ ...text, id: "b" }, tx));
		expect([await store.find("a"), await store.find("b")]).toMatchObject([undefined, { id: "b" }]);
	});

	test("PGlite, by an ORM that gives columns in camel case", async () => {
		const db = await emptyPglite();
		const store = postgresStore(db);
		await store.migrate();
		const camelCase = (row: unknown) =>
			Object.fromEntries(
				Object.entries(Object(row)).map(([name, value]) => [
					name.replace(/_(.)/, (_, letter) => letter.toUpperCase()),
					value,
				]),
			);
		const stored = await db.transaction(async (tx) => {
			const query = async (sql: string, values?: unknown[]) => ({
				rows: (await tx.query(sql, values)).rows.map(camelCase),
			});
			return store.insert({ ...text, id: "a", notAfter: 2 }, { query });
		});
		expect(stored).toEqual(await store.find("a"));
	});

	test("a PostgreSQL server", async () => {
		const pool = await openPool();
		const store = postgresStore(pool);
		await both(store, async (id, fail) => {
			const client = await pool.connect();
			await client.query("begin");
			await store.insert({ ...text, id }, client);
			await client.query(fail ? "rollback" : "commit");
			client.release();
			if (fail) throw new Error("thought better of it");
		});
	});
});
