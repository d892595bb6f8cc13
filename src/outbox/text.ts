import { operationIdFrom, type PartnerError, type PartnerErrorTag } from "messaging-conversations";
import { storableText } from "../shared/validation.ts";
import { type JournalEntry, withStep } from "./journal.ts";
import type { OutboxReason, RuleName } from "./names.ts";
import type { OnHeld, Purpose } from "./policy/purpose.ts";

/**
 * The state of a text.
 * - `waiting`: not sent yet; you can still cancel it
 * - `sending`: a request began, and its result is not known yet
 * - `held`: the window is closed; the service asked the contact for consent and keeps the text until they answer
 * - `sent`, `delivered`, `read`: on its way, on the phone, seen; `failed`: the provider could not deliver it
 * - `dropped`: the service dropped the held text; `replaced`: another text took its place in the service's queue
 * - `refused`: the service or the client refused it
 * - `expired`: it could not be sent in time (`defaultMaxAgeMs`, or `notAfter`)
 * - `cancelled`: you cancelled it, or the contact declined an earlier text
 * - `unknown`: the outbox cannot tell whether it was sent, and never sends it again; someone should look at the conversation
 */
export type OutboxState =
	| "waiting"
	| "sending"
	| "held"
	| "sent"
	| "delivered"
	| "read"
	| "failed"
	| "dropped"
	| "replaced"
	| "refused"
	| "expired"
	| "cancelled"
	| "unknown";

/** The compiler finds a state that is missing here. */
export const outboxStates = Object.keys({
	waiting: true,
	sending: true,
	held: true,
	sent: true,
	delivered: true,
	read: true,
	failed: true,
	dropped: true,
	replaced: true,
	refused: true,
	expired: true,
	cancelled: true,
	unknown: true,
} satisfies Record<OutboxState, true>) as OutboxState[];

/** One contact of one agency. Its texts go out in order, one unfinished text at a time. */
export interface Recipient {
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
	/** The text that waited in the service's queue; null when none did. */
	queued: string | null;
	/** Whether the conversation was there to be read. */
	seen: boolean;
	/** When it was read, by the outbox's clock, in milliseconds. */
	readAt: number;
	/** How long the window was open from then on, in milliseconds; null when it was closed, or may have been. */
	openMs: number | null;
}

/** A request of a text. Requests that the service has certainly not taken are left out. */
export interface RequestRecord {
	/** When it began, in milliseconds. */
	at: number;
	/**
	 * How it ended, if that is known. `accepted`: the service took the text, but its response was unusable. `refused`: the
	 * service refused this request, and may have taken an earlier one. `limited`: a 429. `held`: the service keeps the text
	 * until the contact answers.
	 */
	end?: "accepted" | "refused" | "limited" | "held" | undefined;
	/** Whether something in front of the service refused it, while it let other texts pass. */
	blocked?: true | undefined;
	/** Whether a later read showed no sign of it. */
	cleared?: true | undefined;
	/** Whether that read saw the conversation, which proves that the request was not taken. */
	absent?: true | undefined;
}

/** How far the outbox has come with a text. A database keeps what its statements ask for in columns, and the rest as JSON. */
export interface Progress {
	/** Requests made in all. */
	attempts: number;
	/** The requests that were, or may have been, taken. */
	requests: RequestRecord[];
	/** Grows when the service refused the request and the text needs a new one, with an id of its own. */
	generation: number;
	/** Language of the consent template, frozen with the first request. Absent before. */
	language?: string | null | undefined;
	/** The conversation right before the first request. */
	baseline: Baseline | null;
	/** The text may not be sent again. */
	cancelRequested?: boolean | undefined;
	/** Who cancelled it in a transaction of the caller, which can't write a journal. */
	cancelledBy?: string | undefined;
	/** When they did, in milliseconds. */
	cancelledAt?: number | undefined;
	/** It may not be sent again because a text was enqueued that supersedes it. */
	superseded?: true | undefined;
	/** The text is erased as soon as it has ended. */
	erase?: boolean | undefined;
	/** The id of the text that was to take its place on purpose. It did when the service took that text. */
	replacedBy: string | null;
	/** The time since a backup from which the row was restored. Absent if it was not. */
	restored?: Restored | undefined;
	/** The contact's message that asked for no more texts, if the text was cancelled because of it. */
	optOutSid?: string | null | undefined;
	/** When the contact tapped the button that seems to have declined what the service held. Certain once the text has ended. */
	declinedAt?: FactTime | undefined;
	/** The contact tapped a button and somebody wrote to them before the next read, or they tapped both. It is not known whether they declined. */
	mayBeDeclined?: true | undefined;
	/** What the summary of the conversation showed when it was read last, and when; absent unless the text waits for the service's queue. */
	watched?: Watched | undefined;
	/** The flow that it has met first, such as the booking of a visit. Absent if it has met none. */
	flow?: MetFlow | undefined;
	/** The conversation when the service was last known to hold the text, or the one it waits behind. */
	lastHeld?: LastHeld | undefined;
	/** The newest message when the text was found to have got no answer, by the service's clock, in milliseconds. */
	silentUntil?: number | undefined;
	/** Since when the service's queue has been seen empty, in milliseconds. */
	emptyAt: number | null;
	/** Reads of the conversation in this state. */
	reads: number;
	/** Failed requests in a row. */
	failures: number;
	/** Reads in a row that found the conversation hidden. */
	hidden: number;
	/** No consent template reached the phone. */
	consentFailed?: boolean | undefined;
	/** The last error, which may have passed. */
	error: TextError | null;
	/** The reason that a hook gave for its last answer, by which the text waits, or is not sent. Words of the caller. */
	hookReason?: string | undefined;
	/** The rule that has put it off until `nextAt`. Absent if it was not put off by one. */
	wait?: Wait | undefined;
	/** What happened to the text, the oldest step first. Absent until something did, and in a text that was erased. */
	journal?: JournalEntry[] | undefined;
}

/** Why a text that waits was put off. */
export interface Wait {
	/** The name of the rule. */
	because: RuleName;
	/** The contact's texts that were there then, by `seq`: a new one may change it. */
	seen: number[];
}

/** What happened in this time is not in the rows, in milliseconds. */
export interface Restored {
	/** When the backup was made. */
	from: number;
	/** When its restoration was declared. */
	to: number;
}

/** The conversation when the service was last known to hold a text. What comes after its messages may be the answer. */
export interface LastHeld {
	/** When that was, by the outbox's clock, in milliseconds. */
	at: number;
	/** `createdAt` of the newest message then, by the service's clock, in milliseconds; null when there was none. */
	newest: number | null;
	/** `messageSid` of the messages as new as that. */
	known: string[];
}

/** A flow that a text would end. */
export interface MetFlow {
	/** When the text met the first one, in milliseconds. Another one after it gives it no more time. */
	since: number;
	/** When the text stops waiting for it, in milliseconds. */
	until: number;
}

/** What a later lookup is compared with. */
export interface Watched {
	/** Differs when something in the summary of the conversation has changed. */
	sign: string;
	/** When the conversation was read, in milliseconds. */
	at: number;
	/** It was read for a text that met a flow. */
	isFlow?: true | undefined;
}

/** What was given to `enqueue` and no statement asks for. JSON. */
export interface GivenOptions {
	/** As it was given to `enqueue`. */
	onHeld?: OnHeld | undefined;
	/** As it was given to `enqueue`. */
	whenClosed?: "ask" | "skip" | undefined;
	/** As it was given to `enqueue`. */
	meta?: unknown;
	/** The id of the text whose place it takes. */
	supersedes?: string | undefined;
	/** The agency of that text, if another one than its own was named. */
	supersededAgencyId?: string | undefined;
}

/** The last error of a text. It holds no number and no text. */
export interface TextError {
	/** `_tag` of the error. */
	tag: PartnerErrorTag;
	/** Its message. */
	message: string;
	/** Correlation id of the response, when there was one. Quote it to support. */
	correlationId?: string | undefined;
}

export function errorOf({ _tag, message, correlationId }: PartnerError): TextError {
	return { tag: _tag, message, correlationId };
}

/**
 * When something last happened, in milliseconds, by the clock that it came with: the service's of what a message shows, and the
 * outbox's own of what was noticed here, or told by telephone. Neither is ever converted into the other one to be stored.
 */
export interface FactTime {
	/** By the service's clock, as the service said it. */
	service?: number | undefined;
	/** By the clock of the outbox. */
	own?: number | undefined;
}

/** What told the outbox of something: a reading of the conversation, or a method of the outbox. */
export type FactSource = "reading" | "observe" | "optOut" | "optIn" | "cancelAll" | "erase" | "restored";

/** When something was last known of a contact. */
export interface ContactFacts {
	/** They asked for no more texts. */
	optedOut?: FactTime | undefined;
	/** They asked for them again. */
	optedIn?: FactTime | undefined;
	/** They said that the number is wrong. */
	wrongNumber?: FactTime | undefined;
	/** They refused something, perhaps the flat: see {@link isRefusal}. Or they declined a marketing text. */
	refused?: FactTime | undefined;
	/** They tapped a button that may be a No. */
	perhapsDeclined?: FactTime | undefined;
	/** They declined a text. */
	declined?: FactTime | undefined;
	/** When the outbox last noticed that they declined one, by its own clock. */
	declineNoticed?: FactTime | undefined;
	/** They left a reply or a notice without an answer. By the service's clock: the newest message that was there by then. */
	ignored?: FactTime | undefined;
}

/** A fact of a contact as it is stored. */
export interface StoredFact {
	/** What is known. */
	fact: keyof ContactFacts;
	/** Whose clock its time is by. */
	clock: keyof FactTime;
	/** When, in milliseconds. */
	at: number;
	/** What told of it. */
	source: FactSource;
	/** The person who told it; null if they did not say, or were erased. */
	by: string | null;
}

/** What is stored of a contact, under the hash of their number. */
export interface StoredContact {
	/** The id of the key of the hash. */
	keyId: string;
	/** The keyed hash of the number. */
	hash: string;
	/** The agency; empty for all of them. */
	agencyId: string;
	/** Each at most once by each clock. */
	facts: StoredFact[];
	/** When `erase` last erased them, by the outbox's clock, in milliseconds; null if it did not. */
	erasedAt: number | null;
}

/** A text as `insert` stores it. */
export interface NewText extends Recipient {
	/** The caller's id: the same id is the same text. */
	id: string;
	/** The text. */
	body: string;
	/** The agency's sender; null for its default one. */
	subaccountId: string | null;
	/** Language of the consent template, as it was given; null when it was not. */
	consentLanguage: string | null;
	/** It is not sent before this time, in milliseconds; null for at once. */
	notBefore: number | null;
	/** No request begins after this time, in milliseconds; null for `defaultMaxAgeMs`. */
	notAfter: number | null;
	/** What it is for. Replies are sent first, and marketing last. */
	purpose: Purpose;
	/** Among texts of one purpose, a higher priority goes first. */
	priority: number;
	/** Who sends it; null if they did not say. */
	byWhom: string | null;
	/** Why it is sent; null if they did not say. */
	why: string | null;
	/** What was given beside the other fields. */
	given: GivenOptions;
	/** When it was enqueued, in milliseconds. */
	createdAt: number;
}

/** A row of the store. Times are in milliseconds. */
export interface OutboxText extends NewText {
	/** How far the outbox has come with it. */
	progress: Progress;
	/** Order of arrival. */
	seq: number;
	/** Grows with each change; `save` compares it. */
	version: number;
	/** The state of the text. */
	state: OutboxState;
	/** Why it is in this state. */
	reason: OutboxReason | null;
	/** When the state began. */
	since: number;
	/**
	 * When it was sent: `createdAt` of its message, by the service's clock, or when the service answered that it was sent, by the
	 * outbox's. Null if it was not, as far as is known.
	 */
	sentAt: number | null;
	/** When it first ended, which is no later than `since`: once it was sent, too. Null while it is unfinished. */
	endedAt: number | null;
	/** When to process it next; null when nothing is left to do. */
	nextAt: number | null;
	/** Until then it is not its turn, and the contact's other texts do not wait for it: `notBefore` or 0, or later by `beforeSend`. */
	readyAt: number;
	/** Provider message id, once it is known. */
	messageId: string | null;
	/** Queue entry id, once the service has held the text. */
	queueId: string | null;
	/**
	 * The version that brought news which `acknowledge` has not acknowledged: a final state, or that the service holds it, or that it
	 * was to be cancelled then. Null when there is none.
	 */
	unacknowledged: number | null;
}

/** An unfinished text. */
export interface OpenText extends OutboxText {
	/** `cancelAll` or `erase` came after its transaction had begun. */
	isStopped: boolean;
}

/** The states that keep the contact's next text back. */
export const unfinished = ["waiting", "sending", "held"] as const;

export function isUnfinished(state: OutboxState): boolean {
	return unfinished.some((each) => each === state);
}

export const newProgress: Progress = {
	attempts: 0,
	requests: [],
	generation: 0,
	baseline: null,
	replacedBy: null,
	emptyAt: null,
	reads: 0,
	failures: 0,
	hidden: 0,
	error: null,
};

/** The states of a text that was sent. */
const sent: readonly OutboxState[] = ["sent", "delivered", "read", "failed"];

/** The change of a row. */
export type Change = Partial<Pick<OutboxText, "state" | "reason" | "nextAt" | "readyAt" | "messageId" | "queueId">> & {
	/** Of a text that was sent before now. */
	sentAt?: number;
	progress?: Partial<Progress>;
};

/**
 * The row after the change. A new state begins now, and has no reason but its own. The journal gets a step.
 *
 * @param by the person who decided
 */
export function changed(text: OutboxText, change: Change, now: number, by?: string): OutboxText {
	const state = change.state ?? text.state;
	const isNew = state !== text.state;
	const isCancelRequested = !text.progress.cancelRequested && change.progress?.cancelRequested === true;
	const isWrongNumber = change.reason === "wrong_number" && text.reason !== "wrong_number";
	// A wait goes with its time.
	const hasNewTime = isNew || change.nextAt !== undefined;
	const isNews = state === "held" ? isNew || isCancelRequested : isWrongNumber || (isNew && !isUnfinished(state));
	// It is of the wait, or of the end. What was cancelled too late goes on to be followed.
	const wasCancelled = text.progress.cancelRequested === true && (state === "held" || state === "cancelled");
	const keepsReason = !isCancelRequested && (!hasNewTime || wasCancelled);
	const hookReason = change.progress?.hookReason ?? (keepsReason ? text.progress.hookReason : undefined);
	const next: OutboxText = {
		...text,
		...change,
		state,
		reason: change.reason ?? null,
		since: isNew ? now : text.since,
		sentAt: sent.includes(state) ? (text.sentAt ?? change.sentAt ?? now) : text.sentAt,
		endedAt: isUnfinished(state) ? null : (text.endedAt ?? now),
		unacknowledged: isNews ? text.version + 1 : text.unacknowledged,
		progress: { ...text.progress, wait: hasNewTime ? undefined : text.progress.wait, ...change.progress, hookReason },
	};
	return { ...next, progress: { ...next.progress, journal: withStep(text, next, now, by) } };
}

/**
 * Derived from what the caller gave, so that the same id never comes with another message. The agency's default language is not
 * part of it. It may change between a backup and its restoration, and the service would take the same text for a new one.
 *
 * @param outboxId of the store. Two outboxes may have the same ids, and the service would take the second text for the first one
 */
export function operationIdOf(text: OutboxText, outboxId: string): Promise<string> {
	const { agencyId, id, to, body, subaccountId, consentLanguage } = text;
	const { generation } = text.progress;
	const parts = [
		outboxId,
		agencyId,
		id,
		to,
		body,
		subaccountId,
		consentLanguage,
		...(generation > 0 ? [generation] : []),
	];
	return operationIdFrom("messaging-conversations/outbox", JSON.stringify(parts));
}

const longestId = 200;

/** An id of the service as a database can store it. Used wherever ids are compared. */
export function storableId(id: string): string;
export function storableId(id: string | null): string | null;
export function storableId(id: string | null): string | null {
	return id === null ? null : storableText(id.slice(0, longestId));
}
