import { onAbort } from "./signals.ts";

/** The longest time of a timer. A longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Waits, and ends early when one of the signals aborts. The timer keeps the process alive, because a send must end before it exits. */
export function sleep(ms: number, signals: readonly (AbortSignal | undefined)[] = []): Promise<void> {
	return new Promise((resolve) => {
		const given = signals.filter((signal) => signal !== undefined);
		const wake = (): void => {
			clearTimeout(timer);
			for (const remove of removers) remove();
			resolve();
		};
		const removers = given.map((signal) => onAbort(signal, wake));
		const timer = setTimeout(wake, Math.min(Math.max(ms, 0), longestTimerMs));
		if (given.some(({ aborted }) => aborted)) wake();
	});
}
