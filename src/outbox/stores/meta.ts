/*
 * What an outbox knows of itself, in one row that `migrate` writes: its id, and the key of the hashes of its contacts. Both go
 * wherever the tables go.
 */
import { PartnerConfigurationError } from "messaging-conversations";
import type { Row, Value } from "./connection.ts";
import type { Names } from "./names.ts";

type Query = (sql: string, values: Value[]) => Promise<Row[]>;

/** What the outbox knows of itself. */
export interface Meta {
	/** Random. Texts of two outboxes may have the same ids, and are different texts all the same. */
	outboxId: string;
	/** The id of the outbox's own key. */
	keyId: string;
	/** The keys of hashes, by their ids. */
	keys: ReadonlyMap<string, string>;
	/** How long they are as they are stored. */
	keysLength: number;
	/** The keys as they are stored. */
	hashKeys: string;
}

/** The row of an outbox. MySQL has others for moments. */
export const isMeta = "id = 1";

/** 128 bits in hexadecimal. */
const randomHex = (): string => crypto.randomUUID().replaceAll("-", "");

/**
 * Writes the row. Refuses to make a new one if the tables have rows already.
 *
 * @param unlessThere the end of the insert
 */
export async function writeMeta(query: Query, { meta, texts, contacts }: Names, unlessThere: string): Promise<void> {
	// In this order, because another process may write the row at this moment, and a third one store texts.
	const [left] = await query(`select 1 as found from ${texts} limit 1`, []);
	const [noted] = await query(`select 1 as found from ${contacts} limit 1`, []);
	const [known] = await query(`select 1 as found from ${meta} where ${isMeta}`, []);
	if (known) return;
	if (left || noted) refuseLost(meta, [texts, contacts], "migrate");
	const keyId = randomHex();
	await query(`insert into ${meta} (id, outbox_id, key_id, hash_keys) values (1, $1, $2, $3) ${unlessThere}`, [
		crypto.randomUUID(),
		keyId,
		JSON.stringify({ [keyId]: `${randomHex()}${randomHex()}` }),
	]);
}

/** Refuses to create a table again whose rows nothing can derive: without them a No becomes a Yes. */
export async function refuseDropped(exists: (name: string) => Promise<boolean>, names: Names): Promise<void> {
	for (const table of [names.texts, names.contacts]) {
		if (await exists(table)) continue;
		const rule = `has lost its table ${table}, which migrate created. Restore it from a backup`;
		throw new PartnerConfigurationError({ field: "store", rule, operation: "migrate" });
	}
}

function refuseLost(meta: string, tables: readonly string[], operation: string): never {
	const rule = `has rows in ${tables.join(" or ")}, but none in ${meta}. Copy ${meta} from the same place: without its keys nobody can tell who has opted out`;
	throw new PartnerConfigurationError({ field: "store", rule, operation });
}

/**
 * The ids of all keys under which something is known of a contact. It reads one row of an index for each.
 */
const keyIdsIn = ({ contacts }: Pick<Names, "contacts">): string => {
	const next = `select min(c.key_id) from ${contacts} c where c.key_id > q1.id`;
	return `select id from (with recursive q1 (id) as (select min(key_id) from ${contacts} where key_id > ''
		union all select (${next}) from q1 where q1.id is not null) select id from q1) as q2 where id is not null`;
};

/** How many keys are not among some, under which something is known of a contact. */
export const otherKeysIn = (names: Pick<Names, "contacts">, some: string): string =>
	`(select count(*) from (${keyIdsIn(names)}) as q3 where id not in (${some}))`;

/** Refuses facts that cannot be read: a No among them would count as none. */
export function refuseUnread({ meta, contacts }: Pick<Names, "meta" | "contacts">, operation = "work"): never {
	const rule = `has rows in ${contacts} whose key is not in ${meta}, so that nobody can tell who has opted out. Copy ${meta} together with ${contacts}, or add the key to its column hash_keys: it is in ${meta} where the rows come from`;
	throw new PartnerConfigurationError({ field: "store", rule, operation });
}

/** The keys of a column that people may have changed. Undefined if it has something else. The error of JSON would quote a part of it. */
function keysFrom(stored: string): ReadonlyMap<string, string> | undefined {
	let keys: unknown;
	try {
		keys = JSON.parse(stored);
	} catch {
		return undefined;
	}
	const found = new Map<string, string>();
	for (const [id, key] of Object.entries(Object(keys))) {
		if (typeof key !== "string" || key === "") return undefined;
		found.set(id, key);
	}
	return found;
}

function refuseKeys(meta: string): never {
	const rule = `has no keys in the column hash_keys of ${meta}, or not its own. It is a JSON object, with a key for each id of a key. Without them nobody can tell who has opted out`;
	throw new PartnerConfigurationError({ field: "store", rule, operation: "work" });
}

/** Reads the row, once. */
export function createMeta(
	names: Names,
	{ meta: readMeta, addKeys }: { meta: string; addKeys: string },
	query: Query,
	change: (sql: string, values: Value[]) => Promise<number>,
) {
	const { meta, texts, contacts } = names;
	let known: Promise<Meta> | undefined;
	async function read(): Promise<Meta> {
		const [row] = await query(readMeta, []);
		if (!row) {
			for (const table of [texts, contacts])
				if ((await query(`select 1 as found from ${table} limit 1`, [])).length > 0)
					refuseLost(meta, [texts, contacts], "work");
			throw new Error("The outbox's tables are incomplete: call outbox.migrate() first.");
		}
		const keyId = String(row.key_id);
		const keys = keysFrom(String(row.hash_keys));
		if (!keys?.has(keyId)) refuseKeys(meta);
		return {
			outboxId: String(row.outbox_id),
			keyId,
			keys,
			keysLength: Number(row.keys_length),
			hashKeys: String(row.hash_keys),
		};
	}
	function get(): Promise<Meta> {
		known ??= read().catch((error: unknown) => {
			known = undefined;
			throw error;
		});
		return known;
	}
	/** Reads it again. */
	function refresh(): Promise<Meta> {
		known = undefined;
		return get();
	}
	return {
		get,
		refresh,
		/** Adds keys of another outbox, under which facts are to be stored. */
		async addKeys(added: ReadonlyMap<string, string>): Promise<void> {
			for (;;) {
				const { keys, hashKeys } = await refresh();
				const all = new Map([...added, ...keys]);
				if (all.size === keys.size) return;
				// Unless another process has added one at this moment.
				if ((await change(addKeys, [JSON.stringify(Object.fromEntries(all)), hashKeys])) > 0) break;
			}
			await refresh();
		},
		/** Reads the keys again, and refuses facts that cannot be read. */
		async checkKeys(operation?: string): Promise<void> {
			const { keys } = await refresh();
			const rows = await query(keyIdsIn(names), []);
			if (!rows.every(({ id }) => keys.has(String(id)))) refuseUnread(names, operation);
		},
	};
}
