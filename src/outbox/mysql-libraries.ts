/*
 * Runs statements on MySQL and MariaDB through the library that a team uses already. Every value is part of the statement, as a
 * hexadecimal literal or a number. So the placeholders and the escaping of a library do not matter, nor do the `sql_mode` and
 * the character set of the connection. A log of statements shows no number and no text as it is.
 */
import { type Connection, hasRows, inSnakeCase, type Recognise, type Row, UnusableResult } from "./connection.ts";
import { can } from "./input.ts";

/** A `Sequelize`. */
export interface SequelizeQueryable {
	/** Only Sequelize has it. */
	getQueryInterface: unknown;
	/** Runs one statement. */
	query(sql: string, options?: object): PromiseLike<unknown>;
}

type Run = (sql: string) => PromiseLike<unknown>;

/** Whatever options a pool has, the rows of the outbox are objects with their values as a driver gives them by default. */
const plain = {
	rowsAsArray: false,
	nestTables: false,
	namedPlaceholders: false,
	typeCast: (_: unknown, next: () => unknown) => next(),
};

type Method = (...given: unknown[]) => unknown;
type Methods = Record<string, Method>;

const is = (value: unknown, field: string): boolean => Reflect.get(Object(value), field) === true;

function sequelize(value: object): Connection | undefined {
	const owner = Reflect.get(Object(value), "sequelize");
	const isTransaction = can(value, "commit", "rollback", "afterCommit") && can(owner, "query", "getQueryInterface");
	const db: SequelizeQueryable = isTransaction ? owner : value;
	if (!can(db, "query", "getQueryInterface")) return undefined;
	// Without a log, because its default is the console. With null it takes no part in a transaction that is open around it.
	const options = { transaction: isTransaction ? value : null, logging: false };
	return connection(
		(sql) => db.query(sql, options),
		() => isTransaction && Reflect.get(value, "finished") === undefined,
	);
}

function prisma(value: Methods): Connection | undefined {
	if (!can(value, "$queryRawUnsafe", "$executeRawUnsafe")) return undefined;
	return connection(
		(sql) => call(value, hasRows(sql) ? "$queryRawUnsafe" : "$executeRawUnsafe", sql),
		// Only the client itself has it.
		() => !can(value, "$connect"),
	);
}

function drizzle(value: Methods): Connection | undefined {
	if (!can(value, "execute") || !("$with" in value)) return undefined;
	return connection(
		// What Drizzle's own `sql` makes.
		(sql) => call(value, "execute", { getSQL: () => ({ toQuery: () => ({ sql, params: [] }) }) }),
		// A transaction does not tell whether it has ended.
		() => (can(value, "rollback") ? undefined : false),
	);
}

function kysely(value: Methods): Connection | undefined {
	if (!can(value, "executeQuery", "selectFrom")) return undefined;
	return connection(
		(sql) => {
			// What Kysely's own `CompiledQuery.raw` makes.
			const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
			return call(value, "executeQuery", {
				sql,
				parameters: [],
				query,
				queryId: { queryId: crypto.randomUUID() },
			});
		},
		() => is(value, "isTransaction"),
	);
}

function mikroOrm(value: Methods): Connection | undefined {
	if (!can(value, "execute", "isInTransaction")) return undefined;
	return connection(
		(sql) => call(value, "execute", sql, [], hasRows(sql) ? "all" : "run"),
		() => value.isInTransaction?.() === true,
	);
}

function typeOrm(value: Methods): Connection | undefined {
	if (!can(value, "query", "getRepository") && !can(value, "query", "startTransaction")) return undefined;
	return connection(
		(sql) => call(value, "query", sql),
		() => {
			const runner = can(value, "startTransaction") ? value : value.queryRunner;
			return is(runner, "isTransactionActive");
		},
	);
}

function knex(value: Methods): Connection | undefined {
	if (!can(value, "raw", "transaction")) return undefined;
	return connection(
		(sql) => call(value, "raw", sql),
		() => is(value, "isTransaction"),
	);
}

/** mysql2, with promises or with callbacks, and mariadb. */
function driver(value: Methods): Connection | undefined {
	if (!can(value, "query", "escape")) return undefined;
	return connection(
		(sql) => call(can(value, "promise") ? (value.promise?.() as Methods) : value, "query", { ...plain, sql }),
		// A connection does not tell.
		() => (can(value, "getConnection") ? false : undefined),
	);
}

/** In this order, because some have the methods of a later one too. */
export const mysqlLibraries: Recognise[] = [sequelize, prisma, drizzle, kysely, mikroOrm, typeOrm, knex, driver];

function call(value: Methods, method: string, ...given: unknown[]): PromiseLike<unknown> {
	const result = value[method]?.(...given);
	if (!can(result, "then")) throw new UnusableResult("must give promises: use the promises of mysql2 or mariadb");
	return result as PromiseLike<unknown>;
}

function connection(run: Run, isTransaction: Connection["isTransaction"]): Connection {
	return {
		async query(sql, values) {
			const result = await run(withLiterals(sql, values));
			return hasRows(sql) ? rowsOf(result) : [];
		},
		change: async (sql, values) => affectedRows(await run(withLiterals(sql, values))),
		isTransaction,
	};
}

/** The statement with its values in it. */
function withLiterals(sql: string, values: readonly unknown[]): string {
	return sql.replace(/\$(\d+)/g, (_, number) => literalOf(values[Number(number) - 1] ?? null));
}

function literalOf(value: unknown): string {
	if (value === null) return "null";
	if (typeof value === "number" && Number.isSafeInteger(value)) return `${value}`;
	const bytes = new TextEncoder().encode(String(value));
	const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
	return `_utf8mb4 x'${digits.join("")}'`;
}

/** The rows, alone or before what a library gives beside them. */
function rowsOf(result: unknown): Row[] {
	const rows = Array.isArray(result) ? result : Reflect.get(Object(result), "rows");
	if (!Array.isArray(rows)) throw new UnusableResult("must give rows, as mysql2 and mariadb give them");
	return (Array.isArray(rows[0]) ? rows[0] : rows).map(inSnakeCase);
}

/** The number of rows, alone or in the header that a library gives. */
function affectedRows(result: unknown): number {
	const header = Object(Array.isArray(result) ? result[0] : result);
	const count = typeof result === "number" ? result : (header.affectedRows ?? header.numAffectedRows);
	if (count === undefined) throw new UnusableResult("must give affectedRows, as mysql2 and mariadb give it");
	return Number(count);
}
