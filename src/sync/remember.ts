import { fingerprintOf, instant, totalIn } from "./fingerprint.ts";
import { follow, type Statuses } from "./followed.ts";
import {
	type Change,
	type Known,
	keyIn,
	type Memory,
	type MessageKey,
	markToCome,
	never,
	type Past,
} from "./memory.ts";
import { failing, type Planned } from "./plan.ts";
import type { Conversation, Dated } from "./read.ts";

/** What the notes of a poll go by. */
export interface Context {
	lookbackMs: number;
	statuses: Statuses;
	/** The service's time. */
	now: number;
}

const dayMs = 24 * 3_600_000;
/** The most conversations that are kept for another read, because each of them makes the checkpoint longer. */
const mostFailing = 100;

/** Whether the memory keeps as many conversations for another read as it may. */
export function isFull(memory: Memory): boolean {
	return failing(memory).length >= mostFailing;
}

/** Notes a conversation that was read as delivered. Returns the change, if there is one. */
export function noteRead(
	{ lookbackMs, statuses, now }: Context,
	memory: Memory,
	{ phoneNumber, at, past }: Planned,
	{ conversation, messages }: Conversation,
): Change | undefined {
	const { known, followed } = memory;
	const to = markToCome(memory);
	const keepFrom = to - lookbackMs;
	// A message that is much older than the one before it was written after the service's clock was set back.
	const isOutOfOrder = messages.some(({ at: time }, index) => time < (messages[index + 1]?.at ?? never) - lookbackMs);
	const from = isOutOfOrder ? Math.min(past.from, keepFrom) : deliveredBefore(past, messages);
	const before = known.get(phoneNumber);
	const besideSkipped = newerThanSkipped(past, conversation.summary.totalMessages, messages);
	const delivered: ReadonlyMap<MessageKey, number> = before?.messages ?? new Map();
	const isNew = (dated: Dated): boolean =>
		(dated.at >= from || besideSkipped.includes(dated)) && !delivered.has(keyIn(delivered, dated.message));
	const changed = follow(followed, statuses, phoneNumber, messages, (dated) => dated.at >= to - dayMs && isNew(dated));

	// Messages that this read does not show stay known, because it may be from a copy of the data that lags behind.
	const kept = new Map([...delivered].filter(([, time]) => time >= keepFrom));
	for (const { message, at: time, untimed } of messages) {
		// The time of a message without one grows with its newer neighbours, until one of those stays.
		if (untimed) kept.set(keyIn(delivered, message), never);
		else if (time >= keepFrom) kept.set(keyIn(delivered, message), time);
	}
	// The summary may know the newest message before the pages list it.
	const latest = instant(conversation.summary.lastMessageAt);
	const isListed = messages.some(({ message }) => instant(message.createdAt) >= latest);
	const fingerprint = fingerprintOf(conversation);
	const is = isListed || latest < now - lookbackMs ? "delivered" : "unread";
	known.set(phoneNumber, { is, fingerprint, at: Math.max(at, latest), from: keepFrom, messages: kept });

	const shown = messages.filter((dated) => isNew(dated) || changed.has(dated));
	if (before?.is === "unread" && before.fingerprint === fingerprint && !shown[0]) return undefined;
	return { phoneNumber, conversation, messages: shown.map(({ message }) => message).reverse() };
}

/** The messages that came after the conversation was skipped, and have the time of the newest one that was skipped. */
function newerThanSkipped({ skipped }: Past, total: number, messages: readonly Dated[]): Dated[] {
	if (!skipped) return [];
	const [at, before] = skipped;
	return messages.slice(0, Math.max(0, total - before)).filter((dated) => dated.at === at);
}

/** The time before which all messages of a conversation were delivered. */
function deliveredBefore({ from, doubt: [after, before] = [never, never] }: Past, messages: readonly Dated[]): number {
	const wasToCome = messages.some(({ at }, index) => at >= after && earliestOf(messages, index) < before);
	return wasToCome ? from : Math.max(from, before);
}

/** The earliest time that a message can have. One without a time is not older than the next older one that has a time. */
function earliestOf(messages: readonly Dated[], index: number): number {
	const dated = messages.slice(index).find(({ message }) => message.createdAt !== null);
	return dated?.at ?? never;
}

/** Notes a conversation that the caller skips. Its messages up to now count as delivered. */
export function noteSkipped(
	{ now }: Context,
	memory: Memory,
	{ phoneNumber, at, fingerprint, past, why }: Planned,
): void {
	const { known, followed } = memory;
	for (const [key, message] of followed) if (message.phoneNumber === phoneNumber) followed.delete(key);
	if (why === "status") return;
	const messages = known.get(phoneNumber)?.messages ?? new Map();
	const until = Math.min(at, now);
	const from = Math.max(past.from, until + 1);
	const total = totalIn(fingerprint);
	const skipped = Number.isNaN(total) ? undefined : ([until, total] as const);
	known.set(phoneNumber, { is: "delivered", fingerprint, at, from, ...(skipped && { skipped }), messages });
}

/**
 * Keeps a conversation whose read failed for a later poll, or gives it up. A conversation that is gone is given up, and is
 * read when it is listed again.
 * @returns whether it is given up
 */
export function noteFailure(
	{ now }: Context,
	memory: Memory,
	{ phoneNumber, at, fingerprint, past }: Planned,
	isGone: boolean,
): boolean {
	const { known } = memory;
	const before = known.get(phoneNumber);
	const since = before?.is === "failing" ? before.since : undefined;
	const isGivenUp = isGone || (since === undefined ? isFull(memory) : now - since > dayMs);
	const { from, doubt, skipped }: Past = before ?? past;
	const entry = {
		from,
		...(doubt && { doubt }),
		...(skipped && { skipped }),
		at: Math.max(at, before?.at ?? never),
		messages: before?.messages ?? new Map<MessageKey, number>(),
	};
	const noted = (): Known => {
		if (isGone) return { is: "unread", ...entry };
		if (isGivenUp) return { is: "delivered", fingerprint, ...entry };
		return { is: "failing", since: since ?? now, fingerprint, ...entry };
	};
	// At the end of the map, so that the next poll first tries those that have waited longer.
	known.delete(phoneNumber);
	known.set(phoneNumber, noted());
	return isGivenUp;
}
