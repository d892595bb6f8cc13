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

/** @param read checks the options: see {@link readNow} */
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
	const walk = createWalk(source);
	while (!walk.isDone) {
		const page = await walk.next();
		// Counted before the page is handed over, because the caller may change it.
		const { length } = source.itemsOf(page);
		yield page;
		walk.itemsRead += length;
	}
}

async function* iterateItems<Item, Page>(open: () => PageSource<Item, Page>): AsyncGenerator<Item, void, undefined> {
	const source = open();
	const { facts, signal, readAhead, itemsOf } = source;
	const walk = createWalk(source);
	try {
		while (!walk.isDone) {
			const items = itemsOf(await walk.next());
			const middle = walk.itemsRead + items.length / 2;
			for (const item of items) {
				if (signal?.aborted) throw toError({ ...aborted(facts), cursor: walk.lastCursor, itemsRead: walk.itemsRead });
				walk.itemsRead++;
				if (readAhead && walk.itemsRead > middle) walk.prefetch();
				yield item;
			}
		}
	} finally {
		// An abort of the caller has already ended a page in flight, and it is logged as such.
		if (!signal?.aborted) walk.abandon();
	}
}

/** One iteration: its position, and the page that is on its way. */
function createWalk<Item, Page>({ facts, fetchPage, nextOf, cursor: first }: PageSource<Item, Page>) {
	const abandon = new AbortController();
	const seen = createRecent<true>(1000);
	/** Cursor of the next page, null for the first and behind the last one. */
	let cursor = first ?? null;
	let coming: Promise<Reply<Page>> | undefined;
	let last: ReplyHead | undefined;

	const request = (): Promise<Reply<Page>> => {
		if (cursor === null) return fetchPage(undefined, abandon.signal);
		if (seen.get(cursor)) return Promise.resolve(repeated(facts, last));
		seen.set(cursor, true);
		return fetchPage(cursor, abandon.signal);
	};

	const walk = {
		/** Number of items that were handed over. */
		itemsRead: 0,
		/** Cursor of the page that came last, null for the first. */
		lastCursor: cursor,
		/** Whether the page that came last is the last one. */
		isDone: false,
		/** Returns the next page. Requests it, unless it is on its way already. */
		async next(): Promise<Page> {
			const reply = await (coming ?? request());
			coming = undefined;
			if (!reply.ok) throw toError({ ...reply, cursor, itemsRead: walk.itemsRead });
			last = reply.response;
			walk.lastCursor = cursor;
			cursor = nextOf(reply.data);
			walk.isDone = cursor === null;
			return reply.data;
		},
		/** Requests the next page ahead of its use, if there is one. */
		prefetch(): void {
			if (!walk.isDone) coming ??= request();
		},
		/** Gives up a page that is on its way. */
		abandon: () => abandon.abort(),
	};
	return walk;
}

/** A cursor that comes back would make the iteration endless. */
function repeated(facts: Facts, last: ReplyHead | undefined): Failure {
	const message = `${facts.operation}: the service returned a cursor that was read before`;
	const { attempts, correlationId } = last ?? {};
	return createFailure("PartnerUnexpectedResponse", message, { ...facts, attempts, correlationId });
}
