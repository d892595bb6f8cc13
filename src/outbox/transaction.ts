/*
 * Runs statements through the library that a team uses already. Each one is recognised by its methods, so that none of them has
 * to be imported.
 */

import { checkedLater, fieldsOf } from "../shared/validation.ts";
import { can, refuse } from "./input.ts";
import { type Connection, type Dialect, type Recognise, UnusableResult } from "./stores/connection.ts";
import { type DrizzleQueryable, drizzle } from "./transactions/drizzle.ts";
import { type KnexQueryable, knex } from "./transactions/knex.ts";
import { type KyselyQueryable, kysely } from "./transactions/kysely.ts";
import { type LibsqlClient, libsqlClient } from "./transactions/libsql-client.ts";
import { mariadb } from "./transactions/mariadb.ts";
import { type MikroOrmQueryable, mikroOrm } from "./transactions/mikro-orm.ts";
import { type MysqlQueryable, mysql2 } from "./transactions/mysql2.ts";
import { nodePostgres, type PostgresQueryable } from "./transactions/pg.ts";
import { type PostgresJsSql, postgresJs } from "./transactions/postgres-js.ts";
import { type PrismaQueryable, prisma } from "./transactions/prisma.ts";
import { type SequelizeTransaction, sequelize } from "./transactions/sequelize.ts";
import { type SqliteDatabase, synchronousSqlite } from "./transactions/synchronous-sqlite.ts";
import { type TypeOrmQueryable, typeOrm } from "./transactions/typeorm.ts";

/** What the ORMs and query builders have in common: they run on PostgreSQL, MySQL and SQLite. */
export type AnyQueryable =
	| PrismaQueryable
	| DrizzleQueryable
	| KnexQueryable
	| KyselyQueryable
	| TypeOrmQueryable
	| MikroOrmQueryable;

/** Your open transaction, as your own library calls it. */
export type Transaction =
	| PostgresQueryable
	| PostgresJsSql
	| MysqlQueryable
	| SequelizeTransaction
	| AnyQueryable
	| SqliteDatabase
	| LibsqlClient;

/** The options of a method whose only one is a transaction. The store knows its own. */
export const withTx = fieldsOf<{ tx?: Transaction | undefined }>({ tx: checkedLater() });

/** Recognises a library's object. Undefined when it is of none, or of one for another kind of database. */
function connectionOf(value: unknown, dialect: Dialect): Connection | undefined {
	if (isMysql(value) && dialect !== "mysql") return undefined;
	return dialects[dialect].libraries
		.map((recognise) => recognise(value as never, dialect))
		.find((connection) => connection !== undefined);
}

/** mysql2 and mariadb, also their clusters of pools: their `query` looks like `pg`'s. */
function isMysql(value: unknown): boolean {
	return can(value, "query", "escape") || can(value, "query", "getConnection") || can(value, "of", "getConnection");
}

/** In this order, because some have the methods of a later one too. */
const anyLibrary: Recognise[] = [prisma, drizzle, kysely, mikroOrm, typeOrm, knex];

const dialects = {
	postgres: {
		database: "PostgreSQL",
		libraries: [...anyLibrary, postgresJs, nodePostgres],
		named: "pg, PGlite, postgres.js, Prisma, Drizzle, Knex, Kysely, TypeORM and MikroORM",
		store: "postgresStore",
	},
	sqlite: {
		database: "SQLite",
		libraries: [...anyLibrary, synchronousSqlite, libsqlClient],
		named: "better-sqlite3, node:sqlite, libsql, @libsql/client, Drizzle, Knex, Kysely and TypeORM",
		store: "sqliteStore",
	},
	mysql: {
		database: "MySQL or MariaDB",
		libraries: [sequelize, ...anyLibrary, mariadb, mysql2],
		named: "mysql2, mariadb, Prisma, Drizzle, Knex, Kysely, TypeORM, MikroORM and Sequelize",
		store: "mysqlStore",
	},
} satisfies Record<Dialect, object>;

/** What may run in a transaction of the caller's. */
export type Operation = "enqueue" | "cancel" | "acknowledge" | "confirm";

/** The connection of a caller's transaction. Refuses a pool, because the text would be stored although the transaction is rolled back. */
export function transactionOf(tx: unknown, dialect: Dialect, operation: string, pool?: unknown): Connection {
	const connection = connectionOf(tx, dialect);
	const { database, named } = dialects[dialect];
	if (!connection)
		return refuse("tx", `must be an open transaction on ${database}. Supported are ${named}: ${guide}`, operation);
	const isOpen = connection.isTransaction();
	if (isOpen === false || (isOpen === undefined && tx === pool))
		refuse("tx", `no transaction is open on it. Pass the transaction itself, as ${named} give it: ${guide}`, operation);
	return refusing(connection, "tx", operation);
}

/** What runs statements at once in a synchronous transaction of SQLite that is open at this moment. Undefined for any other one. */
export function synchronousIn(tx: unknown, operation: Operation): Connection["queryNow"] {
	const connection = tx === undefined ? undefined : connectionOf(tx, "sqlite");
	const { queryNow } = connection ? refusing(connection, "tx", operation) : {};
	return queryNow?.("select 1 as one", []) && queryNow;
}

/** Refuses a transaction that is not open any more, or never was. */
export function refuseEnded(operation: Operation): never {
	return refuse("tx", `no transaction is open on it: begin one first, and ${operation} before it ends`, operation);
}

function refusing(connection: Connection, field: string, operation: string): Connection {
	const refuseResult = (error: unknown): never => {
		if (error instanceof UnusableResult)
			refuse(field, error.message || "must have query that gives { rows }, as pg gives it", operation);
		throw error;
	};
	const { query, change, queryIfOpen, queryNow } = connection;
	return {
		...connection,
		...(queryNow && {
			queryNow: (sql, values) => {
				try {
					return queryNow(sql, values);
				} catch (error) {
					return refuseResult(error);
				}
			},
		}),
		query: (sql, values) => query(sql, values).catch(refuseResult),
		...(queryIfOpen && { queryIfOpen: (sql, values) => queryIfOpen(sql, values).catch(refuseResult) }),
		...(change && { change: (sql, values) => change(sql, values).catch(refuseResult) }),
	};
}

const guide = "see docs/databases.md";

/** The database of a store. */
export function databaseOf(db: unknown, dialect: Dialect, field: string, operation: string): Connection {
	const { database, named } = dialects[dialect];
	// An entity manager of MikroORM would take part in the transaction around a call. A fork of it does not.
	const own = can(db, "isInTransaction", "fork") ? (db as { fork: () => unknown }).fork() : db;
	// Drizzle's own database has that of the driver.
	const connection = connectionOf(Reflect.get(Object(db), "$client"), dialect) ?? connectionOf(own, dialect);
	const other = (["postgres", "sqlite", "mysql"] as const).find((each) => connectionOf(db, each));
	if (!connection && other)
		refuse(field, `is of ${dialects[other].database}. Pass it to ${dialects[other].store}`, operation);
	if (!connection && dialect === "mysql" && isMysql(own))
		refuse(field, "is a cluster of pools. Pass a pool of the server that takes the writes: createPool(…)", operation);
	if (!connection) refuse(field, `must be a database of ${database}, as ${named} give it: ${guide}`, operation);
	return refusing(connection, field, operation);
}
