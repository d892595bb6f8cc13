import { type AgencyClient, type ConversationSummary, PartnerUnexpectedResponse } from "messaging-conversations";
import { answersOf, isCopy } from "../shared/copies.ts";
import { fingerprintOf, instant } from "./fingerprint.ts";
import type { SyncFunction } from "./input.ts";
import { type RetryContext, retryLimited } from "./limited.ts";
import { last, never } from "./memory.ts";

/** A row of the list. */
export interface Row {
	phoneNumber: string;
	/** `lastMessageAt`; -Infinity for a row without one. */
	at: number;
	fingerprint: string;
}

/** The times at the top of a list. -Infinity stands for an absent time. */
export interface Top {
	/** The first row that has a time. */
	newest: number;
	/** The first page's `Date`. */
	date: number;
	/** The service's time: `date`, or `newest` without it. */
	now: number;
	/** The position after the list: the smaller of `newest` and `now`, because a service may give times in the future. */
	endPosition: number;
}

export interface Listing extends Top {
	/** Newest first. A row that was listed again with another fingerprint follows once more. */
	rows: Row[];
	/** The position from which the list was read on, with the lookback before it. */
	startPosition: number;
	/** The numbers of all rows that were read, older ones too. */
	numbers: Set<string>;
	/** The time of the last row that was read; -Infinity after the end of the list. All rows with a later time are there. */
	reached: number;
	/** The list was left after its first page, because nothing was new. */
	isShort?: boolean;
}

/** How far a list is read. */
export interface Range {
	/** The position to list down to, with the lookback before it. */
	startAt: (top: Top) => number;
	/** Whether the service's clock seems to be set back, so that the first page may be an old one of a cache. */
	isSetBack?: (date: number) => boolean;
	/** Throws if a first page that seems to be old is. Returns the service's time. */
	checkPage?: (listed: readonly ConversationSummary[], date: number) => Promise<number>;
	/** Whether the first page shows that a whole list would bring nothing. */
	isEnough?: (page: readonly Row[], date: number) => boolean;
}

/** How an agency's conversations are listed and read. */
export interface Source extends RetryContext {
	operation: SyncFunction;
	agency: AgencyClient;
	lookbackMs: number;
	/** Conversations read at once. */
	concurrency: number;
	skip: ((phoneNumber: string) => boolean | Promise<boolean>) | undefined;
	raw: boolean;
}

/** The top of a list of several pages is listed again, at most this often, because rows move up meanwhile. */
const mostPasses = 4;
/** After so many pages in a row without anything new a list counts as endless. */
export const mostPagesInVain = 100;

export function emptyListing(): Listing {
	const top: Top = { newest: never, date: never, now: never, endPosition: never };
	return { rows: [], ...top, startPosition: never, numbers: new Set(), reached: last };
}

/**
 * Lists the conversations of an agency.
 * @param listing gets the rows, even if the list breaks off
 */
export async function list(source: Source, range: Range, listing: Listing): Promise<void> {
	const { agency, lookbackMs, signal } = source;
	/** The fingerprints by numbers. */
	const found = new Map<string, string>();
	let latest = await pass(-never);
	// A conversation with a new message moves to the top. If the list had not come to its row yet, the row was missed.
	for (let passes = 1; latest.pages > 1 && !listing.isShort && passes < mostPasses; passes++) {
		const before = found.size;
		latest = await pass(latest.endPosition);
		if (found.size === before) return;
	}

	/** Lists down to `downTo`, or down to the start if this list is from before `downTo`. */
	async function pass(downTo: number): Promise<{ endPosition: number; pages: number }> {
		const isFirst = downTo === -never;
		const cursors = new Set<string>();
		const listed = new Set<string>();
		let pagesInVain = 0;
		let date = never;
		let newest = never;
		let cursor: string | undefined;
		for (let pages = 1; ; pages++) {
			source.isLong ||= pages > 1;
			let { data, response } = await retryLimited(source, () => request(100, cursor));
			source.pace?.sent(response.attempts);
			let sentAt = instant(response.headers.get("date"));
			// A cache has no answer for another size of the page, unless that was asked for before: then it may be old too.
			if (isFirst && !cursor && maybeOld(response.headers)) {
				({ data, response } = await retryLimited(source, () => request(99)));
				source.pace?.sent(response.attempts);
				sentAt = instant(response.headers.get("date"));
				if (maybeOld(response.headers)) sentAt = (await range.checkPage?.(data.conversations, sentAt)) ?? sentAt;
			}
			if (!cursor) date = sentAt;
			const page = data.conversations.map((row) => ({ row, at: instant(row.lastMessageAt) }));
			// A row without a time neither sets the position nor ends the list: it may be first or last.
			const timed = page.filter(({ at }) => at !== never);
			if (newest === never) newest = timed[0]?.at ?? never;
			const now = date === never ? newest : date;
			const endPosition = newest === never ? now : Math.min(newest, now);
			const top = { newest, date, now, endPosition };
			// A copy of the data that lags behind shows a row that has moved up where it was before, which may be far down.
			// The newest row may be older than the position, which has passed by meanwhile.
			const startPosition = endPosition >= downTo ? Math.max(downTo, listing.startPosition) : range.startAt(top);
			if (isFirst) Object.assign(listing, top, { startPosition });
			const floor = startPosition - lookbackMs;
			// What an earlier list has left out is taken from a later one that happens to show it.
			const oldestWanted = Math.min(floor, listing.startPosition - lookbackMs);
			const before = listed.size;
			for (const { row, at } of page) {
				const { phoneNumber } = row;
				listed.add(phoneNumber);
				if (isFirst || !(at < oldestWanted)) listing.numbers.add(phoneNumber);
				if (at !== never && at < oldestWanted) continue;
				const fingerprint = fingerprintOf(row);
				if (found.get(phoneNumber) !== fingerprint) listing.rows.push({ phoneNumber, at, fingerprint });
				if (!found.has(phoneNumber)) found.set(phoneNumber, fingerprint);
			}
			const oldest = timed.at(-1)?.at ?? floor;
			if (isFirst) listing.reached = data.nextCursor === null ? never : oldest;
			if (data.nextCursor === null || oldest < floor) return { endPosition, pages };
			if (isFirst && !cursor && timed.length === page.length && range.isEnough?.(listing.rows, date)) {
				listing.isShort = true;
				return { endPosition, pages };
			}
			pagesInVain = listed.size > before ? 0 : pagesInVain + 1;
			if (pagesInVain >= mostPagesInVain) throw endless(`${pagesInVain} pages in a row without a new conversation`);
			// The next page begins after the last row whose time differs from the page's last one. A cursor need not tell rows
			// of one time apart, so those at the end of a page are listed again.
			const lastAt = page.at(-1)?.at;
			cursor = page.filter(({ at }) => at !== lastAt).at(-1)?.row.cursor ?? data.nextCursor;
			if (cursors.has(cursor)) throw endless("a cursor that was read before");
			cursors.add(cursor);
		}
	}

	function maybeOld(headers: Headers): boolean {
		return isCopy(answersOf(agency), headers) || range.isSetBack?.(instant(headers.get("date"))) === true;
	}

	// Not an async function, because V8 keeps ten frames of a stack: see `retryLimited`.
	function request(pageSize: number, cursor?: string) {
		return agency.conversations.list({ pageSize, cursor, signal }).page().withResponse();
	}

	function endless(what: string): PartnerUnexpectedResponse {
		const operation = "conversations.list";
		return new PartnerUnexpectedResponse(`${operation}: the service returned ${what}`, {
			operation,
			agencyId: agency.id,
		});
	}
}
