import { type Handed, never, stale, tidy } from "./checkpoint.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type Change, type Feed, failing, isFull, noteFailure, type Pending, take } from "./memory.ts";
import { type GoesOn, mostInARow, type ReadEnd, reads } from "./read.ts";
import { type Row, scan } from "./scan.ts";
import { due, mostLooks, noteLook } from "./statuses.ts";

/**
 * Lists, reads what has changed, and hands it over, oldest change first. When a change is handed out, the memory has it
 * already, so that a checkpoint is right after that change.
 */
export async function* look(feed: Feed): AsyncGenerator<Change, void, undefined> {
	const { state, lookbackMs } = feed;
	const { mark, scan: resumed, known } = state;
	const upTo = resumed?.upTo ?? never;

	const listing = await scan(feed, mark, (row, at, begun) => {
		const { phoneNumber } = row;
		const entry = known.get(phoneNumber);
		const fingerprint = fingerprintOf(row);
		if (entry && (entry.failingSince !== undefined || !entry.fingerprint)) {
			// It is read again as it is. When it is given up, it is left alone until it changes.
			known.set(phoneNumber, { ...entry, fingerprint });
			return false;
		}
		// Rows without a time are not in the order of activity: they are handed over once, from the beginning.
		if (at === never) return mark === never && upTo === never;
		// The service may answer from a copy that lags behind, with a row of `top` where it was before.
		if (at < upTo && !resumed?.top.has(phoneNumber)) return false;
		if (entry) return entry.fingerprint !== fingerprint;
		if (mark === "now") {
			// For a later look, if this one cannot read the conversation. Bounded by the head, because messages that come
			// after one with a time in the future are older than that.
			const from = Math.min(at, begun) + 1;
			known.set(phoneNumber, { fingerprint: stale + fingerprint, at, from, messages: new Map() });
		}
		return true;
	});
	const { newest, head, begun } = listing;
	feed.now = listing.now;
	// A scan that goes on keeps its mark, because what it handed over before the break is as old as that. The mark never goes
	// back, also when the newest row is hidden or the service's `Date` is put back.
	const to = resumed?.to ?? Math.max(begun, head);
	const recent = listing.rows.filter(({ at }) => at >= to - lookbackMs);
	const open = resumed ?? { to, upTo, top: new Set(recent.map(({ phoneNumber }) => phoneNumber)) };
	const { top } = open;
	// From now on the feed has begun, also when this look does not come to its end.
	state.mark = begun;
	state.scan = open;

	const handedOf = ({ phoneNumber }: Row): Handed => {
		const entry = known.get(phoneNumber);
		// The first look knows what was there by the time that the row had when it was first listed, also in a list that broke
		// off. Bounded by the first row of the list, because a row above it was passed by, and has moved up by new messages.
		if (entry) return mark === "now" ? { from: Math.min(entry.at, newest) + 1 } : entry;
		const from = begun - lookbackMs;
		// An unknown row after a break: either it was still to come, or it was handed over and has moved up by newer messages.
		if (resumed && !top.has(phoneNumber)) return { from, doubt: [upTo - lookbackMs, to - lookbackMs] };
		return { from };
	};
	// Rows that have moved up since the break come first: after another break `upTo`, which grows with the other rows, could
	// not tell whether they were handed over.
	const moved = new Set(recent.filter(({ phoneNumber }) => !top.has(phoneNumber)));
	const rows = [...new Set([...moved, ...listing.rows])].map((row) => ({
		...row,
		handed: handedOf(row),
		isMoved: moved.has(row),
	}));
	const unread = failing(state);
	/** Notes how many rows are still to be handed over. Without any the scan is through. */
	const leave = (left: number): void => {
		feed.left = left;
		if (!left) {
			// After an empty list the feed is still at the beginning. What the agency gets later may be older than this look.
			if (resumed || rows[0] || begun !== never) state.mark = to;
			state.scan = undefined;
		}
		tidy(state, lookbackMs);
	};
	/** The service is taken to be down when neither the last row nor a random one of those to come can be read. */
	const goesOn: GoesOn = async (inARow) => {
		if (inARow % mostInARow > 0 && !isFull(state)) return true;
		const tried = [1, Math.ceil(Math.random() * feed.left)].flatMap((fromEnd) => rows.at(-fromEnd) ?? []);
		for await (const { error } of reads({ ...feed, concurrency: 1 }, tried, () => -never)) if (!error) return true;
		return false;
	};
	/** All messages of the lookback are read, because what a later look does not find among them is new there. */
	const from = ({ handed }: Pending) => Math.min(handed.from, to - lookbackMs);

	leave(rows.length);
	for await (const end of reads(feed, rows, from, goesOn)) {
		const { phoneNumber, at, isMoved } = end.row;
		const change = settle(feed, end);
		if (end.isOutage) return;
		if (!isMoved) open.upTo = Math.max(open.upTo, at);
		top.delete(phoneNumber);
		leave(feed.left - 1);
		if (change) yield change;
	}
	for await (const end of reads(feed, unread, from)) {
		const change = settle(feed, end);
		if (change) yield change;
	}
	yield* lookAtStatuses(feed);
}

/** Notes how a read ended. Returns the change to hand over, if there is one. */
function settle(feed: Feed, { row, read, error, isOutage }: ReadEnd<Pending>): Change | undefined {
	if (read) return take(feed, row, read);
	// In an outage the conversation stays to come.
	const leftToReconcile = !isOutage && noteFailure(feed, row, !error);
	if (error) feed.failures.push({ phoneNumber: row.phoneNumber, error, leftToReconcile });
}

/** Reads the conversations with a message whose status is to be looked at by now, and hands over what has changed. */
export async function* lookAtStatuses(feed: Feed): AsyncGenerator<Change, void, undefined> {
	const { state, lookbackMs, statuses, failures } = feed;
	const { mark, known, followed } = state;
	// In the middle of a scan it may be unknown what was handed over of a conversation.
	if (!statuses || mark === "now" || state.scan) return;
	const pending = [...due(followed)].map((phoneNumber): Pending => {
		return { phoneNumber, at: never, handed: known.get(phoneNumber) ?? { from: mark - lookbackMs } };
	});
	for await (const { row, read, error } of reads(feed, pending, ({ handed }) => handed.from)) {
		const { phoneNumber } = row;
		const before = known.get(phoneNumber);
		const change = read && take(feed, row, read);
		if (error) failures.push({ phoneNumber, error, leftToReconcile: false });
		if (!read) noteLook(followed, phoneNumber, mostLooks);
		// A change of the conversation alone is left to the next scan.
		if (change?.messages[0]) yield change;
		else if (before) known.set(phoneNumber, before);
		else known.delete(phoneNumber);
	}
}
