import { isPartnerError, type PartnerError } from "./errors.ts";

/** Where a call was made, kept from its start for an engine that cannot tell later. */
export interface Caller {
	stack?: string;
}

/** Whether this engine can name, once an error is there, who awaits it. Undefined until it has been tried. */
let follows: boolean | undefined;

/**
 * Keeps the frames below `entry`, the public function that the caller called: by the time that a call fails they are
 * gone. Nothing on V8, which finds who awaits a promise when it is asked, where a captured stack would cost every call
 * that succeeds a tenth of its time.
 */
export function captureCaller(entry: (...args: never[]) => unknown): Caller | undefined {
	if (follows) return undefined;
	if (follows === undefined) {
		follows = false;
		tryOut().then((can) => {
			follows = can;
		});
	}
	const caller: Caller = {};
	if (typeof Error.captureStackTrace === "function") Error.captureStackTrace(caller, entry);
	else caller.stack = `\n${new Error().stack ?? ""}`;
	return caller;
}

async function tryOut(): Promise<boolean> {
	return awaiting(await afterwards()) !== "";
}

async function afterwards(): Promise<Caller> {
	await undefined;
	return new Error();
}

/** The frames of those who await what runs now; empty where the engine does not follow them, or nobody does. */
function awaiting({ stack }: Caller): string {
	return /\n\s+at async .*/s.exec(`${stack}`)?.[0] ?? "";
}

/**
 * Puts the caller's own file on top of `error.stack`, of an error that comes out of a promise. What was refused while
 * the caller's frames were still there has them anyway.
 */
export function blame<E extends PartnerError>(error: E, caller: Caller | undefined): E {
	const frames = caller ? `${caller.stack ?? ""}`.replace(/^.*/, "") : awaiting(new Error());
	if (frames === "") return error;
	const value = `${error.name}: ${error.message}${frames}`;
	Object.defineProperty(error, "stack", { value, configurable: true, writable: true });
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
