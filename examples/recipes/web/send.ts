import type { AgencyClient, CallOptions, OutgoingMessage } from "messaging-conversations";

/** What your own front end gets when the service has answered. */
export interface Outcome {
	status: 200 | 409;
	body: { queued: boolean } | { code: "TextHeld"; message: string };
}

/**
 * Sends a text, unless it would take the place of one that waits for the contact's consent.
 *
 * @param options of the next of the two calls, such as the time that is left
 */
export async function sendUnlessHeld(
	agency: AgencyClient,
	text: OutgoingMessage,
	options: () => CallOptions = () => ({}),
): Promise<Outcome> {
	const read = await agency.conversations.get(text.to, { pageSize: 1, ...options() }).result();
	// Without a conversation nothing is held. The send refuses a bad number, and names the field of your form.
	if (!read.ok && read.error._tag !== "PartnerNotFound" && read.error._tag !== "PartnerInvalidInput") throw read.error;
	const held = read.ok ? read.data.conversation.queuedMessages[0] : undefined;
	if (held?.body === text.body) return { status: 200, body: { queued: true } }; // the second click of a double click
	if (held) {
		const message = "Another text waits for this contact's consent, and yours would replace it. It was not sent.";
		return { status: 409, body: { code: "TextHeld", message } };
	}
	const { queued } = await agency.messages.send(text, options());
	return { status: 200, body: { queued } };
}
