/** Runs a callback and ignores anything it throws or rejects with. */
export function ignoreErrors(run: () => unknown): void {
	try {
		Promise.resolve(run()).catch(() => {});
	} catch {
		// A failing callback must not change the result of a call.
	}
}
