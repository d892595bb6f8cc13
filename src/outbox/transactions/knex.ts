import { can } from "../input.ts";
import { type Connection, type Dialect, rowsOf, withMarks } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";
import { synchronousSqlite } from "./synchronous-sqlite.ts";

/** Knex, or a transaction of it. */
export interface KnexQueryable {
	/** Runs one statement. */
	raw(sql: string, values: never): PromiseLike<unknown>;
	/** Whether it is a transaction. */
	isTransaction?: boolean | undefined;
}

export function knex(value: KnexQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "raw", "transaction")) return undefined;
	const isTransaction = () => value.isTransaction === true;
	if (dialect === "mysql") return mysqlConnection((sql) => value.raw(sql, [] as never), isTransaction);
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql.replaceAll("?", "\\?"), values);
			return rowsOf(await value.raw(text, args as never), sql);
		},
		isTransaction,
		async queryIfOpen(sql, values) {
			const client: unknown = Reflect.get(value, "client");
			if (!isAcquiring(client) || !hasEnd(value)) return undefined;
			const connection = synchronousSqlite((await client.acquireConnection()) as never);
			// Its end is reported at once, and another transaction may have begun on its connection.
			return value.isCompleted() ? undefined : connection?.queryIfOpen?.(sql, values);
		},
	};
}

const isAcquiring = (client: unknown): client is { acquireConnection: () => Promise<unknown> } =>
	can(client, "acquireConnection");
const hasEnd = (trx: unknown): trx is { isCompleted: () => boolean } => can(trx, "isCompleted");
