import type { Followed, State } from "./checkpoint.ts";
import type { Dated } from "./read.ts";

/** Which statuses are followed: `true` until a message is delivered or has failed, `"read"` until it is read or has failed. */
export type Statuses = boolean | "read";

/** After a message was first seen, in seconds. */
const lookAfter = [10, 30, 2 * 60, 10 * 60, 3_600, 6 * 3_600, 24 * 3_600];
/** While the reads after 24 h fail, further looks follow every 3 h, up to 48 h. */
export const mostLooks = 16;
const mostFollowed = 1_000;

/**
 * Follows the messages that a read of one conversation shows. Returns the ids of those whose status has changed.
 * @param isNew whether a message is handed over for the first time, and recent enough to be followed
 */
export function follow(
	{ state: { followed }, statuses }: { state: State; statuses: Statuses },
	phoneNumber: string,
	messages: readonly Dated[],
	isNew: (message: Dated) => boolean,
): Set<number> {
	const changed = new Set<number>();
	if (statuses === false) return changed;
	for (const dated of messages) {
		const { id, direction } = dated.message;
		const status = dated.message.status ?? "";
		const known = followed.get(id);
		if (known && known.status !== status) {
			changed.add(id);
			known.status = status;
		}
		if (isFinal(status, statuses)) followed.delete(id);
		else if (!known && direction === "outbound" && isNew(dated)) {
			followed.set(id, { phoneNumber, status, seenAt: Date.now(), looks: 0 });
		}
	}
	noteLook(followed, phoneNumber);
	for (const oldest of followed.keys()) if (followed.size > mostFollowed) followed.delete(oldest);
	return changed;
}

/** A read of the conversation counts for every look that is due. After `enough` looks the message is not followed any more. */
export function noteLook(
	followed: Map<number, Followed>,
	phoneNumber: string,
	enough: number = lookAfter.length,
): void {
	for (const [id, entry] of followed) {
		if (entry.phoneNumber !== phoneNumber) continue;
		while (dueAt(entry) <= Date.now()) entry.looks++;
		if (entry.looks >= enough) followed.delete(id);
	}
}

/** The conversations that have a message to look at by now. */
export function due(followed: ReadonlyMap<number, Followed>): Set<string> {
	return new Set(
		[...followed.values()].filter((entry) => dueAt(entry) <= Date.now()).map(({ phoneNumber }) => phoneNumber),
	);
}

/** When the next of them is to be looked at, by the local clock; Infinity when there is none. */
export function nextDueAt(followed: ReadonlyMap<number, Followed>): number {
	return Math.min(...[...followed.values()].map(dueAt));
}

function dueAt({ seenAt, looks }: Followed): number {
	return seenAt + 1_000 * (lookAfter[looks] ?? 3 * 3_600 * looks);
}

function isFinal(status: string, statuses: Statuses): boolean {
	if (status === "delivered") return statuses !== "read";
	return status === "read" || status === "failed" || status === "undelivered";
}
