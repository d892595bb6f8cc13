/*
 * What is known of contacts, by the hash of their number.
 */
import { operationIdFrom } from "messaging-conversations";
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, Recipient } from "../text.ts";
import type { Row, Value } from "./connection.ts";
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

const nameOf = async (key: string, fact: string, { agencyId = "", to = "" }: Partial<Recipient>): Promise<string> =>
	`${fact} ${await operationIdFrom("contact", key, `agency ${agencyId}`, to)}`;

export function createFacts(statements: Statements, { query }: Run): Pick<OutboxStore, "facts" | "note"> {
	let key: Promise<string> | undefined;

	/** Without a key a hash of a number can be reversed by trying all numbers. It is made once for a table. */
	function keyOf(): Promise<string> {
		key ??= readKey();
		key.catch(() => {
			key = undefined;
		});
		return key;
	}

	async function readKey(): Promise<string> {
		const [found] = await query(statements.key, []);
		if (found) return String(found.stopped_at);
		const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
		// Of two processes that add one at the same time the first one counts.
		await query(statements.addKey, [high * 2 ** 20 + (low % 2 ** 20)]);
		const [row] = await query(statements.key, []);
		return String(row?.stopped_at);
	}

	return {
		async facts(recipient) {
			const of = await keyOf();
			const names = [recipient, { to: recipient.to }].flatMap((who) => factNames.map((fact) => nameOf(of, fact, who)));
			const rows = await query(statements.facts(names.length), await Promise.all(names));
			const facts: ContactFacts = {};
			for (const { name, stopped_at } of rows) {
				const fact = factNames.find((each) => String(name).startsWith(`${each} `));
				if (fact) facts[fact] = Math.max(facts[fact] ?? 0, Number(stopped_at));
			}
			return facts;
		},
		async note(recipient, facts) {
			const of = await keyOf();
			for (const fact of factNames) {
				const at = facts[fact];
				if (at !== undefined) await query(statements.note, [await nameOf(of, fact, recipient), Math.ceil(at)]);
			}
		},
	};
}
