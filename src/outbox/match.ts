/*
 * Reads a conversation, and looks for a text in it.
 */

import {
	type AgencyClient,
	type ConversationDetail,
	isPartnerError,
	isWindowOpen,
	type Message,
	type OperationId,
	PartnerUnexpectedResponse,
	type QueuedMessage,
} from "messaging-conversations";
import { answersOf, onlyCopy, readFresh } from "../shared/copies.ts";
import { type DeliveryPhase, phaseOf } from "../shared/delivery-phase.ts";
import { watchRead } from "../shared/freshness.ts";
import { normalized } from "../shared/normal-form.ts";
import type { Offset } from "./clocks.ts";
import { type LastHeld, storableId } from "./text.ts";

/** Clocks of one service may differ by this much. */
export const slackMs = 5_000;
/** The time of a backup is given by hand, and may be rounded to a minute. */
export const backupSlackMs = 60_000;

/** A conversation with its messages, the newest first, as far back as was asked. */
export interface Reading extends Offset {
	conversation: ConversationDetail;
	messages: Message[];
	/** There are no older ones. */
	isWhole: boolean;
	/** The service's time by the `Date` header of the answer, when it had one. */
	date: number | undefined;
}

/** The `Date` header has whole seconds. */
const sameClockMs = 1_000;

/** By how much the clock of the outbox is ahead of the service's. A sandbox has a clock of its own, which may not run. */
function aheadBy(at: number | undefined, shown: number | undefined): number {
	const difference = at && shown ? at - shown : 0;
	return Math.abs(difference) < sameClockMs ? 0 : difference;
}

/**
 * One `conversations.get`, and older pages until one has a message from before `since`, or one that `seek` accepts.
 * Undefined for a 404.
 *
 * @param since a function computes it from the clocks of the answer
 */
export async function readConversation(
	agency: AgencyClient,
	to: string,
	since: number | ((reading: Pick<Reading, "date" | "aheadMs" | "isMeasured">) => number),
	{
		seek,
		clock,
		knownAt,
		onRead,
		...call
	}: {
		seek?: (message: Message) => boolean;
		/** The time of the newest message that is known, by the service's clock. */
		knownAt?: number | undefined;
		/** The clock of the outbox. */
		clock?: (() => number) | undefined;
		signal?: AbortSignal | undefined;
		deadline?: number | Date | undefined;
		keyScope?: object | undefined;
		/** Gets a function that says how old the newest messages are. Those of older pages do not count for the age of a reading. */
		onRead?: ((ageMs: () => number) => void) | undefined;
	} = {},
): Promise<Reading | undefined> {
	const first = await readFresh(answersOf(agency), `${agency.id} ${to}`, {
		read(isAgain) {
			const watch = watchRead();
			// Another size of the page, for which no cache has an answer.
			return agency.conversations
				.get(to, isAgain ? { ...call, pageSize: 51 } : call)
				.withResponse()
				.catch((error: unknown) => {
					if (isPartnerError(error) && error._tag === "PartnerNotFound") return undefined;
					throw error;
				})
				.finally(() => {
					watch.end();
					onRead?.(watch.ageMs);
				});
		},
		lookUp: async () => (await agency.conversations.lookup([to], call))[0]?.conversation,
		stale: () => staleError("conversations.get", agency.id),
		knownAt,
	});
	if (!first) return undefined;
	const { conversation, messagePage } = first.data;
	const messages = [...messagePage.messages];
	const date = timeOf(first.response.headers.get("date")) || undefined;
	// The newest stamp may tell the part of the second that the header leaves out.
	const shown = date && Math.min(Math.max(date, newestTime({ conversation, messages })), date + sameClockMs - 1);
	const isWhole = messagePage.nextCursor === null;
	const aheadMs = aheadBy(clock?.(), shown);
	const reading: Reading = { conversation, messages, isWhole, date, aheadMs, isMeasured: date !== undefined };
	const start = typeof since === "number" ? since : since(reading);
	const isEnd = (message: Message): boolean => seek?.(message) || Date.parse(message.createdAt ?? "") < start;
	if (messagePage.nextCursor === null || messages.some(isEnd)) return reading;
	const older = agency.conversations.listMessages(to, { cursor: messagePage.nextCursor, readAhead: false, ...call });
	for await (const page of older.pages()) {
		messages.push(...page.messages);
		reading.isWhole = page.nextCursor === null;
		if (page.messages.some(isEnd)) break;
	}
	return reading;
}

/** The error of an answer that is an old copy. The next one may be none. */
export function staleError(operation: OperationId, agencyId?: string): PartnerUnexpectedResponse {
	return new PartnerUnexpectedResponse(`${operation}: ${onlyCopy}`, { operation, agencyId, retryable: true });
}

/** What a reading shows of a text. */
export type Match = Seen &
	(
		| { kind: "message"; message: Message }
		| { kind: "held"; queued: QueuedMessage }
		| { kind: "other"; queued: QueuedMessage }
		| { kind: "asked" | "none" | "twice" }
	);

export type HeldMatch = Match & { kind: "held" };

/** The reading, and the part of it that was looked at. */
export interface Seen {
	reading: Reading;
	/** The messages that are not clearly older than the send. */
	since: Message[];
	/** Ids of those that are known to be other texts of the caller, as they are stored. */
	claimed: ReadonlySet<string>;
	/** Ids of those of them that the service never held, as they are stored. */
	direct: ReadonlySet<string>;
	/** Whether a tap is a Yes for certain. */
	isYes: (tap: Message) => boolean;
}

export interface Sought {
	body: string;
	/** Clearly older messages are left out; 0 includes all. */
	since: number;
	/** Ids of messages that are known to be other texts, as they are stored. */
	claimed: ReadonlySet<string>;
	/** Ids of those of them that the service never held, as they are stored. */
	direct?: ReadonlySet<string> | undefined;
	/** Ids of messages from before the send, as they are stored. */
	known?: ReadonlySet<string> | undefined;
	/** Of a text that was restored from a backup: younger messages, and queue entries of another time, are left out. */
	until?: number | undefined;
	/** The text that waited in the queue before the send. Null when the queue was empty, undefined when that is not known. */
	queuedBefore?: string | null | undefined;
	/** Whether a tap is a Yes for certain. Without it none is. */
	isYes?: ((tap: Message) => boolean) | undefined;
}

/** Looks for a text among the messages first and in the queue then, because a text leaves the queue as a message. */
export function findText(reading: Reading, text: Sought): Match {
	const { conversation, messages } = reading;
	const until = (text.until ?? Number.POSITIVE_INFINITY) + slackMs;
	const since = messagesSince(messages, text.since).filter(
		({ messageSid, createdAt }) => !text.known?.has(storableId(messageSid)) && timeOf(createdAt) <= until,
	);
	const { claimed, direct = new Set(), isYes = () => false } = text;
	const seen: Seen = { reading, since, claimed, direct, isYes };
	const [message, second] = byOthers(seen).filter((each) => isText(each) && isSameText(each.body, text.body));
	if (second) return { ...seen, kind: "twice" };
	if (message) return { ...seen, kind: "message", message };
	const [queued] = conversation.queuedMessages;
	const isOlder = queued && Date.parse(queued.updatedAt) < text.since - slackMs;
	const isOfAnother = text.until !== undefined && (isOlder || timeOf(queued?.createdAt) > until);
	if (queued && !isOfAnother && isSameText(queued.body, text.body)) return { ...seen, kind: "held", queued };
	if (queued && !isOlder && !isSameText(text.queuedBefore, queued.body)) return { ...seen, kind: "other", queued };
	// A text that took over a queue entry has no template of its own: the button reply that ended it is its only sign.
	const isSign = ({ templateName, buttonClicked }: Message): boolean =>
		templateName !== null || (buttonClicked !== null && text.queuedBefore !== null);
	const isAsked = !queued && since.some(isSign);
	return { ...seen, kind: isAsked ? "asked" : "none" };
}

/** The messages but for the caller's other texts. */
export function byOthers({ since, claimed }: Pick<Seen, "since" | "claimed">): Message[] {
	return since.filter(({ messageSid }) => !claimed.has(storableId(messageSid)));
}

/**
 * The tap by which the contact declined a text that the service held and holds no more, if they did. The service has no field for it.
 * The tap of a booking looks the same, and often somebody answers it. So it counts only if nobody has written to the contact.
 *
 * @param since the messages since the service was last known to hold a text, the newest first
 */
export function declineIn(since: readonly Message[], isYes: Seen["isYes"]): Message | undefined {
	return since.some(isText) ? undefined : since.find((message) => isTap(message) && !isYes(message));
}

/**
 * Whether the window is open and the contact has answered in words. A button reply opens the window too, and may be a refusal.
 * The service then takes the text out of its queue a little later.
 * @param latest differs from `earliest` if the service's time is not certain
 */
export function isAnswered(match: HeldMatch, settleMs: number, earliest: number, latest = earliest): boolean {
	const { summary } = match.reading.conversation;
	// When nothing is known from before the send, the queue entry shows when it was.
	const since = messagesSince(match.since, timeOf(match.queued.createdAt));
	return (
		isWindowOpen(summary, latest) &&
		since.some(isWords) &&
		// A button reply without a time is not later than the last message of the contact.
		!since.some(
			(reply) => reply.buttonClicked !== null && earliest - timeOf(reply.createdAt ?? summary.lastInboundAt) < settleMs,
		)
	);
}

/**
 * Whether the contact was asked for consent, and no template reached the phone. Undefined when the request for consent is
 * not among the messages. A text that replaces a held one takes over its queue entry, and the service does not ask again.
 */
export function isConsentFailed(match: Match): boolean | undefined {
	const { reading, since } = match;
	const inQueue = match.kind === "held" ? messagesSince(reading.messages, timeOf(match.queued.createdAt)) : [];
	const templates = [...since, ...inQueue].filter(({ templateName }) => templateName !== null);
	return templates[0] && templates.every((template) => phaseOf(template) === "failed");
}

/** Words of the contact. A tap on a button is none. */
export const isWords = ({ direction, buttonClicked }: Message): boolean =>
	direction === "inbound" && buttonClicked === null;

/** A tap of the contact on a button: of a request for consent, or of anything else. */
export const isTap = ({ direction, buttonClicked }: Message): boolean =>
	direction === "inbound" && buttonClicked !== null;

/** A text to the contact that is not a template. */
export const isText = ({ direction, templateName }: Message): boolean =>
	direction === "outbound" && templateName === null;

/** The messages that are not clearly older. One without a time has that of its newer neighbour. */
export function messagesSince(messages: readonly Message[], since: number): Message[] {
	const end = messages.findIndex(({ createdAt }) => Date.parse(createdAt ?? "") < since - slackMs);
	return end < 0 ? [...messages] : messages.slice(0, end);
}

/** The messages that came after the service was last known to hold a text. Without that all of them. */
export function newerThan(messages: readonly Message[], held: LastHeld | undefined): Message[] {
	const newest = held?.newest ?? Number.NEGATIVE_INFINITY;
	const end = messages.findIndex(
		({ messageSid, createdAt }) =>
			held?.known.includes(storableId(messageSid)) || (createdAt !== null && timeOf(createdAt) < newest - slackMs),
	);
	return end < 0 ? [...messages] : messages.slice(0, end);
}

/**
 * The conversation while the service holds a text. A tap may be a decline that the service has not carried out yet, for `settleMs`:
 * then it counts as one that is still to come.
 */
export function lastHeldBy(reading: Reading | null, settleMs: number, now: number): LastHeld {
	const messages = reading?.messages ?? [];
	// By the clock that makes the tap the most recent.
	const shown = reading ? Math.max(newestTime(reading), Math.min(reading.date ?? now, now)) : now;
	const tap = messages.findIndex((message) => isTap(message));
	const { createdAt = null } = messages[tap] ?? {};
	const isFresh = tap >= 0 && (createdAt === null || shown - timeOf(createdAt) < settleMs);
	const before = isFresh ? messages.slice(tap + 1) : messages;
	return { at: now, ...newestOf(before) };
}

/** The time of the newest message, and the ids of those as new as that. */
export function newestOf(messages: readonly Message[]): { newest: number | null; known: string[] } {
	const newest = Math.max(0, ...messages.map(({ createdAt }) => timeOf(createdAt)));
	return {
		newest: newest || null,
		known: messagesSince(messages, newest).map(({ messageSid }) => storableId(messageSid)),
	};
}

/** The newest time that a reading shows: the service's clock is not before it. */
export function newestTime({ conversation, messages }: Pick<Reading, "conversation" | "messages">): number {
	const { summary, queuedMessages } = conversation;
	const times = [summary.lastMessageAt, summary.lastInboundAt, messages[0]?.createdAt, queuedMessages[0]?.updatedAt];
	return Math.max(...times.map(timeOf));
}

/** In milliseconds, or 0 without a time. */
export const timeOf = (time: string | null | undefined): number => Date.parse(time ?? "") || 0;

const phases: readonly string[] = ["sent", "delivered", "failed", "read"] satisfies DeliveryPhase[];

/** Whether a report goes beyond the state of a text. The feed may deliver a change after a later one. */
export function isFurther(phase: DeliveryPhase, state: string): boolean {
	return phases.indexOf(phase) > phases.indexOf(state);
}

/** Whether two texts are one, however a service spells its line ends, its accents or the space around a text. */
function isSameText(one: string | null | undefined, other: string): boolean {
	return plain(one) === plain(other);
}

const plain = (text: string | null | undefined) => text && normalized(text.replace(/\r\n?/g, "\n").trim());
