import type { Row } from "./connection.ts";
import { createSqlStore, namesFrom, retryLocked, type StoreOptions, standard } from "./sql-store.ts";
import type { OutboxStore } from "./store.ts";
import {
	type AnyQueryable,
	databaseOf,
	type LibsqlClient,
	operationOf,
	type SqliteDatabase,
	transactionOf,
} from "./transaction.ts";

/** How long a statement waits by itself while another process writes, in milliseconds: as better-sqlite3 does. */
const busyMs = 5_000;

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
			// Not async: a statement in the caller's transaction runs before the promise is there.
			query(sql, values, tx) {
				if (tx !== undefined) return transactionOf(tx, "sqlite", operationOf(sql)).query(sql, values);
				// Whatever ran on the connection while a transaction of the caller is open would become part of it.
				return retryLocked(() => (database.isTransaction() === true ? undefined : run(sql, values)));
			},
			seq: "seq integer primary key autoincrement",
			// A second statement would come after the end of a synchronous transaction.
			onConflict: "on conflict (id) do update set id = excluded.id returning *",
			// One connection writes at a time, so that the order of arrival is that of the transactions.
			begunAt: "0",
			begun: "seq",
			find: "select 1 as found from sqlite_master where lower(name) = lower($1)",
			stopNow: (texts) => `coalesce((select seq from sqlite_sequence where name = '${texts}'), 0)`,
		},
		names,
	);
}
