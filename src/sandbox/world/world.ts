import type { E164, Schemas } from "../base/contract.ts";
import { hex, uuid } from "../base/derived.ts";
import { type Consent, initialConsent } from "./consent.ts";
import type { Author, EventContact, EventFault } from "./event.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import type { Fault } from "./fault.ts";
import type { Interruption } from "./interruptions.ts";
import { createJournal, type Journal } from "./journal.ts";
import type { Policy } from "./policy.ts";

/*
 * Everything that exists in a sandbox, as plain data, and how it is made and found.
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

/** Everything that exists. */
export interface World {
	/** The sandbox's time, in milliseconds since 1970. Only a control moves it. */
	now: number;
	readonly policy: Policy;
	variation: string | undefined;
	/** Goes up when an archive replaces everything: what began before belongs to another world. */
	era: number;
	/** All ids come from these counters, so the same calls give the same ids. */
	readonly counters: Map<string, number>;
	readonly integrations: Map<string, Integration>;
	readonly keys: Map<string, Key>;
	readonly agencies: Map<string, Agency>;
	/** The send of each operationId, by `operationKey`. */
	readonly operations: Map<string, Operation>;
	faults: readonly Fault[];
	/** The number of the newest fault. It only goes up, because handles name faults by number, also those of another era. */
	newestFault: number;
	readonly interruptions: Set<Interruption>;
	readonly journal: Journal;
	readonly events: EventLog;
}

export function createWorld(now: number, policy: Policy, variation: string | undefined): World {
	const world: World = {
		now,
		policy,
		variation,
		era: 0,
		counters: new Map(),
		integrations: new Map(),
		keys: new Map(),
		agencies: new Map(),
		operations: new Map(),
		faults: [],
		newestFault: 0,
		interruptions: new Set(),
		journal: createJournal(),
		events: createEventLog(
			() => world.now,
			() => {
				for (const { rows } of world.agencies.values()) rows.clear();
			},
		),
	};
	return world;
}

/** The ids of the integration and the agency that every sandbox begins with. */
export const defaultIds = { integration: integrationId(1), agency: agencyId(1) };

function integrationId(number: number): string {
	return uuid(`integration ${number}`);
}

function agencyId(number: number): string {
	return `agy_${hex(`agency ${number}`, 16)}`;
}

function keyId(number: number): string {
	return `key${number}${hex(`key ${number}`, 8)}`;
}

/** The next number of a kind whose id is free: an import may have been written by hand. */
function nextFree(
	world: World,
	kind: string,
	idOf: (number: number) => string,
	taken: ReadonlyMap<string, unknown>,
): number {
	for (;;) {
		const number = next(world, kind);
		if (!taken.has(idOf(number))) return number;
	}
}

/** The next number of a kind, from 1. */
export function next(world: World, kind: string): number {
	const number = (world.counters.get(kind) ?? 0) + 1;
	world.counters.set(kind, number);
	return number;
}

export function addIntegration(world: World, name: string): Integration {
	const number = nextFree(world, "integration", integrationId, world.integrations);
	const integration: Integration = { id: integrationId(number), name, hidden: false };
	world.integrations.set(integration.id, integration);
	world.events.add({ type: "access.changed", integrationId: integration.id });
	return integration;
}

/** R27: new keys have both scopes. */
export function addKey(world: World, integrationId: string, given: readonly Scope[] = scopes): Key {
	const number = nextFree(world, "key", keyId, world.keys);
	const key: Key = {
		id: keyId(number),
		secret: hex(`secret ${number}`, 32),
		integrationId,
		scopes: given,
		state: "live",
	};
	world.keys.set(key.id, key);
	world.events.add({ type: "access.changed", integrationId });
	return key;
}

/** A key of the right form, with a prefix that the live service refuses. */
export const apiKeyOf = (key: Key): string => `sandbox_live.${key.id}.${key.secret}`;

/** A new agency; `given` are settings that were checked. */
export function addAgency(
	world: World,
	integrationId: string,
	name: string | null,
	given: Partial<Pick<AgencyRecord, "consent" | "senders" | "storesMedia">> = {},
): Agency {
	const number = nextFree(world, "agency", agencyId, world.agencies);
	const agency: Agency = {
		id: agencyId(number),
		integrationId,
		name,
		linked: true,
		storesMedia: false,
		consent: initialConsent,
		senders: [uuid(`sender ${number}`)],
		threads: new Map(),
		list: [],
		rows: new Map(),
		...given,
	};
	world.agencies.set(agency.id, agency);
	world.events.add({ type: "agency.changed", agencyId: agency.id });
	return agency;
}

export function agencyById(world: World, id: string): Agency {
	const agency = world.agencies.get(id);
	if (!agency) throw new Error(`The sandbox has no agency ${id}.`);
	return agency;
}

/** How an agency sees a conversation; undefined when it does not share it. */
export const viewOf = ({ views }: Thread, agencyId: string): View | undefined =>
	views.find((view) => view.agencyId === agencyId);

/** Whether the agency's lists and reads show the conversation. */
export function isSeen(thread: Thread, agencyId: string): boolean {
	return thread.opened && viewOf(thread, agencyId)?.hidden === false;
}

/** R165: whether it is marked as shared, or another agency sees it too. */
export const isShared = ({ shared, views }: Thread, agencyId: string): boolean =>
	shared || views.some((view) => view.agencyId !== agencyId && !view.hidden);

/** The agency's record of a contact, made when there is none. */
export function threadFor(world: World, agency: Agency, phone: E164): Thread {
	const known = agency.threads.get(phone);
	if (known) return known;
	const thread = blankThread(agency.id, phone, next(world, "thread"));
	agency.threads.set(phone, thread);
	return thread;
}

/** A contact of whom the agency knows nothing but the number. */
export const blankThread = (agencyId: string, phone: E164, serial: number): Thread => ({
	serial,
	phone,
	name: null,
	opened: false,
	shared: false,
	views: [{ agencyId, reason: "focus", hidden: false }],
	messages: [],
	windowFrom: null,
	ai: { enabled: true, reason: null, at: null },
	flows: [],
	held: null,
	conflicts: 0,
	reachable: true,
});

/** The agency that owns the thread. */
export const agencyOf = (world: World, { views }: Thread): Agency => agencyById(world, views[0].agencyId);

/** A place in a list (R45): time of the last message, then that message, then the thread's number. */
export type Rank = readonly [at: number, messageId: number, serial: number];

/** Without a message it is earlier than any, so that threads without one come last. */
export function rankOf({ messages, serial }: Thread): Rank {
	const last = messages[messages.length - 1];
	return [last?.at ?? -8.64e15, last?.id ?? 0, serial];
}

/** Compares places in list order: the newest comes first. */
export const compareRanks = (a: Rank, b: Rank): number => b[0] - a[0] || b[1] - a[1] || b[2] - a[2];

/** Makes the thread a conversation (R108), at its place in the lists of its agencies. A new message moves it there. */
export function placeInLists(world: World, thread: Thread): void {
	thread.opened = true;
	const rank = rankOf(thread);
	for (const { agencyId } of thread.views) {
		const { list } = agencyById(world, agencyId);
		const before = list.indexOf(thread);
		if (before >= 0) list.splice(before, 1);
		const place = list.findIndex((other) => compareRanks(rank, rankOf(other)) < 0);
		list.splice(place < 0 ? list.length : place, 0, thread);
	}
}

/** Names the conversation that an event is about. */
export const about = ({ views: [{ agencyId }], phone, name }: Thread): EventContact => ({
	agencyId,
	contact: phone,
	name,
});

/** A fault as events describe it. */
export const faultEvent = ({ id, operation, phase, effect: { kind, status }, remaining }: Fault): EventFault => ({
	id: String(id),
	operation,
	phase,
	kind,
	status,
	remaining,
});
