import { hasMethods } from "../../shared/validation.ts";
import type { OperationId } from "../base/contract.ts";

/** Something to do while a request is on its way: what another party does at the same moment. */
export interface Interruption {
	/** Only during this operation; undefined is any. */
	readonly operation: OperationId | undefined;
	readonly phase: "before" | "after";
	readonly act: () => void;
	/** During how many requests it is to happen, from the start. */
	readonly times: number;
	/** During how many requests it still happens. */
	remaining: number;
}

/** Does all that is to happen now. */
export function interrupt(waiting: Set<Interruption>, operation: OperationId, phase: Interruption["phase"]): void {
	for (const interruption of [...waiting]) {
		if (interruption.phase !== phase) continue;
		if (interruption.operation !== undefined && interruption.operation !== operation) continue;
		if (--interruption.remaining === 0) waiting.delete(interruption);
		perform(interruption.act);
	}
}

/**
 * Reports what an act throws as an unhandled rejection, which fails a test run. Thrown to the client, it would look like a
 * lost connection, and the client would try again.
 */
function perform(act: () => unknown): void {
	try {
		if (hasMethods(act(), "then")) throw new TypeError("during: act must not be asynchronous: nobody waits for it.");
	} catch (error) {
		void Promise.reject(error);
	}
}
