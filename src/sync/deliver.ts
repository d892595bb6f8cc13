import type { Plan, Planned } from "./decide.ts";
import type { Feed } from "./feed.ts";
import { type Change, forget, isGone, positionToCome } from "./memory.ts";
import { isFull } from "./note.ts";
import { type Continues, mostInARow, reads } from "./read.ts";
import { movingPosition, remember, rememberStatuses, type Step } from "./remember.ts";

/** Reads what is planned, and yields what has changed. */
export async function* deliver(
	feed: Feed,
	{ reads: rows, retries, memory, position, now, isOpen = false }: Plan,
): AsyncGenerator<Change, void, undefined> {
	const { lookbackMs } = feed;
	/** All messages of the lookback are read, because what a later poll does not find among them is new there. */
	const from = ({ progress }: Planned): number => Math.min(progress.from, positionToCome(memory) - lookbackMs);
	/** The service is taken to be down if neither the last row nor a random one of those to come can be read. */
	const continues: Continues = async (inARow) => {
		if (inARow % mostInARow > 0 && !isFull(feed.memory)) return true;
		const tried = [1, Math.ceil(Math.random() * feed.remaining)].flatMap((fromEnd) => rows.at(-fromEnd) ?? []);
		for await (const { error } of reads({ ...feed, concurrency: 1 }, tried, () => "newest")) if (!error) return true;
		return false;
	};
	/** The list shows a conversation that the service does not know, such as one of another agency. So others may be missing. */
	let isLeftOpen = isOpen;
	const move = movingPosition(feed, position);
	const moveOn = (): void => move(--feed.remaining === 0 && !isLeftOpen);

	feed.now = now;
	feed.remaining = rows.length;
	feed.memory = memory;
	for (const phoneNumber of feed.forgotten) forget(memory, phoneNumber);
	move(rows.length === 0 && !isLeftOpen);
	for await (const end of reads(feed, rows, from, continues)) {
		// Once: a list that shows it again is believed.
		isLeftOpen ||= end.isGone === true && !isGone(feed.memory, end.item.phoneNumber);
		const item: Planned = isLeftOpen ? { ...end.item, why: "moved" } : end.item;
		const step = remember(feed, { ...end, item }, moveOn);
		// The rows that were not read remain for the next poll.
		if (end.isOutage) return;
		yield* offer(feed, step);
	}
	for await (const end of reads(feed, retries, from)) yield* offer(feed, remember(feed, end));
}

/** Reads conversations for their statuses and files, and yields the messages that have changed. */
export async function* deliverStatuses(feed: Feed, rows: readonly Planned[]): AsyncGenerator<Change, void, undefined> {
	for await (const end of reads(feed, rows, ({ progress }) => progress.from))
		yield* offer(feed, rememberStatuses(feed, end));
}

/**
 * Yields a change, which counts as delivered when the next one is asked for. If the loop is left before, by `break`,
 * `return` or an error, the feed is where it was before the change.
 */
async function* offer(feed: Feed, { change, takeBack }: Step): AsyncGenerator<Change, void, undefined> {
	if (!change) return;
	let isDelivered = false;
	try {
		yield change;
		isDelivered = true;
		feed.shown?.delivered(change);
	} finally {
		if (!isDelivered) takeBack();
	}
}
