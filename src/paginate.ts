import { type Answered, type Call, type CallResponse, createCall } from "./call.ts";
import { blame, type Caller, captureCaller } from "./caller.ts";
import {
	abortError,
	isPartnerError,
	type OperationId,
	type PartnerError,
	PartnerUnexpectedResponse,
	stamp,
} from "./errors.ts";
import { checkOptions, optionSchemas } from "./input.ts";

/**
 * A list that is read as it is used: no request before, none after `break`. Each `for await` over it is a walk of its
 * own, from the cursor that the list was given.
 */
export interface Paginated<Item, Page, Failure extends PartnerError> {
	/** Walks the items, and reads one page ahead once past the middle of the current one. */
	[Symbol.asyncIterator]: () => AsyncGenerator<Item, void, undefined>;
	/** Walks the pages as the service gives them. */
	pages: () => AsyncGenerator<Page, void, undefined>;
	/** The one page at the given cursor. */
	page: () => Call<Page, Failure>;
	/** All items, or the first `limit` of them. Asks for no page that it does not need. */
	toArray: (options?: CollectOptions) => Promise<Item[]>;
}

/** Options of `toArray`. */
export interface CollectOptions {
	/**
	 * The most items to collect.
	 * @default all
	 */
	limit?: number | undefined;
}

/** What a walk needs of a list operation. */
export interface PageSource<Item, Page> {
	operation: OperationId;
	/** Asks for one page; `undefined` is the first. */
	fetchPage: (cursor: string | undefined, abandon?: AbortSignal) => Promise<Answered<Page>>;
	itemsOf: (page: Page) => readonly Item[];
	/** Where the next page begins, null when there is none. */
	nextOf: (page: Page) => string | null;
	cursor: string | undefined;
	readAhead: boolean;
	signal: AbortSignal | undefined;
}

/**
 * @param read gives the source. Done at once, as the caller's options are theirs to change afterwards; bad ones fail when
 * the list is first used, as a rejection.
 */
export function createPaginated<Item, Page, Failure extends PartnerError>(
	read: () => PageSource<Item, Page>,
): Paginated<Item, Page, Failure> {
	const open = readNow(read);
	function items(): AsyncGenerator<Item, void, undefined> {
		return walkItems(open, captureCaller(items));
	}
	function pages(): AsyncGenerator<Page, void, undefined> {
		return walkPages(open, captureCaller(pages));
	}
	function page(): Call<Page, Failure> {
		const ask = async (): Promise<Answered<Page>> => {
			const { fetchPage, cursor } = open();
			return fetchPage(cursor);
		};
		return createCall(ask(), captureCaller(page));
	}
	async function toArray(options?: CollectOptions): Promise<Item[]> {
		return collect(open, options, captureCaller(toArray));
	}
	return { [Symbol.asyncIterator]: items, pages, page, toArray };
}

function readNow<T>(read: () => T): () => T {
	try {
		const value = read();
		return () => value;
	} catch {
		return read;
	}
}

async function collect<Item, Page>(
	open: () => PageSource<Item, Page>,
	options: CollectOptions | undefined,
	caller: Caller,
): Promise<Item[]> {
	const all: Item[] = [];
	const { source, limit = Number.POSITIVE_INFINITY } = opened(() => {
		const source = open();
		return { source, ...checkOptions(optionSchemas.collect, options, source.operation) };
	}, caller);
	if (limit === 0) return all;
	for await (const page of walkPages(() => source, caller)) {
		for (const item of source.itemsOf(page)) {
			all.push(item);
			if (all.length === limit) return all;
		}
	}
	return all;
}

/** What a walk begins with; bad options are the caller's. */
function opened<T>(open: () => T, caller: Caller): T {
	try {
		return open();
	} catch (error) {
		throw isPartnerError(error) ? blame(stamp(error, { cursor: null, itemsRead: 0 }), caller) : error;
	}
}

async function* walkPages<Item, Page>(
	open: () => PageSource<Item, Page>,
	caller: Caller,
): AsyncGenerator<Page, void, undefined> {
	const source = opened(open, caller);
	const trail = createTrail(source, caller);
	for (;;) {
		const { page, next } = await trail.take();
		const { length } = source.itemsOf(page);
		yield page;
		trail.itemsRead += length;
		if (next === null) return;
	}
}

async function* walkItems<Item, Page>(
	open: () => PageSource<Item, Page>,
	caller: Caller,
): AsyncGenerator<Item, void, undefined> {
	const source = opened(open, caller);
	const trail = createTrail(source, caller);
	try {
		for (;;) {
			const { page, next } = await trail.take();
			const items = source.itemsOf(page);
			const middle = items.length / 2;
			let handed = 0;
			for (const item of items) {
				if (source.signal?.aborted) throw trail.failed(abortError(source.operation));
				if (++handed > middle && source.readAhead && next !== null) trail.prepare();
				trail.itemsRead++;
				yield item;
			}
			if (next === null) return;
		}
	} finally {
		trail.leave();
	}
}

/** Where a walk stands: which page comes next, whether it is already on its way, and what to say when it fails. */
interface Trail<Page> {
	itemsRead: number;
	/** The next page, asked for now unless it is on its way. */
	take: () => Promise<{ page: Page; next: string | null }>;
	/** Sends for the next page ahead of its use. */
	prepare: () => void;
	/** Gives up a page that is on its way. */
	leave: () => void;
	/** An error of this walk, with its place. */
	failed: (error: PartnerError) => PartnerError;
}

function createTrail<Item, Page>(source: PageSource<Item, Page>, caller: Caller): Trail<Page> {
	const { operation, fetchPage, nextOf } = source;
	const abandon = new AbortController();
	const repeats = createRepeatCheck();
	let cursor = source.cursor;
	let coming: Promise<Answered<Page>> | undefined;
	let last: Pick<CallResponse, "attempts" | "correlationId"> | undefined;

	const ask = (): Promise<Answered<Page>> => {
		if (cursor !== undefined && repeats(cursor)) {
			const text = `${operation}: the service gave a cursor again that was read before`;
			return Promise.reject(new PartnerUnexpectedResponse(text, { operation, ...last }));
		}
		return fetchPage(cursor, abandon.signal);
	};

	const trail: Trail<Page> = {
		itemsRead: 0,
		async take() {
			const page = coming ?? ask();
			coming = undefined;
			try {
				const { data, response } = await page;
				last = { attempts: response.attempts, correlationId: response.correlationId };
				const next = nextOf(data);
				cursor = next ?? undefined;
				return { page: data, next };
			} catch (error) {
				throw isPartnerError(error) ? trail.failed(error) : error;
			}
		},
		prepare() {
			if (coming) return;
			coming = ask();
			// Its failure is told when its turn comes, if it comes.
			coming.catch(() => {});
		},
		leave() {
			// What the caller has aborted is no page that nobody waits for.
			if (!source.signal?.aborted) abandon.abort();
		},
		failed: (error) => blame(stamp(error, { operation, cursor: cursor ?? null, itemsRead: trail.itemsRead }), caller),
	};
	return trail;
}

/**
 * Whether a cursor was seen before, in constant memory: the latest thousand are known by name; one kept back, renewed at
 * every doubling of the walk, closes any longer circle (Brent).
 */
function createRepeatCheck(): (cursor: string) => boolean {
	const latest = new Set<string>();
	let kept: string | undefined;
	let count = 0;
	return (cursor) => {
		if (latest.has(cursor) || cursor === kept) return true;
		count++;
		if ((count & (count - 1)) === 0) kept = cursor;
		latest.add(cursor);
		if (latest.size > 1000) for (const oldest of latest) return latest.delete(oldest) && false;
		return false;
	};
}
