import { can } from "../input.ts";
import { type Connection, type Dialect, forDialect, hasRows, rowsOf } from "../stores/connection.ts";
import { libsqlClient } from "./libsql-client.ts";
import { mysqlConnection } from "./mysql-statements.ts";
import { isInsideTransaction, probe } from "./synchronous-sqlite.ts";

/** A Drizzle database or transaction. */
export type DrizzleQueryable = {
	/** Only Drizzle has it. */
	$with: unknown;
} & (
	| {
			/** Runs one statement on PostgreSQL. */
			execute(query: never): PromiseLike<unknown>;
	  }
	| {
			/** Runs one statement on SQLite, and gives its rows. */
			all(query: never): unknown;
			/** Runs one statement on SQLite. */
			run(query: never): unknown;
	  }
);

/** What Drizzle's own `sql` makes. */
const sqlOf = (sql: string, params: readonly unknown[]) =>
	({ getSQL: () => ({ toQuery: () => ({ sql, params }) }) }) as never;

export function drizzle(value: DrizzleQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "$with") && !Reflect.has(Object(value), "$with")) return undefined;
	if (!can(value, dialect === "sqlite" ? "all" : "execute")) return undefined;
	const isTransaction = () => (can(value, "rollback") ? undefined : false);
	if (dialect === "mysql")
		return mysqlConnection((sql) => ("execute" in value ? value.execute(sqlOf(sql, [])) : undefined), isTransaction);
	const run = (sql: string, values: readonly unknown[]): unknown => {
		const { text, args } = forDialect(sql, values, dialect);
		const query = sqlOf(text, args);
		if ("execute" in value) return value.execute(query);
		return hasRows(sql) ? value.all(query) : value.run(query);
	};
	// A transaction on @libsql/client has that of the driver.
	const driver = (): Connection | undefined => libsqlClient(Reflect.get(Object(Reflect.get(value, "session")), "tx"));
	const queryNow: Connection["queryNow"] = (sql, values) => {
		// A synchronous driver throws here. A promise says nothing about the moment of the next statement.
		if (driver() || !("run" in value && isInsideTransaction(() => value.run(sqlOf(probe, []))))) return undefined;
		return rowsOf(run(sql, values), sql);
	};
	return {
		query: async (sql, values) => rowsOf(await run(sql, values), sql),
		isTransaction,
		queryIfOpen: async (sql, values) => driver()?.queryIfOpen?.(sql, values) ?? queryNow(sql, values),
		queryNow,
	};
}
