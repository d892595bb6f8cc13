import { type AgencyClient, PartnerUnexpectedResponse } from "messaging-conversations";
import { fingerprintOf, instant } from "./fingerprint.ts";
import type { SyncFunction } from "./input.ts";
import { type RetryContext, retryLimited } from "./limited.ts";
import { never } from "./memory.ts";

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
	/** The smaller of `newest` and `now`, because a service may give times in the future. */
	head: number;
}

export interface Listing extends Top {
	/** Newest first. A row that was listed again with another fingerprint follows once more. */
	rows: Row[];
	/** The list was read from here on, and for the lookback before. */
	begun: number;
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
	return { rows: [], newest: never, date: never, now: never, head: never, begun: never };
}

/**
 * Lists the conversations of an agency.
 * @param startAt the time to list down to, with the lookback before it
 * @param listing gets the rows, even if the list breaks off
 */
export async function list(source: Source, startAt: (top: Top) => number, listing: Listing): Promise<void> {
	const { agency, lookbackMs, signal } = source;
	/** The fingerprints by numbers. */
	const found = new Map<string, string>();
	let latest = await pass(-never);
	// A conversation with a new message moves to the top. If the list had not come to its row yet, the row was missed.
	for (let passes = 1; latest.pages > 1 && passes < mostPasses; passes++) {
		const before = found.size;
		latest = await pass(latest.head);
		if (found.size === before) return;
	}

	/** Lists down to `edge`, or down to the start if this list is from before `edge`. */
	async function pass(edge: number): Promise<{ head: number; pages: number }> {
		const cursors = new Set<string>();
		const listed = new Set<string>();
		let pagesInVain = 0;
		let date = never;
		let newest = never;
		let cursor: string | undefined;
		for (let pages = 1; ; pages++) {
			source.isLong ||= pages > 1;
			const request = agency.conversations.list({ pageSize: 100, cursor, signal });
			const { data, response } = await retryLimited(source, () => request.page().withResponse());
			source.pace?.sent(response.attempts);
			if (!cursor) date = instant(response.headers.get("date"));
			const page = data.conversations.map((row) => ({ row, at: instant(row.lastMessageAt) }));
			// A row without a time neither sets the mark nor ends the list: it may be first or last.
			const timed = page.filter(({ at }) => at !== never);
			if (newest === never) newest = timed[0]?.at ?? never;
			const now = date === never ? newest : date;
			const head = newest === never ? now : Math.min(newest, now);
			const top = { newest, date, now, head };
			// A copy of the data that lags behind shows a row that has moved up where it was before, which may be far down.
			const begun = head >= edge ? edge : startAt(top);
			if (edge === -never) Object.assign(listing, top, { begun });
			const floor = begun - lookbackMs;
			const before = listed.size;
			for (const { row, at } of page) {
				const { phoneNumber } = row;
				listed.add(phoneNumber);
				if (at !== never && at < floor) continue;
				const fingerprint = fingerprintOf(row);
				if (found.get(phoneNumber) !== fingerprint) listing.rows.push({ phoneNumber, at, fingerprint });
				if (!found.has(phoneNumber)) found.set(phoneNumber, fingerprint);
			}
			const oldest = timed.at(-1)?.at ?? floor;
			if (data.nextCursor === null || oldest < floor) return { head, pages };
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

	function endless(what: string): PartnerUnexpectedResponse {
		const operation = "conversations.list";
		return new PartnerUnexpectedResponse(`${operation}: the service returned ${what}`, {
			operation,
			agencyId: agency.id,
		});
	}
}
