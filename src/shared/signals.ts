interface Listener {
	callbacks: Set<() => void>;
	handle: () => void;
}

const listeners = new WeakMap<AbortSignal, Listener>();

/**
 * Calls `callback` when the signal aborts. All calls on one signal share one listener, which is removed with the last
 * of them. Otherwise a signal that lives as long as a server would collect listeners.
 *
 * @returns a function that removes `callback` again
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
	const listener = listeners.get(signal) ?? listen(signal);
	listener.callbacks.add(callback);
	return () => {
		listener.callbacks.delete(callback);
		if (listener.callbacks.size === 0) forget(signal, listener);
	};
}

function listen(signal: AbortSignal): Listener {
	const callbacks = new Set<() => void>();
	const handle = (): void => {
		forget(signal, listener);
		for (const callback of callbacks) callback();
	};
	const listener = { callbacks, handle };
	signal.addEventListener("abort", handle);
	listeners.set(signal, listener);
	return listener;
}

function forget(signal: AbortSignal, listener: Listener): void {
	if (listeners.get(signal) === listener) listeners.delete(signal);
	signal.removeEventListener("abort", listener.handle);
}

/** Waits for some work, and no longer than until the signal aborts: then it rejects with the signal's reason. */
export async function untilAborted<Result>(work: Result | PromiseLike<Result>, signal: AbortSignal): Promise<Result> {
	let remove = (): void => {};
	const aborted = new Promise<never>((_, reject) => {
		const abort = (): void => reject(signal.reason);
		if (signal.aborted) abort();
		else remove = onAbort(signal, abort);
	});
	try {
		return await Promise.race([work, aborted]);
	} finally {
		remove();
	}
}
