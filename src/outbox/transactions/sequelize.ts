import { can } from "../input.ts";
import type { Connection } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";

/** A `Sequelize`. */
export interface SequelizeQueryable {
	/** Only Sequelize has it. */
	getQueryInterface: unknown;
	/** Runs one statement. */
	query(sql: string, options?: object): PromiseLike<unknown>;
}

/** A transaction of Sequelize. */
export interface SequelizeTransaction {
	/** Commits it. */
	commit(): PromiseLike<void>;
	/** Rolls it back. */
	rollback(): PromiseLike<void>;
	/** Only Sequelize has it. */
	afterCommit: unknown;
}

export function sequelize(value: object): Connection | undefined {
	const owner = Reflect.get(Object(value), "sequelize");
	const isTransaction = can(value, "commit", "rollback", "afterCommit") && can(owner, "query", "getQueryInterface");
	const db: SequelizeQueryable = isTransaction ? owner : value;
	if (!can(db, "query", "getQueryInterface")) return undefined;
	// Without a log, because its default is the console. With null it takes no part in a transaction that is open around it.
	const options = { transaction: isTransaction ? value : null, logging: false };
	return mysqlConnection(
		(sql) => db.query(sql, options),
		() => isTransaction && Reflect.get(value, "finished") === undefined,
	);
}
