/*
 * Runs statements through the library that a team uses already. Each one is recognised by its methods, so that none of them has
 * to be imported.
 */
import {
	type Connection,
	type Dialect,
	hasRows,
	inSnakeCase,
	type Recognise,
	type Row,
	UnusableResult,
} from "./connection.ts";
import { isWithoutTransaction, withoutValues } from "./database-error.ts";
import { can, refuse } from "./input.ts";
import { mysqlLibraries } from "./mysql-libraries.ts";
import type { OutboxStore } from "./store.ts";

/** The result of a statement. */
export interface Rows {
	/** Its rows. */
	rows: unknown[];
}

/** A `pg` Pool or Client, or a PGlite database or transaction: whatever has their `query`. */
export interface PostgresQueryable {
	/** Runs one statement. */
	query: (sql: string, values?: unknown[]) => PromiseLike<Rows>;
}

/** The `sql` of postgres.js, or that of a transaction. */
export interface PostgresJsSql {
	/** Runs one statement. */
	unsafe: (sql: string, values?: never[]) => PromiseLike<unknown>;
}

/** A pool or a connection of mysql2 or mariadb. */
export type MysqlQueryable = {
	/** Only libraries of MySQL have it. */
	escape(value: never): string;
} & (
	| {
			/** Runs one statement. */
			query(options: { sql: string }): PromiseLike<unknown>;
	  }
	| {
			/** Gives the promises of a pool or a connection of mysql2 that takes callbacks. */
			promise(): {
				/** Runs one statement. */
				query(options: { sql: string }): PromiseLike<unknown>;
			};
	  }
);

/** A transaction of Sequelize. */
export interface SequelizeTransaction {
	/** Commits it. */
	commit(): PromiseLike<void>;
	/** Rolls it back. */
	rollback(): PromiseLike<void>;
	/** Only Sequelize has it. */
	afterCommit: unknown;
}

/** A client of Prisma, or the one of an interactive transaction. */
export interface PrismaQueryable {
	/** Runs one statement. */
	$queryRawUnsafe: (sql: string, ...values: unknown[]) => PromiseLike<unknown>;
	/** Runs one statement, and gives the number of rows. */
	$executeRawUnsafe?: (sql: string, ...values: unknown[]) => PromiseLike<number>;
}

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

/** Knex, or a transaction of it. */
export interface KnexQueryable {
	/** Runs one statement. */
	raw(sql: string, values: never): PromiseLike<unknown>;
	/** Whether it is a transaction. */
	isTransaction?: boolean | undefined;
}

/** A Kysely database or transaction. */
export interface KyselyQueryable {
	/** Runs one statement. */
	executeQuery(query: never): PromiseLike<Rows>;
	/** Whether it is a transaction. */
	readonly isTransaction: boolean;
}

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

/** A SQL `EntityManager` of MikroORM. */
export interface MikroOrmQueryable {
	/** Runs one statement. */
	execute(sql: string, values?: unknown[]): PromiseLike<unknown>;
	/** Whether a transaction is open. */
	isInTransaction(): boolean;
}

/** A database of better-sqlite3, of libsql's module of the same form, of node:sqlite or of bun:sqlite. */
export interface SqliteDatabase {
	/** Prepares one statement. */
	prepare(sql: string): SqliteStatement;
	/** better-sqlite3, libsql and bun:sqlite: a transaction is open. */
	readonly inTransaction?: boolean;
	/** node:sqlite: a transaction is open. */
	readonly isTransaction?: boolean;
}

/** A prepared statement. Methods, because each library has other types for values. */
export interface SqliteStatement {
	/** Runs it and returns its rows. */
	all(...values: unknown[]): unknown[];
	/** Runs one that has no rows. */
	run(...values: unknown[]): unknown;
}

/** A client of `@libsql/client`, or a transaction of one. */
export interface LibsqlClient {
	/** Runs one statement. */
	execute: (statement: { sql: string; args: (string | number | null)[] }) => Promise<Rows>;
}

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

/** Recognises a library's object. Undefined when it is of none, or of one for another kind of database. */
function connectionOf(value: unknown, dialect: Dialect): Connection | undefined {
	if (isMysql(value) && dialect !== "mysql") return undefined;
	return dialects[dialect].libraries
		.map((recognise) => recognise(value as never, dialect))
		.find((connection) => connection !== undefined);
}

/** mysql2 and mariadb, also their clusters of pools: their `query` looks like that of `pg`. */
function isMysql(value: unknown): boolean {
	return can(value, "query", "escape") || can(value, "query", "getConnection") || can(value, "of", "getConnection");
}

/** Prisma passes a number that is too large for an `integer` as one that is not whole. */
const whole = (value: unknown): unknown => (Number.isInteger(value) ? BigInt(value as number) : value);

function prisma(value: PrismaQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "$queryRawUnsafe")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			return rowsOf(await value.$queryRawUnsafe(text, ...args.map(whole)), sql);
		},
		// Only the client itself has it.
		isTransaction: () => !can(value, "$connect"),
	};
}

function drizzle(value: DrizzleQueryable & { $client?: unknown }, dialect: Dialect): Connection | undefined {
	if (!can(value, "$with")) return undefined;
	if (!can(value, dialect === "postgres" ? "execute" : "all")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			// What Drizzle's own `sql` makes.
			const statement = { toQuery: () => ({ sql: text, params: args }) };
			const query = { getSQL: () => statement } as never;
			if ("execute" in value) return rowsOf(await value.execute(query), sql);
			return rowsOf(hasRows(sql) ? await value.all(query) : await value.run(query), sql);
		},
		// A transaction does not tell whether it has ended.
		isTransaction: () => (can(value, "rollback") ? undefined : false),
	};
}

function knex(value: KnexQueryable, _dialect: Dialect): Connection | undefined {
	if (!can(value, "raw", "transaction")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql.replaceAll("?", "\\?"), values);
			return rowsOf(await value.raw(text, args as never), sql);
		},
		isTransaction: () => value.isTransaction === true,
	};
}

function kysely(value: KyselyQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "executeQuery", "selectFrom")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			// What Kysely's own `CompiledQuery.raw` makes.
			const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
			const statement = { sql: text, parameters: args, query, queryId: { queryId: crypto.randomUUID() } };
			return rowsOf(await value.executeQuery(statement as never), sql);
		},
		isTransaction: () => value.isTransaction,
	};
}

function typeOrm(value: TypeOrmQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "query", "getRepository") && !can(value, "query", "startTransaction")) return undefined;
	const runner = () => ("startTransaction" in value ? value : value.queryRunner);
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			const result = await value.query(text, args);
			// After an update it gives the rows and their number.
			const [rows, count] = Array.isArray(result) ? result : [];
			return rowsOf(Array.isArray(rows) && typeof count === "number" ? rows : result, sql);
		},
		isTransaction: () => runner()?.isTransactionActive === true,
	};
}

function mikroOrm(value: MikroOrmQueryable, _dialect: Dialect): Connection | undefined {
	if (!can(value, "execute", "isInTransaction")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql.replaceAll("?", "\\?"), values);
			return rowsOf(await value.execute(text, args), sql);
		},
		isTransaction: () => value.isInTransaction(),
	};
}

function postgresJs(value: PostgresJsSql): Connection | undefined {
	if (!can(value, "unsafe")) return undefined;
	return {
		query: async (sql, values) => rowsOf(await value.unsafe(sql, [...values] as never[]), sql),
		// Only the pool has it. A transaction does not tell whether it has ended.
		isTransaction: () => (can(value, "begin") ? false : undefined),
	};
}

/** `pg`, PGlite and whatever has their `query`. */
function nodePostgres(value: PostgresQueryable & { totalCount?: unknown }): Connection | undefined {
	// bun:sqlite has a query too.
	if (!can(value, "query") || can(value, "prepare")) return undefined;
	const isPool = typeof value.totalCount === "number" || can(value, "exec", "transaction");
	return {
		async query(sql, values) {
			const { rows } = await value.query(sql, [...values]);
			// The query of another library may give the rows alone.
			if (!Array.isArray(rows)) throw new UnusableResult();
			return rowsOf(rows, sql);
		},
		isTransaction: () => (isPool ? false : undefined),
	};
}

/** The prepared statements of a database, because libsql 0.5 leaves a statement that failed open until it is collected. */
const prepared = new WeakMap<object, Map<string, SqliteStatement>>();
const mostPrepared = 200;

function statementOf(db: SqliteDatabase, sql: string): SqliteStatement {
	const known = prepared.get(db) ?? new Map<string, SqliteStatement>();
	prepared.set(db, known);
	const statement = known.get(sql) ?? db.prepare(sql);
	// After a change of the tables a statement would give the columns of before.
	if (/^\s*(create|alter|drop)\b/i.test(sql)) known.clear();
	else if (known.size < mostPrepared) known.set(sql, statement);
	return statement;
}

function synchronousSqlite(db: SqliteDatabase): Connection | undefined {
	if (!can(db, "prepare")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql, values);
			const statement = statementOf(db, text);
			return rowsOf(hasRows(sql) ? statement.all(...args) : statement.run(...args), sql);
		},
		isTransaction: () => db.inTransaction ?? db.isTransaction,
	};
}

function libsqlClient(value: LibsqlClient): Connection | undefined {
	if (!can(value, "execute")) return undefined;
	return {
		async query(sql, values) {
			const { text, args } = withMarks(sql, values);
			return rowsOf(await value.execute({ sql: text, args: args as (string | number | null)[] }), sql);
		},
		isTransaction: () => !can(value, "transaction"),
	};
}

/** In this order, because some have the methods of a later one too. */
const anyLibrary: Recognise[] = [prisma, drizzle, kysely, mikroOrm, typeOrm, knex];
const postgresLibraries: Recognise[] = [...anyLibrary, postgresJs, nodePostgres];
const sqliteLibraries: Recognise[] = [...anyLibrary, synchronousSqlite, libsqlClient];

const dialects = {
	postgres: {
		database: "PostgreSQL",
		libraries: postgresLibraries,
		named: "pg, PGlite, postgres.js, Prisma, Drizzle, Knex, Kysely, TypeORM and MikroORM",
		store: "postgresStore",
	},
	sqlite: {
		database: "SQLite",
		libraries: sqliteLibraries,
		named: "better-sqlite3, node:sqlite, libsql, @libsql/client, Prisma, Drizzle, Knex, Kysely, TypeORM and MikroORM",
		store: "sqliteStore",
	},
	mysql: {
		database: "MySQL or MariaDB",
		libraries: mysqlLibraries,
		named: "mysql2, mariadb, Prisma, Drizzle, Knex, Kysely, TypeORM, MikroORM and Sequelize",
		store: "mysqlStore",
	},
} satisfies Record<Dialect, object>;

/** The operation that runs a statement in the caller's transaction. On MySQL `acknowledge` reads the keys of the rows first. */
export function operationOf(sql: string): "acknowledge" | "enqueue" {
	return /^(update|select seq)\b/.test(sql) ? "acknowledge" : "enqueue";
}

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

/**
 * A store whose `insert` and `acknowledge` refuse a connection without an open transaction, because what they write would stay
 * even if the caller rolls back.
 */
export function withOpenTransactions(store: OutboxStore, dialect: Dialect, pool: unknown): OutboxStore {
	async function checkOpen(tx: unknown, operation: string): Promise<void> {
		if (tx === undefined) return;
		const connection = transactionOf(tx, dialect, operation, pool);
		if (connection.isTransaction() !== undefined) return;
		try {
			// It needs no right, and changes nothing.
			await connection.query("savepoint outbox_is_open", []);
			await connection.query("release savepoint outbox_is_open", []);
		} catch (error) {
			if (!isWithoutTransaction(error)) throw withoutValues(error, []);
			refuse("tx", `no transaction is open on it: begin one first, and ${operation} before it ends`, operation);
		}
	}
	return {
		...store,
		async insert(text, tx) {
			await checkOpen(tx, "enqueue");
			return store.insert(text, tx);
		},
		async acknowledge(changes, tx) {
			await checkOpen(tx, "acknowledge");
			return store.acknowledge(changes, tx);
		},
	};
}

function refusing(connection: Connection, field: string, operation: string): Connection {
	const refuseResult = (error: unknown): never => {
		if (error instanceof UnusableResult)
			refuse(field, error.message || "must have query that gives { rows }, as pg gives it", operation);
		throw error;
	};
	const { query, change } = connection;
	return {
		...connection,
		query: (sql, values) => query(sql, values).catch(refuseResult),
		...(change && { change: (sql, values) => change(sql, values).catch(refuseResult) }),
	};
}

const guide = "see docs/outbox-databases.md";

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

/** The rows of a result, whichever form it has. */
function rowsOf(result: unknown, sql: string): Row[] {
	const rows = Array.isArray(result) ? result : Reflect.get(Object(result), "rows");
	if (!Array.isArray(rows) && !hasRows(sql)) return [];
	if (!Array.isArray(rows)) throw new UnusableResult();
	// Some can be set to return columns in camel case.
	const isCamelCase = Object.keys(Object(rows[0])).some((name) => /[A-Z]/.test(name));
	return isCamelCase ? rows.map(inSnakeCase) : rows;
}

/** PostgreSQL numbers the values of a statement, and SQLite's libraries go by their order. */
function forDialect(sql: string, values: readonly unknown[], dialect: Dialect): { text: string; args: unknown[] } {
	return dialect === "postgres" ? { text: sql, args: [...values] } : withMarks(sql, values);
}

/** The statement with a `?` for each value, in the order of their use. */
function withMarks(sql: string, values: readonly unknown[]): { text: string; args: unknown[] } {
	const args: unknown[] = [];
	const text = sql.replace(/\$(\d+)/g, (_, number) => {
		args.push(values[Number(number) - 1] ?? null);
		return "?";
	});
	return { text, args };
}
