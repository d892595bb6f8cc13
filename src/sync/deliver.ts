import type { Feed } from "./feed.ts";
import { due, retryAfter, schedule } from "./followed.ts";
import { emptyListing, list } from "./list.ts";
import { type Change, forget, markToCome, never, numbersIn, tidied } from "./memory.ts";
import { noteListed, type Plan, type Planned, plan, startOf } from "./plan.ts";
import { type Continues, isSkipped, mostInARow, type ReadEnd, reads } from "./read.ts";
import { isFull, type Note, noteFailure, noteRead, noteSkipped, remember } from "./remember.ts";

/** One poll: lists, plans what to read, and delivers it, oldest change first. */
export async function* poll(feed: Feed): AsyncGenerator<Change, void, undefined> {
	await forgetSkipped(feed);
	yield* deliver(feed, await planPoll(feed));
	yield* pollStatuses(feed);
}

/** Removes the numbers of contacts that the caller skips by now. */
async function forgetSkipped(feed: Feed): Promise<void> {
	if (!feed.skip) return;
	const numbers = [...numbersIn(feed.memory)];
	while (numbers[0]) {
		// Whether a number that cannot be asked about is skipped shows when it is read.
		const asked = numbers.splice(-feed.concurrency).map(async (phoneNumber) => {
			if (await isSkipped(feed, phoneNumber).catch(() => false)) forget(feed.memory, phoneNumber);
		});
		await Promise.all(asked);
	}
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
	/** How many conversations are remembered when they are tidied next. Each time costs as much as there are. */
	let tidyAt = 0;
	/** Ends the scan when no row remains. */
	const advance = (remaining: number): void => {
		const isOver = remaining === 0;
		if (!isOver && feed.memory.known.size < tidyAt) return;
		feed.memory = tidied(isOver ? { ...feed.memory, mark, scan: undefined } : feed.memory, lookbackMs);
		tidyAt = 2 * feed.memory.known.size + 2;
	};

	feed.now = now;
	feed.remaining = rows.length;
	feed.memory = memory;
	for (const phoneNumber of feed.forgotten) forget(memory, phoneNumber);
	advance(rows.length);
	for await (const end of reads(feed, rows, from, continues)) {
		const note = noteOf(feed, end);
		// The rows that were not read remain for the next poll.
		if (end.isOutage) return;
		yield* offer(feed, end.item, note, () => advance(--feed.remaining));
	}
	for await (const end of reads(feed, retries, from)) {
		const note = noteOf(feed, end);
		if (!end.isOutage) yield* offer(feed, end.item, note);
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
		if (error) failures.push({ phoneNumber, error, leftToReconcile: false });
		if (isSkipped || feed.forgotten.has(phoneNumber)) {
			yield* offer(feed, item, noteSkipped(feed, feed.memory, item));
			continue;
		}
		const entry = feed.memory.known.get(phoneNumber);
		const note = read ? noteRead(feed, feed.memory, item, read) : undefined;
		const followed = note?.followed ?? schedule(feed.memory.followed, phoneNumber, retryAfter);
		// A change of the conversation alone is left to the next list.
		yield* offer(feed, item, note?.change?.messages[0] ? note : { entry, followed });
	}
}

/** The note of how a read ended. */
function noteOf(feed: Feed, { item, read, error, isSkipped, isOutage }: ReadEnd<Planned>): Note {
	const { memory, failures, forgotten } = feed;
	if (isSkipped || forgotten.has(item.phoneNumber)) return noteSkipped(feed, memory, item);
	if (read) return noteRead(feed, memory, item, read);
	const note = noteFailure(feed, memory, item, !error);
	const leftToReconcile = !isOutage && note.isGivenUp === true;
	if (error) failures.push({ phoneNumber: item.phoneNumber, error, leftToReconcile });
	return note;
}

/**
 * Remembers how a read ended, and yields its change. The change counts as delivered when the next one is asked for. If the
 * loop is left before, by `break`, `return` or an error, the feed is where it was before the change.
 */
async function* offer(feed: Feed, item: Planned, note: Note, advance: () => void = () => {}) {
	const { memory, remaining } = feed;
	const takeBack = remember(memory, item, note);
	advance();
	if (!note.change) return;
	let isDelivered = false;
	try {
		yield note.change;
		isDelivered = true;
	} finally {
		if (!isDelivered) {
			takeBack();
			Object.assign(feed, { memory, remaining });
			for (const phoneNumber of feed.forgotten) forget(memory, phoneNumber);
		}
	}
}
