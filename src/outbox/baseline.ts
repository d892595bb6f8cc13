/*
 * The conversation right before a text is first sent, its window, and the service's time.
 */
import { wrongClockMs } from "./clocks.ts";
import { type HeldMatch, newestOf, newestTime, type Reading, slackMs, timeOf } from "./match.ts";
import type { Baseline, OutboxText } from "./text.ts";

const dayMs = 86_400_000;

/** The conversation right before the first request. */
export function baselineOf(reading: Reading | null, now: number): Baseline {
	if (!reading) return { since: null, known: [], queued: null, seen: false, readAt: now, openMs: null };
	const { conversation, messages } = reading;
	const { newest, known } = newestOf(messages);
	return {
		since: newest,
		known,
		queued: conversation.queuedMessages[0]?.body ?? null,
		seen: true,
		readAt: now,
		openMs: surelyOpenMs(reading, now) || null,
	};
}

/** The conversation right before the service held a text whose request is not known. */
export function baselineBefore({ reading: { messages }, queued }: HeldMatch, now: number): Baseline {
	const heldAt = timeOf(queued.updatedAt);
	// The request for consent goes out at that moment.
	const before = messages.filter(
		({ createdAt, templateName }) => createdAt !== null && timeOf(createdAt) <= heldAt && templateName === null,
	);
	const { newest, known } = newestOf(before);
	return { since: newest, known, queued: null, seen: true, readAt: now, openMs: null };
}

/** Whether a request that begins now meets an open window that stays open for so long, by the outbox's clock and by the service's. */
export function isSurelyOpen(reading: Reading | null, now: number, leastOpenMs = 0): boolean {
	return reading !== null && surelyOpenMs(reading, now) > leastOpenMs;
}

/** Whether such a request meets a closed window. Near its end, and while the clocks disagree, it is neither. */
export function isSurelyClosed({ conversation, aheadMs }: Reading, now: number): boolean {
	return timeOf(conversation.summary.windowExpiresAt) <= Math.min(now, now - aheadMs) - slackMs;
}

/**
 * Whether the clocks of a reading are so far apart that it does not show whether the window is open. The one of them may be that of
 * a machine whose clock is wrong.
 */
export function isUnsure(reading: Reading, now: number, leastOpenMs: number): boolean {
	if (isSurelyOpen(reading, now, leastOpenMs) || isSurelyClosed(reading, now + leastOpenMs)) return false;
	return Math.abs(reading.aheadMs) > wrongClockMs || endsAfter(reading, now) > dayMs;
}

const endsAfter = ({ conversation }: Pick<Reading, "conversation">, now: number): number =>
	timeOf(conversation.summary.windowExpiresAt) - now;

/** How much longer the window is open for certain, in milliseconds. */
export function surelyOpenMs({ conversation, aheadMs }: Reading, now: number): number {
	// The request takes a moment, and the service's clock is known to a second.
	const latest = Math.max(now, now - aheadMs) + slackMs;
	const openMs = endsAfter({ conversation }, latest);
	// A window is never open for longer than a day: then the clock is wrong.
	return openMs > 0 && openMs <= dayMs ? openMs : 0;
}

/**
 * The service's time, at the earliest and at the latest: not before what its own stamps show, and what has passed here since
 * it took the text. The clocks of the outbox and of the answer are believed where they are near that; a sandbox lives in
 * another year.
 */
export function serviceNow(reading: Reading, { progress: { requests } }: OutboxText, now: number): [number, number] {
	const [queued] = reading.conversation.queuedMessages;
	const taken = timeOf(queued?.updatedAt);
	const shown = Math.max(newestTime(reading), taken + now - (requests.at(-1)?.at ?? now));
	const clocks = [now, reading.date ?? now].filter((time) => time - shown < 7 * dayMs);
	return [shown, Math.max(shown, ...clocks)];
}

/** How long the window stays open, in milliseconds; -Infinity when that is not certain. */
export function openFor({ openMs, readAt }: Baseline, now: number): number {
	return openMs === null ? Number.NEGATIVE_INFINITY : openMs - (now - readAt);
}
