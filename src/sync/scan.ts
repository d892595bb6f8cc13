import { type AgencyClient, type ConversationSummary, PartnerUnexpectedResponse } from "messaging-conversations";
import { never } from "./checkpoint.ts";
import { instant } from "./fingerprint.ts";
import { type RetryContext, retryLimited } from "./retry.ts";

/** A row of the list that is wanted. */
export interface Row {
	phoneNumber: string;
	/** `lastMessageAt`; -Infinity for a row without one. */
	at: number;
}

/** The result of a scan of the list. */
export interface Listing {
	/** The rows that are wanted, in ascending order of their times. */
	rows: Row[];
	/** The smaller of the newest row's time and the first page's `Date`; -Infinity without either. */
	head: number;
	/** The first page's `Date`; -Infinity without one. */
	date: number;
	/** Number of pages down to the floor. */
	pages: number;
}

/** How an agency's conversations are listed and read. */
export interface Source extends RetryContext {
	agency: AgencyClient;
	lookbackMs: number;
	/** Conversations read at once. */
	concurrency: number;
}

export interface ScanOptions {
	/** The scan ends at a row that is older than this. It may depend on the scan's head. */
	floor: (head: number) => number;
	/** Whether a row is collected. */
	wants: (row: ConversationSummary, at: number, floor: number) => boolean;
}

/** Rows that move up during a scan of several pages are looked for again at the top, so many times at most. */
const mostPasses = 4;

/** Lists an agency's conversations, newest first, down to the floor. */
export async function scan(source: Source, { floor, wants }: ScanOptions): Promise<Listing> {
	const { agency, lookbackMs, signal } = source;
	const found = new Map<string, Row>();
	const first = await pass(floor);
	let latest = first;
	// A conversation with a new message moves to the top. If the scan had not come to its row yet, it passed it by.
	for (let passes = 1; latest.pages > 1 && passes < mostPasses; passes++) {
		const before = found.size;
		const edge = latest.head - lookbackMs;
		latest = await pass(() => edge);
		if (found.size === before) break;
	}
	return { ...first, rows: [...found.values()].sort((a, b) => a.at - b.at) };

	async function pass(floor: (head: number) => number): Promise<Omit<Listing, "rows">> {
		let date = never;
		let newest = never;
		let cursor: string | undefined;
		for (let pages = 1; ; pages++) {
			source.isLong ||= pages > 1;
			const list = agency.conversations.list({ pageSize: 100, cursor, signal });
			const { data, response } = await retryLimited(source, () => list.page().withResponse());
			if (!cursor) date = instant(response.headers.get("date"));
			let oldest = -never;
			for (const row of data.conversations) {
				const at = instant(row.lastMessageAt);
				// A row without a time neither sets the mark nor ends a scan: it may be first or last in the list.
				if (at !== never) {
					oldest = at;
					if (newest === never) newest = at;
				}
				const { phoneNumber } = row;
				if (wants(row, at, floor(headOf(newest, date))) && !found.has(phoneNumber)) {
					found.set(phoneNumber, { phoneNumber, at });
				}
			}
			const head = headOf(newest, date);
			if (data.nextCursor === null || oldest < floor(head)) return { head, date, pages };
			const next = cursorAfter(data.conversations, data.nextCursor);
			if (next === cursor) {
				throw new PartnerUnexpectedResponse("conversations.list: a repeated cursor", {
					operation: "conversations.list",
				});
			}
			cursor = next;
		}
	}
}

/** A service may give times in the future; its own `Date` bounds them. */
function headOf(newest: number, date: number): number {
	return Math.min(newest === never ? date : newest, date === never ? newest : date);
}

/**
 * Where the next page begins: behind the last row whose time differs from the page's last one. A cursor need not tell rows
 * of one time apart, so those at the end of a page are read again.
 */
function cursorAfter(rows: readonly ConversationSummary[], nextCursor: string): string {
	const last = instant(rows.at(-1)?.lastMessageAt);
	return [...rows].reverse().find((row) => instant(row.lastMessageAt) !== last)?.cursor ?? nextCursor;
}
