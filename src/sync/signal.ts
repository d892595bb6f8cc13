import { untilAborted } from "../shared/signals.ts";

/** The generators that run, with their outer signal. */
const running = new Map<AbortController, AbortSignal | undefined>();

/** The one listener of every outer signal. Node warns of a leak if a signal has more than ten. */
function end(): void {
	for (const [own, outer] of running) if (outer?.aborted) own.abort();
}

/**
 * Runs a generator with a signal of its own. The signal aborts with the outer one, and when the generator has ended. `return`
 * aborts it first, because a generator answers `return` only after what it waits for.
 */
export function abandoning<Item>(
	outer: AbortSignal | undefined,
	run: (signal: AbortSignal) => AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
	const own = new AbortController();
	let isReturned = false;
	async function* generate(): AsyncGenerator<Item, void, undefined> {
		running.set(own, outer);
		outer?.addEventListener("abort", end);
		end();
		try {
			yield* run(own.signal);
		} catch (error) {
			// Whoever has left does not hear of the request that ended with it.
			if (!isReturned) throw error;
		} finally {
			running.delete(own);
			own.abort();
		}
	}
	const inner = generate();
	const { return: leave } = inner;
	return Object.assign(inner, {
		return(value?: undefined) {
			isReturned = true;
			own.abort();
			return leave.call(inner, value);
		},
	});
}

/** The items of a caller's iterable, and no more once the signal aborts. */
export async function* itemsUntilAborted<Item>(
	signal: AbortSignal,
	items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
	if (Symbol.iterator in items) return yield* items;
	const iterator = items[Symbol.asyncIterator]();
	const close = async (): Promise<unknown> => iterator.return?.();
	let isOver = false;
	try {
		while (!signal.aborted) {
			const next = await untilAborted(iterator.next(), signal).catch((error: unknown) => {
				if (!signal.aborted) throw error;
			});
			isOver = next?.done === true;
			if (!next || next.done) return;
			yield next.value;
		}
	} finally {
		// Not waited for: it may be hanging.
		if (!isOver) close().catch(() => {});
	}
}
