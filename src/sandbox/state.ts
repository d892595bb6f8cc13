import type { components } from "../../generated/openapi.ts";
import type { E164 } from "../input/phone.ts";
import type { Clock } from "./clock.ts";
import type { FaultBook } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { Rank } from "./order.ts";
import type { Policy } from "./policy.ts";
import type { Roster } from "./roster.ts";

export type Schemas = components["schemas"];

export const scopes = ["conversations:read", "messages:write"] as const;
/** What a key may do (§2). */
export type Scope = (typeof scopes)[number];

export const keyStates = ["live", "revoked", "expired"] as const;

/** §2 ConversationVisibility */
export const visibilityReasons = ["focus", "unlinked", "tagged", "unknown"] as const;

/** §2 AiSettings; null while the AI is on. */
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

/** An agency's consent flow: what windowReopenReadiness tells of it, and how long a contact may take to answer. */
export interface Consent {
	configured: boolean;
	languages: readonly string[];
	defaultLanguage: string | null;
	flowCodes: readonly string[];
	missingFlowCodes: readonly string[];
	missingTemplates: readonly string[];
	unapprovedTemplates: readonly Schemas["UnapprovedTemplate"][];
	answerWithinHours: number;
}

export interface Agency {
	readonly id: string;
	readonly integrationId: string;
	name: string | null;
	linked: boolean;
	storesMedia: boolean;
	consent: Consent;
	/** The agency's senders, the default one first. */
	senders: readonly string[];
	readonly threads: Map<string, Thread>;
	readonly roster: Roster<Thread>;
}

/** What few messages have. */
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
	/** Where the ledger keeps the operation of this text. */
	entry: string | null;
}

/** What an agency has of one contact: a name perhaps, and from the first message on a conversation. */
export interface Thread {
	readonly serial: number;
	readonly agencyId: string;
	readonly phone: E164;
	name: string | null;
	/** R166: a conversation exists; naming a contact does not make one. */
	opened: boolean;
	hidden: boolean;
	reason: (typeof visibilityReasons)[number];
	shared: boolean;
	readonly messages: StoredMessage[];
	failed: number;
	lastInboundAt: number | null;
	/** The inbound message from which the window counts. */
	windowFrom: number | null;
	ai: { readonly enabled: boolean; readonly reason: (typeof aiReasons)[number]; readonly at: number | null };
	readonly flows: Flow[];
	held: Held | null;
	/** How many of the next sends find that another party took over. */
	conflicts: number;
	/** `opened` and not `hidden`. */
	listed: boolean;
	rank: Rank;
}

/** What became of an operationId (§4 send, rule 4). */
export interface LedgerEntry {
	/** The whole payload, as R138 compares it. */
	readonly fingerprint: string;
	readonly at: number;
	readonly result: LedgerResult;
}

/** `held`: this very text waits. `gone`: it waited, and was dropped or replaced. */
export type LedgerResult =
	| { readonly state: "sent"; readonly messageId: number; readonly windowExpiresAt: number; readonly wasHeld: boolean }
	| { readonly state: "held"; readonly queueId: string }
	| { readonly state: "gone" };

/** Everything that exists. Derived parts (rosters, caches, what is due) are rebuilt when a snapshot is restored. */
export interface World {
	readonly clock: Clock;
	readonly policy: Policy;
	readonly latitude: string | undefined;
	/** Law 5: all ids come from these. */
	readonly counters: Map<string, number>;
	readonly integrations: Map<string, Integration>;
	readonly keys: Map<string, Key>;
	readonly agencies: Map<string, Agency>;
	readonly ledger: Map<string, LedgerEntry>;
	/** The thread of each message, by message id. */
	readonly threadOf: Thread[];
	/** Answers' rows as they were last built; each is forgotten when what it shows changes. */
	readonly summaries: Map<Thread, Schemas["ConversationSummary"]>;
	readonly messages: Map<StoredMessage, Schemas["Message"]>;
	readonly texts: WeakMap<object, string>;
	readonly faults: FaultBook;
	readonly journal: Journal;
}
