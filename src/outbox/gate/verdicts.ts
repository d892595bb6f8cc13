/*
 * What the rules of the gate say of a text.
 */
import { surelyOpenMs } from "../baseline.ts";
import { backoffLimitMs, decide, longestWaitMs, unsent } from "../decide.ts";
import { flowLookMs, flowUntil, mostFlowMs, talkUntil } from "../flow.ts";
import type { OutboxReason } from "../names.ts";
import { isNumberWrong, type OptOut } from "../policy/contact-view.ts";
import { quietFrom } from "../policy/quiet-hours.ts";
import { isInDoubt, lastMoment } from "../requests.ts";
import { type Change, errorOf } from "../text.ts";
import type { Verdict } from "./gate.ts";
import { isWaiting, optOutIn, purpose, wasTried } from "./questions.ts";
import { matchIn, quietEnd, readingIn, type Situation, wasRead } from "./situation.ts";

export function become(change: Change): Verdict {
	return { do: "become", change };
}

export function end(s: Situation, state: "cancelled" | "expired", reason: OutboxReason): Verdict {
	return become(unsent(s.text, state, reason));
}

export function endOptedOut(s: Situation, { messageSid }: OptOut): Verdict {
	return become({ ...unsent(s.text, "cancelled", "opted_out"), progress: { optOutSid: messageSid } });
}

/** A hook does not want it to be sent. */
export function endByHook(s: Situation, reason: "before_send" | "requested", hookReason: string): Verdict {
	return never(s, become({ ...unsent(s.text, "cancelled", reason), progress: { hookReason } }), { hookReason });
}

/** It waits, and its row says so. */
export function wait(until: number, change: Change = {}): Verdict {
	return { do: "wait", until, change };
}

/** It waits by what is stored already. */
export function stay(until: number, behind?: string): Verdict {
	return { do: "wait", until, ...(behind !== undefined && { behind }) };
}

/** What a reading makes of the text: the end of it, or a wait. */
export function as(s: Situation, change: Change): Verdict {
	return change.state === undefined ? wait(change.nextAt ?? s.now, change) : become(change);
}

/** Waits as long as so many tries before it ask for. */
function spread(s: Situation, tries: number, change: Change): Verdict {
	return { do: "wait", until: s.now + backoffLimitMs(tries), change, isSpread: true };
}

/** What the reading shows of a text that was requested, unless it is sent again. */
export function asRead(s: Situation): Change {
	return asSaid(s, decide(s.text, matchIn(s), s.options, s.now));
}

/** A text that was dropped, with what the contact said for certain in the place of a guess. */
function asSaid(s: Situation, change: Change): Change {
	if (change.state !== "dropped") return change;
	const optOut = optOutIn(s);
	if (optOut && !optOut.isUnclear)
		return { ...change, reason: "opted_out", progress: { ...change.progress, optOutSid: optOut.messageSid } };
	return isNumberWrong(s.contact) ? { ...change, reason: "wrong_number" } : change;
}

/** It may not go now. Of one that was requested, what the reading shows is followed as if nothing else were to be done. */
export function notNow(s: Situation, verdict: Verdict): Verdict {
	return isWaiting(s) ? verdict : as(s, asRead(s));
}

/** It may not go at all. The service keeps one that it holds, and still delivers it if the contact consents. */
export function never(
	s: Situation,
	ended: Verdict,
	why: { hookReason?: string; optOutSid?: string | null } = {},
): Verdict {
	if (s.text.state !== "held") return notNow(s, ended);
	const change = wasRead(s) ? asRead(s) : {};
	return as(s, { ...change, progress: { ...change.progress, cancelRequested: true, hookReason: undefined, ...why } });
}

/** Waits for another reading. */
export function tryAgain(s: Situation): Verdict {
	const failures = s.text.progress.failures + 1;
	return spread(s, failures, { progress: { failures } });
}

export function waitForLanguage(s: Situation, reason: "language_unavailable" | "language_required"): Verdict {
	const { failures } = s.text.progress;
	return spread(s, failures, { reason, progress: { failures: failures + 1 } });
}

export function waitForHook(s: Situation): Verdict | undefined {
	if (!s.failed) return undefined;
	const failures = s.text.progress.failures + 1;
	return spread(s, failures, { reason: "hook_failed", progress: { failures, error: errorOf(s.failed.error) } });
}

/** Waits for the end of the quiet hours. A text that may have been taken is looked for meanwhile. */
export function sleep(s: Situation): Verdict | undefined {
	const until = quietEnd(s);
	if (until === undefined) return undefined;
	if (isWaiting(s) && !wasTried(s) && lastMoment(s.text, s.options) < until) return end(s, "expired", "quiet_hours");
	const lookAt = isInDoubt(s.text) ? Math.min(until, s.now + longestWaitMs) : until;
	return notNow(s, wait(lookAt, { reason: "quiet_hours" }));
}

/** A notice goes while there is so much time left before it would be too late for it. */
const leastLeftMs = 15 * 60_000;
/** It needs some time to go before the quiet hours begin, or the window closes. */
const marginMs = 60_000;

/** A notice waits for a flow for a while, and goes before it would go too late. One that takes the place of another text goes at once. */
export function waitForFlow(s: Situation): Verdict | undefined {
	const { text, now, options } = s;
	if (text.given.supersedes !== undefined || flowUntil(readingIn(s), now) === undefined) return undefined;
	const since = text.progress.flow?.since ?? now;
	const until = Math.min(
		since + mostFlowMs,
		lastMoment(text, options) - leastLeftMs,
		obstacleAt(s, mostFlowMs) - marginMs,
	);
	if (until <= now) return undefined;
	// The flow may end before.
	return wait(Math.min(now + flowLookMs, until), { reason: "flow", progress: { flow: { since, until } } });
}

/** Marketing waits until the contact has finished with the flow and with the AI. */
export function waitForTalk(s: Situation): Verdict | undefined {
	const { text, now, options } = s;
	const reading = readingIn(s);
	const silentAt = talkUntil(reading, now);
	if (silentAt === undefined) return undefined;
	// Without the AI it is only the flow that has to end, which it may do before.
	const lookAt = reading?.conversation.summary.aiEnabled ? silentAt : Math.min(silentAt, now + longestWaitMs);
	// By then it may have ended, or waits for something else.
	return wait(Math.min(lookAt, obstacleAt(s, lookAt - now), lastMoment(text, options) + 1), { reason: "flow" });
}

/** When the quiet hours begin or the window closes, if that comes soon. */
function obstacleAt(s: Situation, withinMs: number): number {
	const { now, known } = s;
	const reading = readingIn(s);
	const openMs = reading ? surelyOpenMs(reading, now) - purpose(s).leastOpenMs : 0;
	const closesAt = openMs > 0 ? now + openMs : Number.POSITIVE_INFINITY;
	return Math.min(closesAt, quietFrom(now, withinMs + marginMs, known.hours ?? null) ?? Number.POSITIVE_INFINITY);
}
