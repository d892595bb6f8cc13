/**
 * Runs a generator with a signal that aborts with the outer one, and when the generator ends, however it ends.
 * @param abandon its signal is the one; a caller that has it may end the generator in the middle of a wait
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
