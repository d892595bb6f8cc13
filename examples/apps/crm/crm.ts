// A small CRM's own code around the SDK: what test/crm.test.ts tests, and what yours would have in its place.
import { type AgencyClient, type ConversationSummary, isWindowOpen, operationIdFrom } from "messaging-conversations";

export interface Visit {
	id: string;
	phone: string;
	at: Date;
	address: string;
}

export type Reminder =
	| "sent"
	| "waits for consent"
	| "sent, or waits for consent"
	| "ask again later"
	| "call them instead";

/**
 * Reminds of a visit. Call it again for the same visit after "ask again later", or after a crash: nothing is sent twice.
 * A contact who has declined meanwhile may get the text after all. So do not call it again if the text may wait for
 * consent. After "ask again later" the text may wait too, because an answer can be lost. An outbox, as in ../send-queue, reads
 * before it sends again, and follows such a text to its end.
 */
export async function remind(agency: AgencyClient, visit: Visit): Promise<Reminder> {
	const time = visit.at.toISOString().slice(11, 16);
	const result = await agency.messages
		.send({
			to: visit.phone,
			body: `Your visit of ${visit.address} is at ${time} (UTC).`,
			// A visit that moves is another reminder; the same one is never sent twice.
			operationId: await operationIdFrom("reminder", visit.id, visit.at.toISOString()),
		})
		.result();
	if (result.ok) return result.data.queued ? "waits for consent" : "sent";
	const { error } = result;
	// The service took it, in an answer that does not say which: read the conversation.
	if (error.outcome === "sent") return "sent, or waits for consent";
	// The key or the configuration is at fault and not this visit: the whole job stops.
	if (error._tag === "PartnerUnauthorized" || error._tag === "PartnerForbidden") throw error;
	if (error._tag === "PartnerConfigurationError") throw error;
	// Of somebody who took over the conversation meanwhile: a reminder fits all the same.
	const passing = error.outcome === "unknown" || error.retryable || error._tag === "PartnerConflict";
	return passing ? "ask again later" : "call them instead";
}

/** Who wrote and got no answer, the oldest first: the CRM's to-do list. */
export async function unanswered(agency: AgencyClient, now: Date): Promise<ConversationSummary[]> {
	const waiting: ConversationSummary[] = [];
	for await (const conversation of agency.conversations.list({ pageSize: 100 })) {
		// Whether those without a message come first or last is not documented.
		if (conversation.lastMessageAt === null) continue;
		// The most recent activity comes first. An open window is what makes an answer easy, so the rest is left alone.
		if (Date.parse(conversation.lastMessageAt) < now.getTime() - 24 * 3_600_000) break;
		if (conversation.lastMessageDirection === "inbound" && isWindowOpen(conversation, now))
			waiting.unshift(conversation);
	}
	return waiting;
}
