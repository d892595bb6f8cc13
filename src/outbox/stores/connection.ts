/*
 * What every library has in common once it is recognised.
 */

/** A row as a database gives it. */
export type Row = Record<string, unknown>;

/** A value of a statement. */
export type Value = string | number | null;

export type Dialect = "postgres" | "sqlite" | "mysql";

/** A database or a transaction, whichever library it is of. */
export interface Connection {
	/** Runs one statement with `$1`, `$2`, … for its values. It has begun when this returns, if the library is synchronous. */
	query: (sql: string, values: readonly unknown[]) => Promise<Row[]>;
	/** Runs an update or a delete, and gives the number of rows. Only on MySQL, which has no `returning`. */
	change?: (sql: string, values: readonly unknown[]) => Promise<number>;
	/** Whether a transaction is open: undefined when the library does not tell. */
	isTransaction: () => boolean | undefined;
	/**
	 * Runs one statement of SQLite if a transaction is open at that very moment: nothing else can run between the check and the
	 * statement. Undefined if none is open, or if that cannot be known. Absent if the library has no way to prove it.
	 */
	queryIfOpen?: (sql: string, values: readonly unknown[]) => Promise<Row[] | undefined>;
	/** The same at once, without a promise. Undefined also if only a driver can tell, which is asynchronous. */
	queryNow?: (sql: string, values: readonly unknown[]) => Row[] | undefined;
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

/** The rows of a result, whichever form it has. */
export function rowsOf(result: unknown, sql: string): Row[] {
	const rows = Array.isArray(result) ? result : Reflect.get(Object(result), "rows");
	if (!Array.isArray(rows) && !hasRows(sql)) return [];
	if (!Array.isArray(rows)) throw new UnusableResult();
	// Some can be set to return columns in camel case.
	const isCamelCase = Object.keys(Object(rows[0])).some((name) => /[A-Z]/.test(name));
	return isCamelCase ? rows.map(inSnakeCase) : rows;
}

/** PostgreSQL numbers the values of a statement, and SQLite's libraries go by their order. */
export function forDialect(
	sql: string,
	values: readonly unknown[],
	dialect: Dialect,
): { text: string; args: unknown[] } {
	return dialect === "postgres" ? { text: sql, args: [...values] } : withMarks(sql, values);
}

/** The statement with a `?` for each value, in the order of their use. */
export function withMarks(sql: string, values: readonly unknown[]): { text: string; args: unknown[] } {
	const args: unknown[] = [];
	const text = sql.replace(/\$(\d+)/g, (_, number) => {
		args.push(values[Number(number) - 1] ?? null);
		return "?";
	});
	return { text, args };
}

/** A long list in parts of at most `size`. */
export function inChunks<Each>(list: readonly Each[], size: number): Each[][] {
	return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
}
