import type { ConversationDetail, Message } from "messaging-conversations";
import { TextMap, TextSet } from "./blocks.ts";
import { hash, totalIn } from "./fingerprint.ts";

/*
 * What a feed remembers. Times are the service's, in milliseconds. Entries are replaced and never changed, so that a step
 * of a poll can be taken back, and each keeps its text in the checkpoint.
 */

/** A time before all others. It stands for an absent time. */
export const never: number = -Infinity;
/** The last time that there is. It stands for the time of a newest message that has none. */
export const last = 8.64e15;

/** The key under which a message is kept: its SID, because JSON rounds an id above 2^53, so that two can have the same one. */
export function keyOf({ id, messageSid }: Message): string {
	return messageSid || `${id}`;
}

/** How far a conversation was delivered. */
export interface Progress {
	/** All messages before this time were delivered. */
	from: number;
	/**
	 * Set if the conversation may have been delivered already, by a snapshot that was interrupted or before the service's clock
	 * was set back. If a message lies between these times, it had not. Otherwise it had, with all messages before the later
	 * time.
	 */
	uncertain?: readonly [number, number];
	/** The time at which the conversation was skipped, and how many messages it had: newer ones can have the same time. */
	skipped?: readonly [at: number, total: number];
}

/** A conversation that the feed remembers, because it was active within the lookback or could not be read. */
export type Known = Progress & {
	/** The time of its row. */
	at: number;
	/** Messages from `from` on that were delivered, with their times. */
	messages: ReadonlyMap<string, number>;
} & (
		| {
				/** It is read again when its row differs from this one. */
				is: "delivered";
				fingerprint: string;
		  }
		| {
				/**
				 * It is read whenever it is listed. With the same fingerprint and no new message there is nothing to deliver: the
				 * feed begins now, or the newest message was not among the messages yet. Without a fingerprint it was gone.
				 */
				is: "unread";
				fingerprint?: string;
		  }
		| {
				/** Its reads have failed since this time. Each poll tries it again. */
				is: "failing";
				since: number;
				fingerprint: string;
		  }
	);

/** A list whose delivery has begun. A later poll continues it after a break. Conversations are delivered in ascending order of their rows' times. */
export interface Snapshot {
	/** The position once all are delivered. */
	highWatermark: number;
	/** The time of the row that was delivered last. */
	offset: number;
	/** Conversations listed within the lookback of the high watermark that are not delivered yet, the last to come first. */
	pending: TextSet<string>;
}

/** A message whose status or stored files may still change. */
export interface Followed {
	phoneNumber: string;
	/** What was delivered of it: see `stateOf`. */
	state: string;
	/** When it was first seen, by the local clock. */
	seenAt: number;
	/** When it is read again, by the local clock. */
	dueAt: number;
}

export interface Memory {
	agencyId: string;
	/** The position. All messages before it were delivered, except those that become visible late. */
	position: number | "now";
	/** The service's time at the latest poll. */
	clock: number;
	snapshot?: Snapshot | undefined;
	known: TextMap<string, Known>;
	/** Replaced as a whole, and never changed. */
	followed: ReadonlyMap<string, Followed>;
}

/** A conversation in which something has changed. */
export interface Change {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** The conversation as it is now. */
	conversation: ConversationDetail;
	/** Its new messages, oldest first. Empty if only its state has changed. */
	messages: Message[];
}

export function newMemory(agencyId: string, since: "now" | "beginning"): Memory {
	const position = since === "now" ? since : never;
	return { agencyId, position, clock: never, known: new TextMap(), followed: new Map() };
}

export function copyOf(memory: Memory): Memory {
	const { snapshot, known, followed } = memory;
	return {
		...memory,
		snapshot: snapshot && { ...snapshot, pending: new TextSet(snapshot.pending) },
		known: new TextMap(known),
		followed: new Map(followed),
	};
}

/** The position once the snapshot is delivered. */
export function positionToCome({ position, snapshot }: Memory): number {
	return Number(snapshot?.highWatermark ?? position);
}

/** What the feed remembers of a conversation, skipped ones included. */
export function entryOf({ agencyId, known }: Memory, phoneNumber: string): Known | undefined {
	return known.get(phoneNumber) ?? known.get(skippedKey(agencyId, phoneNumber));
}

/**
 * The key of a conversation that is skipped, in place of its number: 20 bits, which about a thousand numbers of a country
 * share, so that no checkpoint tells who was erased.
 */
export function skippedKey(agencyId: string, phoneNumber: string): string {
	return `#${Number.parseInt(hash(agencyId + phoneNumber)[1] ?? "", 36) % 2 ** 20}`;
}

/** What remains of a conversation that is skipped. Its messages until then count as delivered. */
export function skippedEntry(
	row: { at: number; fingerprint: string },
	progress: Progress,
	before: Known | undefined,
	now: number,
): Known {
	const { at, fingerprint } = row;
	// A `Date` counts in seconds.
	const until = Math.min(at, now === never ? at : now + 999);
	const total = totalIn(fingerprint);
	return {
		is: "delivered",
		fingerprint,
		at,
		from: Math.max(progress.from, until + 1),
		...(!Number.isNaN(total) && { skipped: [until, total] as const }),
		// A service may give times in the future.
		messages: new Map([...(before?.messages ?? [])].filter(([, time]) => time > until)),
	};
}

/** The contacts whose numbers the memory holds. */
export function numbersIn({ known, followed, snapshot }: Memory): Set<string> {
	const numbers = [...followed.values()].map(({ phoneNumber }) => phoneNumber);
	const keys = [...known.keys()].filter((key) => !key.startsWith("#"));
	return new Set([...keys, ...numbers, ...(snapshot?.pending ?? [])]);
}

/** Removes a contact's number. Its messages until now count as delivered. */
export function forget(memory: Memory, phoneNumber: string): void {
	const { agencyId, known, clock, snapshot } = memory;
	const before = known.get(phoneNumber);
	known.delete(phoneNumber);
	if (before?.fingerprint !== undefined) {
		const { at, fingerprint } = before;
		known.set(skippedKey(agencyId, phoneNumber), skippedEntry({ at, fingerprint }, before, before, clock));
	}
	memory.followed = new Map([...memory.followed].filter(([, entry]) => entry.phoneNumber !== phoneNumber));
	snapshot?.pending.delete(phoneNumber);
}

/** A memory without what no later poll needs. */
export function tidied(memory: Memory, lookbackMs: number): Memory {
	const { snapshot } = memory;
	const known = new TextMap<string, Known>();
	const position = positionToCome(memory);
	const lookbackStart = Math.min(snapshot?.offset ?? position, position) - lookbackMs;
	const newest = newestOf(memory);
	for (const [phoneNumber, entry] of memory.known) {
		const { at, from, messages } = entry;
		// What an earlier snapshot delivered is needed until this one is delivered.
		const isNeeded = entry.is === "failing" || isUndated(entry) || (snapshot && from < position - lookbackMs);
		// A copy of the data that lags behind may list a row that is older than what was delivered.
		const kept = [...messages].filter(([, time]) => time === never || time >= lookbackStart);
		if (!isNeeded && !kept[0] && phoneNumber !== newest && (at < lookbackStart || at === never)) continue;
		const isGone = entry.is === "unread" && entry.fingerprint === undefined;
		const isRaised = entry.is !== "failing" && !snapshot && from < lookbackStart && !isGone;
		known.set(phoneNumber, isRaised ? { ...entry, from: lookbackStart, messages: new Map(kept) } : entry);
	}
	return { ...memory, known };
}

/** The conversation with the latest row. It is kept, because a list without it is not true: see `missingFrom`. */
function newestOf({ known }: Memory): string | undefined {
	let newest: string | undefined;
	let latest = never;
	for (const [phoneNumber, entry] of known)
		if (entry.at > latest && isListed(phoneNumber, entry)) [newest, latest] = [phoneNumber, entry.at];
	return newest;
}

/** Whether a conversation was in a list when it was remembered, and could be read. */
export function isListed(phoneNumber: string, { is, fingerprint }: Known): boolean {
	return is !== "failing" && fingerprint !== undefined && !phoneNumber.startsWith("#");
}

/** Whether the latest read has shown that there is no such conversation. */
export function isGone(memory: Memory, phoneNumber: string): boolean {
	const entry = entryOf(memory, phoneNumber);
	return entry?.is === "unread" && entry.fingerprint === undefined;
}

/** Whether a row has messages, and no time: its newest message has none. */
export function isUndated({ at, fingerprint = "" }: { at: number; fingerprint?: string | undefined }): boolean {
	return at === never && totalIn(fingerprint) > 0;
}
