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
import { pausedIn, shown, suspendedIn } from "../sentences.ts";
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
		says: () => "It came back with a backup, and may have been sent since. Its conversation is read to find out.",
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
		says: () => "It was cancelled, and ends when a worker looks at it.",
		concerns: (s) => s.text.isStopped === true,
		judge: (s) => end(s, "cancelled", "requested"),
	},
	{
		name: "superseded",
		when: "Another text takes its place",
		says: () => "A newer text takes its place, so that it ends when a worker looks at it.",
		concerns: (s) => isSuperseded(s.text, s.queue),
		judge: (s) => end(s, "cancelled", "superseded"),
	},
	{
		name: "cancelled",
		when: "`cancel` was called when it could not be ended at once",
		says: () => "It was cancelled, and ends when a worker looks at it.",
		concerns: (s) => s.text.progress.cancelRequested === true,
		judge: (s) => become(asCancelled(s.text)),
	},
	{
		name: "expired",
		when: "Its last moment has passed: `notAfter`, or `defaultMaxAgeMs`",
		says: (s) => `Its last moment is ${shown(lastMoment(s.text, s.options))}: it expires, and is not sent.`,
		concerns: (s) => s.now > lastMoment(s.text, s.options),
		judge: (s) => end(s, "expired", "too_old"),
	},
	{
		name: "opt_out_unclear",
		when: "The contact asked for no more texts, and the clocks of the reading do not show whether they have written since",
		says: () => "Waits to be certain: the contact asked for no more texts, and may have written since.",
		concerns: (s) => wasRead(s) && optedOut(s) !== null,
		judge: (s) => {
			const isReplyUnsure = purpose(s).afterOptOut !== "never" && isWindowUnclear(s);
			return optedOut(s)?.isUnclear || isReplyUnsure ? tryAgain(s) : undefined;
		},
	},
	{
		name: "opted_out",
		when: "The contact asked for no more texts. A reply to what they wrote since goes, while the window is open",
		says: () => "The contact asked for no more texts, so that it ends when a worker looks at it.",
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
		says: () =>
			"The contact declined an earlier text, or did not answer it, so that it ends when a worker looks at it.",
		concerns: () => true,
		judge: (s) => {
			const reason = endedBy(s.text, s.contact);
			return reason ? end(s, "cancelled", reason) : undefined;
		},
	},
	{
		name: "expires_tonight",
		when: "Its last moment is within the quiet hours: it ends now, while somebody can call",
		says: expiresTonight,
		concerns: (s) => purpose(s).keepsQuiet === "always" && !wasTried(s) && !ringsNoPhone(s),
		needs: "hours",
		judge: (s) => {
			const until = quietEnd(s) ?? Number.NEGATIVE_INFINITY;
			return lastMoment(s.text, s.options) < until ? end(s, "expired", "quiet_hours") : undefined;
		},
	},
];

/** They make it wait by what is stored. */
export const waits: readonly Rule[] = [
	{
		name: "suspension",
		isOpenEnded: true,
		when: "A person has suspended the agency, or everybody",
		says: ({ agency }) => (agency.suspension ? suspendedIn(agency.suspension) : "Sends are suspended."),
		concerns: (s) => s.agency.isSuspended,
		judge: () => stay(Number.POSITIVE_INFINITY),
	},
	{
		name: "not_before",
		when: "Its time has not come: `notBefore`, or `waitUntil` of `beforeSend`",
		says: (_, until) => `Is not to be sent before ${shown(until)}.`,
		concerns: (s) => s.text.readyAt > s.now && !wasTried(s),
		judge: (s) => stay(s.text.readyAt),
	},
	{
		name: "behind",
		when: "Another text to the contact comes first. A reply goes before a notice or marketing that was put off",
		says: (s) => {
			const other = inFront(s);
			const what = `Waits for another text to the contact (${other?.id})`;
			return other?.state === "held" ? `${what}, which the service holds until they consent.` : `${what}.`;
		},
		concerns: (s) => inFront(s) !== undefined,
		judge: (s) => stay(inFront(s)?.nextAt ?? s.now, inFront(s)?.id),
	},
	{
		name: "pause",
		when: "Calls of the agency, or all calls, fail",
		says: ({ agency }) => (agency.pause ? pausedIn(agency.pause) : "Texts are paused."),
		concerns: (s) => s.agency.pausedUntil > s.now,
		judge: (s) => stay(s.agency.pausedUntil),
	},
	{
		name: "put_off",
		when: "A rule has put it off until a time, and nothing has happened since that may change that",
		says: ({ text: { progress } }, until) =>
			`Waits for the next attempt, at ${shown(until)}.${progress.error ? ` The last one ended with ${progress.error.tag}.` : ""}`,
		concerns: (s) => (s.text.nextAt ?? 0) > s.now && !wasRead(s) && !isWoken(s),
		judge: (s) => stay(s.text.nextAt ?? s.now),
	},
	{
		name: "lost_request",
		when: "It is not known whether its last request was taken. Waits grow with the number of such requests",
		says: () => "It is not known yet whether its last request was taken. It is not sent again until that is clear.",
		concerns: (s) => waitsForRequestUntil(s.text, s.options) > s.now,
		judge: (s) => wait(Math.min(waitsForRequestUntil(s.text, s.options), lastMoment(s.text, s.options) + 1)),
	},
	{
		name: "behind_held",
		when: "The service holds an earlier text of yours, and it may go before that one if its reading allows it: see `onHeld`",
		says: saysBehindHeld,
		concerns: (s) => !s.passing && heldAhead(s) !== undefined,
		judge: (s) => stay(heldAhead(s)?.nextAt ?? s.now, heldAhead(s)?.id),
	},
];

/** What they ask may cost a call. */
const asks: readonly Rule[] = [
	{
		name: "hook_failed",
		when: "`beforeSend`, `optOut` or the time zone failed",
		says: () => "Waits: a check of the application before sending failed.",
		concerns: (s) => s.failed !== undefined,
		judge: waitForHook,
	},
	{
		name: "shows",
		when: "An earlier request may have been taken while the conversation was hidden: it becomes what it shows now",
		says: () => "It is not known yet whether a request was taken: the conversation is read to find out.",
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
		isOpenEnded: true,
		when: "The contact wrote that the number is wrong, and nobody has said since that it is right",
		says: () =>
			"Waits: the contact wrote that the number is wrong. If it is right, say so with optIn; otherwise cancel the text.",
		concerns: (s) => purpose(s).onWrongNumber === "wait",
		judge: (s) => {
			// Without a reading the clocks of the service and of this machine cannot be compared.
			const isWrong = wasRead(s) ? isNumberWrong(s.contact) : isNumberSurelyWrong(s.contact);
			return isWrong ? wait(nextLook(s), { reason: "wrong_number" }) : undefined;
		},
	},
	{
		name: "refusal",
		isOpenEnded: true,
		when: "It is marketing, and the contact has refused something and has not written since",
		says: () =>
			"Waits: the contact has refused something, perhaps the flat. Marketing goes on once they have written again.",
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
		says: saysQuiet,
		concerns: (s) => purpose(s).keepsQuiet === "always" && !ringsNoPhone(s),
		needs: "hours",
		judge: sleep,
	},
	{
		name: "unchanged",
		when: "It waited for a colleague's text or the agency's consent template, and a lookup shows nothing new",
		says: () => "Its turn has come: a lookup shows whether what it waits for has changed.",
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
		says: ({ text: { progress } }) =>
			`Waits to be sent: its turn has come, and the conversation is read next.${progress.error ? ` The last attempt ended with ${progress.error.tag}.` : ""}`,
		concerns: () => true,
		needs: "reading",
		judge: () => undefined,
	},
	{
		name: "colleague_declined",
		when: "It waited for a colleague's text, and the contact has declined that one",
		says: () =>
			"Waits to be certain: the contact seems to have declined a text of somebody else, which would end this one too.",
		concerns: (s) => !s.passing && !holdsAny(s),
		judge: (s) => {
			const change = ifDeclinedBehind(s.text, matchIn(s), s.options, s.now);
			return change && as(s, change);
		},
	},
	{
		name: "colleague_held",
		when: "The service holds a colleague's text, which this one would replace: see `onHeld`",
		says: () => "Waits: the service holds a text of somebody else for the contact.",
		concerns: (s) => !s.passing && isHeldByOther(s.text, matchIn(s), s.now),
		judge: (s) => {
			const mayGo = mayTakePlace(onOtherHeldOf(s.text, s.options), matchIn(s), s.now);
			return mayGo ? undefined : as(s, readAgain(s.text, s.options, s.now));
		},
	},
	{
		name: "own_held",
		when: "The service holds an earlier text of yours, or has just held it, and this one may not go before it: see `onHeld`",
		says: saysBehindHeld,
		concerns: (s) => s.passing !== undefined && !mayPass(s, s.passing),
		judge: (s) => {
			const until = s.passing?.held.nextAt ?? s.now + longestWaitMs;
			return { do: "wait", until, behind: s.passing?.held.id ?? "", change: {} };
		},
	},
	{
		name: "window_unclear",
		when: "The clocks of the reading do not show whether the window is open, and it would not go if it is closed",
		says: () => "Waits to be certain whether the contact has written within a day: the clocks differ too much to tell.",
		concerns: (s) => isWindowUnclear(s) && !ringsNoPhone(s) && (isSkipped(s) || isQuietReply(s)),
		judge: tryAgain,
	},
	{
		name: "quiet_while_closed",
		when: "It is a reply, the window is closed, and it is within the quiet hours",
		says: saysQuiet,
		concerns: (s) => purpose(s).keepsQuiet === "while_closed" && !isOpen(s) && !ringsNoPhone(s),
		needs: "hours",
		judge: sleep,
	},
	{
		name: "skip",
		when: 'The window is closed, and it has `whenClosed: "skip"`',
		says: () => "The contact has not written within a day, and is not to be asked for consent, so that it ends.",
		concerns: (s) => isSkipped(s) && !ringsNoPhone(s),
		judge: (s) => end(s, "expired", "window_closed"),
	},
	{
		name: "before_send",
		when: "The check of the application (`beforeSend`) cancels it, or makes it wait",
		says: (_, until) => `Is not to be sent before ${shown(until)}, as a check of the application said.`,
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
		name: "consent_unavailable",
		when: "The window is closed, and the agency cannot ask for consent",
		says: () =>
			"Waits: the agency cannot ask contacts for consent at the moment, for example because its template is not approved.",
		concerns: (s) => !isOpen(s),
		needs: "settings",
		// How long the agency waits together is known to its pause.
		judge: (s) =>
			s.known.settings?.eligibleForManualSend === false ? wait(s.now, { reason: "consent_unavailable" }) : undefined,
	},
	{
		name: "language_unavailable",
		when: "The window is closed, and the agency does not have the text's language",
		says: () => "Waits: the agency does not have the text's language.",
		concerns: (s) => !isOpen(s),
		needs: "settings",
		judge: (s) => {
			const language = languageOf(s);
			const isThere = language === null || s.known.settings?.availableLanguages.includes(language) !== false;
			return isThere ? undefined : waitForLanguage(s, "language_unavailable");
		},
	},
	{
		name: "language_required",
		when: "The window is closed, and the agency has several languages and no default one, and the text chooses none",
		says: () => "Waits: the agency has several languages and no default one. Choose a language for the text.",
		concerns: (s) => !isOpen(s),
		needs: "settings",
		judge: (s) => {
			const isChoice = (s.known.settings?.availableLanguages.length ?? 0) > 1;
			return isChoice && languageOf(s) === null ? waitForLanguage(s, "language_required") : undefined;
		},
	},
	{
		name: "send",
		when: "Otherwise it goes",
		says: () => "Is sent.",
		concerns: () => true,
		needs: "settings",
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

function waitForLanguage(s: Situation, reason: "language_unavailable" | "language_required"): Verdict {
	const { failures } = s.text.progress;
	return spread(s, failures, { reason, progress: { failures: failures + 1 } });
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

// What people read

function saysBehindHeld(s: Situation): string {
	return `Waits for another text to the contact (${heldAhead(s)?.id}), which the service holds until they consent. It may go before that one ends: see its onHeld.`;
}

function expiresTonight(): string {
	return "Its time ends within the quiet hours: it expires, and is not sent. Call the contact if it matters.";
}

function saysQuiet({ text, options }: Situation, until: number): string {
	if (isInDoubt(text))
		return "It is not known yet whether a request was taken. It is looked for again and again, and not sent again before the quiet hours end.";
	return lastMoment(text, options) < until
		? expiresTonight()
		: `Waits for the end of the quiet hours, at ${shown(until)}.`;
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

function languageOf(s: Situation): string | null {
	const verdict = s.known.beforeSend;
	const chosen =
		typeof verdict === "object" && "consentLanguage" in verdict ? verdict.consentLanguage : s.text.consentLanguage;
	const settings = s.known.settings;
	return chosen ?? (settings && settings.availableLanguages.length > 1 ? settings.defaultLanguage : null);
}
