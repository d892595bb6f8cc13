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
	const run = (sql: string, values?: unknown[]) => (runner() ? value.query(sql, values) : runAlone(value, sql, values));
	if (dialect === "mysql") return mysqlConnection((sql) => run(sql), isTransaction);
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			const result = await run(text, args);
			// After an update it gives the rows and their number.
			const [rows, count] = Array.isArray(result) ? result : [];
			return rowsOf(Array.isArray(rows) && typeof count === "number" ? rows : result, sql);
		},
		isTransaction,
		async queryIfOpen(sql, values) {
			// Its own query awaits its connection first.
			return synchronousSqlite(sourceOf(value).driver?.databaseConnection)?.queryIfOpen?.(sql, values);
		},
	};
}

function sourceOf(value: TypeOrmQueryable) {
	return Object(Reflect.get(value, "dataSource") ?? Reflect.get(value, "connection"));
}

/**
 * Runs a statement of a manager on a runner of its own. typeorm-transactional would make it part of the transaction around the call,
 * and what the outbox has stored would go with that.
 */
async function runAlone(value: TypeOrmQueryable, sql: string, values: unknown[] | undefined): Promise<unknown> {
	const source = sourceOf(value);
	if (!can(source, "createQueryRunner")) return value.query(sql, values);
	const alone = source.createQueryRunner();
	try {
		return await alone.query(sql, values);
	} finally {
		await alone.release();
	}
}
