/**
 * Under this name a fetch of ours takes the place of its plain form: it tells `onCut` how to be cut, and needs no signal.
 * An AbortSignal brings a whole EventTarget along, a tenth of a request over node:http.
 */
export const untilCut: unique symbol = Symbol.for("messaging-conversations.untilCut");

export interface CuttableFetch {
	[untilCut]: (url: string, init: RequestInit, onCut: (cut: () => void) => void) => Promise<Response>;
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
