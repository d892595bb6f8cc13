/* The objects of the libraries, by their methods, and what the outbox uses of them: a connection that runs statements. */

/** The result of a statement. */
export interface Rows {
	/** Its rows. */
	rows: unknown[];
}

/** A row as a database gives it. */
export type Row = Record<string, unknown>;

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

/** A `Sequelize`. */
export interface SequelizeQueryable {
	/** Only Sequelize has it. */
	getQueryInterface: unknown;
	/** Runs one statement. */
	query(sql: string, options?: object): PromiseLike<unknown>;
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

export type Dialect = "postgres" | "sqlite" | "mysql";

/** A database or a transaction, whichever library it is of. */
export interface Connection {
	/** Runs one statement with `$1`, `$2`, … for its values. It has begun when this returns, if the library is synchronous. */
	query: (sql: string, values: readonly unknown[]) => Promise<Row[]>;
	/** Runs an update or a delete, and gives the number of rows. Only on MySQL, which has no `returning`. */
	change?: (sql: string, values: readonly unknown[]) => Promise<number>;
	/** Whether a transaction is open: undefined when the library does not tell. */
	isTransaction: () => boolean | undefined;
}

/** Recognises an object of a library. */
export type Recognise = (value: never, dialect: Dialect) => Connection | undefined;

/** A statement gave something else than the library's result. */
export class UnusableResult extends Error {}

/** Whether a statement has rows as its result. */
export function hasRows(sql: string): boolean {
	return /^\s*(select|pragma)\b|\breturning\b/i.test(sql);
}
