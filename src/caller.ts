import { isPartnerError, type PartnerError } from "./errors.ts";

/** Where a call was made, kept from its start: by the time that it fails, the caller's frames are gone. */
export interface Caller {
	stack?: string;
}

/**
 * Captures the frames below `entry`, the public function that was called: at once, although it is the costliest part of
 * a call that succeeds. V8's async stacks come for nothing, but name only who *awaits* a promise, and nobody for `.catch`.
 * To be called once the work has begun, as a read is on its way by then; and in `entry` itself, as some engines take a
 * function that ends in a call of another one off the stack.
 */
export function captureCaller(entry: (...args: never[]) => unknown): Caller {
	const caller: Caller = {};
	if (typeof Error.captureStackTrace === "function") Error.captureStackTrace(caller, entry);
	else caller.stack = `\n${new Error().stack ?? ""}`;
	return caller;
}

/** Puts the caller's own file into `error.stack`. A process's own formatter of stacks may give what it likes, or throw. */
export function blame<E extends PartnerError>(error: E, caller: Caller): E {
	try {
		const stack: unknown = caller.stack;
		const frames = typeof stack === "string" ? /\n.*/s.exec(stack) : null;
		// Without any, those of this package are better than none.
		if (!frames) return error;
		const value = `${error.name}: ${error.message}${frames}`;
		Object.defineProperty(error, "stack", { value, configurable: true, writable: true });
	} catch {
		// The error tells more than its stack.
	}
	return error;
}

/** Runs what refuses its input at once: the caller's own file on top, without the frames of `entry`. */
export function blaming<T>(entry: (...args: never[]) => unknown, run: () => T): T {
	try {
		return run();
	} catch (error) {
		throw isPartnerError(error) ? blame(error, captureCaller(entry)) : error;
	}
}
