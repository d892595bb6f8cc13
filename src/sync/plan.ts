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
		checkClock: (listed) => checkClock(feed, listed),
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
 * Throws if the list is an old one of a cache, although the service's clock seems to be set back. No cache answers a POST,
 * so the `Date` of a lookup is the service's. Any number serves: the page can be empty, and the memory without numbers.
 */
async function checkClock(feed: Feed, listed: readonly string[]): Promise<void> {
	const { memory, lookbackMs } = feed;
	const numbers = [...listed, ...numbersIn(memory)].slice(0, mostLookedUp);
	const { date } = numbers[0] === undefined ? { date: never } : await lookUp(feed, numbers);
	if (date === never || isSetBack(memory, date, lookbackMs)) return;
	throw unexpected(feed, "conversations.list", "the list is older than the latest poll");
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
