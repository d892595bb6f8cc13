import type { ConversationDetail, Message } from "messaging-conversations";

/*
 * What a feed remembers. Times are the service's, in milliseconds. A memory is copied before it changes, and its entries
 * are replaced, so that a feed can return to an earlier memory.
 */

/** A time before all others. It stands for an absent time. */
export const never: number = -Infinity;

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
	/** Conversations that were listed within the lookback of `to` and are not delivered yet. */
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

/** Forgets what no later poll needs. */
export function tidy(memory: Memory, lookbackMs: number): void {
	const { scan, known } = memory;
	const to = markToCome(memory);
	const edge = Math.min(scan?.upTo ?? to, to) - lookbackMs;
	for (const [phoneNumber, entry] of known) {
		const { at, from, messages } = entry;
		if (entry.is === "failing") continue;
		// What an earlier scan delivered is needed until this one is delivered.
		const isNeeded = scan && from < to - lookbackMs;
		// A copy of the data that lags behind may list a row that is older than what was delivered.
		const kept = [...messages].filter(([, time]) => time === never || time >= edge);
		const isGone = entry.is === "unread" && entry.fingerprint === undefined;
		if (!isNeeded && !kept[0] && (at < edge || at === never)) known.delete(phoneNumber);
		else if (!scan && from < edge && !isGone) known.set(phoneNumber, { ...entry, from: edge, messages: new Map(kept) });
	}
}
