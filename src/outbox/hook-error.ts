import { PartnerConfigurationError } from "messaging-conversations";

/** What a hook threw. It is kept apart from the error that tells of it, because its message can quote a number or a text. */
const thrown = new WeakMap<PartnerConfigurationError, { cause: unknown }>();

/** The error of a hook that threw, without its message. */
export function hookError(field: string, rule: string, ...cause: [cause?: unknown]): PartnerConfigurationError {
	const error = new PartnerConfigurationError({ field, rule, operation: "work", retryable: true });
	if (cause.length > 0) thrown.set(error, { cause: cause[0] });
	return error;
}

/** What the hook threw. Undefined if it threw nothing. */
export const thrownBy = (error: PartnerConfigurationError): { cause: unknown } | undefined => thrown.get(error);
