// Measures the statements that a worker repeats, with 100,000 texts in one queue and spread over 50,000. Run by hand:
// `npx tsx test/outbox/databases/measure.ts postgres` or `… mysql`, and with Node 22 or later `… measure.ts better-sqlite3`.
import { createRequire } from "node:module";
import Libsql from "libsql";
import mysql from "mysql2/promise";
import pg from "pg";
import type { OutboxText } from "../../../src/outbox/text.ts";
import { startServer } from "../../postgres.ts";
import { type Lease, mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { startMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";

const texts = 100_000;
const noon = Date.parse("2026-01-05T12:00:00Z");
const [kind = "postgres"] = process.argv.slice(2);

const columns =
	"id, agency_id, recipient, body, created_at, state, since, next_at, ready_at, version, progress, begun_at, purpose";

interface Opened {
	store: OutboxStore;
	/** Fills the table with one statement. */
	fill: (queues: number) => Promise<unknown>;
	clear: () => Promise<unknown>;
	/** How many texts are in no queue yet. */
	unadopted: () => Promise<number>;
	close: () => Promise<void>;
}

/** One row for each number `n`, as `insert` stores it. */
const rowOf = (queues: number, pad: string): string =>
	`'t' || n, 'agy_1', '+4477' || ${pad.replace("(n)", `(n % ${queues})`)}, 'Your visit is at 14:00. See you then!', ${noon}, 'waiting', ${noon},
	${noon} + n / 100, 0, 0, '{}', 0, 'notice'`;

async function openSqlite(): Promise<Opened> {
	const load = createRequire(import.meta.url);
	const Database: typeof Libsql = kind === "libsql" ? Libsql : load("better-sqlite3");
	const db = new Database(newFile());
	db.exec("pragma journal_mode = wal; pragma synchronous = normal");
	const numbers = `with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${texts - 1})`;
	return {
		store: sqliteStore(db),
		fill: async (queues) =>
			db.exec(
				`insert into outbox_texts (${columns}) ${numbers} select ${rowOf(queues, "printf('%08d', (n))")} from numbers`,
			),
		clear: async () => db.exec("delete from outbox_texts; delete from outbox_queues; delete from sqlite_sequence"),
		unadopted: async () =>
			Number(
				Object(
					db.prepare("select count(*) as n from (select 1 from outbox_texts where arrived = 1 limit 1) as found").get(),
				).n,
			),
		close: async () => void db.close(),
	};
}

async function openPostgres(): Promise<Opened> {
	const server = await startServer(import.meta.url);
	const pool = new pg.Pool({ connectionString: await server.create(), max: 4 });
	const from = `from generate_series(0, ${texts - 1}) n`;
	return {
		store: postgresStore(pool),
		fill: async (queues) => {
			await pool.query(
				`insert into outbox_texts (${columns}) select ${rowOf(queues, "lpad((n)::text, 8, '0')")} ${from}`,
			);
			await pool.query("vacuum analyze outbox_texts");
		},
		clear: () => pool.query("truncate outbox_texts, outbox_queues"),
		unadopted: async () =>
			Number(
				(await pool.query("select count(*) as n from (select 1 from outbox_texts where arrived = 1 limit 1) as found"))
					.rows[0].n,
			),
		close: async () => {
			await pool.end();
			await server.close();
		},
	};
}

async function openMysql(): Promise<Opened> {
	const server = await startMysql(process.env.MYSQL_URL ? "MySQL" : "MariaDB");
	const pool = mysql.createPool({ uri: await server.create(), connectionLimit: 4 });
	await pool.query("create table digits (d int)");
	await pool.query("insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
	const numbers =
		"select a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d as n from digits a, digits b, digits c, digits e, digits f order by n";
	return {
		store: mysqlStore(pool),
		fill: async (queues) => {
			const row = rowOf(queues, "lpad((n), 8, '0')")
				.replace("'t' || n", "concat('t', n)")
				.replace(/'\+4477' \|\| (lpad\(.*?'0'\))/, "concat('+4477', $1)")
				.replace("n / 100", "n div 100");
			await pool.query(`insert into outbox_texts (${columns}) select ${row} from (${numbers}) numbers`);
			await pool.query("analyze table outbox_texts");
		},
		clear: async () => {
			for (const table of ["outbox_texts", "outbox_queues"]) await pool.query(`truncate ${table}`);
		},
		unadopted: async () =>
			Number(
				Object(
					(
						await pool.query(
							"select count(*) as n from (select 1 from outbox_texts where arrived = 1 limit 1) as found",
						)
					)[0],
				)[0].n,
			),
		close: async () => {
			await pool.end();
			await server.close();
		},
	};
}

/** The median and the longest of some runs, in milliseconds. */
async function timed(act: (at: number) => Promise<unknown>): Promise<{ median: string; longest: string }> {
	const times: number[] = [];
	for (let at = 0; at < 25; at++) {
		const began = performance.now();
		await act(at);
		times.push(performance.now() - began);
	}
	times.sort((one, other) => one - other);
	return { median: (times[12] ?? 0).toFixed(1), longest: (times.at(-1) ?? 0).toFixed(1) };
}

const leases: Lease[] = [];
const { store, fill, clear, close, unadopted } = await (kind === "postgres"
	? openPostgres()
	: kind === "mysql"
		? openMysql()
		: openSqlite());
await store.migrate();
for (const queues of [1, 20, 50_000]) {
	await clear();
	await fill(queues);
	const now = noon + texts;
	const recipientOf = (at: number) => ({ agencyId: "agy_1", to: `+4477${String(at % queues).padStart(8, "0")}` });
	const figures: Record<string, { median: string; longest: string }> = {};
	// The first claims put the texts into their queues.
	const claim = { now, limit: 16, each: 4, leaseMs: 60_000, isReading: false };
	const began = performance.now();
	for (let left = -1; left !== 0; ) {
		for (const lease of await store.claim({ ...claim, now: 0 })) await store.release(lease);
		left = await unadopted();
	}
	console.log(`all texts in their queues after ${(performance.now() - began).toFixed(0)} ms`);
	figures["claim, 4"] = await timed(async () => {
		leases.push(...(await store.claim({ ...claim, limit: 4 })));
	});
	figures.release = await timed(async () => {
		const lease = leases.pop();
		if (lease) await store.release(lease, { at: now, band: 1 });
	});
	for (const lease of leases.splice(0)) await store.release(lease, { at: now, band: 1 });
	const [lease] = await store.claim({ ...claim, limit: 1 });
	figures.open = await timed((at) => store.open(recipientOf(at), 20, now));
	const rows: OutboxText[] = [];
	for (let at = 0; at < 25; at++) {
		const row = await store.find(`t${at + 100}`);
		if (row) rows.push(row);
	}
	figures.save = await timed(async (at) => {
		const row = rows[at];
		if (row)
			await store.save(
				{ ...row, state: "sending", nextAt: now + 65_000 },
				{ unlessStopped: true, lease, leaseMs: 60_000 },
			);
	});
	figures.nextOf = await timed((at) => store.nextOf(recipientOf(at), now));
	if (lease) await store.release(lease, { at: now, band: 1 });
	console.log(`${kind}, ${texts} texts in ${queues} queues`);
	console.table(figures);
}
await close();
