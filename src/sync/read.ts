import {
	type ConversationDetail,
	isPartnerError,
	type Message,
	type MessagePage,
	type PartnerError,
	PartnerUnexpectedResponse,
} from "messaging-conversations";
import { untilAborted } from "../shared/signals.ts";
import { instant } from "./fingerprint.ts";
import { ofCaller } from "./input.ts";
import { retryLimited } from "./limited.ts";
import { mostPagesInVain, type Source } from "./list.ts";
import { keyIn, last, type MessageKey, never } from "./memory.ts";
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
	const { data, response } = await agency.conversations.get(phoneNumber, { pageSize, signal }).withResponse();
	pace?.sent(response.attempts);
	const { conversation, messagePage } = data;
	if (!raw) makeStorable(conversation);
	const messages = new Map<MessageKey, Dated>();
	const latest = instant(conversation.summary.lastMessageAt);
	// A message without a time has that of the next newer one; the newest has that of the conversation.
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
			const key = keyIn(messages, message);
			if (!messages.has(key)) messages.set(key, { message, at, untimed });
		}
		pagesInVain = messages.size > before ? 0 : pagesInVain + 1;
		if (pagesInVain >= mostPagesInVain) {
			const operation = "conversations.listMessages";
			const what = `${operation}: the service returned ${pagesInVain} pages in a row without a new message`;
			throw new PartnerUnexpectedResponse(what, { operation, agencyId: agency.id });
		}
		return page.hasMore && from !== "newest" && at >= from;
	};
	const { nextCursor: cursor } = messagePage;
	if (add(messagePage) && cursor !== null) {
		const older = agency.conversations.listMessages(phoneNumber, { pageSize, cursor, signal });
		await pace?.turn();
		for await (const page of older.pages()) {
			pace?.sent(1);
			if (!add(page)) break;
			await pace?.turn();
		}
	}
	return { conversation, messages: [...messages.values()] };
}

/** Whether the caller wants nothing of this contact. */
export async function isSkipped({ operation, skip, signal }: Source, phoneNumber: string): Promise<boolean> {
	try {
		return skip !== undefined && (await untilAborted(skip(phoneNumber), signal)) === true;
	} catch (error) {
		throw ofCaller(operation, "skip", error);
	}
}

/** The end of a conversation's read. It has none of the optional fields if the conversation is gone. */
export interface ReadEnd<Item> {
	item: Item;
	read?: Conversation;
	error?: PartnerError;
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
 */
export async function* reads<Item extends { phoneNumber: string }>(
	source: Source,
	items: Iterable<Item>,
	from: (item: Item) => From,
	continues: Continues = (inARow) => inARow < mostInARow,
): AsyncGenerator<ReadEnd<Item>, void, undefined> {
	const { concurrency, signal } = source;
	let inARow = 0;
	for await (const { thrown, ...end } of attempts()) {
		// After an abort nothing more is delivered, even if it is read already. This read fails without a request.
		if (signal.aborted) await read(source, end.item.phoneNumber, never);
		const isGone = isPartnerError(thrown) && thrown._tag === "PartnerNotFound";
		if (thrown === undefined || isGone) {
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
