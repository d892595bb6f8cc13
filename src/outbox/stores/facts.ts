/*
 * What is known of contacts, under the hash of their number.
 */
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, FactTime } from "../text.ts";
import type { Row, Value } from "./connection.ts";
import type { ContactNames } from "./contact-names.ts";
import type { Statements } from "./statements.ts";

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
}

/** The compiler finds a fact that is missing here. */
const factNames = {
	optedOut: "opted_out",
	optedIn: "opted_in",
	wrongNumber: "wrong_number",
	refused: "refused",
	declined: "declined",
	declineNoticed: "decline_noticed",
	ignored: "ignored",
} satisfies Record<keyof ContactFacts, string>;
const clocks = ["service", "own"] as const satisfies (keyof FactTime)[];

/** Each fact has a column for its latest time by each clock. What told of it is in the column `…_source`. */
const factColumns = (Object.keys(factNames) as (keyof ContactFacts)[]).flatMap((fact) =>
	clocks.map((clock) => ({ fact, clock, column: `${factNames[fact]}_${clock}` })),
);

/** The columns of the facts, in the definition of the table. */
export const factsIn = (text: string): string =>
	factColumns.map(({ column }) => `${column} bigint, ${column}_source ${text}`).join(", ");

/**
 * One row with the latest time of each fact of a number, in an agency or in all of them, and under whichever key.
 *
 * @param names how many names it has: each is an id of a key and a hash
 * @param agency the value with the agency
 * @param from the number of the value with the first name
 */
export function latestFacts(contacts: string, names: number, agency: string, from: number): string {
	const columns = factColumns.map(({ column }) => `max(${column}) as ${column}`).join(", ");
	const named = Array.from({ length: names }, (_, at) => `key_id = $${2 * at + from} and hash = $${2 * at + from + 1}`);
	return `select ${columns} from ${contacts} where agency_id in ('', ${agency}) and (${named.join(" or ")})`;
}

/** The facts of such a row, and its other columns. */
export function factsFrom(row: Row): { facts: ContactFacts; rest: Row } {
	const rest = { ...row };
	const facts: ContactFacts = {};
	for (const { fact, clock, column } of factColumns) {
		const at = row[column];
		delete rest[column];
		if (at !== null && at !== undefined) facts[fact] = { ...facts[fact], [clock]: Number(at) };
	}
	return { facts, rest };
}

/**
 * What stores the facts of these columns in a row that is there. The source comes first: MySQL reads a column as it has just been set.
 *
 * @param known the column as it is
 * @param given the new value of it
 */
export function laterFacts(
	columns: readonly string[],
	known: (column: string) => string,
	given: (column: string) => string,
): string {
	return columns
		.flatMap((column) => {
			const isLater = `${known(column)} is null or ${known(column)} < ${given(column)}`;
			return [`${column}_source`, column].map(
				(each) => `${each} = case when ${isLater} then ${given(each)} else ${known(each)} end`,
			);
		})
		.join(", ");
}

/** The columns of new facts, each with the one of its source. */
export const insertedFacts = (columns: readonly string[]): string =>
	columns.flatMap((column) => [column, `${column}_source`]).join(", ");

export function createFacts(
	statements: Statements,
	{ nameOf, allOf }: ContactNames,
	{ query }: Run,
): Pick<OutboxStore, "facts" | "note"> {
	return {
		async facts({ agencyId, to }) {
			const names = await allOf(to);
			const values = names.flatMap(({ keyId, hash }) => [keyId, hash]);
			const [row = {}] = await query(statements.facts(names.length, "$1", 2), [agencyId, ...values]);
			return factsFrom(row).facts;
		},
		async note({ agencyId = "", to = "" }, facts, source) {
			const given = factColumns.flatMap(({ fact, clock, column }) => {
				const at = facts[fact]?.[clock];
				return at === undefined ? [] : [{ column, at: Math.ceil(at) }];
			});
			if (given.length === 0) return;
			const { keyId, hash } = await nameOf(to);
			const values = given.flatMap(({ at }) => [at, source]);
			await query(statements.note(given.map(({ column }) => column)), [agencyId, hash, keyId, ...values]);
		},
	};
}
