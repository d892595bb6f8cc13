import { PartnerInvalidInput, property, reading } from "./errors.ts";
import type { ConversationDetail, ConversationSummary } from "./types.ts";

/**
 * Whether a text would go out at once: true within 24 hours after the contact's last inbound message (spec §1). Outside
 * the window a send is queued behind a consent template.
 *
 * @param at the moment asked about; now when left out. Against a sandbox its own: `sandbox.clock.now()`
 * @example
 * const { conversation } = await agency.conversations.get("+32470123456");
 * if (isWindowOpen(conversation)) await agency.messages.send({ to: "+32470123456", body: "See you at 14:00." });
 */
export function isWindowOpen(
	conversation: Pick<ConversationSummary, "windowExpiresAt"> | Pick<ConversationDetail, "summary">,
	at: Date | string | number = Date.now(),
): boolean {
	const operation = "isWindowOpen";
	const expires = property(property(conversation, "summary") ?? conversation, "windowExpiresAt");
	if (expires !== null && typeof expires !== "string") {
		throw new PartnerInvalidInput({ field: "conversation", rule: "must be a summary or a detail", operation });
	}
	// Null would be the year 1970, when every window is open.
	const moment = reading("at", operation, () => new Date(at ?? Number.NaN).getTime());
	if (Number.isNaN(moment)) {
		throw new PartnerInvalidInput({ field: "at", rule: "must be a point in time", operation });
	}
	return expires !== null && moment < Date.parse(expires);
}
