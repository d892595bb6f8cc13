import {
	type Client,
	type ConversationDetail,
	type ConversationSummary,
	type E164,
	type Message,
	PartnerInvalidInput,
	type ToE164Options,
	toE164,
} from "messaging-conversations";
import { fields, moment, object, refuse, text } from "./check.ts";
import { type NewText, newProgress } from "./text.ts";

/** A text to send. */
export interface EnqueuedText {
	/** Your id of the text, such as the id of the note it belongs to: the same id is the same text. Ids are unique across agencies. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, as written. */
	to: string;
	/** The text. */
	body: string;
	/** Language of the consent template: needed when the agency has several, also while the window is open. */
	consentLanguage?: string | undefined;
	/** The agency's sender to use, a UUID; its default sender when left out or null. */
	subaccountId?: string | null | undefined;
	/** After this moment it is not sent; as text, with its zone. What waits for consent cannot be taken back. */
	notAfter?: Date | string | number | undefined;
}

/** Options of `enqueue`. */
export interface EnqueueOptions {
	/** Your open transaction: the text is stored with it, or rolled back with it. */
	tx?: unknown;
	/** Accepts a number that the numbering plan of its country does not list, as in `messages.send`. @default false */
	allowUnlistedNumber?: boolean | undefined;
}

/** A change of the change feed, as far as the outbox uses it. */
export interface ObservedChange {
	/** The agency's id; without it the contact's texts of every agency are looked at. */
	agencyId?: string | undefined;
	/** The conversation, by its detail or its summary. */
	conversation?: ConversationSummary | ConversationDetail | null | undefined;
	/** Messages that are new, or whose status is. */
	messages?: readonly Message[] | undefined;
}

/** A text as it is frozen: its number in E.164, every field checked. */
export function checkedText(given: EnqueuedText, client: Client, numbers: ToE164Options, createdAt: number): NewText {
	object("text", given, "enqueue");
	const { id, agencyId, to, body, consentLanguage, subaccountId = null, notAfter, ...unknown } = given;
	fields("text", unknown, "enqueue");
	if (subaccountId !== null && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(String(subaccountId)))
		refuse("subaccountId", "must be a UUID or null", "enqueue");
	return {
		id: text("id", id, "enqueue"),
		agencyId: client.agency(agencyId).id,
		to: numberIn(to, numbers),
		body: text("body", body, "enqueue"),
		consentLanguage: consentLanguage === undefined ? null : text("consentLanguage", consentLanguage, "enqueue"),
		subaccountId,
		notAfter: notAfter === undefined ? null : moment("notAfter", notAfter, "enqueue"),
		createdAt,
		progress: newProgress,
	};
}

/** The number of `to` in E.164. `toE164` calls the field `phoneNumber` in its errors. */
function numberIn(to: string, options: ToE164Options): E164 {
	try {
		return toE164(to, options);
	} catch (error) {
		if (!(error instanceof PartnerInvalidInput)) throw error;
		refuse(error.field === "phoneNumber" ? "to" : String(error.field), error.rule, "enqueue");
	}
}
