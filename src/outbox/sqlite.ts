import { can, refuse } from "./input.ts";
import { createSqlStore, namesFrom, type Row, type Rows, retryLocked, type StoreOptions } from "./sql-store.ts";
import type { OutboxStore } from "./store.ts";

/** A database of better-sqlite3, of libsql's module of the same form, of node:sqlite or of bun:sqlite. */
export interface SqliteDatabase {
	/** Prepares one statement. */
	prepare(sql: string): SqliteStatement;
	/** better-sqlite3, libsql and bun:sqlite: a transaction is open. */
	readonly inTransaction?: boolean;
	/** node:sqlite: a transaction is open. */
	readonly isTransaction?: boolean;
}

/** A prepared statement. Methods, because each library has other types for values. */
export interface SqliteStatement {
	/** Runs it and returns its rows. */
	all(...values: unknown[]): unknown[];
	/** Runs one that has no rows. */
	run(...values: unknown[]): unknown;
}

/** A client of `@libsql/client`, or a transaction of one. */
export interface LibsqlClient {
	/** Runs one statement. */
	execute: (statement: { sql: string; args: (string | number | null)[] }) => Promise<Rows>;
}

/**
 * Keeps the texts of an outbox in SQLite: libsql (either of its packages), better-sqlite3, node:sqlite or bun:sqlite. One
 * process works on it; any process may enqueue, ask and cancel. The `tx` of `enqueue` is a transaction of `@libsql/client`, or
 * the database itself while a transaction is open on it: the row is written before `enqueue` returns its promise.
 *
 * @throws PartnerInvalidInput when `db` is no such database, or for a table's name that is no name
 * @example
 * const crmOutbox = createOutbox({ client, store: sqliteStore(db) });
 * await crmOutbox.migrate();
 */
export function sqliteStore(db: SqliteDatabase | LibsqlClient, options: StoreOptions = {}): OutboxStore {
	if (!isSqlite(db))
		refuse("db", "must be a database of libsql, better-sqlite3, node:sqlite or bun:sqlite", "sqliteStore");
	return createSqlStore(
		{
			// Not async: a statement in the caller's transaction runs before the promise is there.
			query(sql, values, tx) {
				if (tx === undefined) return retryLocked(() => (isBusy(db) ? undefined : run(db, sql, values)));
				if (!isSqlite(tx)) refuse("tx", "must be the database, or a transaction of @libsql/client", "enqueue");
				return run(tx, sql, values);
			},
			seq: "seq integer primary key autoincrement",
			// One connection writes at a time, so that the order of arrival is that of the transactions.
			begunAt: "0",
			begun: "seq",
			find: "select 1 from sqlite_master where lower(name) = lower($1)",
			stopNow: (texts) => `coalesce((select seq from sqlite_sequence where name = '${texts}'), 0)`,
		},
		namesFrom(options, "sqliteStore"),
	);
}

function isSqlite(db: unknown): db is SqliteDatabase | LibsqlClient {
	return can(db, "prepare") || can(db, "execute");
}

/** Whether a transaction of the caller is open on the connection. A statement would become part of it. */
function isBusy(db: SqliteDatabase | LibsqlClient): boolean {
	return "prepare" in db && (db.inTransaction === true || db.isTransaction === true);
}

async function run(db: SqliteDatabase | LibsqlClient, sql: string, values: readonly (string | number | null)[]) {
	// Not every one of the libraries takes numbered values.
	const args: (string | number | null)[] = [];
	const plain = sql.replace(/\$(\d+)/g, (_, number) => {
		args.push(values[Number(number) - 1] ?? null);
		return "?";
	});
	if ("execute" in db) return (await db.execute({ sql: plain, args })).rows as Row[];
	const statement = db.prepare(plain);
	if (/^\s*select\b|\breturning\b/i.test(plain)) return statement.all(...args) as Row[];
	statement.run(...args);
	return [];
}
