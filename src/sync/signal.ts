/**
 * Runs a generator with a signal that aborts with the outer one, and when the generator ends, however it ends.
 * @param abandon controls that signal; a caller that holds it can end the generator while it waits
 */
export async function* abandoning<Item>(
	outer: AbortSignal | undefined,
	run: (signal: AbortSignal) => AsyncIterable<Item>,
	abandon: AbortController = new AbortController(),
): AsyncGenerator<Item, void, undefined> {
	const abort = (): void => abandon.abort();
	if (outer?.aborted) abort();
	outer?.addEventListener("abort", abort, { signal: abandon.signal });
	try {
		yield* run(abandon.signal);
	} finally {
		abort();
	}
}
