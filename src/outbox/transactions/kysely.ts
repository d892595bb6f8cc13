import { can } from "../input.ts";
import { type Connection, type Dialect, forDialect, type Row, rowsOf } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";
import type { Rows } from "./pg.ts";
import { isInsideTransaction, probe } from "./synchronous-sqlite.ts";

/** A Kysely database or transaction. */
export interface KyselyQueryable {
	/** Runs one statement. */
	executeQuery(query: never): PromiseLike<Rows>;
	/** Whether it is a transaction. */
	readonly isTransaction: boolean;
}

/** What Kysely's own `CompiledQuery.raw` makes. */
function rawQuery(sql: string, parameters: readonly unknown[]): never {
	const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
	return { sql, parameters, query, queryId: { queryId: crypto.randomUUID() } } as never;
}

/** A connection of a dialect. */
interface DriverConnection {
	executeQuery: (query: never) => PromiseLike<Rows>;
}

export function kysely(value: KyselyQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "executeQuery", "selectFrom")) return undefined;
	const isTransaction = () => value.isTransaction;
	if (dialect === "mysql") return mysqlConnection((sql) => value.executeQuery(rawQuery(sql, [])), isTransaction);
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			return rowsOf(await value.executeQuery(rawQuery(text, args)), sql);
		},
		isTransaction,
		async queryIfOpen(sql, values) {
			const executor: unknown = can(value, "getExecutor") ? Reflect.get(value, "getExecutor").call(value) : undefined;
			if (!isProviding(executor)) return undefined;
			return executor.provideConnection(async (connection) => {
				// Logging puts an asynchronous method in front of the one of the dialect.
				const { executeQuery }: DriverConnection = Object.getPrototypeOf(connection);
				const run = (text: string, args: unknown[]) => executeQuery.call(connection, rawQuery(text, args));
				if (!isInsideTransaction(() => run(probe, []))) return undefined;
				const { text, args } = forDialect(sql, values, dialect);
				return rowsOf(await run(text, args), sql);
			});
		},
	};
}

type Provide = (act: (connection: DriverConnection) => Promise<Row[] | undefined>) => Promise<Row[] | undefined>;
const isProviding = (executor: unknown): executor is { provideConnection: Provide } =>
	can(executor, "provideConnection");
