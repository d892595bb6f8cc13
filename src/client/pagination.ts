import { type Call, createCall, readNow } from "./call.ts";
import type { CallContext, Reply, ReplyHead } from "./call-context.ts";
import { type CallOptions, checkOptions, optionSchemas } from "./call-options.ts";
import type { Facts, PartnerError } from "./errors.ts";
import { aborted, createFailure, type Failure, toError } from "./failure.ts";
import { createRecent } from "./recent.ts";
import { isWellFormed } from "./validate.ts";

/** Options of a call that returns one page. */
export interface PageOptions extends CallOptions {
	/** Rows in a page, 1 to 100. @default 50 */
	pageSize?: number | undefined;
	/** `nextCursor` of an earlier page, or the `cursor` of a row, to start after it. Opaque; do not store it. */
	cursor?: string | undefined;
}

/** Options of an iteration over pages. */
export interface WalkOptions extends PageOptions {
	/** Requests the next page once past the middle of the current one. @default true */
	readAhead?: boolean | undefined;
}

/** Options of `toArray`. */
export interface CollectOptions {
	/** The most items to collect. @default Infinity */
	limit?: number | undefined;
}

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

/** A page of any list. Only a page of messages has `hasMore`. */
interface AnyPage {
	nextCursor: string | null;
	hasMore?: boolean;
}

/** A list operation with its checked options. */
export interface PageSource<Item, Page> {
	facts: Facts;
	options: WalkOptions;
	itemsOf: (page: Page) => readonly Item[];
	/** Requests one page; without a cursor the first. */
	request: (query: Pick<PageOptions, "pageSize" | "cursor">, context: CallContext<Page>) => Promise<Reply<Page>>;
}

/** @param read checks the options: see {@link readNow} */
export function createPaginated<Item, Page extends AnyPage, Failure extends PartnerError>(
	read: () => PageSource<Item, Page>,
): Paginated<Item, Page, Failure> {
	const open = readNow(read);
	return {
		[Symbol.asyncIterator]: () => iterateItems(open),
		pages: () => iteratePages(open),
		page: () =>
			createCall(() => {
				const { options, request } = open();
				const { pageSize, cursor, readAhead, ...call } = options;
				return request({ pageSize, cursor }, { verify: brokenCursor, ...call });
			}),
		async toArray(options) {
			const source = open();
			const { limit = Number.POSITIVE_INFINITY } = checkOptions(optionSchemas.collect, options, source.facts);
			const all: Item[] = [];
			if (limit === 0) return all;
			for await (const page of iteratePages(() => source)) {
				for (const item of source.itemsOf(page)) all.push(item);
				if (all.length >= limit) return all.slice(0, limit);
			}
			return all;
		},
	};
}

async function* iteratePages<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>) {
	for await (const step of walk(open())) {
		if (!step.ok) throw toError(step);
		yield step.data;
	}
}

async function* iterateItems<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>) {
	const source = open();
	const { facts, itemsOf } = source;
	const { readAhead = true, signal } = source.options;
	const abandon = new AbortController();
	const steps = walk(source, abandon.signal);
	try {
		let coming = steps.next();
		for (;;) {
			const { value: step } = await coming;
			if (!step) return;
			if (!step.ok) throw toError(step);
			const items = itemsOf(step.data);
			const { cursor } = step;
			let { itemsRead } = step;
			const middle = itemsRead + items.length / 2;
			let ahead: typeof coming | undefined;
			for (const item of items) {
				if (signal?.aborted) throw toError({ ...aborted(facts), cursor, itemsRead });
				itemsRead++;
				if (readAhead && itemsRead > middle) ahead ??= steps.next();
				yield item;
			}
			coming = ahead ?? steps.next();
		}
	} finally {
		// An abort of the caller has already ended a page in flight, and it is logged as such.
		if (!signal?.aborted) abandon.abort();
	}
}

/** A page of an iteration, or the failure that ends it, with its cursor and the number of items on the pages before. */
type Step<Page> = Reply<Page> & { cursor: string | null; itemsRead: number };

/** Requests page after page, each when it is asked for. It yields a failure as data: see {@link createCall}. */
async function* walk<Item, Page extends AnyPage>(
	{ facts, options, itemsOf, request }: PageSource<Item, Page>,
	abandon?: AbortSignal,
): AsyncGenerator<Step<Page>> {
	const { pageSize, cursor: first, readAhead, ...call } = options;
	const context = { abandon, verify: brokenCursor, ...call };
	const seen = createRecent<true>(1000);
	let cursor = first ?? null;
	let itemsRead = 0;
	let last: ReplyHead | undefined;
	for (;;) {
		const isRepeated = cursor !== null && seen.get(cursor);
		const query = { pageSize, cursor: cursor ?? undefined };
		const reply = isRepeated ? repeated(facts, last) : await request(query, context);
		if (!reply.ok) {
			yield { ...reply, cursor, itemsRead };
			return;
		}
		// Read before the page is handed over, because the caller may change it.
		const { nextCursor, hasMore } = reply.data;
		const { length } = itemsOf(reply.data);
		yield { ...reply, cursor, itemsRead };
		if (nextCursor === null || hasMore === false) return;
		if (cursor !== null) seen.set(cursor, true);
		cursor = nextCursor;
		itemsRead += length;
		last = reply.response;
	}
}

/** The path of the cursor, when a page says that there is more and has none to go on from. Such a page is not the last one. */
function brokenCursor({ hasMore, nextCursor }: AnyPage): string | undefined {
	const isUsable = nextCursor === null ? !hasMore : hasMore === false || isWellFormed(nextCursor);
	return isUsable ? undefined : "/nextCursor";
}

/** A cursor that comes back would make the iteration endless. */
function repeated(facts: Facts, last: ReplyHead | undefined): Failure {
	const message = `${facts.operation}: the service returned a cursor that was read before`;
	const { attempts, correlationId } = last ?? {};
	return createFailure("PartnerUnexpectedResponse", message, { ...facts, attempts, correlationId });
}
