import type { Plan, Planned } from "./decide.ts";
import type { Feed } from "./feed.ts";
import { type Change, forget, isGone, positionToCome } from "./memory.ts";
import { isFull } from "./note.ts";
import { type Continues, mostInARow, type ReadEnd, reads } from "./read.ts";
import { movingPosition, remember, rememberStatuses, type Step } from "./remember.ts";

/** Reads what is planned, and yields what has changed, up to `size` changes at once. */
export async function* deliver(
	feed: Feed,
	{ reads: rows, retries, memory, position, now, isOpen = false }: Plan,
	size: number,
): AsyncGenerator<Change[], void, undefined> {
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
	let isOutage = false;
	const move = movingPosition(feed, position);
	const moveOn = (): void => move(--feed.remaining === 0 && !isLeftOpen);

	feed.now = now;
	feed.remaining = rows.length;
	feed.memory = memory;
	for (const phoneNumber of feed.forgotten) forget(memory, phoneNumber);
	move(rows.length === 0 && !isLeftOpen);
	yield* offer(feed, size, reads(feed, rows, from, continues), (end) => {
		// Once: a list that shows it again is believed.
		isLeftOpen ||= end.isGone === true && !isGone(feed.memory, end.item.phoneNumber);
		isOutage = end.isOutage === true;
		const item: Planned = isLeftOpen ? { ...end.item, why: "moved" } : end.item;
		return remember(feed, { ...end, item }, moveOn);
	});
	// The rows that were not read remain for the next poll.
	if (!isOutage) yield* offer(feed, size, reads(feed, retries, from), (end) => remember(feed, end));
}

/** Reads conversations for their statuses and files, and yields the messages that have changed, up to `size` at once. */
export async function* deliverStatuses(
	feed: Feed,
	rows: readonly Planned[],
	size: number,
): AsyncGenerator<Change[], void, undefined> {
	const ends = reads(feed, rows, ({ progress }) => progress.from);
	yield* offer(feed, size, ends, (end) => rememberStatuses(feed, end));
}

/**
 * Remembers how reads end, and yields what has changed. It counts as delivered when more is asked for. If the loop is left
 * before, by `break`, `return` or an error, the feed is where it was before the first change of the batch.
 */
async function* offer(
	feed: Feed,
	size: number,
	ends: AsyncIterable<ReadEnd<Planned>>,
	rememberEnd: (end: ReadEnd<Planned>) => Step,
): AsyncGenerator<Change[], void, undefined> {
	for await (const batch of inBatches(feed, size, ends, rememberEnd)) {
		// A contact can be forgotten while a batch grows.
		const changes = batch.flatMap(({ change }) => (change && !feed.forgotten.has(change.phoneNumber) ? change : []));
		let isDelivered = false;
		try {
			if (changes[0]) yield changes;
			isDelivered = true;
			for (const change of changes) feed.shown?.delivered(change);
		} finally {
			if (!isDelivered) takeBack(batch);
		}
	}
}

/**
 * Groups steps. A batch begins with a change, and has the steps without one that follow. They are taken back with it, because
 * each was made in the memory that the one before it has left.
 */
async function* inBatches(
	feed: Feed,
	size: number,
	ends: AsyncIterable<ReadEnd<Planned>>,
	rememberEnd: (end: ReadEnd<Planned>) => Step,
): AsyncGenerator<Step[], void, undefined> {
	let batch: Step[] = [];
	try {
		for await (const end of ends) {
			const step = rememberEnd(end);
			if (step.change || batch[0]) batch.push(step);
			if (batch.length < size) continue;
			yield batch;
			batch = [];
		}
	} catch (error) {
		// After an abort nothing more is delivered, even if it is read already. Any other error comes after what was read before,
		// or a conversation whose read always ends the poll would hold that up for ever.
		if (feed.signal.aborted) takeBack(batch);
		else if (batch[0]) yield batch;
		throw error;
	}
	if (batch[0]) yield batch;
}

/** The last step first, because each knows only what was before it. */
function takeBack(batch: readonly Step[]): void {
	for (const step of [...batch].reverse()) step.takeBack();
}
