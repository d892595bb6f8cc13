import type { OperationId } from "../base/contract.ts";
import { type Fault, type FaultTarget, meets } from "./fault.ts";

/** Which requests are held before the operation runs; `remaining` null is without end. */
export interface Breakpoint {
	readonly id: number;
	readonly operation: OperationId | null;
	readonly agencyId: string | null;
	/** E.164 */
	readonly contact: string | null;
	hits: number;
	remaining: number | null;
}

/** A request that waits at a breakpoint. */
export interface Waiting {
	readonly correlationId: string;
	readonly breakpointId: number;
	readonly target: FaultTarget;
	readonly method: string;
	readonly path: string;
	readonly query: string;
	/** The body as text. */
	readonly text: string;
	/** The sandbox's time. */
	readonly at: number;
	/** The real time. */
	readonly realAt: number;
	/** Ends the wait: the request continues, with a fault or as it came. */
	release(fault: Fault | null): void;
}

/** Breakpoints and the requests that wait at them. No archive has them: a request is of one process. */
export interface Breakpoints {
	all: readonly Breakpoint[];
	/** The number of the newest one. It only goes up. */
	newest: number;
	/** By correlation id, the oldest first. */
	readonly waiting: Map<string, Waiting>;
	/** Those who want to hear of the next request that is held. */
	readonly listeners: Set<(waiting: Waiting) => void>;
}

export const createBreakpoints = (): Breakpoints => ({
	all: [],
	newest: 0,
	waiting: new Map(),
	listeners: new Set(),
});

/** The breakpoint that holds this request, if any: the first one in order of creation that can; its count goes down. */
export function takeBreakpoint({ all }: Breakpoints, target: FaultTarget): Breakpoint | undefined {
	const found = all.find((each) => each.remaining !== 0 && meets(each, target));
	if (!found) return undefined;
	found.hits++;
	if (found.remaining !== null) found.remaining--;
	return found;
}

/** Ends all waits and takes all breakpoints back: what waits belongs to a world that is gone. */
export function endBreakpoints(breakpoints: Breakpoints): void {
	breakpoints.all = [];
	const left = [...breakpoints.waiting.values()];
	breakpoints.waiting.clear();
	for (const waiting of left) waiting.release(null);
}
