import type { PartnerError } from "messaging-conversations";
import type { Advice } from "./advice.ts";
import { counted } from "./check.ts";

/** An error of a read in words, with a remedy. Its correlation id is for the service's support. */
export function explain(error: PartnerError, { newKey, access, support }: Advice): { what: string; remedy: string } {
	const id = error.correlationId === undefined ? "" : ` Correlation id: ${error.correlationId}.`;
	const say = (what: string, remedy: string) => ({ what: `${what}.${id}`, remedy });
	const isOfKey = error.operation === "me.get";
	switch (error._tag) {
		case "PartnerUnauthorized":
			return say("The service refuses the key (401): it is mistyped, cut off, revoked or expired", newKey);
		case "PartnerForbidden":
			if (isOfKey) return say("The service lets this key's integration do nothing (403)", support);
			return say("The key may not do this (403): it lacks the scope, or the agency's link has ended", access);
		case "PartnerNotFound":
			return say(
				"Nothing is there (404): the base URL is another service's, or the key's integration is hidden",
				`Check MESSAGING_BASE_URL. ${support}`,
			);
		case "PartnerInternalError":
			return say(`The service fails (${error.status})`, `Wait, and try again: it is not your program. ${support}`);
		case "PartnerGatewayError":
			if (error.status === 429)
				return say(`The service refuses for now (429)${untilOf(error)}`, "Slow down: too many requests with this key.");
			return say(`What answers is not the service: ${sentenceOf(error)}`, wrongPlace);
		case "PartnerConnectionError":
			if (error.status !== undefined)
				return say(`The answer cannot be read (${error.status}): it is not JSON, or was cut off`, wrongPlace);
			return say(sentenceOf(error), "Try again, and check proxies and firewalls.");
		case "PartnerTimeoutError":
			return say("The service did not answer in time", "Try again. If it stays so, the service has an outage.");
		case "PartnerUnexpectedResponse":
			if (error.status === 200)
				return say(
					`The answer breaks the contract: ${error.message}`,
					"See the check contract. Look for a newer version of this package.",
				);
			return say(`What answers is not the service: ${error.message}`, wrongPlace);
		default:
			return say(error.message, "Report it as a defect of this package.");
	}
}

/** The message without the operation before it. */
function sentenceOf({ message }: PartnerError): string {
	const text = message.replace(/^[\w.]+: /, "");
	return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function untilOf({ retryAfterMs }: PartnerError): string {
	return retryAfterMs === undefined ? "" : `, and asks to wait ${counted(Math.ceil(retryAfterMs / 1000), "second")}`;
}

const wrongPlace =
	"Check host and path of MESSAGING_BASE_URL, and whether a proxy or a log-in page answers in its place.";
