/*
 * What every library has in common once it is recognised.
 */

/** A row as a database gives it. */
export type Row = Record<string, unknown>;

export type Dialect = "postgres" | "sqlite" | "mysql";

/** A database or a transaction, whichever library it is of. */
export interface Connection {
	/** Runs one statement with `$1`, `$2`, … for its values. It has begun when this returns, if the library is synchronous. */
	query: (sql: string, values: readonly unknown[]) => Promise<Row[]>;
	/** Runs an update or a delete, and gives the number of rows. Only on MySQL, which has no `returning`. */
	change?: (sql: string, values: readonly unknown[]) => Promise<number>;
	/** Whether a transaction is open: undefined when the library does not tell. */
	isTransaction: () => boolean | undefined;
}

export type Recognise = (value: never, dialect: Dialect) => Connection | undefined;

/** A statement gave something else than the library's result. */
export class UnusableResult extends Error {}

/** The row with the names of its columns as they are in the table: some libraries can be told to give them in camel case. */
export function inSnakeCase(row: Row): Row {
	return Object.fromEntries(
		Object.entries(row).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
	);
}

/** Whether a statement gives rows. */
export function hasRows(sql: string): boolean {
	return /^\s*(select|pragma)\b|\breturning\b/i.test(sql);
}
