import { isPartnerError, type PartnerError } from "./errors.ts";

/** Where a call was made, kept from its start: by the time that it fails, the caller's frames are gone. */
export interface Caller {
	stack?: string;
}

/**
 * Captures the frames below `entry`, the public function that the caller called. It is the dearest part of a call that
 * succeeds, and stays: V8 can name, afterwards and for nothing, who awaits a promise, but not who started one and let a
 * `.catch` see to it.
 */
export function captureCaller(entry: (...args: never[]) => unknown): Caller {
	const caller: Caller = {};
	if (typeof Error.captureStackTrace === "function") Error.captureStackTrace(caller, entry);
	else caller.stack = `\n${new Error().stack ?? ""}`;
	return caller;
}

/** Puts the caller's own file into `error.stack`. */
export function blame<E extends PartnerError>(error: E, caller: Caller): E {
	const frames = caller.stack?.slice(Math.max(0, caller.stack.indexOf("\n"))) ?? "";
	Object.defineProperty(error, "stack", {
		value: `${error.name}: ${error.message}${frames}`,
		configurable: true,
		writable: true,
	});
	return error;
}

/** Runs what refuses its input at once: the caller's own file on top, without the frames of `entry`. */
export function blaming<T>(entry: (...args: never[]) => unknown, run: () => T): T {
	try {
		return run();
	} catch (error) {
		if (isPartnerError(error) && typeof Error.captureStackTrace === "function") Error.captureStackTrace(error, entry);
		throw error;
	}
}
