/*
 * Every rule of a text that waits, in order. Read it from the top to the bottom.
 *
 * What ends a text comes before what makes it wait, and what is cheap to know before what is not. A rule that stops a text goes by
 * whatever is known. Only those that need a fact insist on it. So a text that is sent has passed each rule with all facts.
 */
import {
	afterRequest,
	afterRestore,
	asCancelled,
	isHeldByOther,
	isRestored,
	longestWaitMs,
	readAgain,
} from "../decide.ts";
import type { WaitingRule } from "../names.ts";
import { endedBy, optOutAfter } from "../policy/contact-view.ts";
import { isInDoubt, lastMoment, waitsForRequestUntil } from "../requests.ts";
import { pausedIn, shown } from "../sentences.ts";
import { isSuperseded } from "../supersede.ts";
import type { ToldRule } from "./gate.ts";
import { heldAhead, inFront, isWoken, mayPass, mayTakePlace, onOtherHeldOf } from "./order.ts";
import {
	isQuietReply,
	isSkipped,
	isWaiting,
	isWindowUnclear,
	optOutIn,
	purpose,
	ringsNoPhone,
	wasTried,
} from "./questions.ts";
import {
	beforeSend,
	consentUnavailable,
	expiresTonight,
	hookFailed,
	languageRequired,
	languageUnavailable,
	optedOut,
	perhapsDeclined,
	quietHours,
	quietWhileClosed,
	reading,
	refusal,
	send,
	suspension,
	wrongNumber,
} from "./shared.ts";
import { matchIn, quietEnd, type Situation, wasRead } from "./situation.ts";
import {
	as,
	become,
	end,
	endOptedOut,
	stay,
	tryAgain,
	wait,
	waitForFlow,
	waitForHook,
	waitForTalk,
} from "./verdicts.ts";

/** They end a text by what is stored, also while it is not its turn. */
export const ends: readonly ToldRule[] = [
	{
		name: "restored",
		when: "It is from a backup, and may have been sent since: it becomes what the conversation shows",
		says: () => "It came back with a backup, and may have been sent since. Its conversation is read to find out.",
		concerns: (s) => isWaiting(s) && isRestored(s.text) && !s.passing,
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
	// `cancelling` of `cancel.ts` asks this one, and `cancelled` of `stores/statements.ts` says the same in the caller's transaction.
	{
		name: "requested",
		when: "`cancel` was called when it could not be ended at once",
		says: () => "It was cancelled, and ends when a worker looks at it.",
		concerns: (s) => s.text.progress.cancelRequested === true,
		judge: (s) => become(asCancelled(s.text)),
	},
	{
		name: "too_old",
		when: "Its last moment has passed: `notAfter`, or `defaultMaxAgeMs`",
		says: (s) => `Its last moment is ${shown(lastMoment(s.text, s.options))}: it expires, and is not sent.`,
		concerns: (s) => s.now > lastMoment(s.text, s.options),
		judge: (s) => end(s, "expired", "too_old"),
	},
	{
		name: "opt_out_unclear",
		when: "The contact asked for no more texts, and the clocks of the reading do not show whether they have written since",
		says: () => "Waits to be certain: the contact asked for no more texts, and may have written since.",
		concerns: (s) => wasRead(s) && optOutIn(s) !== null,
		judge: (s) => {
			const isReplyUnsure = purpose(s).afterOptOut !== "never" && isWindowUnclear(s);
			return optOutIn(s)?.isUnclear || isReplyUnsure ? tryAgain(s) : undefined;
		},
	},
	optedOut,
	{
		name: "earlier_text_declined",
		when: "The contact declined an earlier text, and has not written since: see its purpose",
		says: () => "The contact declined an earlier text, so that it ends when a worker looks at it.",
		concerns: (s) => endedBy(s.text, s.contact) === "earlier_text_declined",
		judge: (s) => end(s, "cancelled", "earlier_text_declined"),
	},
	{
		name: "earlier_text_unanswered",
		when: "The contact left an earlier text without an answer, and has not written since: see its purpose",
		says: () => "The contact did not answer an earlier text, so that it ends when a worker looks at it.",
		concerns: (s) => endedBy(s.text, s.contact) === "earlier_text_unanswered",
		judge: (s) => end(s, "cancelled", "earlier_text_unanswered"),
	},
	{
		name: "expires_tonight",
		when: "It is a notice or marketing, which could only be sent within the quiet hours: it ends now, while your office can still call",
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
export const waits: readonly ToldRule[] = [
	suspension,
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
const asks: readonly ToldRule[] = [
	hookFailed,
	{
		name: "shows",
		when: "An earlier request may have been taken while the conversation was hidden: it becomes what it shows now",
		says: () => "It is not known yet whether a request was taken: the conversation is read to find out.",
		concerns: (s) => isInDoubt(s.text),
		needs: "reading",
		judge: (s) => {
			const match = matchIn(s);
			if (!match || match.kind === "none") return undefined;
			return as(s, afterRequest(s.text, match, s.options, s.now));
		},
	},
	wrongNumber,
	refusal,
	perhapsDeclined,
	quietHours,
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
	reading,
	{
		name: "colleague_declined",
		when: "The contact has tapped a button that may be a No to a colleague's text, and the service may still act on it: it is read again then",
		says: () => "Waits to be certain: the contact has tapped a button, which may be a No to a text of somebody else.",
		concerns: (s) => !s.passing && purpose(s).isEndedByDecline && s.contact.unsettledUntil !== undefined,
		judge: ({ now, contact: { unsettledUntil: until = now } }) => (until > now ? wait(until) : undefined),
	},
	{
		name: "colleague_held",
		when: "The service holds a colleague's text, which this one would replace: see `onHeld`",
		says: () => "Waits: the service holds a text of somebody else for the contact.",
		concerns: (s) => !s.passing && isHeldByOther(s.text, matchIn(s), s.now),
		judge: (s) => {
			const mayGo = mayTakePlace(onOtherHeldOf(s), matchIn(s), s.now);
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
	quietWhileClosed,
	{
		name: "window_closed",
		when: 'The window is closed, and it is marketing, or has `whenClosed: "skip"`. For marketing, one that ends within five minutes is closed',
		says: () => "The contact has not written within a day, and is not to be asked for consent, so that it ends.",
		concerns: (s) => isSkipped(s) && !ringsNoPhone(s),
		judge: (s) => end(s, "expired", "window_closed"),
	},
	{
		name: "flow",
		when: "A flow is in progress, such as the booking of a visit, which a text would end. A notice waits for ten minutes at most. Marketing waits for its end, and while the AI is on until nobody has written for an hour",
		says: saysFlow,
		concerns: (s) => purpose(s).inFlow !== "send" && wasRead(s),
		judge: (s) => (purpose(s).inFlow === "wait" ? waitForTalk(s) : waitForFlow(s)),
	},
	beforeSend,
	consentUnavailable,
	languageUnavailable,
	languageRequired,
	send,
];

/** What becomes of a text that is `waiting`. */
export const waiting: readonly ToldRule[] = [...ends, ...waits, ...asks];

/** The rules that answer to what happens to a text while it is not its turn. What came back with a backup is read before it ends. */
const some = (...names: readonly WaitingRule[]): readonly ToldRule[] =>
	waiting.filter(({ name }) => names.includes(name));
export const onEnqueue = some("expires_tonight");
export const onCancel = some("restored", "requested");
export const onMove = some("restored", "superseded");
export const onOptOut = some("restored", "opted_out");
export const onHeldRead = some("own_held");

function saysFlow(s: Situation): string {
	const flow = "a flow, such as the booking of a visit, which a text would end";
	if (purpose(s).inFlow === "wait")
		return `Waits for the end of ${flow}, or until the AI and the contact are silent for an hour.`;
	const until = s.text.progress.flow?.until;
	return `Waits for the end of ${flow}${until === undefined ? "" : `, until ${shown(until)} at the latest`}.`;
}

function saysBehindHeld(s: Situation): string {
	return `Waits for another text to the contact (${heldAhead(s)?.id}), which the service holds until they consent. It may go before that one ends: see its onHeld.`;
}
