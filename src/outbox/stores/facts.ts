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
const factNames = Object.keys({
	optedOut: true,
	optedIn: true,
	wrongNumber: true,
	refused: true,
	declined: true,
	declineNoticed: true,
	ignored: true,
	ignoredMarketing: true,
} satisfies Record<keyof ContactFacts, true>) as (keyof ContactFacts)[];
const clocks = ["service", "own"] as const satisfies (keyof FactTime)[];
/** Each fact has a row for each clock, with the latest time by it. */
const rowNames = factNames.flatMap((fact) => clocks.map((clock) => ({ fact, clock, name: `${fact}.${clock}` })));

export function createFacts(
	statements: Statements,
	{ nameOf }: ContactNames,
	{ query }: Run,
): Pick<OutboxStore, "facts" | "note"> {
	return {
		async facts(recipient) {
			const names = [recipient, { to: recipient.to }].flatMap((who) => rowNames.map(({ name }) => nameOf(name, who)));
			const rows = await query(statements.facts(names.length), await Promise.all(names));
			const facts: ContactFacts = {};
			for (const { name, stopped_at } of rows) {
				const row = rowNames.find((each) => String(name).startsWith(`${each.name} `));
				if (!row) continue;
				const { fact, clock } = row;
				facts[fact] = { ...facts[fact], [clock]: Math.max(facts[fact]?.[clock] ?? 0, Number(stopped_at)) };
			}
			return facts;
		},
		async note(recipient, facts) {
			for (const { fact, clock, name } of rowNames) {
				const at = facts[fact]?.[clock];
				if (at !== undefined) await query(statements.note, [await nameOf(name, recipient), Math.ceil(at)]);
			}
		},
	};
}
