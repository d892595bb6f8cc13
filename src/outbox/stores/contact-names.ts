/*
 * The names under which something is stored of a contact. They are hashes, and hold no number.
 */
import { operationIdFrom } from "messaging-conversations";
import type { Row } from "./connection.ts";
import type { Meta } from "./meta.ts";

/** The name of a number in the table of contacts. It is the same in all agencies. */
export interface ContactName {
	/** The id of the key of the hash. */
	keyId: string;
	/** The keyed hash of the number. Without a key it can be reversed by trying all numbers. */
	hash: string;
}

/** Names of what is stored of contacts. */
export interface ContactNames {
	/** The name under which something is stored. */
	nameOf: (to: string) => Promise<ContactName>;
	/** All names under which something may be stored: one for each key. */
	allOf: (to: string) => Promise<ContactName[]>;
	/** Whether a key was added since, as a row shows that was read by these names. Then all keys are read again. */
	isBehind: (row: Row) => Promise<boolean>;
}

export function createContactNames({
	get: meta,
	refresh,
}: {
	get: () => Promise<Meta>;
	refresh: () => Promise<Meta>;
}): ContactNames {
	const named = async (keyId: string, key: string, to: string): Promise<ContactName> => ({
		keyId,
		hash: await operationIdFrom("contact", key, to),
	});
	return {
		async nameOf(to) {
			const { keyId, keys } = await meta();
			return named(keyId, keys.get(keyId) ?? "", to);
		},
		async allOf(to) {
			const { keys } = await meta();
			return Promise.all([...keys].map(([keyId, key]) => named(keyId, key, to)));
		},
		async isBehind({ keys_length }) {
			const known = await meta();
			if (Number(keys_length) === known.keysLength) return false;
			return (await refresh()).keysLength !== known.keysLength;
		},
	};
}
