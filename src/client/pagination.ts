import { sleep } from "../shared/sleep.ts";
import { isWellFormed } from "../shared/validation.ts";
import { type Call, createCall, LazyCall, readNow } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import { endable } from "./endable.ts";
import { abortError, type Facts, type PartnerError, PartnerUnexpectedResponse, withProgress } from "./errors.ts";
import { type CallOptions, checkOptions, optionSchemas, policyFrom, type RetryPolicy } from "./options.ts";
import { createRecent } from "./recent.ts";
import { backoffMs } from "./retry.ts";
import type { Reply, ReplyHead } from "./transport.ts";

/** Options of a call that returns one page. */
export interface PageOptions extends CallOptions {
	/** Rows in a page, 1 to 100. @default 50 */
	pageSize?: number | undefined;
	/** `nextCursor` of an earlier page, or the `cursor` of a row, to start after it. Opaque; do not store it. */
	cursor?: string | undefined;
}

/** Options of an iteration over pages. */
export interface IterationOptions extends PageOptions {
	/** Requests the next page once past the middle of the current one. @default true */
	readAhead?: boolean | undefined;
}

/** Options of `toArray`. */
export interface CollectOptions {
	/** The most items to collect. @default Infinity */
	limit?: number | undefined;
}

/**
 * A list that is read while it is used. No request is made before you await it or iterate over it, and none after `break`.
 * Await it for its first page. Each `for await` over it is an iteration of its own, from the cursor that the list was given.
 */
export interface Paginated<Item, Page, Failure extends PartnerError> extends Call<Page, Failure> {
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
	plan: CallPlan<Page>;
	options: IterationOptions;
	/** The waits between empty pages. */
	retry: RetryPolicy;
	itemsOf: (page: Page) => readonly Item[];
	/** Requests one page; without a cursor the first. */
	request: (
		plan: CallPlan<Page>,
		options: CallOptions,
		query: Pick<PageOptions, "pageSize" | "cursor">,
	) => Promise<Reply<Page>>;
}

/** @param read checks the options: see {@link readNow} */
export function createPaginated<Item, Page extends AnyPage, Failure extends PartnerError>(
	read: () => PageSource<Item, Page>,
): Paginated<Item, Page, Failure> {
	const open = readNow(read);
	const first = new LazyCall<Page, Failure>(() => readPage(open(), undefined));
	return Object.assign(first, {
		[Symbol.asyncIterator]: () => endable((abandon) => iterateItems(open, abandon)),
		pages: () => endable((abandon) => iteratePages(open, abandon)),
		page: () => createCall<Page, Failure>(() => readPage(open(), undefined)),
		async toArray(options?: CollectOptions) {
			const source = open();
			const { limit = Number.POSITIVE_INFINITY } = checkOptions(optionSchemas.collect, options, notBegun(source.plan));
			const all: Item[] = [];
			if (limit === 0) return all;
			for await (const { page } of readPages(source)) {
				for (const item of source.itemsOf(page)) all.push(item);
				if (all.length >= limit) return all.slice(0, limit);
			}
			return all;
		},
	});
}

/** Where an iteration that has not begun is. */
export function notBegun({ operation, agencyId }: Pick<CallPlan<never>, "operation" | "agencyId">): Facts {
	return { operation, agencyId, cursor: null, itemsRead: 0 };
}

async function* iteratePages<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>, abandon: AbortSignal) {
	for await (const { page } of readPages(open(), abandon)) yield page;
}

async function* iterateItems<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>, abandon: AbortSignal) {
	const source = open();
	const { readAhead = true, signal } = source.options;
	const pages = readPages(source, abandon);
	let coming = pages.next();
	for (;;) {
		let next: Awaited<typeof coming>;
		try {
			next = await coming;
		} catch (error) {
			throw withProgress(error, {}, iterateItems);
		}
		const { value: read, done } = next;
		if (done) return;
		const { cursor } = read;
		let { itemsRead } = read;
		const items = source.itemsOf(read.page);
		const middle = itemsRead + items.length / 2;
		let ahead: typeof coming | undefined;
		for (const item of items) {
			if (signal?.aborted) throw abortError({ ...notBegun(source.plan), cursor, itemsRead }, signal);
			itemsRead++;
			if (readAhead && itemsRead > middle && !ahead) {
				ahead = pages.next();
				// It is awaited later, and may fail before.
				ahead.catch(() => {});
			}
			yield item;
		}
		coming = ahead ?? pages.next();
	}
}

/** A page of an iteration, with its cursor and the number of items on the pages before. */
interface ReadPage<Page> {
	page: Page;
	cursor: string | null;
	itemsRead: number;
}

/** Requests page after page, each when it is asked for. */
async function* readPages<Item, Page extends AnyPage>(
	source: PageSource<Item, Page>,
	abandon?: AbortSignal,
): AsyncGenerator<ReadPage<Page>, void, undefined> {
	const { signal, retry } = source.options;
	const signals = [signal, abandon].filter((each) => each !== undefined);
	const seen = createRecent<true>(1000);
	let emptyInARow = 0;
	let cursor = source.options.cursor ?? null;
	let itemsRead = 0;
	let last: ReplyHead | undefined;
	for (;;) {
		let page: Page;
		try {
			if (cursor !== null && seen.get(cursor)) throw endless(source, "a cursor that was read before", last);
			if (emptyInARow >= mostEmptyPages) throw endless(source, `${mostEmptyPages} empty pages in a row`, last);
			// A service may filter after it has cut the pages, so that a few empty ones are normal.
			const waits = emptyInARow - unhurriedPages + 1;
			if (waits > 0) await sleep(backoffMs(policyFrom(source.retry, retry), waits), signals);
			({ data: page, response: last } = await readPage(source, cursor, abandon));
		} catch (error) {
			// The consumer has left.
			if (abandon?.aborted) return;
			throw withProgress(error, { cursor, itemsRead }, readPages);
		}
		// Read before the page is delivered, because the caller may change it.
		const { nextCursor, hasMore } = page;
		const { length } = source.itemsOf(page);
		yield { page, cursor, itemsRead };
		if (nextCursor === null || hasMore === false) return;
		if (cursor !== null) seen.set(cursor, true);
		cursor = nextCursor;
		itemsRead += length;
		emptyInARow = length === 0 ? emptyInARow + 1 : 0;
	}
}

/** From this empty page in a row on, an iteration waits before the next one. */
const unhurriedPages = 10;
const mostEmptyPages = 100;

/** Requests the page at a cursor, by default at that of the options. */
function readPage<Item, Page extends AnyPage>(
	{ plan, options, request }: PageSource<Item, Page>,
	at: string | null | undefined,
	abandon?: AbortSignal,
): Promise<Reply<Page>> {
	const { pageSize, cursor: first, readAhead, ...call } = options;
	const cursor = (at === undefined ? first : at) ?? undefined;
	const secrets = [...(plan.secrets ?? []), cursor];
	return request({ abandon, verify: brokenCursor, ...plan, secrets }, call, { pageSize, cursor });
}

/** The path of the cursor, if a page says that there is more but has no cursor to continue from. Such a page is not the last one. */
function brokenCursor({ hasMore, nextCursor }: AnyPage): string | undefined {
	const isUsable = nextCursor === null ? !hasMore : hasMore === false || isWellFormed(nextCursor);
	return isUsable ? undefined : "/nextCursor";
}

/** The error of an iteration that would never end. */
function endless<Item, Page>(source: PageSource<Item, Page>, what: string, last: ReplyHead | undefined): PartnerError {
	const message = `${source.plan.operation}: the service returned ${what}`;
	return new PartnerUnexpectedResponse(message, {
		...notBegun(source.plan),
		attempts: last?.attempts,
		correlationId: last?.correlationId(),
	});
}
