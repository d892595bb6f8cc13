"use server";

import { openAgency } from "../lib/client";

export interface SendState {
	message: string;
	/**
	 * The id of the next text. The form keeps it until the text is decided, so
	 * that a repeat is the same text.
	 */
	operationId: string;
}

export async function sendText(
	previous: SendState,
	form: FormData,
): Promise<SendState> {
	// First check who is signed in, and that they may write to this contact.
	const field = (name: string) =>
		String(form.get(name) ?? "").replaceAll("\r\n", "\n");
	const { operationId } = previous;
	const sent = await openAgency()
		.messages.send({
			operationId,
			to: field("to"),
			body: field("body"),
			ifHeld: "refuse",
		})
		.result();
	const next = { operationId: crypto.randomUUID() };
	if (sent.ok)
		return {
			...next,
			message: sent.data.queued ? "Waits for the contact's consent." : "Sent.",
		};
	const { error } = sent;
	if (error._tag === "PartnerHeldText" && error.sameText)
		return { ...next, message: "Waits for the contact's consent." };
	if (error._tag === "PartnerHeldText")
		return {
			...next,
			message: "Not sent: another text waits for their consent.",
		};
	if (error._tag === "PartnerInvalidInput")
		return { ...next, message: `Not sent: check ${error.field}.` };
	// With the same id, so that a second click can't become a second text.
	if (error.outcome === "unknown" && error.retryable)
		return { operationId, message: "Not sure. Send it again." };
	if (error.outcome !== "not_sent")
		return {
			...next,
			message: "It may have gone out. Look at the conversation.",
		};
	return { ...next, message: "Not sent. Try again later." };
}
