import { operationIdFrom, type PartnerErrorTag } from "messaging-conversations";
import type { words } from "./words.ts";

/**
 * The state of a text.
 * - `waiting`: not sent yet; `sending`: a request began and its end is not known yet
 * - `held`: the service waits for the contact's consent
 * - `sent`, then `delivered`, `read` or `failed`: it is a message
 * - `dropped`: the contact declined or did not answer in time, or another text took its place; `replaced`: another text
 *   has its place in the queue
 * - `refused`: the service or the client turned it down; `expired`: `notAfter` passed first; `cancelled`: by `cancel`
 * - `unclear`: nobody can tell; a person looks, and it is never sent again by itself
 */
export type OutboxState = keyof typeof words;

/** One contact of one agency. Its texts go out in order, one unfinished text at a time. */
export interface Lane {
	/** The agency's id. */
	agencyId: string;
	/** The contact's number, E.164. */
	to: string;
}

/** The conversation right before a text was first sent, in the service's own times. */
export interface Baseline {
	/** `createdAt` of the newest message, in milliseconds; null when there was none. */
	since: number | null;
	/** `messageSid` of the messages as new as that, which are therefore not this text. */
	known: string[];
	/** The text that waited in the queue; null when none did. */
	queued: string | null;
	/** Whether the conversation was there to be read. */
	seen: boolean;
	/** When it was read, by the outbox's clock, in milliseconds. */
	readAt: number;
	/** How long the window was open from then on, in milliseconds; 0 or less when it was closed, or may have been. */
	openMs: number;
}

/** How far the outbox has come with a text. JSON. */
export interface Progress {
	/** Requests made in all. */
	attempts: number;
	/** Requests made since it was last certain that none had been taken. */
	tries: number;
	/** Requests in a row whose end is not known, such as those that were answered 500. */
	doubts: number;
	/** When the first of the tries began, in milliseconds. */
	firstTriedAt: number | null;
	/** When the last request began, in milliseconds. */
	triedAt: number | null;
	/** The service said that it took the text, in an answer that is otherwise unusable. */
	taken: boolean;
	/** The last of several tries was refused; an earlier one may have been taken. */
	refused: boolean;
	/** The held text was sent again after the contact's reply, and the service held it again. */
	resent: boolean;
	/** Since when the queue has been seen empty, in milliseconds. */
	emptyAt: number | null;
	/** Looks taken in this state. */
	looks: number;
	/** Failed requests in a row. */
	failures: number;
	/** Looks in a row that found the conversation hidden. Rows of older versions have none. */
	hidden?: number;
	/** No consent template reached the phone. Rows of older versions have none. */
	consentFailed?: boolean | undefined;
	/** The id of the text that was to take its place on purpose. It did when the service took that text. */
	replacedBy: string | null;
	/** The conversation right before the first request. */
	baseline: Baseline | null;
	/** The last error, which may have passed. */
	error: TextError | null;
}

/** The last error of a text. Holds no number and no text. */
export interface TextError {
	/** `_tag` of the error. */
	tag: PartnerErrorTag;
	/** Its message. */
	message: string;
	/** Correlation id of the answer, when there was one. Quote it to support. */
	correlationId?: string | undefined;
}

/** A text as `insert` stores it: the frozen request, its time, and the progress of a text that was not sent yet. */
export interface NewText extends Lane {
	/** The caller's id: the same id is the same text. */
	id: string;
	/** The text. */
	body: string;
	/** The agency's sender; null for its default one. */
	subaccountId: string | null;
	/** Language of the consent template, when it was given. */
	consentLanguage: string | null;
	/** After this moment it is not sent any more; milliseconds, or null. */
	notAfter: number | null;
	/** When it was enqueued, in milliseconds. */
	createdAt: number;
	/** How far the outbox has come with it. */
	progress: Progress;
}

/** A row of the store. Times are in milliseconds. */
export interface OutboxText extends NewText {
	/** Order of arrival. */
	seq: number;
	/** Grows with each change; `save` compares it. */
	version: number;
	/** The state of the text. */
	state: OutboxState;
	/** When the state began. */
	since: number;
	/** When to look at it next; null when nothing is left to do. */
	nextAt: number | null;
	/** Provider message id, once it is known. */
	messageId: string | null;
	/** Queue entry id, once the service has held the text. */
	queueId: string | null;
}

/** The states that keep the contact's next text back. */
export const unfinished = ["waiting", "sending", "held"] as const;

/** The states whose message may still change. */
export const followed = ["sent", "delivered"] as const;

export const newProgress: Progress = {
	attempts: 0,
	tries: 0,
	doubts: 0,
	firstTriedAt: null,
	triedAt: null,
	taken: false,
	refused: false,
	resent: false,
	emptyAt: null,
	looks: 0,
	failures: 0,
	replacedBy: null,
	baseline: null,
	error: null,
};

/** The times and choices that decisions depend on. */
export interface Rules {
	settleMs: number;
	followMs: readonly number[];
	onHeld: "wait" | "replace";
	onReply: "resend" | "wait";
}

/** The change of a row by a step. */
export type Change = Partial<Pick<OutboxText, "state" | "nextAt" | "messageId" | "queueId">> & {
	progress?: Partial<Progress>;
};

/** The row after the change. A new state begins now. */
export function changed(text: OutboxText, change: Change, now: number): OutboxText {
	const state = change.state ?? text.state;
	return {
		...text,
		...change,
		state,
		since: state === text.state ? text.since : now,
		progress: { ...text.progress, ...change.progress },
	};
}

/** Derived from all that the service gets, so that the same id never comes with another message. */
export function operationIdOf({ agencyId, id, to, body, subaccountId, consentLanguage }: NewText): Promise<string> {
	const parts = JSON.stringify([agencyId, id, to, body, subaccountId, consentLanguage]);
	return operationIdFrom("messaging-conversations/outbox", parts);
}
