import { can } from "../input.ts";
import { type Connection, type Dialect, forDialect, rowsOf } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";
import { synchronousSqlite } from "./synchronous-sqlite.ts";

/** An `EntityManager` or a `QueryRunner` of TypeORM. */
export type TypeOrmQueryable = {
	/** Runs one statement. */
	query(sql: string, values?: unknown[]): PromiseLike<unknown>;
} & (
	| {
			/** Of a manager. */
			getRepository: unknown;
			/** The manager's runner, which has the transaction. */
			readonly queryRunner?:
				| {
						/** Whether a transaction is open. */
						readonly isTransactionActive: boolean;
				  }
				| undefined;
	  }
	| {
			/** Of a runner. */
			startTransaction: unknown;
			/** Whether a transaction is open. */
			readonly isTransactionActive: boolean;
	  }
);

export function typeOrm(value: TypeOrmQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "query", "getRepository") && !can(value, "query", "startTransaction")) return undefined;
	const runner = () => ("startTransaction" in value ? value : value.queryRunner);
	const isTransaction = () => runner()?.isTransactionActive === true;
	if (dialect === "mysql") return mysqlConnection((sql) => value.query(sql), isTransaction);
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			const result = await value.query(text, args);
			// After an update it gives the rows and their number.
			const [rows, count] = Array.isArray(result) ? result : [];
			return rowsOf(Array.isArray(rows) && typeof count === "number" ? rows : result, sql);
		},
		isTransaction,
		async queryIfOpen(sql, values) {
			// Its own query awaits its connection first.
			const source = Object(Reflect.get(value, "dataSource") ?? Reflect.get(value, "connection"));
			return synchronousSqlite(source.driver?.databaseConnection)?.queryIfOpen?.(sql, values);
		},
	};
}
