import type { ConversationDetail, Message, PartnerError } from "messaging-conversations";
import { type Handed, type Known, markToCome, never, type State, stale } from "./checkpoint.ts";
import { fingerprintOf, instant } from "./fingerprint.ts";
import type { SyncFunction } from "./input.ts";
import type { Conversation, Dated } from "./read.ts";
import type { Row, Source } from "./scan.ts";
import { follow, type Statuses } from "./statuses.ts";

/** A conversation in which something has changed. */
export interface Change {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** The conversation as it is now. */
	conversation: ConversationDetail;
	/** Its new messages, oldest first. Empty when only its state has changed. */
	messages: Message[];
}

/** A conversation whose read failed. The others were handed over all the same. */
export interface UnreadConversation {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** Why the read failed. */
	error: PartnerError;
	/**
	 * True when the feed gives the conversation up and `reconcile` is to hand it over: after 24 hours of failed reads, or
	 * at once when 100 others cannot be read either.
	 */
	leftToReconcile: boolean;
}

/** A feed: its options, what it remembers, and how its latest look went. */
export interface Feed extends Source {
	operation: SyncFunction;
	statuses: Statuses;
	state: State;
	/** The service's time when it was listed last. */
	now: number;
	failures: UnreadConversation[];
	/** Conversations of the latest look that are still to be handed over. */
	left: number;
	/** A loop runs over the feed. */
	isBusy: boolean;
}

/** A conversation that is to be read. */
export interface Pending extends Row {
	handed: Handed;
}

const dayMs = 24 * 3_600_000;
/** The most conversations that are kept for a later read, because each of them makes the checkpoint longer. */
const mostFailing = 100;

/** The conversations whose latest read failed, those first that were not read for longer. */
export function failing({ known }: State): Pending[] {
	return [...known].flatMap(([phoneNumber, entry]) =>
		entry.failingSince === undefined ? [] : { phoneNumber, at: entry.at, handed: entry },
	);
}

/** Whether no other conversation can be kept for a later read. */
export function isFull(state: State): boolean {
	return failing(state).length >= mostFailing;
}

/** The time before which all messages of a conversation were handed over. */
function handedUpTo({ from, doubt: [after, before] = [never, never] }: Handed, messages: readonly Dated[]): number {
	// A message without a time may have had one between them by its neighbours.
	const wasToCome = messages.some(({ message, at }) => at >= after && (at < before || message.createdAt === null));
	return wasToCome ? from : Math.max(from, before);
}

/** Notes a conversation that was read as handed over. Returns the change, if there is one. */
export function take(
	feed: Feed,
	{ phoneNumber, at, handed }: Pending,
	{ conversation, messages }: Conversation,
): Change | undefined {
	const { state, now, lookbackMs } = feed;
	const { known } = state;
	const to = markToCome(state);
	const from = handedUpTo(handed, messages);
	const before = known.get(phoneNumber);
	const isNew = (dated: Dated): boolean => dated.at >= from && !before?.messages.has(dated.message.id);
	const changed = follow(feed, phoneNumber, messages, (dated) => dated.at >= to - dayMs && isNew(dated));

	const keepFrom = to - lookbackMs;
	// Also those that this read does not show: it may have been answered by a copy that lags behind.
	const kept = new Map([...(before?.messages ?? [])].filter(([, at]) => at >= keepFrom));
	for (const { message, at, untimed } of messages) {
		// The time of a message without one grows with its newer neighbours, until it has one of those that stay.
		if (untimed) kept.set(message.id, never);
		else if (at >= keepFrom) kept.set(message.id, at);
	}
	// The summary may know the newest message before the pages list it.
	const latest = instant(conversation.summary.lastMessageAt);
	const isListed = messages.some(({ message }) => instant(message.createdAt) >= latest);
	const behind = isListed || latest < now - lookbackMs ? "" : stale;
	const shownAs = fingerprintOf(conversation);
	known.set(phoneNumber, { fingerprint: behind + shownAs, at: Math.max(at, latest), from: keepFrom, messages: kept });
	const shown = messages.filter((dated) => isNew(dated) || changed.has(dated.message.id));
	if (before?.fingerprint === stale + shownAs && !shown[0]) return undefined;
	return { phoneNumber, conversation, messages: shown.map(({ message }) => message).reverse() };
}

/**
 * Keeps a conversation whose read failed for a later look, or gives it up. A conversation that is gone is given up, and is
 * read again when it is listed.
 * @returns whether it is given up
 */
export function noteFailure({ state, now }: Feed, { phoneNumber, at, handed }: Pending, isGone: boolean): boolean {
	const { known } = state;
	const before = known.get(phoneNumber);
	const { failingSince, ...rest }: Known = before ?? { ...handed, fingerprint: "", at, messages: new Map() };
	const isFirst = failingSince === undefined;
	const isGivenUp = isGone || (isFirst ? isFull(state) : now - failingSince > dayMs);
	if (isFirst) rest.fingerprint = "";
	if (isGone) rest.fingerprint = stale;
	rest.at = Math.max(rest.at, at);
	// At the end of the map, so that the next look reads those first that were not read for longer.
	known.delete(phoneNumber);
	known.set(phoneNumber, isGivenUp ? rest : { ...rest, failingSince: failingSince ?? now });
	return isGivenUp;
}
