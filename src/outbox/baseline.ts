/*
 * The conversation right before a text is first sent, its window, and the service's time.
 */
import { messagesSince, newestTime, type Reading, timeOf } from "./match.ts";
import type { Baseline, OutboxText } from "./text.ts";

const dayMs = 86_400_000;

/** The conversation right before the first request. */
export function baselineOf(reading: Reading | null, now: number, isClockGiven: boolean): Baseline {
	if (!reading) return { since: null, known: [], queued: null, seen: false, readAt: now, openMs: null };
	const { conversation, messages } = reading;
	const newest = Math.max(0, ...messages.map(({ createdAt }) => timeOf(createdAt)));
	const expires = timeOf(conversation.summary.windowExpiresAt);
	const openMs = expires - latestNow(reading, now, isClockGiven);
	return {
		since: newest || null,
		known: messagesSince(messages, newest).map(({ messageSid }) => messageSid),
		queued: conversation.queuedMessages[0]?.body ?? null,
		seen: true,
		readAt: now,
		// A window is never open for longer than a day: then the clock is wrong.
		openMs: openMs > 0 && openMs <= dayMs ? openMs : null,
	};
}

/** The later of this machine's clock and the service's, by which a window is closed rather than open. */
export function latestNow({ date = 0 }: Reading, now: number, isClockGiven: boolean): number {
	return isClockGiven ? now : Math.max(now, date);
}

/**
 * The service's time, at the earliest and at the latest: not before what its own stamps show, and what has passed here since
 * it took the text. The clocks of this machine and of the answer are believed where they are near that; a sandbox lives in
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
