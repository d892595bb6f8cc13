import { isPartnerError, PartnerConfigurationError, type RequestError } from "messaging-conversations";

/**
 * The error of a call. The client passes on what is no error unchanged, such as a redirect that the key function throws, because
 * it steers a framework. Here it steers nobody, so it is a failure of that function. Throws any other error that is no failure
 * of a call.
 */
export function failureOf(thrown: unknown, operation: string): RequestError {
	if (isPartnerError(thrown)) return thrown;
	if (thrown instanceof Error) throw thrown;
	const rule = "its function, or fetch, threw something that is no error";
	return new PartnerConfigurationError({ operation, field: "apiKey", rule, retryable: true, outcome: "not_sent" });
}
