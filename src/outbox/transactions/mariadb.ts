import { can } from "../input.ts";
import type { Connection } from "../stores/connection.ts";
import { mysqlConnection, plain } from "./mysql-statements.ts";

/** A pool or a connection of mariadb. */
interface MariadbQueryable {
	query: (options: { sql: string }) => PromiseLike<unknown>;
}

export function mariadb(value: MariadbQueryable): Connection | undefined {
	if (!can(value, "query", "escape", "batch", "importFile")) return undefined;
	return mysqlConnection(
		(sql) => value.query({ ...plain, sql }),
		// A connection does not tell.
		() => (can(value, "getConnection") ? false : undefined),
	);
}
