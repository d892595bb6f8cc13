import { can } from "../input.ts";
import { type Connection, rowsOf, withMarks } from "../stores/connection.ts";
import type { Rows } from "./pg.ts";

/** A client of `@libsql/client`, or a transaction of one. */
export interface LibsqlClient {
	/** Runs one statement. */
	execute: (statement: { sql: string; args: (string | number | null)[] }) => Promise<Rows>;
}

export function libsqlClient(value: LibsqlClient): Connection | undefined {
	if (!can(value, "execute")) return undefined;
	const query: Connection["query"] = async (sql, values) => {
		const { text, args } = withMarks(sql, values);
		return rowsOf(await value.execute({ sql: text, args: args as (string | number | null)[] }), sql);
	};
	return {
		query,
		isTransaction: () => !can(value, "transaction"),
		// A transaction has a connection of its own, and executes nothing once it is closed.
		queryIfOpen: async (sql, values) =>
			can(value, "commit", "rollback") && Reflect.get(value, "closed") === false ? query(sql, values) : undefined,
	};
}
