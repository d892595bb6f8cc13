const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs `react` when one of the signals aborts; none of them has yet. Any number of calls on one signal hold one listener
 * on it, and none once all of them have settled: a signal that lives as long as a server must not collect them.
 * @returns what takes `react` off again.
 */
export function onAbort(signals: readonly AbortSignal[], react: () => void): () => void {
	for (const signal of signals) add(signal, react);
	return () => {
		for (const signal of signals) remove(signal, react);
	};
}

function add(signal: AbortSignal, react: () => void): void {
	let waiting = listeners.get(signal);
	if (!waiting) {
		waiting = new Set();
		listeners.set(signal, waiting);
		signal.addEventListener("abort", fire);
	}
	waiting.add(react);
}

function remove(signal: AbortSignal, react: () => void): void {
	const waiting = listeners.get(signal);
	if (!waiting?.delete(react) || waiting.size > 0) return;
	listeners.delete(signal);
	signal.removeEventListener("abort", fire);
}

function fire(event: Event): void {
	const signal = event.target as AbortSignal;
	const waiting = listeners.get(signal);
	listeners.delete(signal);
	signal.removeEventListener("abort", fire);
	for (const react of waiting ?? []) react();
}
