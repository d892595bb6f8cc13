import { type OutboxState, type OutboxText, operationIdOf, type TextError } from "./text.ts";
import { words, wordsIfBehind, wordsIfTried, wordsIfUnasked } from "./words.ts";

/** The status of a text, for the button that sent it. */
export interface OutboxStatus {
	/** The caller's id. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, E.164. */
	to: string;
	/** The state of the text. */
	state: OutboxState;
	/** When the state began. */
	since: Date;
	/** The state in a sentence for a person, in English. */
	words: string;
	/**
	 * Id of the contact's earlier text that has to end before this one is sent; null when there is none. Also null in what
	 * `enqueue` returns and `onSettled` gets, because only `status` looks for it.
	 */
	waitsFor: string | null;
	/** The consent template did not reach the phone: the contact of a `held` or `dropped` text was never asked. */
	consentFailed: boolean;
	/** Idempotency key of the send. */
	operationId: string;
	/** Provider message id, once it is known. */
	messageId: string | null;
	/** Queue entry id, once the service has held the text. */
	queueId: string | null;
	/** Sends that began, also those that the client refused without a request. */
	attempts: number;
	/** The last error, which may have passed. Holds no number and no text. */
	error: TextError | null;
}

/** @param head is the contact's text whose turn it is */
export async function statusOf(text: OutboxText, head = text): Promise<OutboxStatus> {
	const { id, agencyId, to, state, since, messageId, queueId, progress } = text;
	const { attempts, error, failures, looks } = progress;
	const wordsIfFailed = progress.consentFailed && wordsIfUnasked[state];
	const waitsFor = head.id === id ? null : head.id;
	return {
		id,
		agencyId,
		to,
		state,
		since: new Date(since),
		words:
			wordsIfFailed ||
			// Each look at a text that waits found another one in the queue.
			((waitsFor || looks) && wordsIfBehind[state]) ||
			((attempts || failures) && wordsIfTried[state]) ||
			words[state],
		waitsFor,
		consentFailed: !!wordsIfFailed,
		operationId: await operationIdOf(text),
		messageId,
		queueId,
		attempts,
		error,
	};
}
