const untilCut = Symbol.for("messaging-conversations.untilCut");

/** A fetch that tells `onCut` how to be cut, and needs no signal: an AbortSignal brings a whole EventTarget along. */
export type CuttableFetch = (url: string, init: RequestInit, onCut: (cut: () => void) => void) => Promise<Response>;

/** Gives a fetch of ours its cuttable form. It names its owner: what wraps or copies the fetch is to be called itself. */
export function makeCuttable(fetch: object, cuttable: CuttableFetch): void {
	Object.defineProperty(fetch, untilCut, { value: { owner: fetch, cuttable } });
}

/** The cuttable form of a fetch that has one of its own. */
export function cuttableOf(fetch: unknown): CuttableFetch | undefined {
	const form = typeof fetch === "function" && Reflect.get(fetch, untilCut);
	return form && form.owner === fetch ? form.cuttable : undefined;
}

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs `react` when `signal` aborts, at once if it has. Any number of calls on one signal hold one listener on it, and
 * none once all of them have settled: a signal that lives as long as a server must not collect them.
 * @returns what takes `react` off again.
 */
export function onAbort(signal: AbortSignal | undefined, react: () => void): () => void {
	if (!signal) return () => {};
	if (signal.aborted) {
		react();
		return () => {};
	}
	let waiting = listeners.get(signal);
	if (!waiting) {
		waiting = new Set();
		listeners.set(signal, waiting);
		signal.addEventListener("abort", fire);
	}
	waiting.add(react);
	return () => {
		if (!waiting.delete(react) || waiting.size > 0) return;
		listeners.delete(signal);
		signal.removeEventListener("abort", fire);
	};
}

function fire(event: Event): void {
	const signal = event.target as AbortSignal;
	const waiting = listeners.get(signal);
	listeners.delete(signal);
	signal.removeEventListener("abort", fire);
	for (const react of waiting ?? []) react();
}
