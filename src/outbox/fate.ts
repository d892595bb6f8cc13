import {
	type AgencyClient,
	type ConversationDetail,
	isPartnerError,
	isWindowOpen,
	type Message,
	type QueuedMessage,
} from "messaging-conversations";
import { moment, refuse } from "./check.ts";

/** A text that was sent, or may have been: what `messages.send` gave, or what is known of a send that gave nothing. */
export interface SentText {
	/** Contact phone number. */
	to: string;
	/** The text. */
	body: string;
	/** When the send began, by the service's clock: your own, or `lastMessageAt` of the conversation before it. */
	since: Date | string | number;
	/** `messageId` of the send, when it gave one. */
	messageId?: string | null | undefined;
	/** `queueId` of the send, when it gave one. */
	queueId?: string | null | undefined;
	/** Taken so that the result of a send can be spread in; no read shows it. */
	operationId?: string | undefined;
}

/** Options of {@link fateOf}. */
export interface FateOptions {
	/** `messageId`s of your other texts, which tell two texts of the same words apart. */
	claimed?: Iterable<string> | undefined;
	/**
	 * How long an answer or a message may be on its way, in milliseconds: before that, no trace of a text proves nothing.
	 * @default 65000
	 */
	settleMs?: number | undefined;
	/**
	 * The time, in milliseconds or as a Date. Against a sandbox its own: `sandbox.clock.now`.
	 * @default the `Date` header of the answer, or the local clock
	 */
	now?: (() => Date | number) | undefined;
	/** Aborts the reads. */
	signal?: AbortSignal | undefined;
}

/** What became of a text; `fate` tells the branches apart. */
export type Fate =
	| {
			/** It waits for the contact's consent. */
			fate: "held";
			/** The queue entry. */
			queueId: string;
			/**
			 * The contact has answered in words meanwhile: the same send with the same `operationId` delivers it now. A tap alone,
			 * which may be a refusal, does not count, and neither do words within `settleMs` of one.
			 */
			windowOpen: boolean;
	  }
	| {
			/** It is a message: `failed` also when the provider calls it undelivered. */
			fate: "sent" | "delivered" | "read" | "failed";
			/** The message. */
			message: Message;
	  }
	| {
			/**
			 * - `dropped`: the contact was asked, and the text is not in the queue any more: declined, or not answered in time.
			 *   Without `queueId` this is `unclear`, because the template may be that of a flow
			 * - `replaced`: the queue holds another text in its place, in the entry with its `queueId`
			 * - `nothing`: no trace of it after the settling time, so it was not taken
			 * - `unclear`: too early to say, because the send or the newest activity is younger than `settleMs`; or the conversation is
			 *   hidden, there are two of the same text, or no message has the `messageId`
			 */
			fate: "dropped" | "replaced" | "nothing" | "unclear";
	  };

export const defaultSettleMs = 65_000;

/** Clocks of one service may differ by this much. */
export const slackMs = 5_000;

/**
 * What became of a text, by reading alone (`conversations.get`, and older pages as far as `since`). It never sends.
 *
 * @throws an error of `conversations.get` or `conversations.listMessages`; a hidden conversation is `unclear` instead
 * @example
 * const text = { to: "+32470123456", body: "The visit is at 14:00." };
 * const since = new Date();
 * const sent = await agency.messages.send(text);
 * const { fate } = await fateOf(agency, { ...text, ...sent, since });
 * console.log(fate); // "sent"
 */
export async function fateOf(agency: AgencyClient, text: SentText, options: FateOptions = {}): Promise<Fate> {
	if (typeof text !== "object" || text === null) refuse("text", "must be an object", "fateOf");
	const since = moment("since", text.since, "fateOf");
	const { settleMs = defaultSettleMs, claimed = [], signal } = options;
	if (typeof text.body !== "string") refuse("body", "must be a string", "fateOf");
	const seek = ({ messageSid }: Message) => messageSid === text.messageId;
	const reading = await readConversation(agency, text.to, since - slackMs, { seek, signal });
	if (!reading) return { fate: "unclear" };
	const now = Number(options.now?.() ?? reading.date ?? Date.now());
	const trace = traceOf(reading, { ...text, since, excluded: new Set(claimed) });
	if (trace.kind === "message") return { fate: phaseOf(trace.message), message: trace.message };
	if (text.messageId) return { fate: "unclear" };
	if (trace.kind === "held") {
		const at = Number(options.now?.() ?? reading.date ?? newestTime(reading));
		const windowOpen = isWindowOpen(reading.conversation, at) && isAnswered(trace.since, at, settleMs);
		return { fate: "held", queueId: trace.queued.id, windowOpen };
	}
	if (trace.kind === "other" && trace.queued.id === text.queueId) return { fate: "replaced" };
	// A tap of consent takes the text out of the queue, and the message may be listed later.
	const changedAt = Math.max(since, newestTime(reading));
	if (trace.kind === "twice" || now - changedAt < settleMs) return { fate: "unclear" };
	// In an entry of its own the other text came after this one had left the queue.
	if (text.queueId) return { fate: "dropped" };
	return { fate: ({ other: "replaced", asked: "unclear", none: "nothing" } as const)[trace.kind] };
}

/** A conversation with its messages, the newest first, as far back as was asked. */
export interface Reading {
	conversation: ConversationDetail;
	messages: Message[];
	/** The service's time by the `Date` header of the answer, when it had one. */
	date: number | undefined;
}

/**
 * One `conversations.get`, and older pages until one has a message from before `since`, or one that `seek` accepts.
 * Undefined for a 404.
 */
export async function readConversation(
	agency: AgencyClient,
	to: string,
	since: number | null,
	{
		seek,
		...call
	}: { seek?: (message: Message) => boolean; signal?: AbortSignal | undefined; deadlineMs?: number } = {},
): Promise<Reading | undefined> {
	const first = await agency.conversations
		.get(to, call)
		.withResponse()
		.catch((error: unknown) => {
			if (isPartnerError(error) && error._tag === "PartnerNotFound") return undefined;
			throw error;
		});
	if (!first) return undefined;
	const { conversation, messagePage } = first.data;
	const messages = [...messagePage.messages];
	const date = Date.parse(first.response.headers.get("date") ?? "");
	const reading = { conversation, messages, date: Number.isNaN(date) ? undefined : date };
	const isEnd = (message: Message): boolean =>
		seek?.(message) || (since !== null && message.createdAt !== null && Date.parse(message.createdAt) < since);
	if (messagePage.nextCursor === null || messages.some(isEnd)) return reading;
	const older = agency.conversations.listMessages(to, { cursor: messagePage.nextCursor, readAhead: false, ...call });
	for await (const page of older.pages()) {
		messages.push(...page.messages);
		if (page.messages.some(isEnd)) break;
	}
	return reading;
}

/** What a reading shows of a text. */
export type Trace = Seen &
	(
		| { kind: "message"; message: Message }
		| { kind: "held"; queued: QueuedMessage }
		| { kind: "other"; queued: QueuedMessage }
		| { kind: "asked" | "none" | "twice" }
	);

/** What was looked at. */
export interface Seen {
	reading: Reading;
	/** The messages that are not clearly older than the send. */
	since: Message[];
}

export interface Sought {
	body: string;
	/** Messages that are clearly older are not it; null looks at all. */
	since: number | null;
	messageId?: string | null | undefined;
	/** `messageSid`s that are not it. */
	excluded: ReadonlySet<string>;
	/** The text that waited in the queue before, which says nothing of this one. */
	queuedBefore?: string | null;
}

/** Looks for a text among the messages first and in the queue then, because a text leaves the queue as a message. */
export function traceOf(reading: Reading, text: Sought): Trace {
	const { conversation, messages } = reading;
	const given = messages.find(({ messageSid }) => messageSid === text.messageId);
	const since = messagesSince(messages, text.since).filter(({ messageSid }) => !text.excluded.has(messageSid));
	const seen = { reading, since };
	if (given) return { ...seen, kind: "message", message: given };
	const sent = since.filter(({ direction }) => direction === "outbound");
	const found = sent.filter(({ templateName, body }) => templateName === null && isSameText(body, text.body));
	const [message, second] = text.messageId ? [] : found;
	if (second) return { ...seen, kind: "twice" };
	if (message) return { ...seen, kind: "message", message };
	const [queued] = conversation.queuedMessages;
	if (queued && isSameText(queued.body, text.body)) return { ...seen, kind: "held", queued };
	const isOlder = queued && text.since !== null && Date.parse(queued.updatedAt) < text.since - slackMs;
	if (queued && !isOlder && !isSameText(queued.body, text.queuedBefore)) return { ...seen, kind: "other", queued };
	const isAsked = !queued && sent.some(({ templateName }) => templateName !== null);
	return { ...seen, kind: isAsked ? "asked" : "none" };
}

/**
 * Whether the contact has answered in words. A tap opens the window too, and may be a refusal, upon which the service takes
 * the text out of its queue a little later.
 */
export function isAnswered(since: readonly Message[], at: number, settleMs: number): boolean {
	const inbound = since.filter(({ direction }) => direction === "inbound");
	const taps = inbound.filter(({ buttonClicked }) => buttonClicked !== null);
	const isRecent = ({ createdAt }: Message) => at - Date.parse(createdAt ?? "") < settleMs;
	return taps.length < inbound.length && !taps.some(isRecent);
}

/** The messages that are not clearly older. One without a time has that of its newer neighbour. */
export function messagesSince(messages: readonly Message[], since: number | null): Message[] {
	const end = messages.findIndex(
		({ createdAt }) => since !== null && createdAt !== null && Date.parse(createdAt) < since - slackMs,
	);
	return end < 0 ? [...messages] : messages.slice(0, end);
}

/** The newest time that a reading shows: the service's clock is not before it. */
export function newestTime({ conversation, messages }: Reading): number {
	const { summary, queuedMessages } = conversation;
	const times = [summary.lastMessageAt, summary.lastInboundAt, messages[0]?.createdAt, queuedMessages[0]?.updatedAt];
	return Math.max(...times.map((time) => Date.parse(time ?? "") || 0));
}

/** What the provider reports of a message. */
export function phaseOf({ status, readAt, deliveredAt }: Message): "sent" | "delivered" | "read" | "failed" {
	if (status === "failed" || status === "undelivered") return "failed";
	if (readAt !== null || status === "read") return "read";
	if (deliveredAt !== null || status === "delivered") return "delivered";
	return "sent";
}

/** Whether two texts are one, however a service spells its line ends, its accents or the space around a text. */
function isSameText(one: string | null | undefined, other: string | null | undefined): boolean {
	return typeof one === "string" && typeof other === "string" && plain(one) === plain(other);
}

const plain = (text: string): string => text.replace(/\r\n?/g, "\n").trim().normalize();
