/*
 * Whether a text may be sent again, and when.
 */
import { openFor } from "./baseline.ts";
import type { Change, OutboxText, Rules } from "./text.ts";

const minuteMs = 60_000;
/** A window with this much time left is open for certain, even when the clocks differ. */
const marginMs = 20 * minuteMs;
/** This many requests may follow each other without a pause in an open window. Then the pauses grow. */
const quickTries = 4;
/** After this many requests without a known end the text is not sent again, and a person has to look. */
const mostDoubts = 8;

/** The change when no request may begin now: the time has passed, or requests without a known end came before. */
export function keptBack(text: OutboxText, rules: Rules, now: number): Change | undefined {
	const isWaiting = text.state === "waiting";
	if (isOver(text, now)) return isWaiting ? overdue(text) : { nextAt: now };
	const until = pausedUntil(text, rules);
	if (!isWaiting || now >= until) return undefined;
	return { nextAt: text.notAfter === null ? until : Math.min(until, text.notAfter + 1) };
}

/** Whether an earlier request may have been taken in a conversation that is hidden from the agency. */
export function isInDoubt({ progress: { doubts, baseline } }: OutboxText): boolean {
	return doubts > 0 && !baseline?.seen;
}

/** The pauses grow with the number of requests without a known end. A reading in between does not shorten them. */
function pausedUntil({ progress: { doubts, triedAt } }: OutboxText, { settleMs }: Rules): number {
	return doubts === 0 ? 0 : (triedAt ?? 0) + settleMs * 4 ** Math.max(0, doubts + 1 - quickTries);
}

/** The change of a text whose time passed before it was sent; `unclear` when an earlier request may have been taken. */
export function overdue(text: OutboxText): Change {
	return { state: isInDoubt(text) ? "unclear" : "expired", nextAt: null };
}

/** Whether so many requests have had no known end that the text is not sent any more. */
export function isGivenUp({ progress: { doubts } }: OutboxText): boolean {
	return doubts >= mostDoubts;
}

/**
 * A retry with the same id in an open window is not sent twice. Not so across the window's end. A text that was held has a
 * baseline in which the window is closed.
 */
export function mayRepeatBlindly(text: OutboxText, now: number): boolean {
	const { tries, doubts, firstTriedAt, baseline, taken, refused } = text.progress;
	if (isOver(text, now) || taken || refused || firstTriedAt === null || baseline?.queued !== null) return false;
	return tries > 0 && doubts < quickTries && now - firstTriedAt < minuteMs && openFor(baseline, now) > marginMs;
}

/** Whether a held text may be sent again now that the window is open. */
export function maySendAgain(text: OutboxText, rules: Rules, now: number): boolean {
	return !text.progress.resent && !isGivenUp(text) && !isOver(text, now) && now >= pausedUntil(text, rules);
}

/** Whether the window was open for certain at each try, so that the text cannot have been held. */
export function wasSurelyOpen({ progress: { baseline, triedAt } }: OutboxText): boolean {
	return baseline !== null && triedAt !== null && openFor(baseline, triedAt) > marginMs;
}

export function isSettled({ progress: { triedAt } }: OutboxText, { settleMs }: Rules, now: number): boolean {
	return triedAt === null || now - triedAt >= settleMs;
}

export function isOver({ notAfter }: OutboxText, now: number): boolean {
	return notAfter !== null && now > notAfter;
}
