import type { PartnerError } from "./errors.ts";

/** Where a call was made, kept from its start: by the time that it fails, the caller's frames are gone. */
export interface Caller {
	stack?: string;
}

/** Captures the frames below `entry`, the public function that the caller called. */
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
