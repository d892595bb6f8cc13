import { can } from "../input.ts";
import { type Connection, rowsOf, UnusableResult } from "../stores/connection.ts";

/** The result of a statement. */
export interface Rows {
	/** Its rows. */
	rows: unknown[];
}

/** A `pg` Pool or Client, or a PGlite database or transaction: whatever has their `query`. */
export interface PostgresQueryable {
	/** Runs one statement. */
	query: (sql: string, values?: unknown[]) => PromiseLike<Rows>;
}

/** `pg`, PGlite and whatever has their `query`. */
export function nodePostgres(value: PostgresQueryable & { totalCount?: unknown }): Connection | undefined {
	// bun:sqlite has a query too.
	if (!can(value, "query") || can(value, "prepare")) return undefined;
	const isPool = typeof value.totalCount === "number" || can(value, "exec", "transaction");
	return {
		async query(sql, values) {
			const { rows } = await value.query(sql, [...values]);
			// The query of another library may give the rows alone.
			if (!Array.isArray(rows)) throw new UnusableResult();
			return rowsOf(rows, sql);
		},
		isTransaction: () => (isPool ? false : undefined),
	};
}
