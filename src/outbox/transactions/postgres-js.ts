import { can } from "../input.ts";
import { type Connection, rowsOf } from "../stores/connection.ts";

/** The `sql` of postgres.js, or of a transaction. */
export interface PostgresJsSql {
	/** Runs one statement. */
	unsafe: (sql: string, values?: never[]) => PromiseLike<unknown>;
}

export function postgresJs(value: PostgresJsSql): Connection | undefined {
	if (!can(value, "unsafe")) return undefined;
	return {
		query: async (sql, values) => rowsOf(await value.unsafe(sql, [...values] as never[]), sql),
		// Only the pool has it. A transaction does not tell whether it has ended.
		isTransaction: () => (can(value, "begin") ? false : undefined),
	};
}
