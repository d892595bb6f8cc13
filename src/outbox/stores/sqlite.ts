import type { OutboxStore } from "../store.ts";
import { type AnyQueryable, databaseOf, refuseEnded, transactionOf } from "../transaction.ts";
import type { LibsqlClient } from "../transactions/libsql-client.ts";
import type { SqliteDatabase } from "../transactions/synchronous-sqlite.ts";
import type { Row } from "./connection.ts";
import { namesFrom, type StoreOptions } from "./names.ts";
import { createSqlStore, inserted, insertedValues, retryLocked, standard, standardLeases } from "./sql.ts";

/** How long a statement waits by itself while another process writes, in milliseconds: as better-sqlite3 does. */
const busyMs = 5_000;

/** Gives the row in the same statement: a second one would come after the end of a synchronous transaction. */
const onConflict = "on conflict (id) do update set id = excluded.id returning *";

/**
 * Keeps the texts of an outbox in SQLite: better-sqlite3, node:sqlite, libsql (either of its packages), bun:sqlite, or a
 * database of Drizzle, Knex, Kysely or TypeORM (a manager). One process works on it, and any process may enqueue, ask and
 * cancel. The `tx` of `enqueue` is a transaction of any of them, or the database itself while a transaction is open on it.
 * With a synchronous library the row is written before `enqueue` returns its promise.
 *
 * @throws PartnerInvalidInput if `db` is not one of these, or for an invalid table name
 * @example
 * const crmOutbox = createOutbox({ client, store: sqliteStore(db) });
 * await crmOutbox.migrate();
 */
export function sqliteStore(db: SqliteDatabase | LibsqlClient | AnyQueryable, options: StoreOptions = {}): OutboxStore {
	const database = databaseOf(db, "sqlite", "db", "sqliteStore");
	const names = namesFrom(options, "sqliteStore");
	const isFile = Reflect.get(db, "protocol") === "file";

	/**
	 * libsql and node:sqlite fail at once while another process writes, and after a failed read libsql 0.5 keeps a lock until the
	 * statement is collected. So make them wait.
	 */
	async function becomePatient(): Promise<void> {
		const [row] = await database.query("pragma busy_timeout", []);
		if (Number(row?.timeout) === 0) await database.query(`pragma busy_timeout = ${busyMs}`, []);
	}

	async function run(sql: string, values: readonly unknown[]): Promise<Row[]> {
		// Each of its connections has a time of its own.
		if (isFile) await becomePatient();
		return database.query(sql, values);
	}

	if ("prepare" in db) becomePatient().catch(() => {});
	return createSqlStore(
		{
			...standard,
			// Whatever ran on the connection while a transaction of the caller is open would become part of it.
			query: (sql, values) => retryLocked(() => (database.isTransaction() === true ? undefined : run(sql, values))),
			async insertIn(tx, { names, values }) {
				const insert = `insert into ${names.texts} (${inserted}) values (${insertedValues("0")}) ${onConflict}`;
				const rows = await transactionOf(tx, "sqlite", "enqueue").queryIfOpen?.(insert, values);
				return rows?.[0] ?? refuseEnded("enqueue");
			},
			async acknowledgeIn(tx, { names, where, values }) {
				const update = `update ${names.texts} set unacknowledged = null where ${where} returning seq`;
				const rows = await transactionOf(tx, "sqlite", "acknowledge").queryIfOpen?.(update, values);
				if (!rows) refuseEnded("acknowledge");
			},
			seq: "seq integer primary key autoincrement",
			onConflict,
			// One connection writes at a time, so that the order of arrival is that of the transactions.
			begunAt: "0",
			begun: "seq",
			find: "select 1 as found from sqlite_master where lower(name) = lower($1)",
			stopNow: (texts) => `coalesce((select seq from sqlite_sequence where name = '${texts}'), 0)`,
			leases: {
				...standardLeases,
				// SQLite has no clock of milliseconds before 3.42.
				clock: "cast((julianday('now') - 2440587.5) * 86400000 as integer)",
				least: "min",
				greatest: "max",
			},
		},
		names,
	);
}
