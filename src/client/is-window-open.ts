import type { ConversationDetail, ConversationSummary } from "../../generated/schemas.ts";
import { isUtcTime } from "./drift.ts";
import { PartnerInvalidInput } from "./errors.ts";

/**
 * Whether a text would be sent at once: true within 24 hours after the contact's last inbound message. Outside this
 * window a send is queued behind a consent template. A `windowExpiresAt` that is not a time in UTC counts as closed.
 *
 * @param at a Date, epoch milliseconds or an ISO 8601 time with a zone. Defaults to now. Pass
 * `sandbox.clock.now()` for a conversation of the sandbox
 * @throws PartnerInvalidInput if `conversation` or `at` is something else
 * @example
 * const { conversation } = await agency.conversations.get("+447700900101");
 * if (isWindowOpen(conversation)) await agency.messages.send({ to: "+447700900101", body: "See you at 14:00." });
 */
export function isWindowOpen(
	conversation: Pick<ConversationSummary, "windowExpiresAt"> | Pick<ConversationDetail, "summary">,
	at: Date | string | number = Date.now(),
): boolean {
	const { summary = conversation } = Object(conversation);
	const { windowExpiresAt: expires }: { windowExpiresAt?: unknown } = Object(summary);
	if (expires !== null && typeof expires !== "string") {
		throw refuse("conversation", "must be a conversation as conversations.list or conversations.get returns it");
	}
	// A time without a zone would be read as local time.
	const isText = typeof at === "string" && /^[^:]*:.*(Z|[+-]\d\d:?\d\d)$/.test(at);
	const isTime = isText || typeof at === "number" || Object.prototype.toString.call(at) === "[object Date]";
	const moment = isTime ? new Date(at).getTime() : Number.NaN;
	if (Number.isNaN(moment)) throw refuse("at", "must be a Date, epoch milliseconds, or an ISO 8601 time with a zone");
	return expires !== null && isUtcTime(expires) && moment < Date.parse(expires);
}

function refuse(field: string, rule: string): PartnerInvalidInput {
	return new PartnerInvalidInput({ field, rule, operation: "isWindowOpen" });
}
