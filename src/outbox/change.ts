/*
 * The one way to change a row outside of a worker.
 */
import type { Awaitable } from "./awaitable.ts";
import type { OutboxStore } from "./store.ts";
import { type Change, changed, type OutboxText } from "./text.ts";

/** What became of a row that was to be changed. */
export interface Changed {
	/** The row as it is now; undefined if there is none. */
	row: OutboxText | undefined;
	isChanged: boolean;
}

/**
 * Finds a row, stores the change that is decided for it, and decides again if a worker has changed it at that moment. Without a change it
 * stays as it is.
 *
 * @param which its id, or the row as it was found a moment ago
 * @param by the person who decides, for the journal
 */
export type ChangeRow = (
	which: string | OutboxText,
	decide: (row: OutboxText) => Awaitable<Change | undefined>,
	by?: string,
) => Promise<Changed>;

/** @param onChange called after a text has come into another state */
export function createChange(
	store: Pick<OutboxStore, "find" | "save">,
	now: () => number,
	onChange: (text: OutboxText) => Promise<void>,
): ChangeRow {
	return async (which, decide, by) => {
		let row = typeof which === "string" ? await store.find(which) : which;
		while (row) {
			const change = await decide(row);
			if (!change) break;
			const next = changed(row, change, now(), by);
			if (await store.save(next, { isAsked: true })) {
				if (next.state !== row.state) await onChange(next);
				return { row: next, isChanged: true };
			}
			row = await store.find(row.id);
		}
		return { row, isChanged: false };
	};
}
