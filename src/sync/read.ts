import {
	type ConversationDetail,
	isPartnerError,
	type Message,
	type MessagePage,
	type PartnerError,
} from "messaging-conversations";
import { never } from "./checkpoint.ts";
import { instant } from "./fingerprint.ts";
import { retryLimited } from "./retry.ts";
import type { Row, Source } from "./scan.ts";

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

/**
 * Reads a conversation and its messages, from the newest page down.
 * @param from pages of messages are read until older than this; Infinity reads the newest message alone
 */
async function read({ agency, signal }: Source, phoneNumber: string, from: number): Promise<Conversation> {
	const pageSize = from === -never ? 1 : 100;
	const { conversation, messagePage } = await agency.conversations.get(phoneNumber, { pageSize, signal });
	const messages = new Map<number, Dated>();
	const latest = instant(conversation.summary.lastMessageAt);
	// A message without a time has that of the next newer one; the newest has that of the conversation.
	let at = latest === never ? -never : latest;
	let untimed = true;
	/** Adds a page. Returns whether the next older one is wanted. */
	const add = (page: MessagePage): boolean => {
		for (const message of page.messages) {
			const own = instant(message.createdAt);
			if (own !== never) {
				at = own;
				untimed = false;
			}
			if (!messages.has(message.id)) messages.set(message.id, { message, at, untimed });
		}
		return page.hasMore && at >= from;
	};
	const { nextCursor: cursor } = messagePage;
	if (add(messagePage) && cursor !== null) {
		const older = agency.conversations.listMessages(phoneNumber, { pageSize, cursor, signal });
		for await (const page of older.pages()) if (!add(page)) break;
	}
	return { conversation, messages: [...messages.values()] };
}

/** The end of a row's read. It has neither `read` nor `error` when the conversation is gone. */
export interface ReadEnd<Item extends Row = Row> {
	row: Item;
	read?: Conversation;
	error?: PartnerError;
	/** No more reads follow, because the service is taken to be down, or asks to wait. */
	isOutage?: boolean;
}

/** Whether to go on after so many failed reads in a row. */
export type GoesOn = (inARow: number) => boolean | Promise<boolean>;

/** After so many failed reads in a row the service may be down. */
export const mostInARow = 10;

/** The errors that every later read would meet too. */
const ofTheKey = /Unauthorized|Forbidden|Config|Abort/;

/**
 * Reads conversations, a few at once, in the order of their rows. Throws errors that every later read would meet too.
 * @param from see `read`
 */
export async function* reads<Item extends Row>(
	source: Source,
	rows: Iterable<Item>,
	from: (row: Item) => number,
	goesOn: GoesOn = (inARow) => inARow < mostInARow,
): AsyncGenerator<ReadEnd<Item>, void, undefined> {
	const { concurrency, signal } = source;
	let inARow = 0;
	for await (const ended of attempts()) {
		// After an abort nothing more is handed over, also of what is read already: a new attempt fails without a request.
		const { thrown, ...end } = signal.aborted ? await attempt(ended.row) : ended;
		if (end.read) {
			inARow = 0;
			yield end;
		} else if (!isPartnerError(thrown) || ofTheKey.test(thrown._tag)) throw thrown;
		else if (thrown._tag === "PartnerNotFound") yield end;
		else {
			// A 429 ends the reads as an outage does, because the service asks to wait.
			const isOutage = thrown.status === 429 || !(await goesOn(++inARow));
			yield { ...end, error: thrown, isOutage };
			if (isOutage) return;
		}
	}

	async function attempt(row: Item): Promise<ReadEnd<Item> & { thrown?: unknown }> {
		try {
			return { row, read: await retryLimited(source, () => read(source, row.phoneNumber, from(row))) };
		} catch (thrown) {
			return { row, thrown };
		}
	}
	async function* attempts() {
		const running: ReturnType<typeof attempt>[] = [];
		for (const row of rows) {
			running.push(attempt(row));
			if (running.length >= concurrency) yield* running.splice(0, 1);
		}
		yield* running;
	}
}
