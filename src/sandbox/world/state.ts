import type { E164 } from "../base/phone.ts";
import type { Schemas } from "../base/schemas.ts";
import type { Clock } from "./clock.ts";
import type { Consent } from "./consent.ts";
import type { Author } from "./conversation-event.ts";
import type { ConversationIndex, Rank } from "./conversation-index.ts";
import type { EventLog } from "./events.ts";
import type { FaultBook } from "./faults.ts";
import type { Interruptions } from "./interruptions.ts";
import type { Journal } from "./journal.ts";
import type { Policy } from "./policy.ts";

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

/** The fields of an agency in an export, beside its conversations. */
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
	/** The conversations that the agency owns or shares, by phone number. */
	readonly threads: Map<string, Thread>;
	readonly index: ConversationIndex<Thread>;
	/** Rows of answers as they were last built; each is deleted when its thread changes. */
	readonly summaries: Map<Thread, Schemas["ConversationSummary"]>;
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
}

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

/** The fields of a conversation in an export, below the agency that owns it. */
export interface ThreadRecord {
	/** The number of the conversation, in order of creation. */
	readonly serial: number;
	readonly phone: E164;
	name: string | null;
	/** R166: a conversation exists; naming a contact does not make one. */
	opened: boolean;
	/** Other agencies may see it too. */
	shared: boolean;
	/** The owner's view first. */
	readonly views: View[];
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

/** A contact as an agency knows it: perhaps a name, and from the first message on a conversation. */
export interface Thread extends ThreadRecord {
	/** Derived: the agency that owns it. */
	readonly agencyId: string;
	/** Derived: the place in the list (R45). */
	rank: Rank;
	/** Derived: how many messages count as failed (R158). */
	failed: number;
	/** Derived: the time of the last inbound message. */
	lastInboundAt: number | null;
}

/** The send of an operationId, and the fate of its text. */
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

/** Everything that exists. Derived parts (indexes, caches, what is due) are rebuilt when a snapshot is restored. */
export interface World {
	readonly clock: Clock;
	readonly policy: Policy;
	readonly variation: string | undefined;
	/** Goes up when an archive replaces everything: what began before belongs to another world. */
	era: number;
	/** All ids come from these counters, so the same calls give the same ids. */
	readonly counters: Map<string, number>;
	readonly integrations: Map<string, Integration>;
	readonly keys: Map<string, Key>;
	readonly agencies: Map<string, Agency>;
	/** The send of each operationId, by `operationKey`. */
	readonly operations: Map<string, Operation>;
	/** The thread of each message, by message id. */
	readonly threadOf: Thread[];
	/** Threads whose window's end is scheduled on the clock. */
	readonly closing: Set<Thread>;
	/** Rows of answers as they were last built; each is deleted when its message changes. */
	readonly messages: Map<StoredMessage, Schemas["Message"]>;
	/** The JSON of rows that were built before. */
	readonly texts: WeakMap<object, string>;
	readonly faults: FaultBook;
	readonly interruptions: Interruptions;
	readonly journal: Journal;
	readonly events: EventLog;
}
