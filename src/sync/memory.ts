import type { ConversationDetail, Message } from "messaging-conversations";
import { hash, totalIn } from "./fingerprint.ts";

/*
 * What a feed remembers. Times are the service's, in milliseconds. Entries are replaced and never changed, so that a step
 * of a poll can be taken back, and each keeps its text in the checkpoint.
 */

/** A time before all others. It stands for an absent time. */
export const never: number = -Infinity;
/** The last time that there is. It stands for the time of a newest message that has none. */
export const last = 8.64e15;

/** Identifies a message: see {@link keyIn}. */
export type MessageKey = string | number;

/**
 * The key under which a message is kept. That is its SID, because JSON rounds an id above 2^53, so that two messages can
 * have the same id. Checkpoints of versions 1 and 2 kept ids: such an entry keeps its key.
 */
export function keyIn(kept: ReadonlyMap<MessageKey, unknown>, { id, messageSid }: Message): MessageKey {
	return Number.isSafeInteger(id) && kept.has(id) ? id : messageSid || `${id}`;
}

/** Which messages of a conversation were delivered. */
export interface Past {
	/** All messages before this time. */
	from: number;
	/**
	 * Set if a scan that was interrupted may have delivered the conversation already. If a message lies between these
	 * times, it had not. Otherwise it had, with all messages before the later time.
	 */
	doubt?: readonly [number, number];
	/** The time at which the conversation was skipped, and how many messages it had: newer ones can have the same time. */
	skipped?: readonly [at: number, total: number];
}

/** A conversation that the feed remembers, because it was active within the lookback or could not be read. */
export type Known = Past & {
	/** The time of its row. */
	at: number;
	/** Messages from `from` on that were delivered, with their times. */
	messages: ReadonlyMap<MessageKey, number>;
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

/** A list that is not delivered to its end. Conversations are delivered in ascending order of their rows' times. */
export interface Scan {
	/** The high-water mark once all are delivered. */
	to: number;
	/** The time of the row that was delivered last. */
	upTo: number;
	/** Conversations that were listed within the lookback of `to` and are not delivered yet, the last to come first. */
	top: Set<string>;
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
	/** The high-water mark. All messages before it were delivered, except those that become visible late. */
	mark: number | "now";
	/** The service's time at the latest poll. */
	clock: number;
	scan?: Scan | undefined;
	known: Map<string, Known>;
	followed: Map<MessageKey, Followed>;
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
	const mark = since === "now" ? since : never;
	return { agencyId, mark, clock: never, known: new Map(), followed: new Map() };
}

export function copyOf(memory: Memory): Memory {
	const { scan, known, followed } = memory;
	return {
		...memory,
		scan: scan && { ...scan, top: new Set(scan.top) },
		known: new Map(known),
		followed: new Map(followed),
	};
}

/** The high-water mark once the scan is delivered. */
export function markToCome({ mark, scan }: Memory): number {
	return Number(scan?.to ?? mark);
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
	past: Past,
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
		from: Math.max(past.from, until + 1),
		...(!Number.isNaN(total) && { skipped: [until, total] as const }),
		// A service may give times in the future.
		messages: new Map([...(before?.messages ?? [])].filter(([, time]) => time > until)),
	};
}

/** The contacts whose numbers the memory holds. */
export function numbersIn({ known, followed, scan }: Memory): Set<string> {
	const numbers = [...followed.values()].map(({ phoneNumber }) => phoneNumber);
	const keys = [...known.keys()].filter((key) => !key.startsWith("#"));
	return new Set([...keys, ...numbers, ...(scan?.top ?? [])]);
}

/** Removes a contact's number. Its messages until now count as delivered. */
export function forget(memory: Memory, phoneNumber: string): void {
	const { agencyId, known, clock, scan } = memory;
	const before = known.get(phoneNumber);
	known.delete(phoneNumber);
	if (before?.fingerprint !== undefined) {
		const { at, fingerprint } = before;
		known.set(skippedKey(agencyId, phoneNumber), skippedEntry({ at, fingerprint }, before, before, clock));
	}
	memory.followed = new Map([...memory.followed].filter(([, entry]) => entry.phoneNumber !== phoneNumber));
	scan?.top.delete(phoneNumber);
}

/** A memory without what no later poll needs. */
export function tidied(memory: Memory, lookbackMs: number): Memory {
	const { scan } = memory;
	const known = new Map<string, Known>();
	const to = markToCome(memory);
	const edge = Math.min(scan?.upTo ?? to, to) - lookbackMs;
	for (const [phoneNumber, entry] of memory.known) {
		const { at, from, messages } = entry;
		// What an earlier scan delivered is needed until this one is delivered.
		const isNeeded = entry.is === "failing" || isUndated(entry) || (scan && from < to - lookbackMs);
		// A copy of the data that lags behind may list a row that is older than what was delivered.
		const kept = [...messages].filter(([, time]) => time === never || time >= edge);
		if (!isNeeded && !kept[0] && (at < edge || at === never)) continue;
		const isGone = entry.is === "unread" && entry.fingerprint === undefined;
		const isRaised = entry.is !== "failing" && !scan && from < edge && !isGone;
		known.set(phoneNumber, isRaised ? { ...entry, from: edge, messages: new Map(kept) } : entry);
	}
	return { ...memory, known };
}

/** Whether a row has messages, and no time: its newest message has none. */
export function isUndated({ at, fingerprint = "" }: { at: number; fingerprint?: string | undefined }): boolean {
	return at === never && totalIn(fingerprint) > 0;
}
