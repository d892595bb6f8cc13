// What became of a text that the service held for the contact's consent? There are no webhooks, so one asks.
import type { AgencyClient } from "messaging-conversations";

export interface HeldText {
	phone: string;
	body: string;
	/** `windowExpiresAt` of the send that was queued: when the window had closed; null when there never was one. */
	closedAt: string | null;
}

/** One request while the text waits, and a look at the messages since when it does so no longer. */
export async function fateOf(agency: AgencyClient, text: HeldText): Promise<"held" | "sent" | "dropped"> {
	const { conversation } = await agency.conversations.get(text.phone, { pageSize: 1 });
	// By its words, not by the queue id: a text that takes its place may take its id as well.
	if (conversation.queuedMessages.some(({ body }) => body === text.body)) return "held";
	const closedAt = Date.parse(text.closedAt ?? "");
	for await (const message of agency.conversations.listMessages(text.phone)) {
		// Newest first, and nothing went out freely between the window's end and the consent: what is older is another text.
		if (Date.parse(message.createdAt ?? "") < closedAt) break;
		if (message.direction === "outbound" && message.templateName === null && message.body === text.body) return "sent";
	}
	return "dropped";
}
