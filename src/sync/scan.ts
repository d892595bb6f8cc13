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
	/** The time of the first row that has one; -Infinity without any. */
	newest: number;
	/** The service's time: the first page's `Date`, or `newest` where there is none. */
	now: number;
	/** The smaller of `newest` and `now`; -Infinity without either. */
	head: number;
	/** The mark that the scan went down to: `head` for "now". */
	begun: number;
}

/** How an agency's conversations are listed and read. */
export interface Source extends RetryContext {
	agency: AgencyClient;
	lookbackMs: number;
	/** Conversations read at once. */
	concurrency: number;
}

/** Whether a row is collected. */
type Wants = (row: ConversationSummary, at: number, begun: number) => boolean;

/** Rows that move up during a scan of several pages are looked for again at the top, so many times at most. */
const mostPasses = 4;

/** Lists an agency's conversations, newest first, down to those that are older than the mark by more than the lookback. */
export async function scan(source: Source, mark: number | "now", wants: Wants): Promise<Listing> {
	const { agency, lookbackMs, signal } = source;
	const found = new Map<string, Row>();
	const first = await pass(-never);
	let latest = first;
	// A conversation with a new message moves to the top. If the scan had not come to its row yet, it passed it by.
	for (let passes = 1; latest.pages > 1 && passes < mostPasses; passes++) {
		const before = found.size;
		latest = await pass(latest.head);
		if (found.size === before) break;
	}
	return { ...first, rows: [...found.values()].sort((a, b) => a.at - b.at) };

	/** Lists down to the edge, or down to the mark when the head of this list is before the edge. */
	async function pass(edge: number): Promise<Omit<Listing, "rows"> & { pages: number }> {
		let date = never;
		let newest = never;
		let cursor: string | undefined;
		for (let pages = 1; ; pages++) {
			source.isLong ||= pages > 1;
			const list = agency.conversations.list({ pageSize: 100, cursor, signal });
			const { data, response } = await retryLimited(source, () => list.page().withResponse());
			if (!cursor) date = instant(response.headers.get("date"));
			const rows = data.conversations.map((row) => ({ row, at: instant(row.lastMessageAt) }));
			// A row without a time neither sets the mark nor ends a scan: it may be first or last in the list.
			const timed = rows.filter(({ at }) => at !== never);
			if (newest === never) newest = timed[0]?.at ?? never;
			// A service may give times in the future; its own `Date` bounds them.
			const now = date === never ? newest : date;
			const head = newest === never ? now : Math.min(newest, now);
			// An older copy of the list shows a row that has moved up since where it was before, which may be far down.
			const begun = head >= edge ? edge : mark === "now" ? head : mark;
			const floor = begun - lookbackMs;
			for (const { row, at } of rows) {
				const { phoneNumber } = row;
				const isBelow = at !== never && at < floor;
				if (!isBelow && wants(row, at, begun) && !found.has(phoneNumber)) found.set(phoneNumber, { phoneNumber, at });
			}
			const oldest = timed.at(-1)?.at ?? floor;
			if (data.nextCursor === null || oldest < floor) return { newest, now, head, begun, pages };
			// The next page begins behind the last row whose time differs from the page's last one. A cursor need not tell rows
			// of one time apart, so those at the end of a page are read again.
			const lastAt = rows.at(-1)?.at;
			const next = rows.filter(({ at }) => at !== lastAt).at(-1)?.row.cursor ?? data.nextCursor;
			if (next === cursor) {
				throw new PartnerUnexpectedResponse("conversations.list: a repeated cursor", {
					operation: "conversations.list",
				});
			}
			cursor = next;
		}
	}
}
