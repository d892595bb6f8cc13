import { onTestFinished, vi } from "vitest";

/**
 * Gives a function that lets the timers of this process come due as if so many milliseconds had passed. A test calls it when a request
 * has arrived, instead of waiting for a time-out that a busy machine may meet before. Timers run in real time beside that.
 */
export function jumpingTimers(): (ms: number) => void {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
	onTestFinished(() => void vi.useRealTimers());
	return (ms) => void vi.advanceTimersByTime(ms);
}
