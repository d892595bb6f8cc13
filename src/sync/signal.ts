/** The generators that run, with their outer signal. */
const running = new Map<AbortController, AbortSignal | undefined>();

/** The one listener of every outer signal. Node warns of a leak if a signal has more than ten. */
function end(): void {
	for (const [own, outer] of running) if (outer?.aborted) own.abort();
}

/**
 * Runs a generator with a signal of its own. The signal aborts with the outer one, and when the generator has ended.
 * @param abandon controls that signal. Its holder can end the generator while it waits
 */
export async function* abandoning<Item>(
	outer: AbortSignal | undefined,
	run: (signal: AbortSignal) => AsyncIterable<Item>,
	abandon: AbortController = new AbortController(),
): AsyncGenerator<Item, void, undefined> {
	running.set(abandon, outer);
	outer?.addEventListener("abort", end);
	end();
	try {
		yield* run(abandon.signal);
	} finally {
		running.delete(abandon);
		abandon.abort();
	}
}
