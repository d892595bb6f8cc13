/*
 * What is known of contacts, under the hash of their number.
 */
import type { OutboxStore } from "../store.ts";
import type { ContactFacts } from "../text.ts";
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
	declined: true,
	ignored: true,
	ignoredMarketing: true,
} satisfies Record<keyof ContactFacts, true>) as (keyof ContactFacts)[];

export function createFacts(
	statements: Statements,
	{ nameOf }: ContactNames,
	{ query }: Run,
): Pick<OutboxStore, "facts" | "note"> {
	return {
		async facts(recipient) {
			const names = [recipient, { to: recipient.to }].flatMap((who) => factNames.map((fact) => nameOf(fact, who)));
			const rows = await query(statements.facts(names.length), await Promise.all(names));
			const facts: ContactFacts = {};
			for (const { name, stopped_at } of rows) {
				const fact = factNames.find((each) => String(name).startsWith(`${each} `));
				if (fact) facts[fact] = Math.max(facts[fact] ?? 0, Number(stopped_at));
			}
			return facts;
		},
		async note(recipient, facts) {
			for (const fact of factNames) {
				const at = facts[fact];
				if (at !== undefined) await query(statements.note, [await nameOf(fact, recipient), Math.ceil(at)]);
			}
		},
	};
}
