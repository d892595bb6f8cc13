import { failing, isSetBack, type Planned } from "./decide.ts";
import { fingerprintOf, instant, totalIn } from "./fingerprint.ts";
import { follow, type Statuses } from "./followed.ts";
import {
	type Change,
	entryOf,
	type Known,
	keyOf,
	type Memory,
	never,
	type Progress,
	positionToCome,
	skippedEntry,
} from "./memory.ts";
import type { Conversation, Dated } from "./read.ts";

/** What the notes of a poll go by. */
export interface Context {
	lookbackMs: number;
	statuses: Statuses;
	/** The service's time. */
	now: number;
}

/** What the end of a read changes in the memory. */
export interface Note {
	/** What is remembered of the conversation; undefined for nothing. */
	entry: Known | undefined;
	/** What is followed from now on. */
	followed: Memory["followed"];
	/** The conversation is skipped: its number is not kept. */
	isSkipped?: boolean;
	change?: Change | undefined;
	/** The read failed, and the conversation is given up. */
	isGivenUp?: boolean;
}

const dayMs = 24 * 3_600_000;
/** The most conversations that are kept for another read, because each of them makes the checkpoint longer. */
const mostFailing = 100;

/** Whether the memory keeps as many conversations for another read as it may. */
export function isFull(memory: Memory): boolean {
	return failing(memory).length >= mostFailing;
}

/** The note of a conversation that was read, with the change, if there is one. */
export function noteRead(
	{ lookbackMs, statuses, now }: Context,
	memory: Memory,
	{ phoneNumber, at, fingerprint: listed, progress }: Planned,
	{ conversation, messages, date }: Conversation,
): Note {
	const position = positionToCome(memory);
	const keepFrom = position - lookbackMs;
	// A message that is much older than the one before it was written after the service's clock was set back.
	const isOutOfOrder = messages.some(({ at: time }, index) => time < (messages[index + 1]?.at ?? never) - lookbackMs);
	const from = isOutOfOrder ? progress.from : deliveredBefore(progress, messages);
	const before = entryOf(memory, phoneNumber);
	const besideSkipped = newerThanSkipped(progress, conversation.summary.totalMessages, messages);
	const delivered: ReadonlyMap<string, number> = before?.messages ?? new Map();
	const isNew = (dated: Dated): boolean =>
		(dated.at >= from || besideSkipped.includes(dated)) && !delivered.has(keyOf(dated.message));
	const isRecent = (dated: Dated): boolean => dated.at >= position - dayMs && isNew(dated);
	const { followed, changed } = follow(memory.followed, statuses, phoneNumber, messages, isRecent);

	// Messages that this read does not show stay known, because it may be from a copy of the data that lags behind.
	const kept = new Map([...delivered].filter(([, time]) => time >= keepFrom));
	for (const { message, at: time, untimed } of messages) {
		// The time of a message without one grows with its newer neighbours, until one of those stays.
		if (untimed) kept.set(keyOf(message), never);
		else if (time >= keepFrom) kept.set(keyOf(message), time);
	}
	// The summary may know the newest message before the pages list it.
	const latest = instant(conversation.summary.lastMessageAt);
	const isListed = messages.some(({ message }) => instant(message.createdAt) >= latest);
	const fingerprint = fingerprintOf(conversation);
	// If the service's clock was set back since the list, new messages pass for old ones. The next poll notices that, and reads
	// the conversation again.
	const isCertain = (isListed || latest < now - lookbackMs) && !isSetBack(memory, date, lookbackMs);
	const is = isCertain ? "delivered" : "unread";
	let entry: Known = { is, fingerprint, at: Math.max(at, latest), from: keepFrom, messages: kept };

	const shown = messages.filter((dated) => isNew(dated) || changed.has(dated));
	// An answer without what the list has shown is from a cache, or from a copy of the data that lags behind. The conversation
	// counts as one whose reads fail, with all that was delivered of it.
	const isBehind = conversation.summary.totalMessages < totalIn(listed) && !(latest > at);
	const since = before?.is === "failing" ? before.since : now;
	if (isBehind && now - since < dayMs && (before?.is === "failing" || !isFull(memory))) {
		const all = new Map(delivered);
		for (const { message, at: time } of messages) if (time >= from) all.set(keyOf(message), time);
		// The messages that it lacks may be those that tell whether the conversation was delivered.
		const { uncertain, skipped } = progress;
		const kept: Progress = {
			from: progress.from,
			...(uncertain && { uncertain }),
			...(skipped && { skipped }),
		};
		const failing: Known = { is: "failing", since, fingerprint: listed, at, ...kept, messages: all };
		if (!shown[0]) return { entry: failing, followed };
		entry = failing;
	}
	if (before?.is === "unread" && before.fingerprint === fingerprint && !shown[0]) return { entry, followed };
	const change = { phoneNumber, conversation, messages: shown.map(({ message }) => message).reverse() };
	return { entry, followed, change };
}

/** The messages that came after the conversation was skipped, and have the time of the newest one that was skipped. */
function newerThanSkipped({ skipped }: Progress, total: number, messages: readonly Dated[]): Dated[] {
	if (!skipped) return [];
	const [at, before] = skipped;
	return messages.slice(0, Math.max(0, total - before)).filter((dated) => dated.at === at);
}

/** The time before which all messages of a conversation were delivered. */
function deliveredBefore(
	{ from, uncertain: [after, before] = [never, never] }: Progress,
	messages: readonly Dated[],
): number {
	const wasToCome = messages.some(({ at }, index) => at >= after && earliestOf(messages, index) < before);
	return wasToCome ? from : Math.max(from, before);
}

/** The earliest time that a message can have. One without a time is not older than the next older one that has a time. */
function earliestOf(messages: readonly Dated[], index: number): number {
	const dated = messages.slice(index).find(({ message }) => message.createdAt !== null);
	return dated?.at ?? never;
}

/** The note of a conversation that the caller skips. Its messages up to now count as delivered. */
export function noteSkipped({ now }: Context, memory: Memory, { why, progress, ...row }: Planned): Note {
	const { phoneNumber } = row;
	const followed = new Map([...memory.followed].filter(([, message]) => message.phoneNumber !== phoneNumber));
	const before = entryOf(memory, phoneNumber);
	// A read for a status knows no row.
	if (why === "status")
		row = before?.fingerprint === undefined ? row : { ...before, phoneNumber, fingerprint: before.fingerprint };
	if (row.fingerprint === "") return { entry: undefined, followed, isSkipped: true };
	return { entry: skippedEntry(row, progress, before, now), followed, isSkipped: true };
}

/**
 * The note of a conversation whose read failed. It is kept for a later poll, or given up. A conversation that is gone is
 * given up, and is read when it is listed again.
 */
export function noteFailure(
	{ now }: Context,
	memory: Memory,
	{ phoneNumber, at, fingerprint, progress }: Planned,
	isGone: boolean,
): Note {
	const { followed } = memory;
	const before = entryOf(memory, phoneNumber);
	const since = before?.is === "failing" ? before.since : undefined;
	const isGivenUp = isGone || (since === undefined ? isFull(memory) : now - since > dayMs);
	const { from, uncertain, skipped }: Progress = before ?? progress;
	const kept = {
		from,
		...(uncertain && { uncertain }),
		...(skipped && { skipped }),
		at: Math.max(at, before?.at ?? never),
		messages: before?.messages ?? new Map<string, number>(),
	};
	const entry = (): Known => {
		if (isGone) return { is: "unread", ...kept };
		if (isGivenUp) return { is: "delivered", fingerprint, ...kept };
		return { is: "failing", since: since ?? now, fingerprint, ...kept };
	};
	return { entry: entry(), followed, isGivenUp };
}
