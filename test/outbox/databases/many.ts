// Tables with very many texts, on connections whose statements may not last long.
import Libsql from "libsql";
import mysql from "mysql2/promise";
import pg from "pg";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";

/** The number that has many of the texts. */
export const frequent = "+447700900001";
export const agencyId = newText.agencyId;

export interface Many {
	store: OutboxStore;
	/** Runs a statement without a limit. */
	run: (sql: string) => Promise<unknown[]>;
	/** What each statement of the store took and how many rows it gave or changed, since the last call. */
	statements: () => Ran[];
	close: () => Promise<void>;
}

/** A statement that has run. */
export interface Ran {
	sql: string;
	ms: number;
	rows: number;
}

type Numbers = (count: number) => string;

const columns =
	"id, agency_id, recipient, body, created_at, purpose, state, since, next_at, ready_at, version, progress, begun_at, arrived";

/**
 * Half of the texts were read, half of them wait for a time that is far away, and a third of each is to one number.
 *
 * @param numbers a table whose column `n` counts from 0
 */
export async function fill({ run }: Many, count: number, numbers: Numbers, concat: (...parts: string[]) => string) {
	const isRead = `n < ${count / 2}`;
	const to = `case when n % 3 = 0 then '${frequent}' else ${concat("'+4477009'", `cast(10000 + n % 50000 as char(5))`)} end`;
	await run(`insert into outbox_texts (${columns}) select ${concat("'t'", "cast(n as char(9))")}, '${agencyId}', ${to}, 'See you at 14:00.', 1, 'notice',
		case when ${isRead} then 'read' else 'waiting' end, 1, case when ${isRead} then null else 1000000 end, 0, 0,
		'{}', 1, null from ${numbers(count)}`);
	await run(`insert into outbox_queues (recipient, agency_id, band, due_at)
		select distinct recipient, agency_id, 1, 1000000 from outbox_texts where state = 'waiting'`);
}

const plus = (...parts: string[]): string => parts.join(" || ").replaceAll(/char\(\d\)/g, "text");

/** The rows that a statement gave, or their number, in the result of any of the libraries. */
function rowsIn(result: unknown): number {
	if (Array.isArray(result))
		return Array.isArray(result[0]) || "affectedRows" in Object(result[0]) ? rowsIn(result[0]) : result.length;
	const { rowCount, affectedRows, changes } = Object(result);
	return Number(rowCount ?? affectedRows ?? changes ?? 0);
}

function watch() {
	const all: Ran[] = [];
	return {
		/** @param act runs the statement, and may return a promise */
		timed<Result>(sql: string, act: () => Result): Result {
			const began = performance.now();
			const end = (known: unknown) => void all.push({ sql, ms: performance.now() - began, rows: rowsIn(known) });
			const result = act();
			if (result instanceof Promise) result.then(end, end);
			else end(result);
			return result;
		},
		statements: () => all.splice(0),
	};
}

/** @param url of an empty database */
export async function manyOnPostgres(url: string, count: number, limitMs: number): Promise<Many> {
	const free = new pg.Pool({ connectionString: url, max: 1 });
	const limited = new pg.Pool({ connectionString: url, max: 4, options: `-c statement_timeout=${limitMs}` });
	for (const pool of [free, limited]) pool.on("connect", (client) => client.on("error", () => {}));
	const { timed, statements } = watch();
	const query = (sql: string, values: unknown[] = []) => timed(sql, () => limited.query(sql, values));
	const run = async (sql: string): Promise<unknown[]> => (await free.query(sql)).rows;
	const close = async () => void (await Promise.all([free.end(), limited.end()]));
	const many = { store: postgresStore({ query }), run, statements, close };
	await postgresStore(free).migrate();
	await fill(many, count, (n) => `generate_series(0, ${n - 1}) as numbers (n)`, plus);
	await run("vacuum analyze");
	return many;
}

/** @param url of an empty database on MariaDB */
export async function manyOnMariadb(url: string, count: number, limitMs: number): Promise<Many> {
	const free = mysql.createPool({ uri: url, connectionLimit: 1 });
	const limited = mysql.createPool({ uri: url, connectionLimit: 4 });
	limited.on("connection", (connection) => connection.query(`set max_statement_time = ${limitMs / 1_000}`));
	const { timed, statements } = watch();
	const query = (options: { sql: string }) => timed(options.sql, () => limited.query(options));
	const escaped = (value: unknown) => limited.escape(value);
	const run = async (sql: string): Promise<unknown[]> => [(await free.query(sql))[0]].flat();
	const close = async () => void (await Promise.all([free.end(), limited.end()]));
	const many = { store: mysqlStore({ query, escape: escaped } as never), run, statements, close };
	await mysqlStore(free).migrate();
	await fill(
		many,
		count,
		(n) => `(select seq as n from seq_0_to_${n - 1}) numbers`,
		(...parts) => `concat(${parts.join(", ")})`,
	);
	await run("analyze table outbox_texts, outbox_queues");
	return many;
}

export async function manyOnSqlite(file: string, count: number): Promise<Many> {
	const db = new Libsql(file);
	db.exec("pragma journal_mode = wal; pragma synchronous = normal");
	const { timed, statements } = watch();
	const prepare = (sql: string) => {
		const statement = db.prepare(sql);
		const all = (...values: unknown[]) => timed(sql, () => statement.all(...values));
		return { all, run: (...values: unknown[]) => timed(sql, () => statement.run(...values)) };
	};
	const run = async (sql: string): Promise<unknown[]> =>
		sql.startsWith("select") ? db.prepare(sql).all() : [db.exec(sql)];
	const many = { store: sqliteStore({ prepare }), run, statements, close: async () => void db.close() };
	await many.store.migrate();
	const numbers: Numbers = (n) =>
		`(with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${n - 1}) select n from numbers)`;
	await fill(many, count, numbers, plus);
	await run("analyze");
	return many;
}
