import { isPartnerError, type RequestError } from "messaging-conversations";

/** What your own front end gets when a call to the service has failed. */
export interface Answer {
	status: number;
	headers: Record<string, string>;
	body: {
		code: string;
		message: string;
		field?: string;
		outcome?: string;
		operationId?: string;
		correlationId?: string;
	};
}

/** Undefined for an error that does not come from this package. */
export function answerTo(error: unknown): Answer | undefined {
	if (!isPartnerError(error)) return undefined;
	const { status, message } = statusAndMessage(error);
	// JSON drops the fields that are undefined.
	const { _tag: code, field, outcome, operationId, correlationId } = error;
	const body = {
		code,
		message,
		field,
		outcome,
		operationId,
		correlationId,
	} as Answer["body"];
	const headers: Record<string, string> = {};
	if (status === 503)
		headers["retry-after"] = String(
			Math.ceil((error.retryAfterMs ?? 5_000) / 1_000),
		);
	return { status, headers, body };
}

function statusAndMessage(error: RequestError): {
	status: number;
	message: string;
} {
	switch (error._tag) {
		case "PartnerInvalidInput":
		case "PartnerBadRequest":
			// Names the field, and never shows its value
			return { status: 422, message: error.message };
		case "PartnerNotFound":
			return {
				status: 404,
				message: "There is no conversation with this contact yet.",
			};
		case "PartnerConflict":
			return {
				status: 409,
				message:
					"A colleague was faster. Read the conversation, then send again.",
			};
		case "PartnerAbortError":
			return { status: 499, message: "The visitor has left." };
		case "PartnerUnauthorized":
		case "PartnerForbidden":
		case "PartnerConfigurationError":
			// Your key, not your visitor's session
			return { status: 502, message: "Messaging is not set up correctly." };
		default:
			return { status: error.retryable ? 503 : 502, message: messageOf(error) };
	}
}

/** Never says "not sent" of a text that may have gone out. */
function messageOf({ outcome, retryable }: RequestError): string {
	if (outcome === "unknown" && retryable)
		return "The text may have been sent. Submit the same form again.";
	if (outcome === "unknown" || outcome === "sent")
		return "Look at the conversation: the text may have been sent.";
	return "Messaging does not work right now.";
}
