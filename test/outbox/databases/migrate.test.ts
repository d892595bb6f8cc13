// Tables of version 0.2 are brought up to date, and the work on their texts continues.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxStore, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { newText } from "../store-suite.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { idsOf02, noon, tablesOf02 } from "./version-0.2.ts";

const { openPool } = usePostgres(import.meta.url);

interface Opened {
	store: OutboxStore;
	query: (sql: string) => Promise<Record<string, unknown>[]>;
	indexes: () => Promise<unknown[]>;
}

async function openSqlite(): Promise<Opened> {
	const db = new Libsql(newFile());
	for (const sql of tablesOf02("seq integer primary key autoincrement")) db.exec(sql);
	const query = async (sql: string) => db.prepare(sql).all() as Record<string, unknown>[];
	const indexes = "select name from sqlite_master where type = 'index' and name like 'outbox_text%' order by name";
	return { store: sqliteStore(db), query, indexes: () => query(indexes) };
}

async function openPostgres(table: string): Promise<Opened> {
	const pool = await openPool();
	if (table.includes(".")) await pool.query("create schema crm");
	for (const sql of tablesOf02("seq bigint generated always as identity primary key", table)) await pool.query(sql);
	const query = async (sql: string) => (await pool.query(sql.replaceAll("outbox_text", table))).rows;
	const indexes = `select indexname as name from pg_indexes where tablename = '${table.replace("crm.", "")}' order by 1`;
	return { store: postgresStore(pool, { table }), query, indexes: () => query(indexes) };
}

const databases: [name: string, open: () => Promise<Opened>][] = [
	["SQLite", openSqlite],
	["PostgreSQL", () => openPostgres("outbox_text")],
	["PostgreSQL, in a schema", () => openPostgres("crm.texts")],
];

test.each(databases)("every text of version 0.2 is there, as it was: %s", async (_, open) => {
	const { store, query, indexes } = await open();
	// The processes of a new version start at the same moment.
	await Promise.all([store.migrate(), store.migrate()]);
	const [names, rows] = [await indexes(), await query("select * from outbox_text order by seq")];
	await store.migrate();
	expect(await indexes()).toEqual(names);
	expect(await query("select * from outbox_text order by seq")).toEqual(rows);
	const ends = names.map((row) => String(Object(row).name).replace(/.*text(s|_worker|_stop)?_/, ""));
	expect(ends).not.toContain("lane");
	expect(ends).toEqual(expect.arrayContaining(["turn", "queue", "number", "sent", "message"]));

	for (const id of idsOf02) {
		const row = await store.find(id);
		expect(row).toMatchObject({
			id,
			body: `Text ${id}`,
			state: id === "unclear" ? "unknown" : ["tried", "behind"].includes(id) ? "waiting" : id,
			reason: null,
			notBefore: null,
			priority: 0,
			readyAt: 0,
			version: 3,
			unacknowledged: null,
		});
		expect(row?.progress).not.toHaveProperty("tries");
	}
	const progressOf = async (id: string) => (await store.find(id))?.progress;
	expect(await progressOf("waiting")).toMatchObject({ attempts: 0, requests: [], generation: 0, baseline: null });
	expect(await progressOf("sending")).toMatchObject({
		attempts: 1,
		requests: [{ at: noon }],
		language: "nl",
		baseline: { since: noon - 9, known: ["SM0"], openMs: null },
	});
	expect(await progressOf("tried")).toMatchObject({
		requests: [{ at: noon, cleared: true }],
		error: { tag: "PartnerInternalError", correlationId: "c" },
	});
	expect(await progressOf("held")).toMatchObject({ requests: [{ at: noon, end: "held" }] });
	expect(await progressOf("sent")).toMatchObject({ requests: [{ at: noon, end: "accepted" }] });

	// What was tried stays the first, whatever comes with a higher priority.
	const tried = await store.find("tried");
	if (!tried) throw new Error("no row");
	await store.insert({ ...tried, id: "urgent", priority: 5, createdAt: noon }, undefined);
	expect((await store.open(tried, 10, noon)).map(({ id }) => id)).toEqual(["tried", "urgent", "behind"]);
	await store.stop(tried);
	expect((await store.open(tried, 10, noon)).map(({ isStopped }) => isStopped)).toEqual([true, true, true]);
});

test.each(databases)("the work continues: %s", async (_, open) => {
	const { store, query } = await open();
	const sandbox = createSandbox({ now: new Date(noon) });
	const agency = sandbox.agency();
	const [first, second] = [agency.contact("+447700900101"), agency.contact("+447700900102")];
	for (const contact of [first, second]) contact.writes("Hello");
	// What version 0.2 knew of other contacts is not in this sandbox.
	await query(
		`delete from outbox_text where state in ('sending', 'held', 'sent') and recipient <> '${first.phoneNumber}'`,
	);
	await query(`update outbox_text set agency_id = '${agency.id}'`);
	const client = createClient({ ...sandbox.connection });
	const outbox = createOutbox({ client, store, now: sandbox.clock.now });
	await outbox.migrate();
	// The worker of version 0.2 is gone.
	await query("delete from outbox_text_worker where token = 'gone'");
	await outbox.drain();
	sandbox.clock.advance({ minutes: 10 });
	await outbox.drain();
	const inbox = (contact: typeof first) => contact.inbox().map(({ body }) => body);
	expect([inbox(first), inbox(second)]).toEqual([["Text waiting"], ["Text tried", "Text behind"]]);
	expect(await outbox.status("unclear")).toMatchObject({ state: "unknown" });
	expect((await outbox.settled()).map(({ id, state }) => [id, state]).sort()).toEqual([
		["behind", "sent"],
		["tried", "sent"],
		["waiting", "sent"],
	]);
	await outbox.enqueue({ id: "new", agencyId: agency.id, to: first.phoneNumber, body: "New" });
	await outbox.drain();
	expect(inbox(first)).toEqual(["Text waiting", "New"]);
});

test.each(databases)(
	"a worker waits for one of an earlier version, which is refused afterwards: %s",
	async (_, open) => {
		const { store, query } = await open();
		await store.migrate();
		const lock = (set: string) => query(`update outbox_text_worker set ${set}`);
		await lock(`token = 'old', host = 'another machine', beat_at = ${Date.now()}`);
		expect(await Promise.all([store.join(), store.join()])).toEqual([false, false]);
		await lock(`beat_at = ${Date.now() + 1}`);
		expect(await store.join()).toBe(false);
		// It has changed a text since a newer worker had put it into its queue.
		const claim = { now: noon + 20, limit: 99, each: 99, leaseMs: 60_000, isReading: false };
		for (const lease of await store.claim(claim)) await store.release(lease);
		expect(await store.claim(claim)).toEqual([]);
		await query("delete from outbox_text_worker where token = 'old'");
		expect(await Promise.all([store.join(), store.join()])).toEqual([true, true]);
		expect((await store.claim(claim)).map(({ to }) => to).sort()).toEqual(
			["+447700900101", "+447700900102", "+447700900103"].sort(),
		);
		// One of an earlier version works only if it can replace the row that it has read.
		const [row] = await query("select token, beat_at from outbox_text_worker");
		expect(row?.token).not.toBe("old");
		expect(Math.abs(Date.now() - Number(row?.beat_at))).toBeLessThan(600_000);
	},
);

test("an index whose build was ended on PostgreSQL is built again", async () => {
	const { store, query } = await openPostgres("outbox_text");
	await store.migrate();
	await query("update pg_index set indisvalid = false where indexrelid = 'outbox_text_arrived'::regclass");
	await Promise.all([store.migrate(), store.migrate()]);
	const indexes = await query("select indisvalid from pg_index where indrelid = 'outbox_text'::regclass");
	expect(indexes.length).toBeGreaterThan(10);
	expect(indexes.every(({ indisvalid }) => indisvalid === true)).toBe(true);
});

test("no text waits for a column that waits for a transaction on PostgreSQL", async () => {
	const pool = await openPool(undefined, "-c lock_timeout=10000");
	const store = postgresStore(pool);
	await store.migrate();
	await pool.query("alter table outbox_text drop column arrived");
	const tx = await pool.connect();
	try {
		await tx.query("begin");
		await tx.query("select 1 from outbox_text");
		const migrated = store.migrate();
		const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
		await expect.poll(async () => (await pool.query(waiting)).rows.length).toBe(1);
		// It would fail after the lock_timeout, if it waited behind the column.
		const insert = `insert into outbox_text (id, agency_id, recipient, body, created_at, state, since, next_at, version, progress)
			values ('a', 'agy_1', '+447700900101', 'Hi', 1, 'waiting', 1, 1, 0, '${JSON.stringify(newText.progress)}')`;
		await pool.query(insert);
		await tx.query("commit");
		await migrated;
	} finally {
		tx.release(true);
	}
	const claim = { now: 1, limit: 9, each: 9, leaseMs: 60_000, isReading: false };
	expect(await store.claim(claim)).toMatchObject([{ to: "+447700900101" }]);
});

test("a migration that finds every index on PostgreSQL waits for nobody's turn", async () => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	const sign = "insert into outbox_text_stop (name, stopped_at) values ('migrating', 9000000000000)";
	await pool.query(sign);
	await store.migrate();
	const { rowCount } = await pool.query("select 1 from outbox_text_stop where name = 'migrating'");
	expect(rowCount).toBe(1);
});

test("processes that migrate at once beside long transactions build every index on PostgreSQL", async () => {
	const pool = await openPool();
	const deadlocks: unknown[] = [];
	const query = async (sql: string, values: unknown[]) => {
		try {
			return await pool.query(sql, values);
		} catch (error) {
			if (Object(error).code === "40P01") deadlocks.push(error);
			throw error;
		}
	};
	const store = postgresStore({ query, connect: pool.connect.bind(pool) } as never);
	await store.migrate();
	const validOnes = async () =>
		(
			await pool.query(
				"select indexrelid::regclass::text as name from pg_index where indrelid = 'outbox_text'::regclass and indisvalid order by 1",
			)
		).rows;
	const all = await validOnes();
	await store.insert({ ...newText, id: "a" }, undefined);
	await pool.query("drop index outbox_text_arrived, outbox_text_health");
	// A build waits for them, and longer than the database takes to see that two wait for each other.
	let isOver = false;
	const write = async () => {
		while (!isOver) {
			const client = await pool.connect();
			await client.query("begin");
			await client.query("update outbox_text set since = since where id = 'a'");
			await new Promise((resolve) => setTimeout(resolve, 1_500));
			await client.query("commit");
			client.release();
		}
	};
	const writing = write();
	await Promise.all([store.migrate(), store.migrate(), store.migrate()]);
	isOver = true;
	await writing;
	expect(await validOnes()).toEqual(all);
	// Each of them ends a build of minutes on a large table.
	expect(deadlocks).toEqual([]);
});
