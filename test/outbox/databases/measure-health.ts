// Measures `outbox.health()` with a million texts, of which few or all are unfinished. Run by hand:
// `npx tsx test/outbox/databases/measure-health.ts postgres`, `… mysql` or `… libsql`.
import Libsql from "libsql";
import mysql from "mysql2/promise";
import pg from "pg";
import { healthOf } from "../../../src/outbox/health.ts";
import { startServer } from "../../postgres.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { startMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";

const texts = 1_000_000;
const noon = Date.parse("2026-01-05T12:00:00Z");
const [kind = "postgres"] = process.argv.slice(2);
const columns =
	"id, agency_id, recipient, body, created_at, state, since, next_at, ready_at, version, progress, begun_at, purpose, arrived";

interface Opened {
	store: OutboxStore;
	/** Runs a statement. */
	run: (sql: string) => Promise<unknown>;
	/** A table `numbers (n)`, and how two texts become one. */
	numbers: string;
	join: (one: string, other: string) => string;
	settle: string[];
	close: () => Promise<void>;
}

const open: Record<string, () => Promise<Opened>> = {
	async libsql() {
		const db = new Libsql(newFile());
		db.exec("pragma journal_mode = wal; pragma synchronous = normal");
		return {
			store: sqliteStore(db),
			run: async (sql) => db.exec(sql),
			numbers: `(with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${texts - 1}) select n from numbers)`,
			join: (one, other) => `${one} || ${other}`,
			settle: [],
			close: async () => void db.close(),
		};
	},
	async postgres() {
		const server = await startServer(import.meta.url);
		const pool = new pg.Pool({ connectionString: await server.create(), max: 4 });
		return {
			store: postgresStore(pool),
			run: (sql) => pool.query(sql),
			numbers: `generate_series(0, ${texts - 1})`,
			join: (one, other) => `${one} || ${other}`,
			settle: ["vacuum analyze outbox_texts"],
			close: async () => {
				await pool.end();
				await server.close();
			},
		};
	},
	async mysql() {
		const server = await startMysql(process.env.MYSQL_URL ? "MySQL" : "MariaDB");
		const pool = mysql.createPool({ uri: await server.create(), connectionLimit: 4 });
		await pool.query("create table digits (d int)");
		await pool.query("insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
		return {
			store: mysqlStore(pool),
			run: (sql) => pool.query(sql),
			numbers: `(select a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d as n
				from digits a, digits b, digits c, digits e, digits f, digits g)`,
			join: (one, other) => `concat(${one}, ${other})`,
			settle: ["analyze table outbox_texts"],
			close: async () => {
				await pool.end();
				await server.close();
			},
		};
	},
};

const opened = await open[kind]?.();
if (!opened) throw new Error(`unknown database ${kind}`);
const { store, run, numbers, join, settle, close } = opened;
await store.migrate();
for (let at = 0; at < 300; at++)
	await store.pause({
		agencyId: `agy_${at}`,
		until: noon,
		failures: 1,
		reason: "send",
		cause: "forbidden",
		since: noon,
	});
await store.suspend({ agencyId: "agy_1", reason: "Stop", by: null, since: noon });
for (let at = 0; at < 20; at++) await store.beat({ id: `worker ${at}`, version: "1.0.0", runsOnce: false, at: 0 });

/** Of how many texts each is in a state that is counted. */
for (const [what, state] of [
	[
		"2 % are unfinished or unknown",
		"case when n % 100 = 0 then 'waiting' when n % 300 = 1 then 'unknown' when n % 400 = 2 then 'held' else 'read' end",
	],
	["all are waiting", "'waiting'"],
	[
		"a quarter in each state",
		"case n % 4 when 0 then 'waiting' when 1 then 'sending' when 2 then 'held' else 'unknown' end",
	],
] as const) {
	await run("delete from outbox_texts");
	const next = `case when ${state} in ('waiting', 'sending', 'held') then ${noon} + n end`;
	await run(`insert into outbox_texts (${columns}) select ${join("'t'", "n")}, 'agy_1', ${join("'+4477'", "n")}, 'See you at 14:00.',
		${noon}, ${state}, ${noon}, ${next}, 0, 0, '{}', 0, 'notice', null from ${numbers} ${kind === "libsql" ? "" : "as numbers"}${kind === "postgres" ? " (n)" : ""}`);
	for (const vacuumed of kind === "postgres" ? [false, true] : [true]) {
		if (vacuumed) for (const statement of settle) await run(statement);
		const times: number[] = [];
		for (let at = 0; at < 50; at++) {
			const began = performance.now();
			await healthOf(store, noon + texts);
			times.push(performance.now() - began);
		}
		const { texts: counts } = await healthOf(store, noon + texts);
		times.sort((one, other) => one - other);
		const [median = 0, longest = 0] = [times[25], times.at(-1)];
		console.log(
			`${kind}, ${texts} texts, ${what}${kind === "postgres" ? (vacuumed ? ", vacuumed" : ", not vacuumed") : ""}:`,
		);
		console.log(`  median ${median.toFixed(1)} ms, longest ${longest.toFixed(1)} ms, ${JSON.stringify(counts)}`);
	}
}
await close();
