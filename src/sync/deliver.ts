import type { Feed } from "./feed.ts";
import { due, retryAfter, schedule } from "./followed.ts";
import { emptyListing, list } from "./list.ts";
import { type Change, copyOf, type Memory, markToCome, never, tidy } from "./memory.ts";
import { noteListed, type Plan, type Planned, plan, startOf } from "./plan.ts";
import { type Continues, mostInARow, type ReadEnd, reads } from "./read.ts";
import { isFull, noteFailure, noteRead, noteSkipped } from "./remember.ts";

/** One poll: lists, plans what to read, and delivers it, oldest change first. */
export async function* poll(feed: Feed): AsyncGenerator<Change, void, undefined> {
	yield* deliver(feed, await planPoll(feed));
	yield* pollStatuses(feed);
}

function planPoll(feed: Feed): Promise<Plan> {
	const { memory, lookbackMs } = feed;
	const listing = emptyListing();
	// Not an async function, because V8 keeps ten frames of a stack: see `retryLimited`.
	return list(feed, (top) => startOf(memory, top, lookbackMs), listing)
		.finally(() => {
			feed.memory = noteListed(memory, listing);
		})
		.then(() => plan(listing, feed.memory, lookbackMs));
}

/** Reads what is planned, yields what has changed, and moves the memory. */
async function* deliver(feed: Feed, { reads: rows, retries, memory, mark, now }: Plan) {
	const { lookbackMs } = feed;
	/** All messages of the lookback are read, because what a later poll does not find among them is new there. */
	const from = ({ past }: Planned): number => Math.min(past.from, markToCome(memory) - lookbackMs);
	/** The service is taken to be down if neither the last row nor a random one of those to come can be read. */
	const continues: Continues = async (inARow) => {
		if (inARow % mostInARow > 0 && !isFull(feed.memory)) return true;
		const tried = [1, Math.ceil(Math.random() * feed.remaining)].flatMap((fromEnd) => rows.at(-fromEnd) ?? []);
		for await (const { error } of reads({ ...feed, concurrency: 1 }, tried, () => "newest")) if (!error) return true;
		return false;
	};
	/** Ends the scan when no row remains. */
	const advance = (next: Memory, remaining: number): void => {
		if (remaining === 0) {
			next.mark = mark;
			next.scan = undefined;
		}
		tidy(next, lookbackMs);
	};

	feed.now = now;
	feed.remaining = rows.length;
	const begun = copyOf(memory);
	advance(begun, rows.length);
	feed.memory = begun;
	for await (const end of reads(feed, rows, from, continues)) {
		const { phoneNumber, at, why } = end.item;
		const next = copyOf(feed.memory);
		const change = note(feed, next, end);
		// The rows that were not read remain for the next poll.
		if (end.isOutage) return;
		if (next.scan && why !== "moved") next.scan.upTo = Math.max(next.scan.upTo, at);
		next.scan?.top.delete(phoneNumber);
		advance(next, feed.remaining - 1);
		yield* offer(feed, next, change, feed.remaining - 1);
	}
	for await (const end of reads(feed, retries, from)) {
		const next = copyOf(feed.memory);
		const change = note(feed, next, end);
		yield* offer(feed, next, change);
	}
}

/** Reads the conversations with a message whose status or files are due, and yields those messages that have changed. */
export async function* pollStatuses(feed: Feed): AsyncGenerator<Change, void, undefined> {
	const { lookbackMs, memory, failures } = feed;
	const { mark, known, followed, scan } = memory;
	// During a scan it may be unknown what was delivered of a conversation.
	if (mark === "now" || scan) return;
	const rows = [...due(followed)].map((phoneNumber): Planned => {
		const past = known.get(phoneNumber) ?? { from: mark - lookbackMs };
		return { phoneNumber, at: never, fingerprint: "", why: "status", past };
	});
	for await (const { item, read, error, isSkipped } of reads(feed, rows, ({ past }) => past.from)) {
		const { phoneNumber } = item;
		const next = copyOf(feed.memory);
		const before = next.known.get(phoneNumber);
		const change = read && noteRead(feed, next, item, read);
		if (isSkipped) noteSkipped(feed, next, item);
		else if (!read) schedule(next.followed, phoneNumber, retryAfter);
		if (error) failures.push({ phoneNumber, error, leftToReconcile: false });
		// A change of the conversation alone is left to the next list.
		const isNews = change?.messages[0] !== undefined;
		if (!isNews && before) next.known.set(phoneNumber, before);
		else if (!isNews) next.known.delete(phoneNumber);
		yield* offer(feed, next, isNews ? change : undefined);
	}
}

/** Notes how a read ended. Returns the change to deliver, if there is one. */
function note(feed: Feed, memory: Memory, end: ReadEnd<Planned>): Change | undefined {
	const { item, read, error, isSkipped, isOutage } = end;
	if (read) return noteRead(feed, memory, item, read);
	if (isSkipped) return void noteSkipped(feed, memory, item);
	const leftToReconcile = !isOutage && noteFailure(feed, memory, item, !error);
	if (error) feed.failures.push({ phoneNumber: item.phoneNumber, error, leftToReconcile });
}

/**
 * Yields a change, with the memory that includes it. The change counts as delivered when the next one is asked for. If the
 * loop is left before, by `break`, `return` or an error, the feed is where it was before the change.
 */
async function* offer(feed: Feed, memory: Memory, change: Change | undefined, remaining = feed.remaining) {
	const before = { memory: feed.memory, remaining: feed.remaining };
	Object.assign(feed, { memory, remaining });
	if (!change) return;
	let isDelivered = false;
	try {
		yield change;
		isDelivered = true;
	} finally {
		if (!isDelivered) Object.assign(feed, before);
	}
}
