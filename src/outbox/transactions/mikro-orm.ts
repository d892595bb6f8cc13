import { can } from "../input.ts";
import { type Connection, type Dialect, hasRows, rowsOf, withMarks } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";

/** A SQL `EntityManager` of MikroORM. */
export interface MikroOrmQueryable {
	/** Runs one statement. */
	execute(sql: string, values?: unknown[]): PromiseLike<unknown>;
	/** Whether a transaction is open. */
	isInTransaction(): boolean;
}

export function mikroOrm(
	value: MikroOrmQueryable & { execute: (...given: unknown[]) => PromiseLike<unknown> },
	dialect: Dialect,
): Connection | undefined {
	if (!can(value, "execute", "isInTransaction")) return undefined;
	const isTransaction = () => value.isInTransaction();
	if (dialect === "mysql")
		return mysqlConnection((sql) => value.execute(sql, [], hasRows(sql) ? "all" : "run"), isTransaction);
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql.replaceAll("?", "\\?"), values);
			return rowsOf(await value.execute(text, args), sql);
		},
		isTransaction,
	};
}
