/*
 * What is known of contacts, under the hash of their number.
 */
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, FactSource, FactTime, StoredContact, StoredFact } from "../text.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import type { ContactName, ContactNames } from "./contact-names.ts";
import { isMeta } from "./meta.ts";
import type { Names } from "./names.ts";
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
	perhapsDeclined: "perhaps_declined",
	declined: "declined",
	declineNoticed: "decline_noticed",
	ignored: "ignored",
} satisfies Record<keyof ContactFacts, string>;
const clocks = ["service", "own"] as const satisfies (keyof FactTime)[];

/** All facts. */
export const allFacts = Object.keys(factNames) as (keyof ContactFacts)[];

/** What people tell, whose name is kept with it. */
const toldFacts: readonly string[] = ["opted_out_own", "opted_in_own"];

/**
 * Each fact has a column for its latest time by each clock. What told of it is in the column `…_source`, and who told it in `…_by`.
 */
const factColumns = allFacts.flatMap((fact) =>
	clocks.map((clock) => ({ fact, clock, column: `${factNames[fact]}_${clock}` })),
);

/** When a contact was erased, by the outbox's clock. */
const erasedColumn = "erased_at";

/** The columns that say more about a time. */
const detailsOf = (column: string): string[] => [
	...(column === erasedColumn ? [] : [`${column}_source`]),
	...(toldFacts.includes(column) ? [`${column}_by`] : []),
];

/** The columns of the facts, in the definition of the table. */
export const factsIn = (source: string, by: string): string =>
	[...factColumns.map(({ column }) => column), erasedColumn]
		.map((column) => {
			const details = detailsOf(column).map((name) => `, ${name} ${name.endsWith("_by") ? by : source}`);
			return `${column} bigint${details.join("")}`;
		})
		.join(", ");

/**
 * One row with the latest time of each fact of a number, in an agency or in all of them, and under whichever key.
 *
 * @param names how many names it has: each is an id of a key and a hash
 * @param agency the value with the agency
 * @param from the number of the value with the first name
 */
export function latestFacts(
	{ contacts, meta }: Pick<Names, "contacts" | "meta">,
	names: number,
	agency: string,
	from: number,
): string {
	const columns = factColumns.map(({ column }) => `max(${column}) as ${column}`).join(", ");
	const named = Array.from({ length: names }, (_, at) => `key_id = $${2 * at + from} and hash = $${2 * at + from + 1}`);
	return `select ${columns}, (select ${keysLength} from ${meta} where ${isMeta}) as keys_length
		from ${contacts} where agency_id in ('', ${agency}) and (${named.join(" or ")})`;
}

/** Differs once a key was added, so that whoever knows fewer keys reads them again. */
export const keysLength = "length(hash_keys)";

/** The facts of such a row, and its other columns. */
export function factsFrom({ keys_length: _, ...row }: Row): { facts: ContactFacts; rest: Row } {
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
 * What stores the facts of these columns in a row that is there. The details come first: MySQL reads a column as it has just been set.
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
			return [...detailsOf(column), column].map(
				(each) => `${each} = case when ${isLater} then ${given(each)} else ${known(each)} end`,
			);
		})
		.join(", ");
}

/** The columns of new facts, each with its details. */
export const insertedFacts = (columns: readonly string[]): string[] =>
	columns.flatMap((column) => [column, ...detailsOf(column)]);

/** What takes the names of people from what they told. */
export const withoutNames: string = toldFacts.map((column) => `${column}_by = null`).join(", ");

/** Every column of a contact that has a time. */
const allColumns = [...factColumns.map(({ column }) => column), erasedColumn];

/** A row of the table of contacts. */
function contactFrom(row: Row): StoredContact {
	const facts = factColumns.flatMap(({ fact, clock, column }): StoredFact[] => {
		const at = row[column];
		if (at === null || at === undefined) return [];
		const by = row[`${column}_by`];
		const source = String(row[`${column}_source`]) as FactSource;
		return [{ fact, clock, at: Number(at), source, by: typeof by === "string" ? by : null }];
	});
	return {
		keyId: String(row.key_id),
		hash: String(row.hash),
		agencyId: String(row.agency_id),
		facts,
		erasedAt: row[erasedColumn] === null ? null : Number(row[erasedColumn]),
	};
}

/** The values of {@link allColumns} and their details. */
function contactValues({ facts, erasedAt }: StoredContact): Value[] {
	const values = new Map<string, Value>([[erasedColumn, erasedAt]]);
	for (const { fact, clock, at, source, by } of facts) {
		const column = `${factNames[fact]}_${clock}`;
		values.set(column, at).set(`${column}_source`, source).set(`${column}_by`, by);
	}
	return insertedFacts(allColumns).map((column) => values.get(column) ?? null);
}

/** Contacts that one statement stores, and numbers that one asks about. */
const mostStored = 100;
const mostAsked = 500;

export function createFacts(
	statements: Statements,
	{ nameOf, allOf, isBehind }: ContactNames,
	{ query }: Run,
): Pick<OutboxStore, "facts" | "note" | "contacts" | "contactsOf" | "learn" | "numbers"> {
	return {
		async facts({ agencyId, to }) {
			for (;;) {
				const names = await allOf(to);
				const values = names.flatMap(({ keyId, hash }) => [keyId, hash]);
				const [row = {}] = await query(statements.facts(names.length, "$1", 2), [agencyId, ...values]);
				if (!(await isBehind(row))) return factsFrom(row).facts;
			}
		},
		async note({ agencyId = "", to = "" }, facts, source, by) {
			const given = factColumns.flatMap(({ fact, clock, column }) => {
				const at = facts[fact]?.[clock];
				return at === undefined ? [] : [{ column, at: Math.ceil(at) }];
			});
			if (given.length === 0) return;
			const { keyId, hash } = await nameOf(to);
			const values = given.flatMap(({ column, at }) => [
				at,
				source,
				...(toldFacts.includes(column) ? [by ?? null] : []),
			]);
			await query(statements.note(given.map(({ column }) => column)), [agencyId, hash, keyId, ...values]);
		},
		async contacts(after) {
			const { keyId = "", hash = "", agencyId = "" } = after ?? {};
			return (await query(statements.contacts, [keyId, hash, agencyId])).map(contactFrom);
		},
		async contactsOf(numbers) {
			const found: { to: string; contact: StoredContact }[] = [];
			const all = await Promise.all(numbers.map(async (to) => ({ to, names: await allOf(to) })));
			const byKey = new Map<string, Map<string, string>>();
			for (const { to, names } of all)
				for (const { keyId, hash } of names) byKey.set(keyId, (byKey.get(keyId) ?? new Map()).set(hash, to));
			for (const [keyId, hashes] of byKey)
				for (const some of inChunks([...hashes.keys()], mostAsked))
					for (const row of await query(statements.contactsOf(some.length), [keyId, ...some])) {
						const contact = contactFrom(row);
						found.push({ to: hashes.get(contact.hash) ?? "", contact });
					}
			return found;
		},
		async learn(contacts) {
			for (const some of inChunks(contacts, mostStored))
				await query(
					statements.note(allColumns, some.length),
					some.flatMap((each) => [each.agencyId, each.hash, each.keyId, ...contactValues(each)]),
				);
		},
		numbers: async (after) => (await query(statements.numbers, [after])).map(({ recipient }) => String(recipient)),
	};
}

/** Forgets who told what of a number, and notes when it was erased. */
export async function eraseNames(
	statements: Statements,
	names: readonly ContactName[],
	{ own, agencyId, at }: { own: ContactName; agencyId: string; at: number | undefined },
	query: Run["query"],
): Promise<void> {
	if (at !== undefined) await query(statements.note([erasedColumn]), [agencyId, own.hash, own.keyId, Math.ceil(at)]);
	for (const { keyId, hash } of names) await query(statements.forgetNames, [keyId, hash, agencyId]);
}
