import { deliver, deliverStatuses } from "./deliver.ts";
import type { Feed } from "./feed.ts";
import { type Change, forget, numbersIn } from "./memory.ts";
import { planPoll, planStatuses } from "./plan.ts";
import { isSkipped } from "./read.ts";

/** One poll: plans what to read, delivers it, oldest change first, and remembers what was delivered. */
export async function* poll(feed: Feed, size: number): AsyncGenerator<Change[], void, undefined> {
	await forgetSkipped(feed);
	yield* deliver(feed, await planPoll(feed), size);
	yield* pollStatuses(feed, size);
}

/** The part of a poll that reads conversations with a message whose status or files are due. */
export async function* pollStatuses(feed: Feed, size: number): AsyncGenerator<Change[], void, undefined> {
	yield* deliverStatuses(feed, planStatuses(feed), size);
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
