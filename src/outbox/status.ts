import type { OutboxReason } from "./names.ts";
import type { Purpose } from "./policy/purpose.ts";
import { saidByHook } from "./sentences.ts";
import type { OutboxStore } from "./store.ts";
import { type OutboxState, type OutboxText, operationIdOf, type TextError } from "./text.ts";
import { heldSentence, lostSentence, storedSentence, type Told, type WaitsFor } from "./waits-for.ts";

/** The status of a text, for the button that sent it. */
export interface OutboxStatus {
	/** The caller's id. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, E.164; null once `erase` has erased it. */
	to: string | null;
	/** What the text is for, as it was given to `enqueue`. */
	purpose: Purpose;
	/** Who sends it, as it was given to `enqueue`; null without it, and once `erase` has erased it. */
	by: string | null;
	/** Why it is sent, as it was given to `enqueue`; null without it, and once `erase` has erased it. */
	why: string | null;
	/** The value that was given to `enqueue`; null without one, and once `erase` has erased it. */
	meta: unknown;
	/** When it was enqueued. */
	createdAt: Date;
	/** The state of the text. */
	state: OutboxState;
	/** Why it is in this state; null when the state says it all. */
	reason: OutboxReason | null;
	/** When the state began. */
	since: Date;
	/**
	 * When it was sent: the time of its message, or of the answer if the message was not read by then. If the service held it,
	 * that is later than the request. Null if it was not sent, as far as is known.
	 */
	sentAt: Date | null;
	/** When it ended, whether it was sent or not; null while it waits, is being sent or is held. What became of it later changes nothing. */
	endedAt: Date | null;
	/** The state in a sentence for a person, in English. */
	description: string;
	/**
	 * What an unfinished text waits for, for example a person's suspension, a pause, or a worker; null for every other text. Also
	 * null in what `enqueue` returns and `onSettled` and `settled` give, because only `status` and `explain` look for it.
	 */
	waitsFor: WaitsFor | null;
	/** When the outbox next tries to send it; null if it needs no try, or if that can't be known, for example while it is suspended. */
	nextAttemptAt: Date | null;
	/** You asked to cancel it when it was too late. The outbox never sends it again, but the service may still deliver it. */
	cancelRequested: boolean;
	/** The consent template did not reach the phone: the contact of a `held` or `dropped` text was never asked. */
	consentFailed: boolean;
	/** `messageSid` of the contact's message that asked for no more texts, if it was cancelled or dropped because of it. */
	optOutSid: string | null;
	/** The id of the text of this outbox that took the place of a `replaced` one; null for every other text. */
	replacedBy: string | null;
	/** Idempotency key of the send. It is chosen with the first request; null before. */
	operationId: string | null;
	/** Provider message id, once it is known. */
	messageId: string | null;
	/** Queue entry id, once the service has held the text. */
	queueId: string | null;
	/** Sends that began, also those that the client refused without a request. */
	attempts: number;
	/** The last error, which may have passed. It holds no number and no text. */
	error: TextError | null;
	/** The reason that `beforeSend` or `onReply` gave why the text waits or is not sent; null if they gave none, and once `erase` has erased it. */
	hookReason: string | null;
}

/**
 * @param told what an unfinished text waits for, if that was looked for
 * @param arriving a text that it supersedes, and that may still arrive at another number
 */
export async function statusOf(
	store: Pick<OutboxStore, "outboxId">,
	text: OutboxText,
	told?: Told,
	arriving?: OutboxText,
): Promise<OutboxStatus> {
	const {
		id,
		agencyId,
		to,
		purpose,
		byWhom,
		why,
		state,
		reason,
		since,
		sentAt,
		endedAt,
		messageId,
		queueId,
		given,
		progress,
	} = text;
	const { attempts, error, cancelRequested = false } = progress;
	const isErased = to === "";
	const waitsFor = told?.waitsFor ?? null;
	const isAsked = state === "held" || state === "dropped";
	const consentFailed = isAsked && progress.consentFailed === true;
	return {
		id,
		agencyId,
		to: isErased ? null : to,
		purpose,
		by: byWhom,
		why,
		meta: given.meta ?? null,
		createdAt: new Date(text.createdAt),
		state,
		reason,
		since: new Date(since),
		sentAt: sentAt === null ? null : new Date(sentAt),
		endedAt: endedAt === null ? null : new Date(endedAt),
		description: [descriptionOf(text, waitsFor, consentFailed), ...(arriving ? [arrivingSentence(arriving)] : [])].join(
			" ",
		),
		waitsFor,
		nextAttemptAt: told ? told.nextAttemptAt : nextAttemptOf(text),
		cancelRequested,
		consentFailed,
		optOutSid: progress.optOutSid ?? null,
		replacedBy: state === "replaced" ? (progress.replacedBy ?? null) : null,
		operationId: attempts > 0 && !isErased ? await operationIdOf(text, await store.outboxId()) : null,
		messageId,
		queueId,
		attempts,
		error,
		hookReason: progress.hookReason ?? null,
	};
}

const arrivingSentence = ({ id }: OutboxText): string =>
	`The text that it supersedes (${id}) can't be taken back, and may still arrive at the other number.`;

/** By the row alone. */
function nextAttemptOf({ state, nextAt, readyAt }: OutboxText): Date | null {
	if ((state !== "waiting" && state !== "sending") || nextAt === null) return null;
	return new Date(Math.max(nextAt, readyAt));
}

function descriptionOf(text: OutboxText, waitsFor: WaitsFor | null, consentFailed: boolean): string {
	const { state, reason, progress, purpose } = text;
	const { attempts, failures } = progress;
	if (consentFailed && state === "held") return "The request for the contact's consent did not reach the phone.";
	if (state === "dropped" && reason === "opted_out")
		return "Not delivered: the contact asked for no more texts. Only call them if it matters.";
	if (state === "dropped" && reason === "wrong_number")
		return "Not delivered: the contact wrote that the number is wrong. Find the right one. If this one is right, say so with optIn.";
	if (consentFailed) return "Not delivered: the request for the contact's consent did not reach the phone.";
	if (waitsFor) return waitsFor.sentence;
	if (state === "held") return heldSentence(text);
	if (state === "sending" && failures > 0) return lostSentence;
	if (state === "waiting")
		return storedSentence(text) ?? (attempts + failures > 0 ? "Waits for the next attempt." : descriptions.waiting);
	if (reason === "before_send" && state === "cancelled")
		return `Not sent: a check of the application cancelled it${saidByHook(text)}`;
	if (reason === "requested" && progress.hookReason !== undefined)
		return `Not sent: it was cancelled, as a check of the application said${saidByHook(text)}`;
	if (reason === "resolved")
		return state === "cancelled"
			? "Not sent: somebody has looked at the conversation. Enqueue it with a new id if it should still go out."
			: "Sent: somebody has looked at the conversation.";
	if (reason === "window_closed" && purpose === "marketing")
		return "Not sent: the contact has not written within a day, or the conversation is hidden. Marketing never asks for consent.";
	if (progress.mayBeDeclined)
		return "Not delivered: the contact tapped a button, and somebody wrote to them. They may have declined it: look at the conversation.";
	if (state === "replaced") {
		const other = progress.replacedBy ? `another text of yours (${progress.replacedBy})` : "another text";
		return `Not delivered: ${other} took its place while it waited for consent. If it is still needed, enqueue it with a new id.`;
	}
	const why = reason && reasons[reason];
	return why || descriptions[state];
}

/** Each state in a sentence for a person. */
const descriptions: Record<Exclude<OutboxState, "replaced">, string> = {
	waiting: "Waits to be sent.",
	sending: "Is being sent; the result is not known yet.",
	held: "Waits for the contact's consent.",
	sent: "Sent.",
	delivered: "Delivered.",
	read: "Read.",
	failed: "Sent, but it did not reach the phone. Check the number, or call the contact.",
	dropped: "Not delivered: the contact declined or did not answer in time, or another text took its place.",
	refused: "Not sent: it was refused. Correct it, and enqueue it with a new id.",
	expired: "Not sent: its time had passed. Call the contact if it matters.",
	cancelled: "Not sent: it was cancelled.",
	unknown: "It is not known whether it was sent. Look at the conversation before you send it again.",
};

/** The reasons that say more than the state. */
const reasons: Partial<Record<OutboxReason, string>> = {
	quiet_hours: "Not sent: its time ends within the quiet hours. Call the contact if it matters.",
	superseded: "Not sent: a newer text took its place.",
	bad_request:
		"Not sent: the service refuses it, for example because of its sender. Correct it, and enqueue it with a new id.",
	invalid_input: "Not sent: the number or the text is not valid. Correct it, and enqueue it with a new id.",
	opted_out: "Not sent: the contact asked for no more texts. Only call them if it matters.",
	window_closed:
		"Not sent: the contact has not written within a day, or the conversation is hidden, and they were not to be asked for consent. Call them if it matters.",
	answered_in_words:
		"Not delivered: the contact answered in words instead of tapping a button. Look at the conversation, and write to them.",
	displaced:
		"Not delivered: another text took its place while it waited for consent. If it is still needed, enqueue it with a new id.",
	declined: "Not delivered: the contact seems to have declined. Call them if it matters.",
	no_answer: "Not delivered: the contact did not answer in time. Call them if it matters.",
	earlier_text_declined: "Not sent: the contact declined an earlier text. Call them if it matters.",
	earlier_text_unanswered:
		"Not sent: the contact did not answer an earlier text, and has not written since. Call them if it matters.",
	failing: "Not sent: every attempt failed. Find out why before you send it again.",
	blocked: "Not sent: something in front of the service, such as a firewall, refuses this text and lets others pass.",
	not_allowed: "Not sent: the number is not one of allowRecipients.",
};
