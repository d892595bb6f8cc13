import type { ConversationDetail, ConversationSummary } from "messaging-conversations";
import { refuse } from "./input.ts";
import { storable } from "./storable.ts";

/**
 * Returns a short text that changes when any field of the conversation's summary changes, `cursor` aside. Keep it in a
 * column beside the conversation, and `reconcile` delivers the conversations that differ from it. Takes what `changes`,
 * `watch` and `reconcile` deliver, or a row of `conversations.list`. It does not depend on `raw`.
 *
 * @throws PartnerInvalidInput if it gets something else
 * @example
 * import { fingerprintOf } from "messaging-conversations/sync";
 *
 * const { conversation } = await agency.conversations.get("+447700900101");
 * const column = fingerprintOf(conversation);
 */
export function fingerprintOf(conversation: ConversationSummary | ConversationDetail): string {
	// Callers without types may pass anything.
	const summary: ConversationSummary = Object(conversation).summary ?? conversation;
	if (!summary?.visibility) refuse("fingerprintOf", "conversation", "must be a summary or a detail");
	const { visibility } = summary;
	const values = compared.map(({ name, isTime }) => {
		const value = Reflect.get(name in visibility ? visibility : summary, name);
		if (isTime) return instant(value);
		return typeof value === "string" ? storable(value) : value;
	});
	// Joined to one flat text: a list of many conversations holds one for each.
	return [summary.totalMessages, ...hash(JSON.stringify(values))].join("-");
}

/** The compared fields in a fixed order, so that neither a response's order nor a new field changes a fingerprint. */
const compared = (
	[
		"phoneNumber",
		"contactName",
		"lastMessageAt",
		"lastMessagePreview",
		"lastMessageDirection",
		"totalMessages",
		"failedMessages",
		"activeFlows",
		"completedFlows",
		"latestFlowStatus",
		"lastInboundAt",
		"windowExpiresAt",
		"aiEnabled",
		"queuedMessages",
		"isUnlinked",
		"reason",
		"isShared",
		"isVisibleThroughAgencyTag",
	] as const
).map((name) => ({ name, isTime: name.endsWith("At") }));

/** The number of messages that a fingerprint was made with; NaN for any other text. */
export function totalIn(fingerprint: string): number {
	return Number.parseInt(fingerprint, 10);
}

/** A time of the service in milliseconds. -Infinity for null, for text that is not a time, and for 1970-01-01T00:00Z. */
export function instant(time: string | null | undefined): number {
	return Date.parse(time ?? "") || -Infinity;
}

/** 64 bits in two halves, without the asynchronous `crypto.subtle`, because a page of rows is compared at once. */
export function hash(text: string): string[] {
	let first = 0x811c9dc5;
	let second = 0x2f0b4c47;
	for (let index = 0; index < text.length; index++) {
		first = Math.imul(first ^ text.charCodeAt(index), 0x01000193);
		second = Math.imul(second ^ first, 0x85ebca6b);
		second ^= second >>> 15;
	}
	return [(first >>> 0).toString(36), (second >>> 0).toString(36)];
}
