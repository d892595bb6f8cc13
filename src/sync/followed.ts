import type { Message } from "messaging-conversations";
import { phaseOf } from "../shared/delivery-phase.ts";
import { type Followed, keyOf, type Memory, never } from "./memory.ts";
import type { Dated } from "./read.ts";

/** Which statuses are followed: `true` until a message is delivered or has failed, `"read"` until it is read or has failed. */
export type Statuses = boolean | "read";

const hour = 3_600;
/** When a message is read again, in seconds after it was first seen. */
const pollAfter: readonly number[] = [10, 30, 2 * 60, 10 * 60, hour, 6 * hour, 24 * hour];
/** The same while its reads fail: after 24 h every 3 h, up to 48 h. */
export const retryAfter: readonly number[] = [
	...pollAfter,
	...[27, 30, 33, 36, 39, 42, 45, 48].map((count) => count * hour),
];
const mostFollowed = 1_000;

/** The parts of a message that may change later. */
export type Changeable = Pick<Message, "status" | "deliveredAt" | "readAt" | "mediaStored">;

/** A text that changes when the message has news: its status, what the status means, and the number of stored files. */
function stateOf(message: Changeable): string {
	return `${message.status ?? ""}/${phaseOf(message)}/${message.mediaStored?.length ?? 0}`;
}

/** Whether more is to be expected of a message. */
function isOpen(message: Message, statuses: Statuses): boolean {
	const { direction, media, mediaStored } = message;
	if ((media?.length ?? 0) > (mediaStored?.length ?? 0)) return true;
	if (direction !== "outbound" || statuses === false) return false;
	const delivery = phaseOf(message);
	return delivery === "sent" || (delivery === "delivered" && statuses === "read");
}

/**
 * Follows the messages that a read of one conversation shows.
 * @param isNew whether a message is delivered for the first time, and recent enough to be followed
 * @returns what is followed from now on, and the messages that have changed
 */
export function follow(
	before: Memory["followed"],
	statuses: Statuses,
	phoneNumber: string,
	messages: readonly Dated[],
	isNew: (message: Dated) => boolean,
): { followed: Memory["followed"]; changed: Set<Dated> } {
	const followed = new Map(before);
	const changed = new Set<Dated>();
	for (const dated of messages) {
		const key = keyOf(dated.message);
		const state = stateOf(dated.message);
		const known = followed.get(key);
		if (known && known.state !== state) {
			changed.add(dated);
			followed.set(key, { ...known, state });
		}
		if (!isOpen(dated.message, statuses)) followed.delete(key);
		else if (!known && isNew(dated)) followed.set(key, { phoneNumber, state, seenAt: Date.now(), dueAt: never });
	}
	const scheduled = schedule(followed, phoneNumber, pollAfter);
	for (const oldest of scheduled.keys()) if (scheduled.size > mostFollowed) scheduled.delete(oldest);
	return { followed: scheduled, changed };
}

/** What is followed after a read of a conversation: its messages are read again later, or not any more. */
export function schedule(
	before: Memory["followed"],
	phoneNumber: string,
	times: readonly number[],
): Map<string, Followed> {
	const now = Date.now();
	const followed = new Map(before);
	for (const [key, entry] of before) {
		if (entry.phoneNumber !== phoneNumber) continue;
		const dueAt = times.map((seconds) => entry.seenAt + seconds * 1_000).find((time) => time > now);
		if (dueAt === undefined) followed.delete(key);
		else followed.set(key, { ...entry, dueAt });
	}
	return followed;
}

/** The conversations with a message that is due by now. */
export function due(followed: Memory["followed"]): Set<string> {
	const now = Date.now();
	return new Set([...followed.values()].filter(({ dueAt }) => dueAt <= now).map(({ phoneNumber }) => phoneNumber));
}

/** When the next message is due, by the local clock; Infinity without any. */
export function nextDueAt(followed: Memory["followed"]): number {
	return Math.min(...[...followed.values()].map(({ dueAt }) => dueAt));
}
