/**
 * Wraps a generator so that `return()` ends what is under way at once. A generator's own `return()` waits for a pending
 * `next()`, which can take as long as a request.
 *
 * @param start begins the generator. Its signal aborts when the consumer has left. The generator then ends without an error.
 */
export function endable<Item>(
	start: (abandon: AbortSignal) => AsyncGenerator<Item, void, undefined>,
): AsyncGenerator<Item, void, undefined> {
	const controller = new AbortController();
	const inner = start(controller.signal);
	const end = (): void => {
		controller.abort();
		inner.return().catch(() => {});
	};
	const iterator: Omit<AsyncGenerator<Item, void, undefined>, typeof Symbol.asyncDispose> = {
		next: () => inner.next(),
		async return() {
			end();
			return { done: true, value: undefined };
		},
		async throw(error) {
			end();
			throw error;
		},
		[Symbol.asyncIterator]: () => iterator as AsyncGenerator<Item, void, undefined>,
	};
	// For `await using`. Not all runtimes have the symbol.
	const dispose: unknown = Reflect.get(Symbol, "asyncDispose");
	if (typeof dispose === "symbol") Object.defineProperty(iterator, dispose, { value: async () => end() });
	return iterator as AsyncGenerator<Item, void, undefined>;
}
