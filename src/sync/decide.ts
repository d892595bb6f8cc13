import { TextSet } from "./blocks.ts";
import type { Listing, Row, Top } from "./list.ts";
import {
	copyOf,
	entryOf,
	isListed,
	isUndated,
	type Known,
	last,
	type Memory,
	never,
	type Progress,
	positionToCome,
} from "./memory.ts";

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
	progress: Progress;
}

export interface Plan {
	/** Conversations that are not as they were delivered, in the order in which they are delivered. */
	reads: Planned[];
	/** Conversations whose earlier reads failed. The first one has waited longest. */
	retries: Planned[];
	/** The memory before the first read. */
	memory: Memory;
	/** The position after the last of `reads`. */
	position: number;
	/** The service's time. */
	now: number;
	/** The snapshot is not over after the last of `reads`. */
	isOpen?: boolean;
}

/**
 * Decides which conversations to read, and why.
 * @param isIncomplete whether the list lacks something. What it shows is delivered, and neither the position nor the snapshot
 * moves on.
 */
export function decide(listing: Listing, before: Memory, lookbackMs: number, isIncomplete: boolean): Plan {
	const { rows, newest, endPosition, startPosition, date, now } = listing;
	const memory = copyOf(before);
	if (listing.isShort) return { reads: [], retries: failing(memory), memory, position: Number(memory.position), now };
	const wasSetBack = isSetBack(before, date, lookbackMs);
	if (wasSetBack) forgetSnapshot(memory, startPosition - lookbackMs);
	const { position, snapshot: interrupted } = memory;

	// A snapshot that is continued keeps its high watermark, because what it delivered before the break is as old as that.
	// Otherwise the position never goes back, even if the newest row is hidden.
	const isStill = isIncomplete || newest === never;
	const highWatermark =
		interrupted?.highWatermark ??
		(isStill ? startPosition : Math.max(startPosition, endPosition, passedBy(before, listing, lookbackMs)));
	const offset = interrupted?.offset ?? never;
	const lookbackStart = highWatermark - lookbackMs;
	const unknown: Progress = { from: startPosition - lookbackMs };
	const positionStart = Number(position) - lookbackMs;
	/** No message lies in an empty range. But one of the clock that was set back is new, whenever the conversation is read. */
	const sincePosition: Progress = { ...unknown, uncertain: [positionStart, positionStart] };
	/** After a break such a row was either still to come, or it was delivered and has moved up by newer messages. */
	const afterBreak: Progress = { ...unknown, uncertain: [offset - lookbackMs, lookbackStart] };

	const chosen = new Map<string, Planned>();
	for (const row of rows) {
		const { phoneNumber, at, fingerprint } = row;
		const reason = chosen.has(phoneNumber) ? undefined : reasonToRead(row);
		const why = reason && isIncomplete ? "moved" : reason;
		if (why) chosen.set(phoneNumber, { phoneNumber, at, fingerprint, why, progress: progressOf(row) });
	}
	const oldestFirst = [...chosen.values()].sort((a, b) => a.at - b.at);
	// Rows that have moved up since the break come first. After another break the offset, which grows with the other rows,
	// could not tell whether they were delivered.
	const reads = [
		...oldestFirst.filter(({ why }) => why === "moved"),
		...oldestFirst.filter(({ why }) => why !== "moved"),
	];

	const pending = oldestFirst
		.filter(({ at }) => at >= lookbackStart)
		.map(({ phoneNumber }) => phoneNumber)
		.reverse();
	memory.snapshot = interrupted ?? { highWatermark, offset, pending: new TextSet(pending) };
	// The feed has begun, even if this poll is interrupted.
	memory.position = startPosition;
	// Of a list that is incomplete the time is not noted, so that it is believed some day.
	if (date !== never && !isIncomplete) memory.clock = wasSetBack ? date : Math.max(memory.clock, date);
	// After an empty list the feed is still at the beginning. What the agency gets later may be older than this poll.
	const isStillEmpty = startPosition === never && !interrupted && !reads[0];
	const isOpen = isIncomplete && interrupted !== undefined;
	return { reads, retries: failing(memory), memory, position: isStillEmpty ? never : highWatermark, now, isOpen };

	function reasonToRead({ phoneNumber, at, fingerprint }: Row): Reason | undefined {
		const entry = entryOf(memory, phoneNumber);
		// It is among the retries.
		if (entry?.is === "failing") return undefined;
		const isDelivered = entry?.is === "delivered" && entry.fingerprint === fingerprint;
		// Rows without a time are not in the order of activity. One with messages has a newest one without a time, and is read
		// when it has changed. One without is delivered once, from the beginning.
		if (isUndated({ at, fingerprint }))
			return isDelivered ? undefined : entry?.is === "delivered" ? "changed" : (entry?.is ?? "new");
		if (at === never) return position === never && offset === never ? "new" : undefined;
		const wasToCome = interrupted?.pending.has(phoneNumber);
		// A copy of the data that lags behind may list a pending row where it was before.
		if (at < offset && !wasToCome) return undefined;
		if (isDelivered) return undefined;
		if (interrupted && !wasToCome && at >= lookbackStart) return "moved";
		if (!entry) return "new";
		return entry.is === "delivered" ? "changed" : "unread";
	}

	function progressOf({ phoneNumber, at }: Row): Progress {
		const entry = entryOf(memory, phoneNumber);
		// A feed that begins now knows what was there by the time that the row had when it was first listed. A row above the
		// first one of this list was missed, and has moved up by new messages.
		if (entry && position === "now") return { from: entry.at === never ? last + 1 : Math.min(entry.at, newest) + 1 };
		if (entry) return entry;
		if (wasSetBack && at >= positionStart) return sincePosition;
		return interrupted && !interrupted.pending.has(phoneNumber) ? afterBreak : unknown;
	}
}

/**
 * How far the position moves on while nothing happens, so that a poll then ends with the first page. Since the latest poll
 * the service's clock has passed by so much, and what becomes visible now is at most a lookback older than that poll. The
 * position never goes beyond the lookback after the newest row, because messages may have the times of another clock.
 */
function passedBy({ position, clock }: Memory, { newest, date }: Listing, lookbackMs: number): number {
	if (position === "now" || clock === never || date <= clock) return never;
	return Math.min(newest + lookbackMs + 1, position + (date - clock), date);
}

/** A list that is incomplete for so long is believed, or it would never move on. */
const longestIncompleteMs = 3 * 24 * 3_600_000;

/**
 * The conversations that a list must have shown, because they are at least as new as its last row, and has not. They are
 * gone; or the list is of another agency, or a part of it is missing.
 */
export function missingFrom({ numbers, reached, now }: Listing, memory: Memory): string[] {
	const { known, snapshot, clock } = memory;
	if (now - Math.max(clock, positionToCome(memory)) > longestIncompleteMs) return [];
	const remembered = [...known].filter(([phoneNumber, entry]) => entry.at > reached && isListed(phoneNumber, entry));
	const toCome = reached < Number(snapshot?.highWatermark) ? [...(snapshot?.pending ?? [])] : [];
	return [...remembered.map(([phoneNumber]) => phoneNumber), ...toCome].filter((phone) => !numbers.has(phone));
}

/** Forgets what a list has shown of a conversation that the service does not know any more. */
export function noteGone(memory: Memory, phoneNumber: string): void {
	const { known, snapshot } = memory;
	const { at, from, uncertain, skipped, messages } = known.get(phoneNumber) ?? {};
	snapshot?.pending.delete(phoneNumber);
	if (at === undefined || from === undefined || !messages) return;
	known.set(phoneNumber, {
		is: "unread",
		at,
		from,
		messages,
		...(uncertain && { uncertain }),
		...(skipped && { skipped }),
	});
}

/** Whether the first page of a list is as it was delivered, and the whole list was read a moment ago. */
export function isUnchanged(page: readonly Row[], date: number, memory: Memory, lookbackMs: number): boolean {
	const { position, clock, snapshot } = memory;
	const isFresh = date >= clock && date - clock < lookbackMs / 4;
	const isDelivered = page.every(({ phoneNumber, fingerprint }) => {
		const entry = entryOf(memory, phoneNumber);
		return entry?.is === "delivered" && entry.fingerprint === fingerprint;
	});
	return isFresh && position !== "now" && !snapshot && page.length > 0 && isDelivered;
}

/** Whether the service's clock is set back by more than the lookback. */
export function isSetBack(memory: Memory, date: number, lookbackMs: number): boolean {
	return clockSetBackTo(memory, date, lookbackMs) !== undefined;
}

/** The time down to which a poll lists conversations, with the lookback before it. */
export function startOf(memory: Memory, { endPosition, date }: Top, lookbackMs: number): number {
	if (memory.position === "now") return endPosition;
	return Math.min(memory.position, clockSetBackTo(memory, date, lookbackMs) ?? memory.position);
}

/**
 * A service's clock that is set back gives messages times from before the position. Returns the time to begin at again: as
 * long before the service's present time as that is before the latest poll. Undefined if the clock was not set back.
 */
function clockSetBackTo(memory: Memory, date: number, lookbackMs: number): number | undefined {
	const latest = Math.max(memory.clock, positionToCome(memory));
	return date !== never && date < latest - lookbackMs ? date - (latest - date) : undefined;
}

/** Gives up the order of an interrupted snapshot, and lets messages from a time on be new if their ids are not known. */
function forgetSnapshot(memory: Memory, from: number): void {
	memory.snapshot = undefined;
	for (const [phoneNumber, { uncertain: _, ...entry }] of memory.known)
		memory.known.set(phoneNumber, { ...entry, from: Math.min(entry.from, from) });
}

/** The conversations whose latest read failed. */
export function failing({ known }: Memory): Planned[] {
	return [...known].flatMap(([phoneNumber, entry]) =>
		entry.is === "failing"
			? { phoneNumber, at: entry.at, fingerprint: entry.fingerprint, why: "failing", progress: entry }
			: [],
	);
}

/** Notes what a list shows, even one that broke off. */
export function noteListed(before: Memory, { rows, startPosition }: Listing): Memory {
	const memory = copyOf(before);
	for (const { phoneNumber, at, fingerprint } of rows) {
		const entry = entryOf(memory, phoneNumber);
		if (entry?.is === "failing") memory.known.set(phoneNumber, { ...entry, fingerprint });
		// A feed that begins now takes all messages up to the row's time as delivered. If this poll cannot read the
		// conversation, messages that come after one with a time in the future are older than that one.
		else if (!entry && before.position === "now" && (at !== never || isUndated({ at, fingerprint }))) {
			const from = at === never ? last + 1 : Math.min(at, startPosition) + 1;
			const unread: Known = { is: "unread", fingerprint, at, from, messages: new Map() };
			memory.known.set(phoneNumber, unread);
		}
	}
	return memory;
}
