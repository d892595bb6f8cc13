/*
 * What the rules of the gate say of a text.
 */
import { backoffLimitMs, decide, longestWaitMs, unsent } from "../decide.ts";
import type { OutboxReason } from "../names.ts";
import type { OptOut } from "../policy/contact-view.ts";
import { isInDoubt, lastMoment } from "../requests.ts";
import { type Change, errorOf } from "../text.ts";
import type { Verdict } from "./gate.ts";
import { isWaiting, wasTried } from "./questions.ts";
import { matchIn, quietEnd, type Situation, wasRead } from "./situation.ts";

export function become(change: Change): Verdict {
	return { do: "become", change };
}

export function end(s: Situation, state: "cancelled" | "expired", reason: OutboxReason): Verdict {
	return become(unsent(s.text, state, reason));
}

export function endOptedOut(s: Situation, { messageSid }: OptOut): Verdict {
	return become({ ...unsent(s.text, "cancelled", "opted_out"), progress: { optOutSid: messageSid } });
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
	return decide(s.text, matchIn(s), s.options, s.now);
}

/** It may not go now. Of one that was requested, what the reading shows is followed as if nothing else were to be done. */
export function notNow(s: Situation, verdict: Verdict): Verdict {
	return isWaiting(s) ? verdict : as(s, asRead(s));
}

/** It may not go at all. The service keeps one that it holds, and still delivers it if the contact consents. */
export function never(s: Situation, ended: Verdict): Verdict {
	if (s.text.state !== "held") return notNow(s, ended);
	const change = wasRead(s) ? asRead(s) : {};
	return as(s, { ...change, progress: { ...change.progress, cancelRequested: true } });
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
