import type {
	AgencyClient,
	CallOptions,
	OutgoingMessage,
} from "messaging-conversations";

/** What your own front end gets when the service has answered. */
export interface Outcome {
	status: 200 | 409;
	body: { queued: boolean } | { code: "TextHeld"; message: string };
}

/**
 * Sends a text, unless it would take the place of one that waits for the
 * contact's consent.
 */
export async function sendUnlessHeld(
	agency: AgencyClient,
	text: OutgoingMessage,
	options?: CallOptions,
): Promise<Outcome> {
	const sent = await agency.messages
		.send({ ...text, ifHeld: "refuse" }, options)
		.result();
	if (sent.ok) return { status: 200, body: { queued: sent.data.queued } };
	if (sent.error._tag !== "PartnerHeldText") throw sent.error;
	// The second click of a double click
	if (sent.error.sameText) return { status: 200, body: { queued: true } };
	const message = "It was not sent, because it would replace a held text.";
	return { status: 409, body: { code: "TextHeld", message } };
}
