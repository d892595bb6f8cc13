/*
 * What an error of a database means, whichever library threw it.
 */
import { PartnerInvalidInput } from "messaging-conversations";

/** An error of the database without what it quotes: a driver may quote a whole row, and with it number and text. */
export interface DatabaseError extends Error {
	/** The code of the database or of the connection, such as `23514` or `ECONNREFUSED`. */
	code?: string;
	/** Name of the constraint that refused the row. */
	constraint?: string;
}

type Layer = Record<string, unknown>;

/** The fields under which libraries keep the error of the driver. */
const inner = ["cause", "driverError", "meta", "driverAdapterError", "original"];

/** The error and those that it wraps, the outermost first. */
function layersOf(error: unknown, depth = 0): Layer[] {
	if (typeof error !== "object" || error === null || depth > 5) return [];
	const layer: Layer = Object(error);
	return [layer, ...inner.flatMap((name) => layersOf(layer[name], depth + 1))];
}

/** The text in one of the fields, of the innermost error that has one. */
function textIn(layers: readonly Layer[], ...names: string[]): string | undefined {
	const found = layers.flatMap((layer) => names.map((name) => layer[name]));
	return found.filter((value): value is string => typeof value === "string" && value !== "").at(-1);
}

/** The code of the driver's error. */
function codeOf(error: unknown): string {
	return textIn(layersOf(error), "code", "originalCode") ?? "";
}

/** Libraries of MySQL put the statement into `message`, and what the server said alone into `sqlMessage`. */
function messageOf(error: unknown): string {
	const layers = layersOf(error);
	return textIn(layers, "sqlMessage") ?? textIn(layers, "message", "originalMessage") ?? String(error);
}

/** Another statement holds what this one needs: the same statement succeeds later. */
export function isLocked(error: unknown): boolean {
	return (
		/^(SQLITE_(BUSY|LOCKED)|40P01$|40001$|ER_(LOCK_DEADLOCK|LOCK_WAIT_TIMEOUT|CHECKREAD)$|1213$|1205$|1020$)/.test(
			codeOf(error),
		) || /SQLITE_(BUSY|LOCKED)|(database|table)( \w+)? is locked/.test(messageOf(error))
	);
}

/**
 * Codes of errors that pass. PostgreSQL: a lost connection (class 08), a server without resources (53), or one that stops,
 * starts or ends statements (57). A server that is read-only during a failover (25006), and a lock that was not available
 * (55P03). Then the codes of Node, postgres.js, Prisma and SQLite for the same, and those of MySQL, MariaDB and their libraries:
 * too many connections, a server that stops or is read-only, a statement that was ended, and a connection that was lost.
 */
const passingCodes = new RegExp(
	[
		"^(08...|53...|57...|25006|55P03|40...",
		"ECONN\\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN",
		"CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECT_TIMEOUT",
		"P1001|P1002|P1008|P1017|P2024|P2034",
		"SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN)\\w*",
		"ER_(CON_COUNT_ERROR|TOO_MANY_USER_CONNECTIONS|USER_LIMIT_REACHED|SERVER_SHUTDOWN|NORMAL_SHUTDOWN|DISK_FULL)",
		"ER_(OPTION_PREVENTS_STATEMENT|READ_ONLY_MODE|CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|QUERY_(INTERRUPTED|TIMEOUT))",
		"ER_(STATEMENT_TIMEOUT|CONNECTION_KILLED|NET_\\w+|(NEW_)?ABORTING_CONNECTION|GET_CONNECTION_TIMEOUT)",
		"ER_POOL_NO\\w+|ER_(CONNECTION_TIMEOUT|SOCKET_\\w+|CMD_CONNECTION_CLOSED)|PROTOCOL_\\w+",
		"1040|1053|1152|1158|1159|1160|1161|1184|1203|1226|1290|1317|1836|1927|1969|3024|45028|4506[01])$",
	].join("|"),
);
const passingMessages =
	/^Connection terminated|timeout exceeded when trying to connect|^fetch failed$|^socket hang up$|connection is in closed state/;

/** All connections of a pool are in use. Sequelize, Knex and mysql2 have no code for it, and the cause says less. */
function fullPool(error: unknown): Layer | undefined {
	return layersOf(error).find(
		({ name, message }) =>
			name === "SequelizeConnectionAcquireTimeoutError" ||
			/^(Knex: Timeout acquiring|Queue limit reached)/.test(String(message)),
	);
}

/** The database is away or busy. It heals by itself, unlike a missing table, a permission or a mistake in a program. */
export function isPassing(error: unknown): boolean {
	const isKnown = passingCodes.test(codeOf(error)) || passingMessages.test(messageOf(error));
	return isKnown || isLocked(error) || fullPool(error) !== undefined;
}

/** A table or a column of the store is missing. */
function isUnmigrated(error: unknown): boolean {
	return (
		/^(42P01|42703|ER_NO_SUCH_TABLE|ER_BAD_FIELD_ERROR|1146|1054)$/.test(codeOf(error)) ||
		/no such (table|column)|has no column named/.test(messageOf(error))
	);
}

/** How MySQL says that no transaction is open, or another one: it does not know the savepoint. */
export function isWithoutTransaction(error: unknown): boolean {
	return /^(ER_SP_DOES_NOT_EXIST|1305)$/.test(codeOf(error));
}

/** How MySQL says that it prepares no statement of this kind. */
export function isUnprepared(error: unknown): boolean {
	return /^(ER_UNSUPPORTED_PS|1295)$/.test(codeOf(error)) || /prepared statement protocol/.test(messageOf(error));
}

/** How SQLite refuses a pragma that needs that no transaction is open. */
export function isInside(error: unknown): boolean {
	return /may not be changed inside a transaction/i.test(messageOf(error));
}

/** Data exceptions and violated constraints. Their messages quote values. */
const quotesValues = /^(22|23)|^SQLITE_(CONSTRAINT|MISMATCH)|^P20(0|1)|^ER_(DUP|TRUNCATED|DATA|WARN_DATA|PARSE|SIGNAL)/;

/** The error of a statement without its values. */
export function withoutValues(error: unknown, values: readonly unknown[]): unknown {
	if (error instanceof PartnerInvalidInput) return error;
	const full = fullPool(error);
	if (full)
		return Object.assign(new Error(`No connection of the pool became free. ${full.message}`), { code: "ETIMEDOUT" });
	const layers = layersOf(error);
	const code = codeOf(error);
	const message = messageOf(error);
	const constraint =
		textIn(layers, "constraint", "constraint_name") ?? /constraint ["'`](\w+)["'`]/i.exec(message)?.[1];
	const isQuoting =
		quotesValues.test(code) ||
		layers.some(({ detail }) => detail) ||
		// A statement of MySQL, which holds its values.
		/\bx'[\da-f]/.test(message) ||
		values.some((value) => typeof value === "string" && value.length > 2 && message.includes(value));
	const safe: DatabaseError = new Error(isQuoting ? "The database refused a statement of the outbox" : message);
	if (isUnmigrated(error))
		safe.message = `${safe.message}. The outbox's tables are missing or of an earlier version: call outbox.migrate() first`;
	if (isQuoting) {
		const known = [code && `code ${code}`, constraint && `constraint ${constraint}`].filter(Boolean).join(", ");
		safe.message += known ? ` (${known}).` : ".";
	}
	if (code) safe.code = code;
	if (constraint) safe.constraint = constraint;
	return safe;
}
