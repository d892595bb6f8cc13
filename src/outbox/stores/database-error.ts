/*
 * What an error of a database means, whichever library threw it.
 */
import { isPartnerError, PartnerConfigurationError, type RequestError } from "messaging-conversations";

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
 * Codes of errors that do not pass by themselves: syntax, a missing table or column, no right, a wrong type or value, a wrong
 * password. PostgreSQL: classes 22, 23, 28, 42 and the missing database or schema, but not a prepared statement that a pooler
 * has lost (42P05). Then Prisma's, SQLite's, and those of MySQL and MariaDB.
 */
const permanentCodes = new RegExp(
	[
		"^(22...|23...|28...|42(?!P05)...|3D000|3F000",
		"P1000|P1003|P1010|P2000|P2002|P2003|P2004|P2011|P2012|P2019|P2020|P2021|P2022",
		"SQLITE_(CONSTRAINT|MISMATCH|AUTH|PERM|NOTADB|READONLY)(_\\w+)?",
		"ER_(PARSE_ERROR|SYNTAX_ERROR|NO_SUCH_TABLE|BAD_FIELD_ERROR|BAD_DB_ERROR|BAD_NULL_ERROR|NO_DEFAULT_FOR_FIELD)",
		"ER_(\\w*ACCESS_DENIED\\w*|DUP_ENTRY|TRUNCATED_WRONG\\w*|DATA_TOO_LONG|WARN_DATA_OUT_OF_RANGE)",
		"ER_(CANT_AGGREGATE_2COLLATIONS|UPDATE_WITHOUT_KEY_IN_SAFE_MODE|UNSUPPORTED_PS|SP_DOES_NOT_EXIST)",
		"ER_(CHECK_CONSTRAINT_VIOLATED|CONSTRAINT_FAILED|SIGNAL_EXCEPTION)",
		"1044|1045|1048|1049|1054|1062|1064|1142|1143|1146|1175|1227|1264|1267|1292|1295|1305|1364|1366|1406|1644|3819|4025)$",
	].join("|"),
);
/** Drivers of SQLite have one code for all that is wrong with a statement, and say in words what it is. */
const permanentMessages =
	/no such (table|column|function)|has no column named|(^|: )near ".*": syntax error|constraint failed|readonly database|is not a database/;

/** All connections of a pool are in use. Sequelize, Knex and mysql2 have no code for it, and the cause says less. */
function fullPool(error: unknown): Layer | undefined {
	return layersOf(error).find(
		({ name, message }) =>
			name === "SequelizeConnectionAcquireTimeoutError" ||
			/^(Knex: Timeout acquiring|Queue limit reached)/.test(String(message)),
	);
}

/** A mistake in a program. `fetch` throws a `TypeError` too, when a database over HTTP is down. */
function isMistake(error: unknown): boolean {
	const isKind = [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
	return isKind && codeOf(error) === "" && !/^fetch failed|network/i.test(messageOf(error));
}

/** Whether the database may heal by itself. Everything that is not known to be permanent may: drivers have no list of their errors. */
export function isPassing(error: unknown): boolean {
	if (isLocked(error) || fullPool(error) !== undefined) return true;
	if (isPartnerError(error)) return isFull(error);
	if (isMistake(error) || !(error instanceof Error)) return false;
	return !permanentCodes.test(codeOf(error)) && !permanentMessages.test(messageOf(error));
}

/** A table or a column of the store is missing. */
export function isUnmigrated(error: unknown): boolean {
	return (
		/^(42P01|42703|ER_NO_SUCH_TABLE|ER_BAD_FIELD_ERROR|1146|1054)$/.test(codeOf(error)) ||
		/no such (table|column)|has no column named/.test(messageOf(error))
	);
}

/** A change of a table was made before: what it adds is there, or what it drops is gone. */
export function isMadeBefore(error: unknown): boolean {
	return (
		/^(ER_(TABLE_EXISTS_ERROR|DUP_FIELDNAME|DUP_KEYNAME|CANT_DROP_FIELD_OR_KEY)|1050|1060|1061|1091)$/.test(
			codeOf(error),
		) || /duplicate column name|(table|index) \S+ already exists|no such index: /.test(messageOf(error))
	);
}

/** PostgreSQL has given a row a key that another one has. */
export function isKeyTaken(error: unknown): boolean {
	return codeOf(error) === "23505";
}

/** PostgreSQL gave up waiting for a lock. */
export function isLockTimeout(error: unknown): boolean {
	return codeOf(error) === "55P03" || isLocked(error);
}

/** How PostgreSQL says that a role has no right to do it. */
export function isForbidden(error: unknown): boolean {
	return codeOf(error) === "42501";
}

/** The role has no right to do it. What hides rows has a sentence of its own. */
function lacksRight(error: unknown): boolean {
	const isDenied = /^(42501|ER_(DB|TABLE|COLUMN)ACCESS_DENIED_ERROR|1044|114[23])$/.test(codeOf(error));
	return isDenied && / denied /.test(messageOf(error));
}

/** The error of a table that was not created, because strangers could reach it. */
export const refusedTable = "outbox: strangers could reach this table";
export function isRefusedTable(error: unknown): boolean {
	return layersOf(error).some(({ message }) => String(message).includes(refusedTable));
}

/** How PostgreSQL says that a statement can only run outside of a transaction. */
export function isInTransactionBlock(error: unknown): boolean {
	return codeOf(error) === "25001";
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

/** Data exceptions, violated constraints, and what a trigger says. Their messages quote values. */
const quotesValues =
	/^(22|23|P0)|^SQLITE_(CONSTRAINT|MISMATCH)|^P20(0|1)|^ER_(DUP|TRUNCATED|DATA|WARN_DATA|PARSE|SIGNAL)|^1644$/;

/** What SQLite says of its file, in the same words through each library. */
const readOnlyFile =
	"is a SQLite file that cannot be written. Open it without readonly, query_only and mode=ro, and let the process write the file, its -wal and -shm, and its folder. If the file was replaced, open it again";
const fullFile =
	"is a SQLite file that has no room left. Free some on its disk, or raise max_page_count. A worker goes on by itself";

/** An error that a person ends outside of the program: the file may not be written, or it cannot grow. */
export function refusedFile(error: unknown): PartnerConfigurationError | undefined {
	const [, readOnly, full] = /(readonly database)|(database or disk is full)/.exec(messageOf(error)) ?? [];
	if (!readOnly && !full) return undefined;
	const rule = full ? fullFile : readOnlyFile;
	return new PartnerConfigurationError({
		field: "store",
		rule,
		operation: "sqliteStore",
		retryable: full !== undefined,
	});
}

const isFull = (error: RequestError): boolean => "rule" in error && error.rule === fullFile;

/** The error of a statement without its values. */
export function withoutValues(error: unknown, values: readonly unknown[]): unknown {
	if (isPartnerError(error)) return error;
	const refused = refusedFile(error);
	if (refused) return refused;
	const full = fullPool(error);
	if (full)
		return Object.assign(new Error(`No connection of the pool became free. ${full.message}`), { code: "ETIMEDOUT" });
	const layers = layersOf(error);
	const code = codeOf(error);
	const message = messageOf(error);
	const constraint =
		textIn(layers, "constraint", "constraint_name") ?? /constraint ["'`](\w+)["'`]/i.exec(message)?.[1];
	const isQuoting =
		(quotesValues.test(code) && !isRefusedTable(error)) ||
		layers.some(({ detail }) => detail) ||
		// A statement of MySQL, which holds its values.
		/\bx'[\da-f]/.test(message) ||
		values.some((value) => typeof value === "string" && value.length > 2 && message.includes(value));
	const safe: DatabaseError = new Error(isQuoting ? "The database refused a statement of the outbox" : message);
	if (isUnmigrated(error))
		safe.message = `${safe.message}. The outbox's tables are missing or incomplete: call outbox.migrate() first`;
	// `migrate` comes here twice.
	if (lacksRight(error) && !isQuoting && !message.includes(". The role needs"))
		safe.message = `${safe.message}. The role needs select, insert, update and delete on the outbox's tables, and create in their schema for outbox.migrate(). To ask for a status, select is enough`;
	if (isQuoting) {
		const known = [code && `code ${code}`, constraint && `constraint ${constraint}`].filter(Boolean).join(", ");
		safe.message += known ? ` (${known}).` : ".";
	}
	if (code) safe.code = code;
	if (constraint) safe.constraint = constraint;
	return safe;
}
