interface Listener {
	reacts: Set<() => void>;
	fire: () => void;
}

const listeners = new WeakMap<AbortSignal, Listener>();

/** To be asked before each step that cannot be taken back: a listener before ours can keep an abort from us. */
export function isAborted(signals: readonly AbortSignal[]): boolean {
	return signals.some(({ aborted }) => aborted);
}

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
	let listener = listeners.get(signal);
	if (!listener) {
		const reacts = new Set<() => void>();
		// Not by the event's target: that of a wrapped signal is the signal inside.
		const fire = (): void => {
			letGo(signal, fire);
			for (const each of reacts) each();
		};
		signal.addEventListener("abort", fire);
		listener = { reacts, fire };
		listeners.set(signal, listener);
	}
	listener.reacts.add(react);
}

function remove(signal: AbortSignal, react: () => void): void {
	const listener = listeners.get(signal);
	if (!listener?.reacts.delete(react) || listener.reacts.size > 0) return;
	letGo(signal, listener.fire);
}

function letGo(signal: AbortSignal, fire: () => void): void {
	listeners.delete(signal);
	try {
		signal.removeEventListener("abort", fire);
	} catch {
		// Of a kind that cannot be let go of.
	}
}
