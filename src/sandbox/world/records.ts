import type { E164, Schemas } from "../base/contract.ts";
import type { Consent } from "./consent.ts";
import type { Author } from "./event.ts";

/*
 * The records of a sandbox: what a world is made of, as plain data.
 */

export const scopes = ["conversations:read", "messages:write"] as const;
/** A permission of a key. */
export type Scope = (typeof scopes)[number];

export const keyStates = ["live", "revoked", "expired"] as const;

export const visibilityReasons = ["focus", "unlinked", "tagged", "unknown"] as const;
/** Why an agency sees a conversation. */
export type VisibilityReason = (typeof visibilityReasons)[number];

export const aiReasons = ["manual_send", "user_toggle", null] as const;

export interface Integration {
	readonly id: string;
	readonly name: string;
	hidden: boolean;
}

export interface Key {
	readonly id: string;
	readonly secret: string;
	readonly integrationId: string;
	scopes: readonly Scope[];
	/** R23: keys do not expire by time; a control can expire one. */
	state: (typeof keyStates)[number];
}

/** The fields of an agency in a world that was stored, beside its conversations. */
export interface AgencyRecord {
	readonly id: string;
	readonly integrationId: string;
	name: string | null;
	linked: boolean;
	storesMedia: boolean;
	consent: Consent;
	/** The agency's senders, the default one first. */
	senders: readonly string[];
}

export interface Agency extends AgencyRecord {
	/** The contacts and conversations that the agency owns or shares, by phone number. */
	readonly threads: Map<string, Thread>;
	/** Those of them that are conversations, hidden ones too, in list order (R45). */
	readonly list: Thread[];
	/** Rows of its list that were built since anything happened. Each event but a request's clears them. */
	readonly rows: Map<Thread, Schemas["ConversationSummary"]>;
}

/** Fields that few messages have. */
export interface MessageExtras {
	readonly media?: readonly Schemas["MessageMedia"][];
	readonly mediaStored?: readonly Schemas["StoredMedia"][];
	readonly templateName?: string;
	readonly language?: string;
	readonly buttonClicked?: string;
	readonly interactiveContent?: Schemas["InteractiveContent"];
	readonly replyTo?: Schemas["ReplyToMessage"];
	readonly sender?: string | null;
	readonly operationId?: string | null;
	readonly author?: Author;
	/** Fields that reads show as null, as the contract allows. No act of a sandbox makes one: a captured message may have it. */
	readonly nulls?: readonly NullField[];
}

export const nullFields = ["createdAt", "status"] as const;
export type NullField = (typeof nullFields)[number];

export interface StoredMessage {
	readonly id: number;
	readonly body: string | null;
	readonly outbound: boolean;
	readonly at: number;
	readonly profileName: string | null;
	readonly extras: MessageExtras | undefined;
	status: string;
	deliveredAt: number | null;
	readAt: number | null;
	errorCode: number | null;
}

export interface Flow {
	readonly id: number;
	status: string;
	/** The higher, the later the flow was updated. */
	updated: number;
}

/** The text that waits for the contact's consent (R118: at most one). */
export interface Held {
	readonly id: string;
	readonly createdAt: number;
	readonly expiresAt: number;
	body: string;
	updatedAt: number;
	sender: string | null;
	operationId: string | null;
	author: Author;
	/** The key of this text's record in `World.operations`; null without an operationId. */
	operation: string | null;
}

/** How one agency sees a conversation. */
export interface View {
	readonly agencyId: string;
	reason: VisibilityReason;
	hidden: boolean;
}

/** A contact as an agency knows it: perhaps a name, and from the first message on a conversation. */
export interface Thread {
	/** The number of the conversation, in order of creation. */
	readonly serial: number;
	readonly phone: E164;
	name: string | null;
	/** R166: a conversation exists; naming a contact does not make one. */
	opened: boolean;
	/** Other agencies may see it too. */
	shared: boolean;
	/** The view of the agency that owns it comes first. */
	readonly views: [View, ...View[]];
	readonly messages: StoredMessage[];
	/** The time of the inbound message from which the window counts. */
	windowFrom: number | null;
	ai: { readonly enabled: boolean; readonly reason: (typeof aiReasons)[number]; readonly at: number | null };
	readonly flows: Flow[];
	held: Held | null;
	/** How many of the next sends find that another party took over. */
	conflicts: number;
	/** False: every message to the contact fails. */
	reachable: boolean;
}

/** The send of an operationId, and what became of its text. */
export interface Operation {
	/** The whole payload as JSON, to compare a retry with (R138). */
	readonly payload: string;
	readonly at: number;
	readonly fate: Fate;
}

/** `held`: the text waits. `dropped`: the contact declined or did not answer. `replaced`: another send took its place. */
export type Fate =
	| { readonly state: "sent"; readonly messageId: number; readonly windowExpiresAt: number; readonly wasHeld: boolean }
	| {
			readonly state: "held" | "dropped" | "replaced";
			readonly queueId: string;
			/** When the text was held. */
			readonly windowExpiresAt: number | null;
	  }
	| { readonly state: "taken" };
