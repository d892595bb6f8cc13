import { can } from "../input.ts";
import { type Connection, hasRows, type Row, rowsOf, withMarks } from "../stores/connection.ts";
import { isInside } from "../stores/database-error.ts";

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

/** SQLite refuses it inside a transaction, even if it was prepared before. Outside of one it does nothing. */
export const probe = "pragma temp.synchronous = normal";

/** Whether `run` throws because a transaction is open. A promise proves nothing, because the transaction may end before it does. */
export function isInsideTransaction(run: () => unknown): boolean {
	try {
		const result = run();
		if (can(result, "then")) Promise.resolve(result).catch(() => {});
		return false;
	} catch (error) {
		if (isInside(error)) return true;
		throw error;
	}
}

/** The prepared statements of a database, because libsql 0.5 leaves a statement that failed open until it is collected. */
const prepared = new WeakMap<object, Map<string, SqliteStatement>>();
const mostPrepared = 200;

function statementOf(db: SqliteDatabase, sql: string): SqliteStatement {
	const known = prepared.get(db) ?? new Map<string, SqliteStatement>();
	prepared.set(db, known);
	const statement = known.get(sql) ?? db.prepare(sql);
	// After a change of the tables a statement would give the columns of before.
	if (/^\s*(create|alter|drop)\b/i.test(sql)) known.clear();
	else if (known.size < mostPrepared) known.set(sql, statement);
	return statement;
}

/** better-sqlite3, node:sqlite, bun:sqlite and libsql. */
export function synchronousSqlite(db: SqliteDatabase): Connection | undefined {
	if (!can(db, "prepare")) return undefined;
	const run = (sql: string, values: readonly unknown[]): Row[] => {
		const { text, args } = withMarks(sql, values);
		const statement = statementOf(db, text);
		return rowsOf(hasRows(sql) ? statement.all(...args) : statement.run(...args), sql);
	};
	const queryNow: Connection["queryNow"] = (sql, values) =>
		isInsideTransaction(() => db.prepare(probe).run()) ? run(sql, values) : undefined;
	return {
		query: async (sql, values) => run(sql, values),
		isTransaction: () => db.inTransaction ?? db.isTransaction,
		queryIfOpen: async (sql, values) => queryNow(sql, values),
		queryNow,
	};
}
