/*
 * Connections can be set to change what they read: the names of columns, the form of rows, or values. The store would take a row
 * for another one, or fail after it has stored something, so it looks at a row of its own first.
 */
import { refuse } from "../input.ts";
import type { Row } from "./connection.ts";

/** A row whose values every library gives unchanged by default. */
const sample = (text: string): string =>
	`select ${text.replace("$", `'{"a":1}'`)} as json_text, ${text.replace("$", "null")} as no_value`;
export const plainRow: string = sample("$");
export const typedRow: string = sample("cast($ as text)");

const parsesJson =
	"must give text as it is, also if it looks like JSON: leave out ParseJSONResultsPlugin, as db.withoutPlugins() does";
const changesNull =
	"must give null as null: leave out the option that makes it undefined, such as transform.value of postgres.js";
const givesArrays = 'must give rows as objects: leave out rowMode: "array", returnArrays or rowsAsArray';
const renames =
	"must give columns by their names, or in camel case: leave out transform.column of postgres.js, such as postgres.pascal or postgres.kebab";

/** Refuses a connection by what it made of {@link plainRow}. */
export function refuseChanged([row]: readonly Row[], field: string, operation: string): void {
	const names = Object.keys(Object(row));
	if (Array.isArray(row) || (names.length > 0 && names.every((name) => /^\d+$/.test(name))))
		refuse(field, givesArrays, operation);
	// Without rows every statement fails, which shows elsewhere.
	if (!row) return;
	if (!("json_text" in row)) refuse(field, renames, operation);
	if (typeof row.json_text !== "string") refuse(field, parsesJson, operation);
	if (row.no_value !== null) refuse(field, changesNull, operation);
}

/** Refuses a transaction by what it made of the row of a text, which it takes back. */
export function refuseChangedText(row: Row): Row {
	if (typeof row.progress !== "string") refuse("tx", parsesJson, "enqueue");
	if (row.reason === undefined) refuse("tx", changesNull, "enqueue");
	return row;
}
