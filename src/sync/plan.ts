import type { Listing, Row, Top } from "./list.ts";
import { copyOf, entryOf, isUndated, type Known, last, type Memory, markToCome, never, type Past } from "./memory.ts";

/** Why a conversation is read. */
export type Reason =
	/** The feed does not remember it. */
	| "new"
	/** Its row differs from the one that was delivered. */
	| "changed"
	/** It was listed before, and its newest message was not read. */
	| "unread"
	/** It has moved up since a poll that was interrupted. */
	| "moved"
	/** Its earlier reads failed. */
	| "failing"
	/** The status or the files of one of its messages are due. */
	| "status";

/** A conversation that is to be read. */
export interface Planned extends Row {
	why: Reason;
	past: Past;
}

export interface Plan {
	/** Conversations that are not as they were delivered, in the order in which they are delivered. */
	reads: Planned[];
	/** Conversations whose earlier reads failed. The first one has waited longest. */
	retries: Planned[];
	/** The memory before the first read. */
	memory: Memory;
	/** The high-water mark after the last of `reads`. */
	mark: number;
	/** The service's time. */
	now: number;
}

/** Decides which conversations to read, and why. */
export function plan(listing: Listing, before: Memory, lookbackMs: number): Plan {
	const { rows, newest, head, begun, date, now } = listing;
	const memory = copyOf(before);
	const isSetBack = clockSetBackTo(before, date, lookbackMs) !== undefined;
	if (isSetBack) forgetScan(memory, begun - lookbackMs);
	const { mark, scan: interrupted } = memory;

	// A scan that is continued keeps its mark, because what it delivered before the break is as old as that. Otherwise the
	// mark never goes back, even if the newest row is hidden.
	const to = interrupted?.to ?? Math.max(begun, head);
	const upTo = interrupted?.upTo ?? never;
	const edge = to - lookbackMs;
	const unknown: Past = { from: begun - lookbackMs };
	const aboveMark: Past = { from: Number(mark) - lookbackMs };
	/** After a break such a row was either still to come, or it was delivered and has moved up by newer messages. */
	const doubtful: Past = { ...unknown, doubt: [upTo - lookbackMs, edge] };

	const chosen = new Map<string, Planned>();
	for (const row of rows) {
		const { phoneNumber, at, fingerprint } = row;
		const why = chosen.has(phoneNumber) ? undefined : reasonToRead(row);
		if (why) chosen.set(phoneNumber, { phoneNumber, at, fingerprint, why, past: pastOf(row) });
	}
	const oldestFirst = [...chosen.values()].sort((a, b) => a.at - b.at);
	// Rows that have moved up since the break come first. After another break `upTo`, which grows with the other rows, could
	// not tell whether they were delivered.
	const reads = [
		...oldestFirst.filter(({ why }) => why === "moved"),
		...oldestFirst.filter(({ why }) => why !== "moved"),
	];

	const top = oldestFirst
		.filter(({ at }) => at >= edge)
		.map(({ phoneNumber }) => phoneNumber)
		.reverse();
	memory.scan = interrupted ?? { to, upTo, top: new Set(top) };
	// The feed has begun, even if this poll is interrupted.
	memory.mark = begun;
	memory.clock = date === never ? memory.clock : date;
	// After an empty list the feed is still at the beginning. What the agency gets later may be older than this poll.
	const isStillEmpty = begun === never && !interrupted && !reads[0];
	return { reads, retries: failing(memory), memory, mark: isStillEmpty ? never : to, now };

	function reasonToRead({ phoneNumber, at, fingerprint }: Row): Reason | undefined {
		const entry = entryOf(memory, phoneNumber);
		// It is among the retries.
		if (entry?.is === "failing") return undefined;
		const isDelivered = entry?.is === "delivered" && entry.fingerprint === fingerprint;
		// Rows without a time are not in the order of activity. One with messages has a newest one without a time, and is read
		// when it has changed. One without is delivered once, from the beginning.
		if (isUndated({ at, fingerprint }))
			return isDelivered ? undefined : entry?.is === "delivered" ? "changed" : (entry?.is ?? "new");
		if (at === never) return mark === never && upTo === never ? "new" : undefined;
		const wasToCome = interrupted?.top.has(phoneNumber);
		// A copy of the data that lags behind may list a row of the top where it was before.
		if (at < upTo && !wasToCome) return undefined;
		if (isDelivered) return undefined;
		if (interrupted && !wasToCome && at >= edge) return "moved";
		if (!entry) return "new";
		return entry.is === "delivered" ? "changed" : "unread";
	}

	function pastOf({ phoneNumber, at }: Row): Past {
		const entry = entryOf(memory, phoneNumber);
		// A feed that begins now knows what was there by the time that the row had when it was first listed. A row above the
		// first one of this list was missed, and has moved up by new messages.
		if (entry && mark === "now") return { from: entry.at === never ? last + 1 : Math.min(entry.at, newest) + 1 };
		if (entry) return entry;
		if (isSetBack && at >= aboveMark.from) return aboveMark;
		return interrupted && !interrupted.top.has(phoneNumber) ? doubtful : unknown;
	}
}

/** The time down to which a poll lists conversations, with the lookback before it. */
export function startOf(memory: Memory, { head, date }: Top, lookbackMs: number): number {
	if (memory.mark === "now") return head;
	return Math.min(memory.mark, clockSetBackTo(memory, date, lookbackMs) ?? memory.mark);
}

/**
 * A service's clock that is set back gives messages times from before the mark. Returns the time to begin at again: as
 * long before the service's present time as that is before the latest poll. Undefined if the clock was not set back.
 */
function clockSetBackTo(memory: Memory, date: number, lookbackMs: number): number | undefined {
	const latest = Math.max(memory.clock, markToCome(memory));
	return date !== never && date < latest - lookbackMs ? date - (latest - date) : undefined;
}

/** Gives up the order of an interrupted scan, and lets messages from a time on be new if their ids are not known. */
function forgetScan(memory: Memory, from: number): void {
	memory.scan = undefined;
	for (const [phoneNumber, { doubt: _, ...entry }] of memory.known)
		memory.known.set(phoneNumber, { ...entry, from: Math.min(entry.from, from) });
}

/** The conversations whose latest read failed. */
export function failing({ known }: Memory): Planned[] {
	return [...known].flatMap(([phoneNumber, entry]) =>
		entry.is === "failing"
			? { phoneNumber, at: entry.at, fingerprint: entry.fingerprint, why: "failing", past: entry }
			: [],
	);
}

/** Notes what a list shows, even one that broke off. */
export function noteListed(before: Memory, { rows, begun }: Listing): Memory {
	const memory = copyOf(before);
	for (const { phoneNumber, at, fingerprint } of rows) {
		const entry = entryOf(memory, phoneNumber);
		if (entry?.is === "failing") memory.known.set(phoneNumber, { ...entry, fingerprint });
		// A feed that begins now takes all messages up to the row's time as delivered. If this poll cannot read the
		// conversation, messages that come after one with a time in the future are older than that one.
		else if (!entry && before.mark === "now" && (at !== never || isUndated({ at, fingerprint }))) {
			const from = at === never ? last + 1 : Math.min(at, begun) + 1;
			const unread: Known = { is: "unread", fingerprint, at, from, messages: new Map() };
			memory.known.set(phoneNumber, unread);
		}
	}
	return memory;
}
