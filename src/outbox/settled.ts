/*
 * What has become of texts, for an application that stores it with its own rows.
 */
import { fieldsOf, flag, optional, whole } from "../shared/validation.ts";
import { check, refuse } from "./input.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { OutboxStore } from "./store.ts";
import { type Transaction, withTx } from "./transaction.ts";

/** A text that reached a final state, or whose message changed. */
export interface SettledChange extends OutboxStatus {
	/** Names this change of the text for `acknowledge`. */
	revision: number;
}

/** Options of `settled`. */
interface SettledOptions {
	limit?: number | undefined;
	held?: boolean | undefined;
}

const schema = fieldsOf<SettledOptions>({ limit: optional(whole(1, 1_000)), held: optional(flag) });

export async function settled(store: OutboxStore, given: SettledOptions = {}): Promise<SettledChange[]> {
	const { limit = 100, held = false } = check(schema, "options", given, "settled");
	const rows = await store.unacknowledged(limit, { held });
	return Promise.all(
		rows.map(async (row) => ({ ...(await statusOf(store, row)), revision: row.unacknowledged ?? row.version })),
	);
}

/** Nothing is awaited before the statement, as in `enqueue`. */
export async function acknowledge(
	store: OutboxStore,
	changes: Iterable<Pick<SettledChange, "id" | "revision">>,
	given: { tx?: Transaction | undefined } = {},
): Promise<void> {
	const { tx } = check(withTx, "options", given, "acknowledge");
	if (!(Symbol.iterator in Object(changes))) refuse("changes", "must be a list, as settled returns it", "acknowledge");
	const all = [...changes].map((change, index) => {
		const { id, revision }: Partial<SettledChange> = Object(change);
		if (typeof id !== "string" || !Number.isInteger(revision))
			refuse(`changes[${index}]`, "must have id and revision, as settled returns them", "acknowledge");
		return { id, revision: Number(revision) };
	});
	if (all.length > 0) await store.acknowledge(all, tx);
}
