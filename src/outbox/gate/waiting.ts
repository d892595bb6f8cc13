/*
 * Every rule of a text that waits, in order. Read it from the top to the bottom.
 *
 * What ends a text comes before what makes it wait, and what is cheap to know before what is not. A rule that stops a text goes by
 * whatever is known. Only those that need a fact insist on it. So a text that is sent has passed each rule with all facts.
 */
import { isSurelyClosed, isUnsure } from "../baseline.ts";
import {
	afterRequest,
	afterRestore,
	asCancelled,
	backoffLimitMs,
	ifDeclinedBehind,
	isHeldByOther,
	isInDoubt,
	isRestored,
	lastMoment,
	longestWaitMs,
	mayTakePlace,
	onOtherHeldOf,
	readAgain,
	unsent,
	waitsForRequestUntil,
} from "../decide.ts";
import {
	endedBy,
	hasRefused,
	isNumberSurelyWrong,
	isNumberWrong,
	type OptOut,
	optOutAfter,
	optOutOf,
} from "../policy/contact-view.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import { isSuperseded } from "../supersede.ts";
import { type Change, errorOf, type OutboxReason } from "../text.ts";
import type { Rule, Verdict } from "./gate.ts";
import { heldAhead, inFront, isReply, isWoken, mayPass } from "./order.ts";
import { isOpen, matchIn, quietEnd, readingIn, type Situation, wasRead } from "./situation.ts";

/** They end a text by what is stored, also while it is not its turn. */
export const ends: readonly Rule[] = [
	{
		name: "restored",
		when: "It is from a backup, and may have been sent since: it becomes what the conversation shows",
		concerns: (s) => isRestored(s.text) && !s.passing,
		needs: "reading",
		judge: (s) => {
			if (!wasRead(s)) return waitForHook(s);
			const found = afterRestore(s.text, matchIn(s), s.options, s.now);
			if (found) return as(s, found);
			const optOut = optOutAfter(s.text, s.contact);
			return optOut ? endOptedOut(s, optOut) : undefined;
		},
	},
	{
		name: "stopped",
		when: "`cancelAll` or `erase` came after it",
		concerns: (s) => s.text.isStopped === true,
		judge: (s) => end(s, "cancelled", "requested"),
	},
	{
		name: "superseded",
		when: "Another text takes its place",
		concerns: (s) => isSuperseded(s.text, s.queue),
		judge: (s) => end(s, "cancelled", "superseded"),
	},
	{
		name: "cancelled",
		when: "`cancel` was called when it could not be ended at once",
		concerns: (s) => s.text.progress.cancelRequested === true,
		judge: (s) => become(asCancelled(s.text)),
	},
	{
		name: "expired",
		when: "Its last moment has passed: `notAfter`, or `defaultMaxAgeMs`",
		concerns: (s) => s.now > lastMoment(s.text, s.options),
		judge: (s) => end(s, "expired", "too_old"),
	},
	{
		name: "opt_out_unclear",
		when: "The contact asked for no more texts, and the clocks of the reading do not show whether they have written since",
		concerns: (s) => wasRead(s) && optedOut(s) !== null,
		judge: (s) => {
			const isReplyUnsure = purpose(s).afterOptOut !== "never" && isWindowUnclear(s);
			return optedOut(s)?.isUnclear || isReplyUnsure ? tryAgain(s) : undefined;
		},
	},
	{
		name: "opted_out",
		when: "The contact asked for no more texts. A reply to what they wrote since goes, while the window is open",
		concerns: (s) => s.contact.isUpToDate,
		judge: (s) => {
			const optOut = optedOut(s);
			// Without a reading, a reply may be one to what they wrote after it.
			const isCertain = wasRead(s) || purpose(s).afterOptOut === "never" || optOut?.isLater;
			return optOut && isCertain ? endOptedOut(s, optOut) : undefined;
		},
	},
	{
		name: "earlier_text",
		when: "The contact declined an earlier text, or left it without an answer, and has not written since: see its purpose",
		concerns: () => true,
		judge: (s) => {
			const reason = endedBy(s.text, s.contact);
			return reason ? end(s, "cancelled", reason) : undefined;
		},
	},
	{
		name: "expires_tonight",
		when: "Its last moment is within the quiet hours: it ends now, while somebody can call",
		concerns: (s) => purpose(s).keepsQuiet === "always" && !wasTried(s) && !ringsNoPhone(s),
		needs: "hours",
		judge: (s) => {
			const until = quietEnd(s) ?? Number.NEGATIVE_INFINITY;
			return lastMoment(s.text, s.options) < until ? end(s, "expired", "quiet_hours") : undefined;
		},
	},
];

/** They make it wait by what is stored. */
const waits: readonly Rule[] = [
	{
		name: "suspension",
		when: "A person has suspended the agency, or everybody",
		concerns: (s) => s.agency.isSuspended,
		judge: () => stay(Number.POSITIVE_INFINITY),
	},
	{
		name: "not_before",
		when: "Its time has not come: `notBefore`, or `waitUntil` of `beforeSend`",
		concerns: (s) => s.text.readyAt > s.now && !wasTried(s),
		judge: (s) => stay(s.text.readyAt),
	},
	{
		name: "behind",
		when: "Another text to the contact comes first. A reply goes before a notice or marketing that was put off",
		concerns: (s) => inFront(s) !== undefined,
		judge: (s) => stay(inFront(s)?.nextAt ?? s.now, inFront(s)?.id),
	},
	{
		name: "pause",
		when: "Calls of the agency, or all calls, fail",
		concerns: (s) => s.agency.pausedUntil > s.now,
		judge: (s) => stay(s.agency.pausedUntil),
	},
	{
		name: "put_off",
		when: "A rule has put it off until a time, and nothing has happened since that may change that",
		concerns: (s) => (s.text.nextAt ?? 0) > s.now && !wasRead(s) && !isWoken(s),
		judge: (s) => stay(s.text.nextAt ?? s.now),
	},
	{
		name: "lost_request",
		when: "It is not known whether its last request was taken. Waits grow with the number of such requests",
		concerns: (s) => waitsForRequestUntil(s.text, s.options) > s.now,
		judge: (s) => wait(Math.min(waitsForRequestUntil(s.text, s.options), lastMoment(s.text, s.options) + 1)),
	},
	{
		name: "behind_held",
		when: "The service holds an earlier text of yours, and it may go before that one if its reading allows it: see `onHeld`",
		concerns: (s) => !s.passing && heldAhead(s) !== undefined,
		judge: (s) => stay(heldAhead(s)?.nextAt ?? s.now, heldAhead(s)?.id),
	},
];

/** What they ask may cost a call. */
const asks: readonly Rule[] = [
	{
		name: "hook_failed",
		when: "`beforeSend`, `optOut` or the time zone failed",
		concerns: (s) => s.failed !== undefined,
		judge: waitForHook,
	},
	{
		name: "shows",
		when: "An earlier request may have been taken while the conversation was hidden: it becomes what it shows now",
		concerns: (s) => isInDoubt(s.text),
		needs: "reading",
		judge: (s) => {
			const match = matchIn(s);
			if (!match || match.kind === "none") return undefined;
			const found = afterRequest(s.text, match, s.options, s.now);
			return typeof found === "object" ? as(s, found) : undefined;
		},
	},
	{
		name: "wrong_number",
		when: "The contact wrote that the number is wrong, and nobody has said since that it is right",
		concerns: (s) => purpose(s).onWrongNumber === "wait",
		judge: (s) => {
			// Without a reading the clocks of the service and of this machine cannot be compared.
			const isWrong = wasRead(s) ? isNumberWrong(s.contact) : isNumberSurelyWrong(s.contact);
			return isWrong ? wait(nextLook(s), { reason: "wrong_number" }) : undefined;
		},
	},
	{
		name: "refusal",
		when: "It is marketing, and the contact has refused something and has not written since",
		concerns: (s) => purpose(s).onRefusal === "wait" && wasRead(s) && hasRefused(s.contact),
		judge: (s) => {
			const until = nextLook(s);
			// Marketing that is enqueued once they have written does not wait for it.
			return wait(until, { reason: "refusal", ...(!wasTried(s) && { readyAt: until }) });
		},
	},
	{
		name: "quiet_hours",
		when: "It is a notice or marketing, and it is within the quiet hours",
		concerns: (s) => purpose(s).keepsQuiet === "always" && !ringsNoPhone(s),
		needs: "hours",
		judge: sleep,
	},
	{
		name: "unchanged",
		when: "It waited for a colleague's text or the agency's consent template, and a lookup shows nothing new",
		concerns: (s) => !wasRead(s) && (s.text.progress.watched !== undefined || s.text.reason === "consent_unavailable"),
		needs: "lookup",
		judge: (s) => {
			const change = s.known.lookup;
			return change ? as(s, change) : undefined;
		},
	},
	{
		name: "reading",
		when: "The conversation has to be read, at most ten seconds before the request",
		concerns: () => true,
		needs: "reading",
		judge: () => undefined,
	},
	{
		name: "colleague_declined",
		when: "It waited for a colleague's text, and the contact has declined that one",
		concerns: (s) => !s.passing && !holdsAny(s),
		judge: (s) => {
			const change = ifDeclinedBehind(s.text, matchIn(s), s.options, s.now);
			return change && as(s, change);
		},
	},
	{
		name: "colleague_held",
		when: "The service holds a colleague's text, which this one would replace: see `onHeld`",
		concerns: (s) => !s.passing && isHeldByOther(s.text, matchIn(s), s.now),
		judge: (s) => {
			const mayGo = mayTakePlace(onOtherHeldOf(s.text, s.options), matchIn(s), s.now);
			return mayGo ? undefined : as(s, readAgain(s.text, s.options, s.now));
		},
	},
	{
		name: "own_held",
		when: "The service holds an earlier text of yours, or has just held it, and this one may not go before it: see `onHeld`",
		concerns: (s) => s.passing !== undefined && !mayPass(s, s.passing),
		judge: (s) => {
			const until = s.passing?.held.nextAt ?? s.now + longestWaitMs;
			return { do: "wait", until, behind: s.passing?.held.id ?? "", change: {} };
		},
	},
	{
		name: "window_unclear",
		when: "The clocks of the reading do not show whether the window is open, and it would not go if it is closed",
		concerns: (s) => isWindowUnclear(s) && !ringsNoPhone(s) && (isSkipped(s) || isQuietReply(s)),
		judge: tryAgain,
	},
	{
		name: "quiet_while_closed",
		when: "It is a reply, the window is closed, and it is within the quiet hours",
		concerns: (s) => purpose(s).keepsQuiet === "while_closed" && !isOpen(s) && !ringsNoPhone(s),
		needs: "hours",
		judge: sleep,
	},
	{
		name: "skip",
		when: 'The window is closed, and it has `whenClosed: "skip"`',
		concerns: (s) => isSkipped(s) && !ringsNoPhone(s),
		judge: (s) => end(s, "expired", "window_closed"),
	},
	{
		name: "before_send",
		when: "The check of the application (`beforeSend`) cancels it, or makes it wait",
		concerns: (s) => s.options.beforeSend !== undefined,
		needs: "beforeSend",
		judge: (s) => {
			const verdict = s.known.beforeSend;
			if (verdict === "cancel") return end(s, "cancelled", "before_send");
			if (typeof verdict !== "object" || !("waitUntil" in verdict)) return undefined;
			// A text that is put off beyond its time expires then, and not later.
			const until = Math.min(Math.max(verdict.waitUntil.getTime(), s.now + 1_000), lastMoment(s.text, s.options) + 1);
			// One that was never requested steps aside, so that the contact's other texts do not wait for it.
			return wait(until, { reason: "before_send", ...(!wasTried(s) && { readyAt: until }) });
		},
	},
	{
		name: "settings",
		when: "The window is closed, and the agency cannot ask for consent, or not in a language",
		concerns: () => true,
		needs: "settings",
		judge: (s) => {
			const reason = isOpen(s) ? undefined : lackOf(s);
			if (!reason) return undefined;
			const { failures } = s.text.progress;
			// How long the agency waits together is known to its pause.
			if (reason === "consent_unavailable") return wait(s.now, { reason });
			return spread(s, failures, { reason, progress: { failures: failures + 1 } });
		},
	},
	{
		name: "send",
		when: "Otherwise it goes",
		concerns: () => true,
		judge: (s) => ({ do: "send", language: languageOf(s) }),
	},
];

/** What becomes of a text that is `waiting`. */
export const waiting: readonly Rule[] = [...ends, ...waits, ...asks];

/** What ends a text when it is enqueued, and when it is known that the contact wants no more of them. What keeps it behind a held one. */
export const onEnqueue: readonly Rule[] = ends.filter(({ name }) => name === "expires_tonight");
export const onOptOut: readonly Rule[] = ends.filter(({ name }) => name === "opted_out");
export const onHeldRead: readonly Rule[] = asks.filter(({ name }) => name === "own_held");

// What the rules say

function become(change: Change): Verdict {
	return { do: "become", change };
}

function end(s: Situation, state: "cancelled" | "expired", reason: OutboxReason): Verdict {
	return become(unsent(s.text, state, reason));
}

function endOptedOut(s: Situation, { messageSid }: OptOut): Verdict {
	return become({ ...unsent(s.text, "cancelled", "opted_out"), progress: { optOutSid: messageSid } });
}

/** It waits, and its row says so. */
function wait(until: number, change: Change = {}): Verdict {
	return { do: "wait", until, change };
}

/** It waits by what is stored already. */
function stay(until: number, behind?: string): Verdict {
	return { do: "wait", until, ...(behind !== undefined && { behind }) };
}

/** What a reading makes of the text: the end of it, or a wait. */
function as(s: Situation, change: Change): Verdict {
	return change.state === undefined ? wait(change.nextAt ?? s.now, change) : become(change);
}

/** Waits as long as so many tries before it ask for. */
function spread(s: Situation, tries: number, change: Change): Verdict {
	return { do: "wait", until: s.now + backoffLimitMs(tries), change, isSpread: true };
}

/** Waits for another reading. */
function tryAgain(s: Situation): Verdict {
	const failures = s.text.progress.failures + 1;
	return spread(s, failures, { progress: { failures } });
}

function waitForHook(s: Situation): Verdict | undefined {
	if (!s.failed) return undefined;
	const failures = s.text.progress.failures + 1;
	return spread(s, failures, { reason: "before_send_failed", progress: { failures, error: errorOf(s.failed.error) } });
}

/** Waits for the end of the quiet hours. A text that may have been taken is looked for meanwhile. */
function sleep(s: Situation): Verdict | undefined {
	const until = quietEnd(s);
	if (until === undefined) return undefined;
	if (!wasTried(s) && lastMoment(s.text, s.options) < until) return end(s, "expired", "quiet_hours");
	return wait(isInDoubt(s.text) ? Math.min(until, s.now + longestWaitMs) : until, { reason: "quiet_hours" });
}

// What the rules ask

const purpose = ({ text }: Situation) => policies[purposeOf(text)];
const wasTried = ({ text }: Situation): boolean => text.progress.attempts > 0;
const holdsAny = (s: Situation): boolean => (readingIn(s)?.conversation.queuedMessages.length ?? 0) > 0;
const optedOut = (s: Situation): OptOut | null => optOutOf(s.text, s.contact, wasRead(s) ? isOpen(s) : undefined);
const isSkipped = (s: Situation): boolean => s.text.progress.given?.whenClosed === "skip" && !isOpen(s);
const isQuietReply = (s: Situation): boolean => isReply(s.text) && quietEnd(s) !== undefined;
const nextLook = (s: Situation): number => Math.min(s.now + longestWaitMs, lastMoment(s.text, s.options) + 1);

/** The clocks of the reading are too far apart to tell. */
function isWindowUnclear(s: Situation): boolean {
	const reading = readingIn(s);
	return reading !== null && isUnsure(reading, s.now);
}

/** It takes the place of a held text that it supersedes, without a new request for consent. The contact must not get that one. */
function ringsNoPhone({ text, queue, passing, now }: Situation): boolean {
	const id = text.progress.given?.supersedes;
	if (passing) return !passing.isGone && passing.held.id === id && isSurelyClosed(passing.match.reading, now);
	return queue.some((other) => other.state === "held" && other.id === id);
}

/** What the agency lacks to ask for consent. */
function lackOf(s: Situation): OutboxReason | undefined {
	const settings = s.known.settings;
	if (!settings) return undefined;
	const { availableLanguages, eligibleForManualSend } = settings;
	const language = languageOf(s);
	if (!eligibleForManualSend) return "consent_unavailable";
	if (language !== null) return availableLanguages.includes(language) ? undefined : "language_unavailable";
	return availableLanguages.length > 1 ? "language_required" : undefined;
}

function languageOf(s: Situation): string | null {
	const verdict = s.known.beforeSend;
	const chosen =
		typeof verdict === "object" && "consentLanguage" in verdict ? verdict.consentLanguage : s.text.consentLanguage;
	const settings = s.known.settings;
	return chosen ?? (settings && settings.availableLanguages.length > 1 ? settings.defaultLanguage : null);
}
