import type { CallState } from "./call-state.ts";
import type { Facts, Outcome } from "./errors.ts";
import { correlationIdOf } from "./redact.ts";

/**
 * What the call has seen so far, for the error of the attempt that has just failed.
 *
 * @param outcome what the failed attempt itself proves
 */
export function factsOf<Data>(call: CallState<Data>, outcome: Outcome): Facts {
	const { plan, head, attempts, lastError } = call;
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	const isAmbiguous = lastError?.outcome === "unknown" && outcome === "not_sent";
	return {
		operation: plan.operation,
		agencyId: plan.agencyId,
		status: head?.status,
		headers: head?.headers,
		correlationId: correlationIdOf(call) ?? lastError?.correlationId,
		attempts,
		operationId: plan.operationId,
		outcome: plan.isWrite ? (isAmbiguous ? "unknown" : outcome) : undefined,
	};
}
