import type { Facts, PartnerError } from "../errors.ts";
import type { Reply, ReplyHead } from "../http/call-context.ts";
import { aborted, createFailure, type Failure, toError } from "../http/failure.ts";
import { checkOptions, optionSchemas } from "../input/call-options.ts";
import { createRecent } from "../input/recent.ts";
import { type Call, createCall, readNow } from "./call.ts";

/**
 * A list that is read while it is used: no request before the first use, none after `break`. Each `for await` over it is
 * an iteration of its own, from the cursor that the list was given.
 */
export interface Paginated<Item, Page, Failure extends PartnerError> {
	/** Iterates over the items. Requests the next page once past the middle of the current one. */
	[Symbol.asyncIterator]: () => AsyncGenerator<Item, void, undefined>;
	/** Iterates over the pages as the service returns them. */
	pages: () => AsyncGenerator<Page, void, undefined>;
	/** Returns the one page at the given cursor. */
	page: () => Call<Page, Failure>;
	/** Collects all items, or the first `limit` of them. Requests no page that it does not need. */
	toArray: (options?: CollectOptions) => Promise<Item[]>;
}

/** Options of `toArray`. */
export interface CollectOptions {
	/**
	 * The most items to collect.
	 * @default Infinity
	 */
	limit?: number | undefined;
}

/** A list operation with its checked options. */
export interface PageSource<Item, Page> {
	/** For the errors of the iteration. */
	facts: Facts;
	/** Requests one page; without a cursor the first. */
	fetchPage: (cursor: string | undefined, abandon?: AbortSignal) => Promise<Reply<Page>>;
	itemsOf: (page: Page) => readonly Item[];
	/** Cursor of the next page, or null on the last one. */
	nextOf: (page: Page) => string | null;
	cursor: string | undefined;
	readAhead: boolean;
	signal: AbortSignal | undefined;
}

/**
 * @param read checks the options. It runs at once, because the caller may change its object later. Its error is
 * thrown when the list is used, so that a bad option rejects like any other failure.
 */
export function createPaginated<Item, Page, Failure extends PartnerError>(
	read: () => PageSource<Item, Page>,
): Paginated<Item, Page, Failure> {
	const open = readNow(read);
	return {
		[Symbol.asyncIterator]: () => iterateItems(open),
		pages: () => iteratePages(open),
		page: () =>
			createCall(() => {
				const { fetchPage, cursor } = open();
				return fetchPage(cursor);
			}),
		async toArray(options) {
			const source = open();
			const { limit = Number.POSITIVE_INFINITY } = checkOptions(optionSchemas.collect, options, source.facts);
			const all: Item[] = [];
			if (limit === 0) return all;
			for await (const page of iteratePages(() => source)) {
				for (const item of source.itemsOf(page)) {
					all.push(item);
					if (all.length === limit) return all;
				}
			}
			return all;
		},
	};
}

async function* iteratePages<Item, Page>(open: () => PageSource<Item, Page>): AsyncGenerator<Page, void, undefined> {
	const source = open();
	const cursor = createPageCursor(source);
	let itemsRead = 0;
	for (;;) {
		const reply = await cursor.next();
		if (!reply.ok) throw toError({ ...reply, cursor: cursor.ofNext(), itemsRead });
		// Counted before the page is handed over, because the caller may change it.
		const { length } = source.itemsOf(reply.data);
		yield reply.data;
		itemsRead += length;
		if (cursor.isDone()) return;
	}
}

async function* iterateItems<Item, Page>(open: () => PageSource<Item, Page>): AsyncGenerator<Item, void, undefined> {
	const source = open();
	const { facts, signal, readAhead, itemsOf } = source;
	const cursor = createPageCursor(source);
	let itemsRead = 0;
	try {
		for (;;) {
			const reply = await cursor.next();
			if (!reply.ok) throw toError({ ...reply, cursor: cursor.ofNext(), itemsRead });
			const items = itemsOf(reply.data);
			const middle = items.length / 2;
			let handed = 0;
			for (const item of items) {
				if (signal?.aborted) throw toError({ ...aborted(facts), cursor: cursor.ofLast(), itemsRead });
				handed++;
				if (handed > middle && readAhead) cursor.prefetch();
				itemsRead++;
				yield item;
			}
			if (cursor.isDone()) return;
		}
	} finally {
		// An abort of the caller has already ended a page in flight, and it is logged as such.
		if (!signal?.aborted) cursor.abandon();
	}
}

/** The position of one iteration. */
function createPageCursor<Item, Page>(source: PageSource<Item, Page>) {
	const { facts, fetchPage, nextOf } = source;
	const abandon = new AbortController();
	const seen = createRecent<true>(1000);
	let cursor = source.cursor;
	let lastCursor = cursor;
	let isDone = false;
	let coming: Promise<Reply<Page>> | undefined;
	let last: ReplyHead | undefined;

	const request = (): Promise<Reply<Page>> => {
		if (cursor !== undefined) {
			if (seen.get(cursor)) return Promise.resolve(repeated(facts, last));
			seen.set(cursor, true);
		}
		return fetchPage(cursor, abandon.signal);
	};

	return {
		/** Requests the next page, unless it is on its way already. */
		async next(): Promise<Reply<Page>> {
			const reply = await (coming ?? request());
			coming = undefined;
			if (!reply.ok) return reply;
			last = reply.response;
			const next = nextOf(reply.data);
			lastCursor = cursor;
			isDone = next === null;
			cursor = next ?? undefined;
			return reply;
		},
		/** Requests the next page ahead of its use, if there is one. */
		prefetch(): void {
			if (!isDone) coming ??= request();
		},
		/** Gives up a page that is on its way. */
		abandon: () => abandon.abort(),
		isDone: () => isDone,
		/** Cursor of the page that comes next, null for the first. */
		ofNext: () => cursor ?? null,
		/** Cursor of the page that came last, null for the first. */
		ofLast: () => lastCursor ?? null,
	};
}

/** A cursor that comes back would make the iteration endless. */
function repeated(facts: Facts, last: ReplyHead | undefined): Failure {
	const message = `${facts.operation}: the service returned a cursor that was read before`;
	const { attempts, correlationId } = last ?? {};
	return createFailure("PartnerUnexpectedResponse", message, { ...facts, attempts, correlationId });
}
