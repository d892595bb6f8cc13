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
const inner = ["cause", "driverError", "meta", "driverAdapterError"];

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

function messageOf(error: unknown): string {
	return textIn(layersOf(error), "message", "originalMessage") ?? String(error);
}

/** Another statement holds what this one needs: the same statement succeeds later. */
export function isLocked(error: unknown): boolean {
	return (
		/^(SQLITE_(BUSY|LOCKED)|40P01$|40001$)/.test(codeOf(error)) ||
		/SQLITE_(BUSY|LOCKED)|(database|table)( \w+)? is locked/.test(messageOf(error))
	);
}

/**
 * Codes of errors that pass. PostgreSQL: a lost connection (class 08), a server without resources (53), or one that stops,
 * starts or ends statements (57). A server that is read-only during a failover (25006), and a lock that was not available
 * (55P03). Then the codes of Node, postgres.js, Prisma and SQLite for the same.
 */
const passingCodes = new RegExp(
	[
		"^(08...|53...|57...|25006|55P03|40...",
		"ECONN\\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN",
		"CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECT_TIMEOUT",
		"P1001|P1002|P1008|P1017|P2024|P2034",
		"SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN)\\w*)$",
	].join("|"),
);
const passingMessages =
	/^Connection terminated|timeout exceeded when trying to connect|^fetch failed$|^socket hang up$/;

/** The database is away or busy. It heals by itself, unlike a missing table, a permission or a mistake in a program. */
export function isPassing(error: unknown): boolean {
	return isLocked(error) || passingCodes.test(codeOf(error)) || passingMessages.test(messageOf(error));
}

/** Data exceptions and violated constraints. Their messages quote values. */
const quotesValues = /^(22|23)|^SQLITE_(CONSTRAINT|MISMATCH)|^P20(0|1)/;

/** The error of a statement without its values. */
export function withoutValues(error: unknown, values: readonly unknown[]): unknown {
	if (error instanceof PartnerInvalidInput) return error;
	const layers = layersOf(error);
	const code = codeOf(error);
	const message = messageOf(error);
	const constraint = textIn(layers, "constraint", "constraint_name") ?? /constraint "(\w+)"/.exec(message)?.[1];
	const isQuoting =
		quotesValues.test(code) ||
		layers.some(({ detail }) => detail) ||
		values.some((value) => typeof value === "string" && value.length > 2 && message.includes(value));
	const safe: DatabaseError = new Error(isQuoting ? "The database refused a statement of the outbox" : message);
	if (isQuoting) {
		const known = [code && `code ${code}`, constraint && `constraint ${constraint}`].filter(Boolean).join(", ");
		safe.message += known ? ` (${known}).` : ".";
	}
	if (code) safe.code = code;
	if (constraint) safe.constraint = constraint;
	return safe;
}
