import {
	callErrors,
	type Facts,
	type FaultFacts,
	PartnerConfigurationError,
	type PartnerError,
	PartnerInvalidInput,
} from "./errors.ts";

/** The errors that name a field and the rule that it breaks. */
const refusals = { PartnerInvalidInput, PartnerConfigurationError };

/** A failed attempt as plain data; the transport adds the facts of the call, and {@link toError} makes the error. */
export interface Failure extends Omit<Facts, "cause"> {
	ok: false;
	tag: keyof typeof callErrors | keyof typeof refusals;
	message: string;
	/** Whether the caller may try again. */
	retryable: boolean;
	/** Whether the client itself may try again. */
	again: boolean;
	/** The underlying fault. */
	fault?: FaultFacts | undefined;
	/** The last failure before a deadline. */
	previous?: Failure | undefined;
}

/** Creates a failure that is final unless its facts say something else. */
export function createFailure(
	tag: Failure["tag"],
	message: string,
	facts: Omit<Facts, "cause"> & Partial<Pick<Failure, "again" | "fault" | "previous">>,
): Failure {
	return { again: false, ...facts, retryable: facts.retryable ?? false, ok: false, tag, message };
}

/** The failure of a call whose signal aborted. */
export function aborted(facts: Omit<Facts, "cause">): Failure {
	return createFailure("PartnerAbortError", `${facts.operation}: aborted by the caller`, facts);
}

/** Makes the error of a failed call. */
export function toError({ ok, tag, message, again, fault, previous, ...known }: Failure): PartnerError {
	const facts = { ...known, cause: previous ? toError(previous) : fault };
	const { field = "options", rule = message } = facts;
	const error =
		tag === "PartnerInvalidInput" || tag === "PartnerConfigurationError"
			? new refusals[tag]({ ...facts, field, rule })
			: new callErrors[tag](message, facts);
	// V8 keeps ten frames, and each one of this package takes the place of one of the caller's.
	Error.captureStackTrace?.(error, toError);
	return error;
}
