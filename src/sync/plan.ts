import type { ConversationSummary } from "messaging-conversations";
import { fits } from "../shared/copies.ts";
import {
	decide,
	isSetBack,
	isUnchanged,
	missingFrom,
	noteGone,
	noteListed,
	type Plan,
	type Planned,
	startOf,
} from "./decide.ts";
import type { Feed } from "./feed.ts";
import { instant } from "./fingerprint.ts";
import { due } from "./followed.ts";
import { emptyListing, type Listing, list, type Range } from "./list.ts";
import { never, numbersIn } from "./memory.ts";
import { lookUp, unexpected } from "./read.ts";

/** Lists the conversations, and decides which of them to read. */
export function planPoll(feed: Feed): Promise<Plan> {
	const { memory, lookbackMs } = feed;
	const listing = emptyListing();
	const range: Range = {
		startAt: (top) => startOf(memory, top, lookbackMs),
		isSetBack: (date) => isSetBack(memory, date, lookbackMs),
		checkPage: (listed, date) => checkPage(feed, listed, date),
		isEnough: (page, date) => isUnchanged(page, date, memory, lookbackMs),
	};
	// Not an async function, because V8 keeps ten frames of a stack: see `retryLimited`.
	return list(feed, range, listing)
		.finally(() => {
			feed.memory = noteListed(memory, listing);
		})
		.then(() => isIncomplete(feed, listing))
		.then((isIncomplete) => decide(listing, feed.memory, lookbackMs, isIncomplete));
}

/** The most numbers of a lookup. */
const mostLookedUp = 100;

/**
 * Throws if the first page of a list is an old one of a cache. No cache answers a POST, so a lookup says what there is. If the page
 * fits it, the page is true, whatever its `Date` says. Returns the service's time: the lookup's, unless its clock seems to be
 * set back too. The page can be empty, and the memory without numbers.
 */
async function checkPage(feed: Feed, listed: readonly ConversationSummary[], date: number): Promise<number> {
	const { memory, lookbackMs } = feed;
	const rows = new Map(listed.map((row) => [row.phoneNumber, row]));
	const numbers = [...new Set([...rows.keys(), ...numbersIn(memory)])].slice(0, mostLookedUp);
	if (numbers[0] === undefined) return date;
	const { there, date: said } = await lookUp(feed, numbers);
	const newest = Math.max(never, ...listed.map(({ lastMessageAt }) => instant(lastMessageAt)));
	const isTrue = numbers.every((phoneNumber) => {
		const [row, summary] = [rows.get(phoneNumber), there.get(phoneNumber)];
		if (row) return fits(summary, row);
		return !summary || instant(summary.lastMessageAt) <= newest;
	});
	if (!isTrue) throw unexpected(feed, "conversations.list", "the list is older than the latest poll");
	return said === never || isSetBack(memory, said, lookbackMs) ? date : said;
}

/**
 * Whether a list lacks a conversation that there is. Then it is an old one or one of another agency, or a part of it is
 * missing. What became visible within the lookback is not asked about, because a copy of the data may lag behind.
 */
async function isIncomplete(feed: Feed, listing: Listing): Promise<boolean> {
	const { memory, lookbackMs } = feed;
	if (listing.isShort) return false;
	const missing = missingFrom(listing, memory);
	const at = (phoneNumber: string): number => memory.known.get(phoneNumber)?.at ?? never;
	const asked = missing.filter((phoneNumber) => at(phoneNumber) < listing.now - lookbackMs).slice(0, mostLookedUp);
	if (!asked[0]) return missing.length > 0;
	const { there } = await lookUp(feed, asked);
	for (const phoneNumber of asked) if (!there.has(phoneNumber)) noteGone(memory, phoneNumber);
	// A conversation can have moved down, if its newest message was removed.
	const isThere = asked.some((phoneNumber) => instant(there.get(phoneNumber)?.lastMessageAt) > listing.reached);
	return isThere || missing.length > asked.length;
}

/** The conversations with a message whose status or files are due. */
export function planStatuses({ memory, lookbackMs }: Feed): Planned[] {
	const { position, known, followed, snapshot } = memory;
	// During a snapshot it may be unknown what was delivered of a conversation.
	if (position === "now" || snapshot) return [];
	return [...due(followed)].map((phoneNumber) => {
		const progress = known.get(phoneNumber) ?? { from: position - lookbackMs };
		return { phoneNumber, at: never, fingerprint: "", why: "status", progress };
	});
}
