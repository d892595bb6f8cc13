import { can } from "../input.ts";
import type { Connection } from "../stores/connection.ts";
import { mysqlConnection, plain } from "./mysql-statements.ts";

/** A pool or a connection of mysql2 or mariadb. */
export type MysqlQueryable = {
	/** Only libraries of MySQL have it. */
	escape(value: never): string;
} & (
	| {
			/** Runs one statement. */
			query(options: { sql: string }): PromiseLike<unknown>;
	  }
	| {
			/** Gives the promises of a pool or a connection of mysql2 that takes callbacks. */
			promise(): {
				/** Runs one statement. */
				query(options: { sql: string }): PromiseLike<unknown>;
			};
	  }
);

/** mysql2, with promises or with callbacks. */
export function mysql2(value: MysqlQueryable): Connection | undefined {
	if (!can(value, "query", "escape")) return undefined;
	return mysqlConnection(
		(sql) => ("promise" in value ? value.promise() : value).query({ ...plain, sql }),
		// A connection does not tell.
		() => (can(value, "getConnection") ? false : undefined),
	);
}
