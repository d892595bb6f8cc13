/*
 * What to do next with one text. Nothing here reads, sends or stores.
 */

import type { Message } from "messaging-conversations";
import { type DeliveryPhase, phaseOf } from "../shared/delivery-phase.ts";
import { baselineBefore, serviceNow } from "./baseline.ts";
import { latestByOwn } from "./clocks.ts";
import { templateOf } from "./consent.ts";
import {
	byOthers,
	declineIn,
	type HeldMatch,
	isAnswered,
	isFurther,
	isTap,
	isText,
	isWords,
	type Match,
	newerThan,
	newestOf,
	slackMs,
	timeOf,
} from "./match.ts";
import type { OutboxReason } from "./names.ts";
import {
	cleared,
	doubtsOf,
	isBlocked,
	isGivenUp,
	isInDoubt,
	isSettled,
	lastHeldIn,
	lastMoment,
	lastRequestAt,
	pendingOf,
	type Rules,
	waitsForRequestUntil,
	wasSurelyOpen,
	withEnd,
} from "./requests.ts";
import { type Change, type FactTime, type LastHeld, type OutboxState, type OutboxText, storableId } from "./text.ts";

const minuteMs = 60_000;
/** How long a contact has to answer a consent template. */
const answerMs = 48 * 60 * minuteMs;
/** The same, and a margin. */
export const consentMs = 50 * 60 * minuteMs;
/** The longest wait between two reads, and between two tries. */
export const longestWaitMs = 10 * minuteMs;

/** What a reading makes of a text that was requested. Null if its conversation is unknown or hidden. */
export function decide(text: OutboxText, match: Match | null, rules: Rules, now: number): Change {
	if (match === null) return ifHidden(text, rules, now);
	return text.state === "held" ? ifHeld(text, match, rules, now) : afterRequest(text, match, rules, now);
}

/** Whether the row is from a backup, and may have been sent since. A request that was made after that has its own record. */
export function isRestored(text: OutboxText): boolean {
	const { restored } = text.progress;
	return restored !== undefined && (lastRequestAt(text) ?? 0) <= restored.to;
}

/** What a conversation shows of a text whose requests since a backup are not in its row. Undefined if it shows none. */
export function afterRestore(text: OutboxText, match: Match | null, rules: Rules, now: number): Change | undefined {
	// The conversation may be hidden. That of a new contact looks the same.
	if (match === null) return ended("unknown", "unreadable");
	if (match.kind === "message") return asShown(match.message, rules, now);
	if (match.kind === "held") {
		const held = asHeld(text, match, rules, now);
		// Its request is not in the row. What was written before it is no answer.
		const baseline = text.progress.baseline ?? baselineBefore(match, now);
		return { ...held, progress: { ...held.progress, baseline } };
	}
	if (match.kind === "twice") return ended("unknown", "ambiguous");
	// If the contact was asked for consent, then for a text that the service held, which may have been this one.
	if (!match.since.some(({ templateName }) => templateName !== null)) return undefined;
	const end = declineIn(match.since, match.isYes)
		? unsent(text, "cancelled", "earlier_text_declined")
		: ended("unknown", "ambiguous");
	return { ...end, progress: { declinedAt: perhapsDeclined(match, undefined, now) } };
}

/** A text that will not be sent. An earlier request may have been taken, if the conversation was hidden then. */
export function unsent(text: OutboxText, state: "cancelled" | "expired", reason: OutboxReason): Change {
	return isInDoubt(text) ? ended("unknown", "unreadable") : ended(state, reason);
}

/** The end of a text that was marked when it could not be ended at once. */
export function asCancelled(text: OutboxText): Change {
	return unsent(text, "cancelled", text.progress.superseded ? "superseded" : "requested");
}

/** Whether the service holds a text of somebody else, which a request would replace. */
export function isHeldByOther(text: OutboxText, match: Match | null, now: number): boolean {
	if (match) return match.reading.conversation.queuedMessages.length > 0;
	// The last read found another text in the queue, before the conversation was hidden.
	return text.progress.reads > 0 && now - text.since < consentMs;
}

/** When the contact declined what the service held, if they did. */
function declinedSince(match: Match, lastHeld: LastHeld | undefined, now: number): FactTime | undefined {
	return timeOfTap(declineIn(newerThan(match.since, lastHeld), match.isYes), now);
}

/** As the service said it. Of a tap without a time it is known that it came by now. */
function timeOfTap(tap: Message | undefined, now: number): FactTime | undefined {
	const at = timeOf(tap?.createdAt);
	return tap && (at ? { service: at } : { own: now });
}

/**
 * When the contact tapped a button since a backup that knows nothing of it, if that may have been a decline, even if somebody has
 * written since. After a consent the service sends the text at once.
 */
function perhapsDeclined(match: Match, lastHeld: LastHeld | undefined, now: number): FactTime | undefined {
	const since = newerThan(match.since, lastHeld);
	const isConsent = ({ createdAt }: Message, at: number): boolean =>
		since
			.slice(0, at)
			.some((message) => isText(message) && Math.abs(timeOf(message.createdAt) - timeOf(createdAt)) < slackMs);
	const tap = since.find((message, at) => isTap(message) && !match.isYes(message) && !isConsent(message, at));
	return timeOfTap(tap, now);
}

/** A request was made, and the conversation has been read since. */
export function afterRequest(text: OutboxText, match: Match, rules: Rules, now: number): Change {
	if (match.kind === "message") return asShown(match.message, rules, now);
	if (match.kind === "twice") return ended("unknown", "ambiguous");
	const isHeldBefore = text.queueId !== null;
	// The queue may show the text as it was before the request.
	if (isHeldBefore && match.kind === "held" && !isSettled(text, rules, now)) return untilSettled(text, rules);
	if (match.kind === "held") return asHeld(text, match, rules, now);
	// No request that could put it into the queue again is on its way.
	if (isHeldBefore && isSettled(text, rules, now)) return ifGone(text, match, rules, now);
	if (match.kind === "none" || wasSurelyOpen(text)) return ifNothing(text, true, rules, now);
	// A template may be that of a flow, and another text in the queue may not have replaced this one.
	if (!isSettled(text, rules, now)) return untilSettled(text, rules);
	const declinedAt = declinedSince(match, undefined, now);
	return { ...ended("unknown", "ambiguous"), progress: { declinedAt } };
}

/** The service holds the text, since the request that was made. */
function asHeld(text: OutboxText, match: HeldMatch, rules: Rules, now: number): Change {
	const { requests } = text.progress;
	return {
		state: "held",
		queueId: storableId(match.queued.id),
		nextAt: now + readMs(rules, 0),
		// A text that was held before was taken by an earlier request. Those since then were not.
		progress: { ...newlyHeld, requests: text.queueId === null ? withEnd(requests, "held") : cleared(requests) },
	};
}

/** The service held the text when the conversation was read before. */
function ifHeld(text: OutboxText, match: Match, rules: Rules, now: number): Change {
	if (match.kind === "message") return asShown(match.message, rules, now);
	// Both were sent, so that it was not declined.
	if (match.kind === "twice") return { ...ended("unknown", "ambiguous"), progress: { declinedAt: undefined } };
	if (match.kind !== "held") return ifGone(text, match, rules, now);
	return { queueId: storableId(match.queued.id), ...readAgain(text, rules, now) };
}

/** The text has left the queue, and did not become a message. */
function ifGone(text: OutboxText, match: Match, rules: Rules, now: number): Change {
	// The text that replaces another one takes over its queue entry.
	const isReplaced = match.kind === "other" && storableId(match.queued.id) === text.queueId;
	return isReplaced ? ended("replaced", null) : ifEmpty(text, match, rules, now);
}

const newlyHeld = { emptyAt: null, declinedAt: undefined, reads: 0, failures: 0 };

/** The text is neither in the queue nor a message. It may be on its way from the one to the other. */
function ifEmpty(text: OutboxText, match: Match, rules: Rules, now: number): Change {
	const { settleMs } = rules;
	const { lastHeld, emptyAt } = text.progress;
	// Somebody may write after a decline that a read has seen.
	const { declinedAt = declinedSince(match, lastHeld, now) } = text.progress;
	const perhapsAt = isRestored(text) && declinedAt === undefined && perhapsDeclined(match, lastHeld, now);
	if (perhapsAt) return { ...ended("unknown", "ambiguous"), progress: { declinedAt: perhapsAt } };
	const seen = { emptyAt: emptyAt ?? now, declinedAt };
	if (now - seen.emptyAt < settleMs) return { nextAt: seen.emptyAt + settleMs, progress: { ...seen, failures: 0 } };
	const taps = newerThan(match.since, lastHeld).filter(isTap);
	const others = taps.filter((tap) => !match.isYes(tap));
	const reason = whyDropped(match, declinedAt);
	// They may have consented right before the service dropped it, or it is slow.
	if (reason === "no_answer" && taps.length > 0 && others.length === 0 && text.progress.replacedBy === null)
		return { ...ended("unknown", "ambiguous"), progress: seen };
	// One of two buttons of a template may have been a Yes.
	const answers = others.map((tap) => ({ code: tap.buttonClicked, to: templateOf(tap, match.reading.messages) }));
	const hasTappedBoth = answers.some(({ code, to }) => answers.some((other) => other.to === to && other.code !== code));
	const isUnsure = (reason === "displaced" && others.length > 0) || (reason === "declined" && hasTappedBoth);
	const mayBeDeclined = isUnsure ? true : undefined;
	const silentUntil = newestOf(match.reading.messages).newest ?? undefined;
	return { ...ended("dropped", reason), progress: { ...seen, mayBeDeclined, silentUntil } };
}

/** When the service dropped a text that got no answer, as far as that is known, by the clock of the outbox. */
export function droppedAt(text: OutboxText, now: number): number {
	const { emptyAt, lastHeld, requests } = text.progress;
	const ranOutAt = (requests[lastHeldIn(requests)]?.at ?? now) + answerMs;
	// An agency may give its contacts more time.
	return Math.min(emptyAt ?? now, Math.max(lastHeld?.at ?? 0, ranOutAt));
}

/** When the contact last tapped a button, at the latest, by the clock of the outbox. 0 if they did not, or if that has no time. */
export function lastTapAt({ since, reading }: Match): number {
	return latestByOwn({ service: timeOf(since.find(isTap)?.createdAt) }, reading);
}

/** A best guess: the service has no field for a decline. */
function whyDropped(match: Match, declinedAt: FactTime | undefined): OutboxReason {
	if (declinedAt !== undefined) return "declined";
	if (match.kind === "other") return "displaced";
	const since = byOthers(match);
	const written = since.findIndex(isText);
	// Words that somebody else has answered are an answer all the same.
	if (written >= 0) return since.slice(written).some(isWords) ? "answered_in_words" : "displaced";
	return since.some(isWords) ? "answered_in_words" : "no_answer";
}

/** No sign of a request that began: after the settling time it was not taken. */
function ifNothing(text: OutboxText, isSeen: boolean, rules: Rules, now: number): Change {
	if (!isSettled(text, rules, now)) return untilSettled(text, rules);
	const pending = pendingOf(text);
	if (pending.some(({ end }) => end === "accepted")) return ended("unknown", "ambiguous");
	if (pending.at(-1)?.end === "refused") return ended("refused", "bad_request");
	if (text.progress.cancelRequested) return asCancelled(text);
	if (now > lastMoment(text, rules)) return unsent(text, "expired", "too_old");
	const requests = cleared(text.progress.requests, isSeen);
	const known = { ...text, progress: { ...text.progress, requests } };
	if (isGivenUp(known)) return { ...whyGivenUp(known), progress: { requests } };
	return { state: "waiting", nextAt: now, progress: { requests } };
}

/** The end of such a text. Only reads that saw the conversation prove that it was not sent. */
function whyGivenUp(text: OutboxText): Change {
	if (doubtsOf(text) === 0) return ended("refused", isBlocked(text) ? "blocked" : "failing");
	return ended("unknown", "unreadable");
}

/** A conversation that was there before, or holds the text, is hidden from the agency now. */
function ifHidden(text: OutboxText, rules: Rules, now: number): Change {
	const { baseline, failures, hidden } = text.progress;
	const isAccepted = pendingOf(text).some(({ end }) => end === "accepted");
	if (text.queueId === null && !isAccepted && !baseline?.seen) return ifNothing(text, false, rules, now);
	// While the service may hold the text, the next one would replace it.
	const heldUntil = text.queueId === null && wasSurelyOpen(text) ? 0 : (lastRequestAt(text) ?? 0) + consentMs;
	const waits = rules.followMs.length > 0 ? rules.followMs : [longestWaitMs];
	const wait = waits[hidden];
	if (wait === undefined && now >= heldUntil) return ended("unknown", "unreadable");
	const nextAt = wait === undefined ? Math.min(heldUntil, now + longestWaitMs) : now + wait;
	return { nextAt, progress: { failures: failures + 1, hidden: hidden + 1 } };
}

/** Whether the contact has answered a held text in words, and it may be sent again. Once: the service may hold it again. */
export function maySendAgain(text: OutboxText, match: Match | null, rules: Rules, now: number): boolean {
	if (!rules.mayAnswer || match?.kind !== "held") return false;
	if (!isAnswered(match, rules.settleMs, ...serviceNow(match.reading, text, now))) return false;
	const { requests, cancelRequested } = text.progress;
	const again = requests.slice(requests.findIndex(({ end }) => end === "held") + 1);
	const wasAnswered = again.some(({ end }) => end === "held" || end === "refused");
	if (wasAnswered || cancelRequested || isGivenUp(text)) return false;
	return now <= lastMoment(text, rules) && now >= waitsForRequestUntil(text, rules);
}

/** The change of a sent text after a read. */
export function afterFollow(text: OutboxText, phase: DeliveryPhase | null, rules: Rules, now: number): Change {
	const reads = text.progress.reads + 1;
	const state = phase && isFurther(phase, text.state) ? phase : undefined;
	return { ...(state && { state }), nextAt: nextFollow(state, rules, reads, now), progress: { reads } };
}

/** The text is a message. */
export function asMessage(messageId: string | null, phase: DeliveryPhase, rules: Rules, now: number): Change {
	const progress = { reads: 0, failures: 0, error: null };
	return { state: phase, messageId: storableId(messageId), nextAt: nextFollow(phase, rules, 0, now), progress };
}

/** The same of a message that was read. */
function asShown(message: Message, rules: Rules, now: number): Change {
	const sentAt = timeOf(message.createdAt) || now;
	return { ...asMessage(message.messageSid, phaseOf(message), rules, now), sentAt };
}

/** When to check a message next; null when nothing more will be reported, or `followMs` is used up. */
function nextFollow(phase: DeliveryPhase | undefined, { followMs }: Rules, reads: number, now: number): number | null {
	const wait = followMs[reads];
	return phase === "read" || phase === "failed" || wait === undefined ? null : now + wait;
}

/** A state in which nothing is left to do. */
export function ended(state: OutboxState, reason: OutboxReason | null): Change {
	return { state, reason, nextAt: null };
}

/** Waits for the next read. */
export function readAgain({ agencyId, progress: { reads } }: OutboxText, rules: Rules, now: number): Change {
	const wait = readMs(rules, reads);
	// Those of an agency that wait for long are due together, because one lookup shows them all.
	const nextAt = wait < longestWaitMs ? now + wait : nextSlot(agencyId, now);
	return { nextAt, progress: { reads: reads + 1, failures: 0, emptyAt: null, declinedAt: undefined } };
}

/** The next of the times at which the texts of an agency are checked, each `longestWaitMs` after the last. */
function nextSlot(agencyId: string, now: number): number {
	let offset = 0;
	for (const letter of agencyId) offset = (offset * 31 + (letter.codePointAt(0) ?? 0)) % longestWaitMs;
	return now + longestWaitMs - ((now - offset) % longestWaitMs);
}

function untilSettled(text: OutboxText, { settleMs }: Rules): Change {
	return { nextAt: (lastRequestAt(text) ?? 0) + settleMs, progress: { failures: 0 } };
}

/** The wait before the next check of a held text: that of `followMs`, at most 10 minutes. */
export function readMs({ followMs }: Rules, reads: number): number {
	const frequent = followMs.filter((ms) => ms <= longestWaitMs);
	return frequent[reads] ?? frequent.at(-1) ?? longestWaitMs;
}

/** Increasing waits with jitter, up to 10 minutes. */
export function backoffMs(failures: number): number {
	return spreadMs(backoffLimitMs(failures));
}

/** The same at the longest. */
export function backoffLimitMs(failures: number): number {
	return Math.min(longestWaitMs, 1_000 * 2 ** failures);
}

/** A wait with jitter, so that not all who wait come at once. */
export function spreadMs(longestMs: number): number {
	return Math.ceil(longestMs * (0.1 + 0.9 * Math.random()));
}
