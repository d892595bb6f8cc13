import {
	type Facts,
	type FaultFacts,
	type Outcome,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConfigurationError,
	PartnerConflict,
	PartnerConnectionError,
	type PartnerError,
	type PartnerErrorTag,
	PartnerForbidden,
	PartnerInternalError,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
	PartnerUnexpectedResponse,
} from "../errors.ts";

/** A failed attempt as plain data; the transport adds the facts of the call, and {@link toError} makes the error. */
export interface Failure extends Omit<Facts, "cause"> {
	ok: false;
	tag: FailureTag;
	message: string;
	retryable: boolean;
	/** Whether the client itself may try again. A refusal can be `retryable` for the caller and final for the client. */
	again: boolean;
	/** The underlying fault. */
	fault?: FaultFacts | undefined;
	/** The last failure before a deadline. */
	previous?: Failure | undefined;
}

/** The failure of a call whose signal aborted between two requests. */
export function aborted(facts: Omit<Facts, "cause">): Failure {
	const message = `${facts.operation}: aborted by the caller`;
	return { ...facts, ok: false, tag: "PartnerAbortError", message, retryable: false, again: false };
}

/** The failure of one attempt. Its outcome does not count earlier attempts. */
export type AttemptFailure = Failure & { outcome: Outcome };

/** Invalid input is thrown where it is found, before there is an attempt. */
type FailureTag = Exclude<PartnerErrorTag, "PartnerInvalidInput">;

const classes: {
	[Tag in Exclude<FailureTag, "PartnerConfigurationError">]: new (
		message: string,
		facts: Facts,
	) => PartnerError;
} = {
	PartnerBadRequest,
	PartnerUnauthorized,
	PartnerForbidden,
	PartnerNotFound,
	PartnerConflict,
	PartnerInternalError,
	PartnerConnectionError,
	PartnerTimeoutError,
	PartnerUnexpectedResponse,
	PartnerAbortError,
};

/**
 * Makes the error of a failed call.
 *
 * @param place of the failed page in an iteration
 */
export function toError(failure: Failure, place?: Pick<Facts, "cursor" | "itemsRead">): PartnerError {
	const { ok, tag, message, again, fault, previous, ...known } = failure;
	const facts = { ...known, ...place, cause: previous ? toError(previous) : fault };
	if (tag !== "PartnerConfigurationError") return new classes[tag](message, facts);
	const { field = "options", rule = message } = facts;
	return new PartnerConfigurationError({ ...facts, field, rule });
}
