import { type Handed, never, stale, tidy } from "./checkpoint.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type Change, failing, isFull, type Memory, noteFailure, take } from "./memory.ts";
import { type GoesOn, mostInARow, type ReadEnd, reads } from "./read.ts";
import { type Row, type Source, scan } from "./scan.ts";
import { due, mostLooks, noteLook, type Statuses } from "./statuses.ts";

export interface Context extends Source {
	memory: Memory;
	statuses: Statuses;
}

/**
 * Lists, reads what has changed, and hands it over, oldest change first. When a change is handed out, the memory has it
 * already, so that a checkpoint is right after that change.
 */
export async function* look(context: Context): AsyncGenerator<Change, void, undefined> {
	const { memory, lookbackMs, statuses } = context;
	const { state } = memory;
	const { mark, scan: resumed } = state;
	const upTo = resumed?.upTo ?? never;

	const listing = await scan(context, mark, (row, at, begun) => {
		// Rows without a time are not in the order of activity: they are handed over once, from the beginning.
		if (at === never) return mark === never && upTo === never;
		// The service may answer from a copy that lags behind, with a row of `top` where it was before.
		if (at < upTo && !resumed?.top.has(row.phoneNumber)) return false;
		const { phoneNumber } = row;
		const known = state.known.get(phoneNumber);
		const fingerprint = fingerprintOf(row);
		if (known === undefined) {
			if (mark === "now") {
				// For a later look, if this one cannot read the conversation. Bounded by the head, because messages that come
				// after one with a time in the future are older than that.
				const from = Math.min(at, begun) + 1;
				state.known.set(phoneNumber, { fingerprint: stale + fingerprint, at, from, messages: new Map() });
			}
			return true;
		}
		if (known.failingSince === undefined && known.fingerprint) return known.fingerprint !== fingerprint;
		// It is read again as it is. When it is given up, it is left alone until it changes.
		state.known.set(phoneNumber, { ...known, fingerprint });
		return false;
	});
	const { newest, now, head, begun } = listing;
	// A scan that goes on keeps its mark, because what it handed over before the break is as old as that. The mark never goes
	// back, also when the newest row is hidden or the service's `Date` is put back.
	const to = Math.max(begun, resumed?.to ?? head);
	const recent = listing.rows.filter(({ at }) => at >= to - lookbackMs);
	const open = resumed ?? { to, upTo, top: new Set(recent.map(({ phoneNumber }) => phoneNumber)) };
	const { top } = open;
	const unread = failing(state);
	// From now on the feed has begun, also when this look does not come to its end.
	state.mark = begun;
	state.scan = open;

	/** An unknown row after a break: either it was still to come, or it was handed over and has moved up by newer messages. */
	const handedOf = ({ phoneNumber }: Row): Handed => {
		const known = state.known.get(phoneNumber);
		// The first look knows what was there by the time that the row had when it was first listed, also in a list that broke
		// off. Bounded by the first row of the list, because a row above it was passed by, and has moved up by new messages.
		if (known && mark === "now") return { from: Math.min(known.at, newest) + 1 };
		const doubt: Handed["doubt"] = resumed && !top.has(phoneNumber) ? [upTo - lookbackMs, to - lookbackMs] : undefined;
		return known ?? { from: begun - lookbackMs, doubt };
	};
	// Rows that have moved up since the break come first: after another break `upTo`, which grows with the other rows, could
	// not tell whether they were handed over.
	const moved = new Set(recent.filter(({ phoneNumber }) => !top.has(phoneNumber)));
	const rows = [...new Set([...moved, ...listing.rows])];
	const finish = (): void => {
		// After an empty list the feed is still at the beginning. What the agency gets later may be older than this look.
		if (resumed || rows[0] || begun !== never) state.mark = to;
		state.scan = undefined;
		tidy(state, lookbackMs);
	};
	const settle = ({ row, read, error, isOutage }: ReadEnd): Change | undefined => {
		const { phoneNumber, at } = row;
		const seen = { to, handed: handedOf(row), at, now, lookbackMs, statuses, isGone: !error };
		if (read) return take(state, read, seen);
		// In an outage the conversation stays to come.
		const leftToReconcile = !isOutage && noteFailure(state, phoneNumber, seen);
		if (error) memory.failures.push({ phoneNumber, error, leftToReconcile });
	};
	/** Whether the last row or a random one of those to come can be read. If not, the service is taken to be down. */
	const isUp = async (): Promise<boolean> => {
		const tried = [1, Math.ceil(Math.random() * memory.left)].flatMap((fromEnd) => rows.at(-fromEnd) ?? []);
		for await (const { error } of reads({ ...context, concurrency: 1 }, tried, () => -never)) if (!error) return true;
		return false;
	};

	/** All messages of the lookback are read, because what a later look does not find among them is new there. */
	const from = (row: Row) => Math.min(handedOf(row).from, to - lookbackMs);
	memory.left = rows.length;
	const goesOn: GoesOn = (inARow) => (inARow % mostInARow > 0 && !isFull(state)) || isUp();
	for await (const end of reads(context, rows, from, goesOn)) {
		const { row } = end;
		const change = settle(end);
		if (end.isOutage) return;
		if (!moved.has(row)) open.upTo = Math.max(open.upTo, row.at);
		top.delete(row.phoneNumber);
		if (--memory.left) tidy(state, lookbackMs);
		else finish();
		if (change) yield change;
	}
	if (!rows[0]) finish();

	for await (const end of reads(context, unread, from)) {
		const change = settle(end);
		if (change) yield change;
	}
	yield* lookAtStatuses(context);
}

/** Reads the conversations with a message whose status is to be looked at by now, and hands over what has changed. */
export async function* lookAtStatuses(context: Context): AsyncGenerator<Change, void, undefined> {
	const { memory, lookbackMs, statuses } = context;
	const { state } = memory;
	const { mark, known, followed } = state;
	// In the middle of a scan it may be unknown what was handed over of a conversation.
	if (!statuses || mark === "now" || state.scan) return;
	const rows = [...due(followed)].map((phoneNumber): Row => ({ phoneNumber, at: never }));
	const handedOf = ({ phoneNumber }: Row): Handed => known.get(phoneNumber) ?? { from: mark - lookbackMs };
	for await (const { row, read, error } of reads(context, rows, (row) => handedOf(row).from)) {
		const { phoneNumber } = row;
		const before = known.get(phoneNumber);
		const change =
			read && take(state, read, { at: never, handed: handedOf(row), to: mark, now: mark, lookbackMs, statuses });
		if (error) memory.failures.push({ phoneNumber, error, leftToReconcile: false });
		if (!read) noteLook(followed, phoneNumber, mostLooks);
		// A change of the conversation alone is left to the next scan.
		if (change?.messages[0]) yield change;
		else if (before) known.set(phoneNumber, before);
		else known.delete(phoneNumber);
	}
}
