/*
 * The names under which something is stored of a contact. They are hashes, and hold no number.
 */
import { operationIdFrom } from "messaging-conversations";
import type { Recipient } from "../text.ts";
import type { Meta } from "./meta.ts";

/** Names of what is stored of contacts. */
export interface ContactNames {
	/** The name of a fact, such as an opt-out. Without an agency it is that of the number in all agencies. */
	nameOf: (fact: string, recipient: Partial<Recipient>) => Promise<string>;
	/** The names of a recipient's stops: of this agency, and of all agencies. */
	stopsOf: (recipient: Partial<Recipient>) => Promise<string[]>;
}

export function createContactNames(meta: () => Promise<Meta>): ContactNames {
	/** Without a key a hash of a number can be reversed by trying all numbers. */
	async function keyOf(): Promise<string> {
		const { keyId, keys } = await meta();
		return keys.get(keyId) ?? "";
	}

	const nameOf = async (fact: string, { agencyId = "", to = "" }: Partial<Recipient>): Promise<string> =>
		`${fact} ${await operationIdFrom("contact", await keyOf(), `agency ${agencyId}`, to)}`;

	return {
		nameOf,
		stopsOf: ({ agencyId = "", to = "" }) =>
			Promise.all([agencyId, ""].map((agency) => nameOf("stop", { agencyId: agency, to }))),
	};
}
