/** Runs a callback and ignores anything it throws or rejects with, so that it cannot change the result of a call. */
export function ignoreErrors(run: () => unknown): void {
	(async () => run())().catch(() => {});
}
