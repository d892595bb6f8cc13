// A small CRM's own code around the SDK: what test/crm.test.ts tests, and what yours would have in its place.
import {
	type AgencyClient,
	type ConversationSummary,
	isWindowOpen,
	type Message,
	operationIdFrom,
	type RequestError,
} from "messaging-conversations";
import { isOptIn, isOptOut } from "messaging-conversations/outbox";

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
	| "another text waits"
	| "answer them first"
	| "opted out"
	| "ask again later"
	| "call them instead";

/**
 * Reminds of a visit. Call it again for the same visit after "ask again later", or after a crash: nothing is sent twice.
 * A contact who has declined meanwhile may get the text after all. So do not call it again if the text may wait for
 * consent. After "ask again later" the text may wait too, because an answer can be lost. An outbox, as in ../send-queue, reads
 * before it sends again, and follows such a text to its end.
 */
export async function remind(agency: AgencyClient, visit: Visit): Promise<Reminder> {
	const body = `Your visit of ${visit.address} is at ${visit.at.toISOString().slice(11, 16)} (UTC).`;
	const read = await agency.conversations.get(visit.phone).result();
	if (!read.ok && read.error._tag !== "PartnerNotFound") return afterError(read.error);
	if (read.ok && hasOptedOut(read.data.messagePage.messages)) return "opted out";
	if (read.ok && isUnanswered(read.data.messagePage.messages)) return "answer them first";
	const held = read.ok ? read.data.conversation.queuedMessages[0] : undefined;
	// A second text would replace the one that waits.
	if (held) return held.body === body ? "waits for consent" : "another text waits";
	const result = await agency.messages
		.send({
			to: visit.phone,
			body,
			// A visit that moves is another reminder; the same one is never sent twice.
			operationId: await operationIdFrom("reminder", visit.id, visit.at.toISOString()),
		})
		.result();
	return result.ok ? (result.data.queued ? "waits for consent" : "sent") : afterError(result.error);
}

/** Whether the contact's newest STOP or START is a STOP, answered or not. A real CRM stores it: these are the newest 50. */
function hasOptedOut(messages: readonly Message[]): boolean {
	const words = messages.filter(({ direction }) => direction === "inbound").map(({ body }) => body);
	return isOptOut(words.find((body) => isOptOut(body) || isOptIn(body)));
}

/** Whether the contact had the last word. It may be a no, and no function finds every way to say it. */
function isUnanswered(messages: readonly Message[]): boolean {
	return messages.find(({ templateName }) => templateName === null)?.direction === "inbound";
}

function afterError(error: RequestError): Reminder {
	// The service took it, in an answer that does not say which: read the conversation.
	if (error.outcome === "sent") return "sent, or waits for consent";
	// The key or the configuration is at fault and not this visit: the whole job stops.
	if (error._tag === "PartnerUnauthorized" || error._tag === "PartnerForbidden") throw error;
	if (error._tag === "PartnerConfigurationError") throw error;
	// Of somebody who took over the conversation meanwhile: a reminder fits all the same.
	if (error.retryable || error._tag === "PartnerConflict") return "ask again later";
	// It may have gone out, and the same request would fail again: somebody looks at the conversation.
	return error.outcome === "unknown" ? "sent, or waits for consent" : "call them instead";
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
