import {
	isPartnerError,
	PartnerConfigurationError,
	type PartnerError,
	type RequestError,
} from "messaging-conversations";
import type { TextError } from "../text.ts";

/**
 * The error of a call. The client passes on values that are not errors, such as a redirect that the key function throws, because
 * they steer a framework. An outbox has none, so they are failures of that function. Throws any other error that is not a failure
 * of a call.
 */
export function failureOf(thrown: unknown, operation: string): RequestError {
	if (isPartnerError(thrown)) return thrown;
	if (thrown instanceof Error) throw thrown;
	const rule = "its function, or fetch, threw something that is no error";
	return new PartnerConfigurationError({ operation, field: "apiKey", rule, retryable: true, outcome: "not_sent" });
}

/** The error of a hook of the caller. Throws any other one. */
export function hookFailure(error: unknown): PartnerConfigurationError {
	if (error instanceof PartnerConfigurationError) return error;
	throw error;
}

export function errorOf({ _tag, message, correlationId }: PartnerError): TextError {
	return { tag: _tag, message, correlationId };
}
