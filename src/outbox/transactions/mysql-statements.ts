/*
 * Runs statements on MySQL and MariaDB. Every value is part of the statement, as a hexadecimal literal or a number. So the
 * placeholders and the escaping of a library do not matter, nor do the `sql_mode` and the character set of the connection. A log
 * of statements shows no number and no text as it is.
 */

import { can } from "../input.ts";
import { type Connection, hasRows, inSnakeCase, type Row, UnusableResult } from "../stores/connection.ts";

/** Whatever options a pool has, the rows of the outbox are objects with their values as a driver gives them by default. */
export const plain = {
	rowsAsArray: false,
	nestTables: false,
	namedPlaceholders: false,
	typeCast: (_: unknown, next: () => unknown) => next(),
};

export function mysqlConnection(
	given: (sql: string) => unknown,
	isTransaction: Connection["isTransaction"],
): Connection {
	const run = (sql: string): PromiseLike<unknown> => {
		const result = given(sql);
		if (!can(result, "then")) throw new UnusableResult("must give promises: use the promises of mysql2 or mariadb");
		return result as PromiseLike<unknown>;
	};
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
