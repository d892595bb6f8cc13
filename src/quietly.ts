/** Runs what is not ours, or does not matter: what it throws, now or later, never changes the outcome of a call. */
export function quietly(run: () => unknown): void {
	try {
		Promise.resolve(run()).catch(() => {});
	} catch {
		// Its fault is its own.
	}
}
