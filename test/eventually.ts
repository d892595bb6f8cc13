import { vi } from "vitest";
import { longestWaitMs } from "./patience.ts";

/** Waits until a check passes. The limit of `vi.waitFor` is a second, and no config changes it. */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
	return vi.waitFor(check, { timeout: longestWaitMs, interval: 10 });
}
