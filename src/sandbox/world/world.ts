import type { E164 } from "../base/contract.ts";
import { hex, uuid } from "../base/derived.ts";
import { type Breakpoints, createBreakpoints } from "./breakpoint.ts";
import { initialConsent } from "./consent.ts";
import type { EventContact, EventFault } from "./event.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import type { Fault } from "./fault.ts";
import { createHistory, type History } from "./history.ts";
import type { Interruption } from "./interruptions.ts";
import { createJournal, type Journal } from "./journal.ts";
import type { Policy } from "./policy.ts";
import {
	type Agency,
	type AgencyRecord,
	type Integration,
	type Key,
	type Operation,
	type Scope,
	scopes,
	type Thread,
	type View,
} from "./records.ts";

/*
 * Everything that exists in a sandbox, and how it is made and found.
 */

export type {
	Agency,
	AgencyRecord,
	Fate,
	Flow,
	Held,
	Integration,
	Key,
	MessageExtras,
	Operation,
	Scope,
	StoredMessage,
	Thread,
	View,
	VisibilityReason,
} from "./records.ts";
export { aiReasons, keyStates, nullFields, scopes, visibilityReasons } from "./records.ts";

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
	/** The number of the newest fault. It only goes up, because handles name faults by number, even faults from before a reset. */
	newestFault: number;
	readonly interruptions: Set<Interruption>;
	readonly breakpoints: Breakpoints;
	readonly journal: Journal;
	readonly history: History;
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
		breakpoints: createBreakpoints(),
		journal: createJournal(),
		history: createHistory(() => world),
		events: createEventLog(() => world.now, {
			changed(event) {
				for (const { rows } of world.agencies.values()) rows.clear();
				world.history.changed(event);
			},
			stepped: () => world.history.stepped(world.events.newest()),
		}),
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
