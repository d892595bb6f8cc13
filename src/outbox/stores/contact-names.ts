/*
 * The names under which something is stored of a contact. They are hashes, and hold no number.
 */
import { operationIdFrom } from "messaging-conversations";
import type { Recipient } from "../text.ts";
import type { Row, Value } from "./connection.ts";
import type { Statements } from "./statements.ts";

/** Names of what is stored of contacts. */
export interface ContactNames {
	/** The name of a fact, such as an opt-out. Without an agency it is that of the number in all agencies. */
	nameOf: (fact: string, recipient: Partial<Recipient>) => Promise<string>;
	/** The names of a recipient's stops: of this agency, and of all agencies. */
	stopsOf: (recipient: Partial<Recipient>) => Promise<string[]>;
}

export function createContactNames(
	statements: Statements,
	query: (sql: string, values: Value[]) => Promise<Row[]>,
): ContactNames {
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

	const nameOf = async (fact: string, { agencyId = "", to = "" }: Partial<Recipient>): Promise<string> =>
		`${fact} ${await operationIdFrom("contact", await keyOf(), `agency ${agencyId}`, to)}`;

	return {
		nameOf,
		stopsOf: ({ agencyId = "", to = "" }) =>
			Promise.all([agencyId, ""].map((agency) => nameOf("stop", { agencyId: agency, to }))),
	};
}
