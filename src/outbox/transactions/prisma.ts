import { can } from "../input.ts";
import { type Connection, type Dialect, forDialect, hasRows, rowsOf } from "../stores/connection.ts";
import { mysqlConnection } from "./mysql-statements.ts";

/** A client of Prisma, or the one of an interactive transaction. */
export interface PrismaQueryable {
	/** Runs one statement. */
	$queryRawUnsafe: (sql: string, ...values: unknown[]) => PromiseLike<unknown>;
	/** Runs one statement, and gives the number of rows. */
	$executeRawUnsafe?: (sql: string, ...values: unknown[]) => PromiseLike<number>;
}

/** Prisma passes a number that is too large for an `integer` as one that is not whole. */
const whole = (value: unknown): unknown => (Number.isInteger(value) ? BigInt(value as number) : value);

export function prisma(value: PrismaQueryable, dialect: Dialect): Connection | undefined {
	if (!can(value, "$queryRawUnsafe")) return undefined;
	// Only the client itself has it.
	const isTransaction = () => !can(value, "$connect");
	if (dialect === "mysql") {
		const change = value.$executeRawUnsafe;
		if (!change) return undefined;
		const run = (sql: string) => (hasRows(sql) ? value.$queryRawUnsafe(sql) : change.call(value, sql));
		return mysqlConnection(run, isTransaction);
	}
	return {
		async query(sql, values) {
			const { text, args } = forDialect(sql, values, dialect);
			return rowsOf(await value.$queryRawUnsafe(text, ...args.map(whole)), sql);
		},
		isTransaction,
	};
}
