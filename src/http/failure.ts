import {
	type Facts,
	type FaultFacts,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConfigurationError,
	PartnerConflict,
	PartnerConnectionError,
	type PartnerError,
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
	/** Whether the caller may try again. */
	retryable: boolean;
	/** Whether the client itself may try again. */
	again: boolean;
	/** The underlying fault. */
	fault?: FaultFacts | undefined;
	/** The last failure before a deadline. */
	previous?: Failure | undefined;
}

type FailureFacts = Omit<Facts, "cause"> & Partial<Pick<Failure, "again" | "fault" | "previous">>;

/** Creates a failure that is final unless its facts say something else. */
export function createFailure<Given extends FailureFacts>(
	tag: FailureTag,
	message: string,
	facts: Given,
): Failure & Given {
	return { retryable: false, again: false, ...facts, ok: false, tag, message };
}

/** The failure of a call whose signal aborted. */
export function aborted<Given extends FailureFacts>(facts: Given): Failure & Given {
	return createFailure("PartnerAbortError", `${facts.operation}: aborted by the caller`, facts);
}

const classes = {
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

/** Invalid input is thrown where it is found, before there is an attempt. */
type FailureTag = keyof typeof classes | "PartnerConfigurationError";

/** Makes the error of a failed call. */
export function toError({ ok, tag, message, again, fault, previous, ...known }: Failure): PartnerError {
	const facts = { ...known, cause: previous ? toError(previous) : fault };
	const { field = "options", rule = message } = facts;
	const error =
		tag === "PartnerConfigurationError"
			? new PartnerConfigurationError({ ...facts, field, rule })
			: new classes[tag](message, facts);
	// V8 keeps ten frames, and each one of this package takes the place of one of the caller's.
	Error.captureStackTrace?.(error, toError);
	return error;
}
