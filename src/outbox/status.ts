import { type Purpose, purposeOf } from "./policy/purpose.ts";
import { type OutboxReason, type OutboxState, type OutboxText, operationIdOf, type TextError } from "./text.ts";

/** The status of a text, for the button that sent it. */
export interface OutboxStatus {
	/** The caller's id. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, E.164; null once `forget` has erased it. */
	to: string | null;
	/** What the text is for, as it was given to `enqueue`. */
	purpose: Purpose;
	/** The value that was given to `enqueue`; null without one, and once `forget` has erased it. */
	meta: unknown;
	/** The state of the text. */
	state: OutboxState;
	/** Why it is in this state; null when the state says it all. */
	reason: OutboxReason | null;
	/** When the state began. */
	since: Date;
	/** The state in a sentence for a person, in English. */
	description: string;
	/**
	 * Id of the contact's earlier text that has to end before this one is sent; null when there is none. Also null in what
	 * `enqueue` returns and `onSettled` gets, because only `status` looks for it.
	 */
	waitsFor: string | null;
	/** You asked to cancel it when it was too late. The outbox never sends it again, but the service may still deliver it. */
	cancelRequested: boolean;
	/** The consent template did not reach the phone: the contact of a `held` or `dropped` text was never asked. */
	consentFailed: boolean;
	/** `messageSid` of the contact's message that asked for no more texts, if the text was cancelled because of it. */
	optOutSid: string | null;
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
}

/** @param head is the contact's text whose turn it is */
export async function statusOf(text: OutboxText, head: Pick<OutboxText, "id"> = text): Promise<OutboxStatus> {
	const { id, agencyId, to, state, reason, since, messageId, queueId, progress } = text;
	const { attempts, error, cancelRequested = false } = progress;
	const isErased = to === "";
	const waitsFor = head.id === id ? null : head.id;
	const isAsked = state === "held" || state === "dropped";
	const consentFailed = isAsked && progress.consentFailed === true;
	return {
		id,
		agencyId,
		to: isErased ? null : to,
		purpose: purposeOf(text),
		meta: progress.given?.meta ?? null,
		state,
		reason,
		since: new Date(since),
		description: descriptionOf(text, waitsFor, consentFailed),
		waitsFor,
		cancelRequested,
		consentFailed,
		optOutSid: progress.optOutSid ?? null,
		operationId: attempts > 0 && !isErased ? await operationIdOf(text) : null,
		messageId,
		queueId,
		attempts,
		error,
	};
}

function descriptionOf(
	{ state, reason, progress }: OutboxText,
	waitsFor: string | null,
	consentFailed: boolean,
): string {
	const { attempts, failures, reads } = progress;
	if (consentFailed && state === "held") return "The request for the contact's consent did not reach the phone.";
	if (consentFailed) return "Not delivered: the request for the contact's consent did not reach the phone.";
	if (reason === "quiet_hours")
		return state === "waiting"
			? "Waits for the end of the quiet hours."
			: "Not sent: its time ends within the quiet hours. Call the contact if it matters.";
	const why = reason && reasons[reason];
	if (why) return why;
	// A read found another text in the service's queue.
	if (state === "waiting" && (waitsFor !== null || reads > 0)) return "Waits for another text to the contact.";
	if (state === "waiting" && attempts + failures > 0) return "Waits for the next attempt.";
	return descriptions[state];
}

/** Each state in a sentence for a person. */
const descriptions: Record<OutboxState, string> = {
	waiting: "Waits to be sent.",
	sending: "Is being sent; the result is not known yet.",
	held: "Waits for the contact's consent.",
	sent: "Sent.",
	delivered: "Delivered.",
	read: "Read.",
	failed: "Sent, but it did not reach the phone.",
	dropped: "Not delivered: the contact declined or did not answer in time, or another text took its place.",
	replaced: "Not delivered: another text took its place while it waited for consent.",
	refused: "Not sent: it was refused.",
	expired: "Not sent: its time had passed.",
	cancelled: "Not sent: it was cancelled.",
	unknown: "It is not known whether it was sent. Look at the conversation before you send it again.",
};

/** The reasons that say more than the state. */
const reasons: Partial<Record<OutboxReason, string>> = {
	consent_unavailable: "Waits: the agency cannot ask contacts for consent at the moment.",
	language_required: "Waits: the agency has several languages and no default one. Choose a language for the text.",
	language_unavailable: "Waits: the agency does not have the text's language.",
	before_send_failed: "Waits: the check before sending failed.",
	opted_out: "Not sent: the contact asked for no more texts.",
	window_closed: "Not sent: the contact has not written within a day, and was not to be asked for consent.",
	answered_in_words:
		"Not delivered: the contact answered in words instead of tapping a button. Look at the conversation, and write to them.",
	displaced: "Not delivered: another text took its place while it waited for consent.",
	declined: "Not delivered: the contact seems to have declined.",
	no_answer: "Not delivered: the contact did not answer in time.",
	earlier_text_dropped:
		"Not sent: an earlier text to the contact was not delivered, because they declined or did not answer.",
	earlier_text_declined: "Not sent: the contact declined an earlier text, and has not written since.",
	earlier_text_unanswered: "Not sent: the contact did not answer an earlier text, and has not written since.",
	failing: "Not sent: every attempt failed. Find out why before you send it again.",
	blocked: "Not sent: something in front of the service, such as a firewall, refuses this text and lets others pass.",
	not_allowed: "Not sent: the number is not one of allowRecipients.",
};
