import {
	isPartnerError,
	type OutgoingMessage,
	PartnerConfigurationError,
	type PartnerInvalidInput,
	type RequestError,
} from "messaging-conversations";
import { oneVersion } from "../../shared/protocol.ts";

/**
 * The error of a call. The client passes on values that are not errors, such as a redirect that the key function throws, because
 * they steer a framework. An outbox has none, so they are failures of that function. Throws any other error that is not a failure
 * of a call.
 */
export function failureOf(thrown: unknown, operation: string): RequestError {
	if (isOptionRefused(thrown)) throw optionRefused(thrown, operation);
	if (isPartnerError(thrown)) return thrown;
	if (thrown instanceof Error) throw thrown;
	const rule = "its function, or fetch, threw something that is no error";
	return new PartnerConfigurationError({ operation, field: "apiKey", rule, retryable: true, outcome: "not_sent" });
}

/** The fields that the outbox takes from a text. Everything else of a call is its own. */
const fieldsOfText: ReadonlySet<string> = new Set([
	"to",
	"phone",
	"phoneNumbers",
	"body",
	"operationId",
	"subaccountId",
	"consentLanguage",
	"agencyId",
] satisfies (keyof OutgoingMessage | "phone" | "phoneNumbers" | "agencyId")[]);

/** Whether the client refuses what the outbox itself has chosen. No text is the reason, and no text can be sent. */
export const isOptionRefused = (thrown: unknown): thrown is PartnerInvalidInput =>
	isPartnerError(thrown) &&
	thrown._tag === "PartnerInvalidInput" &&
	!fieldsOfText.has(thrown.field.replace(/\[.*/, ""));

/** The error that ends the work. */
function optionRefused({ message }: PartnerInvalidInput, operation: string): PartnerConfigurationError {
	const rule = `refuses what the outbox itself asks of ${operation} (${message}). No text is the cause: the client is of another version of messaging-conversations, or is wrapped by code that changes options. ${oneVersion}`;
	return new PartnerConfigurationError({ operation, field: "client", rule, outcome: "not_sent" });
}
