/** Aborts the controller when the signal aborts. @returns what takes the listener off the signal again */
export function forward(signal: AbortSignal | undefined, controller: AbortController): () => void {
	const abort = (): void => controller.abort();
	if (signal?.aborted) abort();
	signal?.addEventListener("abort", abort);
	return () => signal?.removeEventListener("abort", abort);
}
