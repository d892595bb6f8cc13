import {
	type ConversationDetail,
	type ConversationSummary,
	isPartnerError,
	type Message,
	type MessagePage,
	type OperationId,
	type PartnerError,
	PartnerUnexpectedResponse,
} from "messaging-conversations";
import { answersOf, onlyCopy, readFresh } from "../shared/copies.ts";
import { untilAborted } from "../shared/signals.ts";
import { instant } from "./fingerprint.ts";
import { ofCaller } from "./input.ts";
import { retryLimited } from "./limited.ts";
import { mostPagesInVain, type Source } from "./list.ts";
import { keyOf, last, never } from "./memory.ts";
import { makeStorable } from "./storable.ts";

/** A message with the time that the feed goes by. */
export interface Dated {
	message: Message;
	at: number;
	/** Neither this message nor a newer one has a time. */
	untimed: boolean;
}

export interface Conversation {
	conversation: ConversationDetail;
	/** Newest first, each once. */
	messages: Dated[];
	/** The `Date` of the answer; -Infinity without one. */
	date: number;
}

/** A time, or the newest message alone. */
export type From = number | "newest";

/**
 * Reads a conversation and its messages, from the newest page down.
 * @param from pages of messages are read until older than this
 */
async function read(source: Source, phoneNumber: string, from: From): Promise<Conversation> {
	const { agency, signal, raw, pace } = source;
	const pageSize = from === "newest" ? 1 : 100;
	const found = await readFresh(answersOf(agency), `${agency.id} ${phoneNumber}`, {
		async read(isAgain) {
			// Another size of the page, for which no cache has an answer.
			const size = isAgain ? (pageSize === 1 ? 2 : pageSize - 1) : pageSize;
			const answered = await agency.conversations.get(phoneNumber, { pageSize: size, signal }).withResponse();
			pace?.sent(answered.response.attempts);
			return answered;
		},
		lookUp: async () => (await lookUp(source, [phoneNumber])).there.get(phoneNumber),
		stale: () => unexpected(source, "conversations.get", onlyCopy),
	});
	// It rejects if there is no such conversation.
	if (!found) throw unexpected(source, "conversations.get", onlyCopy);
	const { data, response } = found;
	const { conversation, messagePage } = data;
	if (conversation.summary.phoneNumber !== phoneNumber)
		throw unexpected(source, "conversations.get", "the answer is about another contact");
	if (!raw) makeStorable(conversation);
	const messages = new Map<string, Dated>();
	const latest = instant(conversation.summary.lastMessageAt);
	// A message without a time takes the next newer one's; the newest takes the conversation's.
	let at = latest === never ? last : latest;
	let untimed = true;
	let pagesInVain = 0;
	/** Adds a page. Returns whether the next older one is wanted. */
	const add = (page: MessagePage): boolean => {
		if (!raw) makeStorable(page.messages);
		const before = messages.size;
		for (const message of page.messages) {
			const own = instant(message.createdAt);
			if (own !== never) {
				at = own;
				untimed = false;
			}
			const key = keyOf(message);
			if (!messages.has(key)) messages.set(key, { message, at, untimed });
		}
		pagesInVain = messages.size > before ? 0 : pagesInVain + 1;
		if (pagesInVain >= mostPagesInVain) {
			const what = `the service returned ${pagesInVain} pages in a row without a new message`;
			throw unexpected(source, "conversations.listMessages", what);
		}
		return page.hasMore && from !== "newest" && at >= from;
	};
	const { nextCursor: cursor } = messagePage;
	if (add(messagePage) && cursor !== null) {
		const older = agency.conversations.listMessages(phoneNumber, { pageSize, cursor, signal });
		await pace?.turn();
		for await (const page of older.pages()) {
			pace?.sent(1);
			// Such as the first page again, from something in front of the service. Its messages would be out of order.
			const isRead = page.messages.map((message) => messages.has(keyOf(message)));
			if (isRead.includes(false) && isRead.indexOf(false) < isRead.lastIndexOf(true))
				throw unexpected(source, "conversations.listMessages", "an older page has a newer message");
			if (!add(page)) break;
			await pace?.turn();
		}
	}
	return { conversation, messages: [...messages.values()], date: instant(response.headers.get("date")) };
}

/** The error of an answer that keeps the contract and yet cannot be true. */
export function unexpected({ agency }: Source, operation: OperationId, what: string): PartnerUnexpectedResponse {
	return new PartnerUnexpectedResponse(`${operation}: ${what}`, { operation, agencyId: agency.id, retryable: true });
}

/** What a lookup has found. */
interface Found {
	/** The conversations that there are. */
	there: Map<string, ConversationSummary>;
	/** The `Date` of the answer; -Infinity without one. */
	date: number;
}

/** Looks up numbers. */
export async function lookUp(source: Source, phoneNumbers: readonly string[]): Promise<Found> {
	const { agency, signal, pace } = source;
	const { data, response } = await retryLimited(source, () =>
		agency.conversations.lookup(phoneNumbers, { signal }).withResponse(),
	);
	pace?.sent(response.attempts);
	const there = new Map(data.flatMap(({ input, conversation }) => (conversation ? [[input, conversation]] : [])));
	return { there, date: instant(response.headers.get("date")) };
}

/** Whether the caller wants nothing of this contact. */
export async function isSkipped({ operation, skip, signal }: Source, phoneNumber: string): Promise<boolean> {
	try {
		return skip !== undefined && (await untilAborted(skip(phoneNumber), signal)) === true;
	} catch (error) {
		throw ofCaller(operation, "skip", error);
	}
}

/** The end of a conversation's read. It has `read`, `error`, `isSkipped` or `isGone`. */
export interface ReadEnd<Item> {
	item: Item;
	read?: Conversation;
	error?: PartnerError;
	/** The service has no such conversation: neither a read nor a lookup shows it. */
	isGone?: boolean;
	/** The caller's `skip` returned true. */
	isSkipped?: boolean;
	/** No more reads follow, because the service is taken to be down, or asks to wait. */
	isOutage?: boolean;
}

/** Whether to continue after so many failed reads in a row. */
export type Continues = (inARow: number) => boolean | Promise<boolean>;

/** After so many failed reads in a row the service may be down. */
export const mostInARow = 10;

/** The errors that every later read would meet too. */
const ofTheKey = /Unauthorized|Forbidden|Config|Abort/;

/**
 * Reads conversations, a few at once, in the given order. Throws errors that every later read would meet too.
 * @param from see `read`
 * @param isUnknown whether a lookup has already shown that there is no such conversation
 */
export async function* reads<Item extends { phoneNumber: string }>(
	source: Source,
	items: Iterable<Item>,
	from: (item: Item) => From,
	continues: Continues = (inARow) => inARow < mostInARow,
	isUnknown = false,
): AsyncGenerator<ReadEnd<Item>, void, undefined> {
	const { concurrency, signal } = source;
	let inARow = 0;
	for await (const { thrown, ...end } of attempts()) {
		// After an abort nothing more is delivered, even if it is read already. This read fails without a request.
		if (signal.aborted) await read(source, end.item.phoneNumber, never);
		if (thrown === undefined) {
			if (end.read) inARow = 0;
			yield end;
			continue;
		}
		if (!isPartnerError(thrown) || (thrown.field !== "skip" && ofTheKey.test(thrown._tag))) throw thrown;
		// A 429 ends the reads too, because the service asks to wait.
		const isOutage = thrown.status === 429 || !(await continues(++inARow));
		yield { ...end, error: thrown, isOutage };
		if (isOutage) return;
	}

	async function attempt(item: Item): Promise<ReadEnd<Item> & { thrown?: unknown }> {
		const { phoneNumber } = item;
		try {
			if (await isSkipped(source, phoneNumber)) return { item, isSkipped: true };
			return { item, read: await retryLimited(source, () => read(source, phoneNumber, from(item))) };
		} catch (thrown) {
			return isPartnerError(thrown) && thrown._tag === "PartnerNotFound" ? notFound(item, thrown) : { item, thrown };
		}
	}
	/** A client that takes errors without a tag takes the 404 of a load balancer for the service's. So a lookup is asked too. */
	async function notFound(item: Item, thrown: PartnerError): Promise<ReadEnd<Item> & { thrown?: unknown }> {
		const { phoneNumber } = item;
		try {
			const isThere = !isUnknown && (await lookUp(source, [phoneNumber])).there.has(phoneNumber);
			return isThere ? { item, thrown } : { item, isGone: true };
		} catch (thrown) {
			return { item, thrown };
		}
	}
	async function* attempts() {
		const running: ReturnType<typeof attempt>[] = [];
		for (const item of items) {
			running.push(attempt(item));
			if (running.length >= concurrency) yield* running.splice(0, 1);
		}
		yield* running;
	}
}
