import { createRecent } from "../shared/recent.ts";
import { sleep } from "../shared/sleep.ts";
import { isWellFormed } from "../shared/validation.ts";
import { type Call, createCall, LazyCall, orThrowLater } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import { type CallOptions, checkOptions, optionSchemas, policyFrom, type RetryPolicy } from "./client-options.ts";
import { endable } from "./endable.ts";
import { abortError, type Facts, type PartnerError, PartnerUnexpectedResponse, withProgress } from "./errors.ts";
import type { Reply } from "./execute.ts";
import { backoffMs } from "./retry.ts";

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

/** @param check checks the options: see {@link orThrowLater} */
export function createPaginated<Item, Page extends AnyPage, Failure extends PartnerError>(
	check: () => PageSource<Item, Page>,
): Paginated<Item, Page, Failure> {
	const open = orThrowLater(check);
	const first = new LazyCall<Page, Failure>(() => requestPage(open()));
	return Object.assign(first, {
		[Symbol.asyncIterator]: () => endable((abandon) => iterateItems(open, abandon)),
		pages: () => endable((abandon) => iteratePages(open, abandon)),
		page: () => createCall<Page, Failure>(() => requestPage(open())),
		async toArray(options?: CollectOptions) {
			const source = open();
			const { plan, itemsOf } = source;
			const { limit = Number.POSITIVE_INFINITY } = checkOptions(optionSchemas.collect, options, notBegun(plan));
			const all: Item[] = [];
			const nextPage = createPageReader(source);
			while (all.length < limit) {
				const next = await nextPage();
				if (!next) break;
				for (const item of itemsOf(next.page)) all.push(item);
			}
			return all.slice(0, limit);
		},
	});
}

/** Where an iteration that has not begun is. */
export function notBegun({ operation, agencyId }: Pick<CallPlan<never>, "operation" | "agencyId">): Facts {
	return { operation, agencyId, cursor: null, itemsRead: 0 };
}

async function* iteratePages<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>, abandon: AbortSignal) {
	const nextPage = createPageReader(open(), abandon);
	for (let next = await nextPage(); next; next = await nextPage()) yield next.page;
}

async function* iterateItems<Item, Page extends AnyPage>(open: () => PageSource<Item, Page>, abandon: AbortSignal) {
	const source = open();
	const { readAhead = true, signal } = source.options;
	const nextPage = createPageReader(source, abandon);
	let coming = nextPage();
	for (;;) {
		let next: Awaited<typeof coming>;
		try {
			next = await coming;
		} catch (error) {
			throw withProgress(error, {}, iterateItems);
		}
		if (!next) return;
		const { cursor } = next;
		let { itemsRead } = next;
		const items = source.itemsOf(next.page);
		const middle = itemsRead + items.length / 2;
		let ahead: typeof coming | undefined;
		for (const item of items) {
			if (signal?.aborted) throw abortError({ ...notBegun(source.plan), cursor, itemsRead }, signal);
			itemsRead++;
			if (readAhead && itemsRead > middle && !ahead) {
				ahead = nextPage();
				// It is awaited later, and may fail before.
				ahead.catch(() => {});
			}
			yield item;
		}
		coming = ahead ?? nextPage();
	}
}

/** A page of an iteration, with its cursor and the number of items on the pages before. */
interface ReadPage<Page> {
	page: Page;
	cursor: string | null;
	itemsRead: number;
}

/** Requests page after page, the next one each time it is called. Undefined behind the last one, and when the consumer has left. */
function createPageReader<Item, Page extends AnyPage>(
	source: PageSource<Item, Page>,
	abandon?: AbortSignal,
): () => Promise<ReadPage<Page> | undefined> {
	const { signal, retry } = source.options;
	const signals = [signal, abandon].filter((each) => each !== undefined);
	const seen = createRecent<true>(1000);
	let isLast = false;
	let emptyInARow = 0;
	let cursor = source.options.cursor ?? null;
	let itemsRead = 0;
	let last: Reply<Page> | undefined;
	return async function nextPage() {
		if (isLast) return undefined;
		try {
			if (cursor !== null && seen.get(cursor)) throw endless(source, "a cursor that was read before", last);
			if (emptyInARow >= mostEmptyPages) throw endless(source, `${mostEmptyPages} empty pages in a row`, last);
			// A service may filter after it has cut the pages, so that a few empty ones are normal.
			const waits = emptyInARow - unhurriedPages + 1;
			if (waits > 0) await sleep(backoffMs(policyFrom(source.retry, retry), waits), signals);
			last = await requestPage(source, cursor, abandon);
		} catch (error) {
			if (abandon?.aborted) return undefined;
			throw withProgress(error, { cursor, itemsRead }, nextPage);
		}
		const page = last.data;
		const read = { page, cursor, itemsRead };
		// Read before the page is delivered, because the caller may change it.
		const { nextCursor } = page;
		const { length } = source.itemsOf(page);
		isLast = nextCursor === null || hasMoreOf(page) === false;
		if (cursor !== null) seen.set(cursor, true);
		cursor = nextCursor;
		itemsRead += length;
		emptyInARow = length === 0 ? emptyInARow + 1 : 0;
		return read;
	};
}

/** From this empty page in a row on, an iteration waits before the next one. */
const unhurriedPages = 10;
const mostEmptyPages = 100;

/** Requests the page at a cursor, by default the one in the options. */
function requestPage<Item, Page extends AnyPage>(
	{ plan, options, request }: PageSource<Item, Page>,
	at?: string | null,
	abandon?: AbortSignal,
): Promise<Reply<Page>> {
	const { pageSize, cursor: first, readAhead, ...call } = options;
	const cursor = (at === undefined ? first : at) ?? undefined;
	const secrets = [...(plan.secrets ?? []), cursor];
	return request({ abandon, verify: brokenCursor, ...plan, secrets }, call, { pageSize, cursor });
}

/** The path of the cursor, if a page says that there is more but has no cursor to continue from. Such a page is not the last one. */
function brokenCursor(page: AnyPage): string | undefined {
	const { nextCursor } = page;
	const hasMore = hasMoreOf(page);
	const isUsable = nextCursor === null ? !hasMore : hasMore === false || isWellFormed(nextCursor);
	return isUsable ? undefined : "/nextCursor";
}

/** The contract does not require the field, so that a page without it would inherit one. */
function hasMoreOf(page: AnyPage): boolean | undefined {
	return Object.hasOwn(page, "hasMore") ? page.hasMore : undefined;
}

/** The error of an iteration that would never end. */
function endless<Item, Page extends AnyPage>(
	source: PageSource<Item, Page>,
	what: string,
	last: Reply<Page> | undefined,
): PartnerError {
	const message = `${source.plan.operation}: the service returned ${what}`;
	return new PartnerUnexpectedResponse(message, {
		...notBegun(source.plan),
		attempts: last?.attempts,
		correlationId: last?.correlationId(),
	});
}
