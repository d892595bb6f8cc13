import { hex, uuid } from "../base/derived.ts";
import type { E164 } from "../base/phone.ts";
import { createClock } from "./clock.ts";
import { initialConsent } from "./consent.ts";
import type { EventContact } from "./conversation-event.ts";
import { createConversationIndex, never } from "./conversation-index.ts";
import type { EventFault } from "./event.ts";
import { createEventLog } from "./events.ts";
import { createFaults, type Fault } from "./faults.ts";
import { createInterruptions } from "./interruptions.ts";
import { createJournal } from "./journal.ts";
import type { Policy } from "./policy.ts";
import {
	type Agency,
	type AgencyRecord,
	type Integration,
	type Key,
	type Scope,
	scopes,
	type Thread,
	type View,
	type World,
} from "./state.ts";

export function createWorld(now: number, policy: Policy, variation: string | undefined): World {
	const clock = createClock(now);
	return {
		clock,
		policy,
		variation,
		era: 0,
		counters: new Map(),
		integrations: new Map(),
		keys: new Map(),
		agencies: new Map(),
		operations: new Map(),
		threadOf: [],
		closing: new Set(),
		messages: new Map(),
		texts: new WeakMap(),
		faults: createFaults(),
		interruptions: createInterruptions(),
		journal: createJournal(),
		events: createEventLog(clock),
	};
}

/** The next number of a kind, from 1. */
export function next(world: World, kind: string): number {
	const number = (world.counters.get(kind) ?? 0) + 1;
	world.counters.set(kind, number);
	return number;
}

export function addIntegration(world: World, name: string): Integration {
	const integration: Integration = { id: uuid(`integration ${next(world, "integration")}`), name, hidden: false };
	world.integrations.set(integration.id, integration);
	world.events.add({ type: "access.changed", integrationId: integration.id });
	return integration;
}

/** R27: new keys have both scopes. */
export function addKey(world: World, integrationId: string, given: readonly Scope[] = scopes): Key {
	const number = next(world, "key");
	const key: Key = {
		id: `key${number}${hex(`key ${number}`, 8)}`,
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
	const number = next(world, "agency");
	const agency = agencyFrom({
		id: `agy_${hex(`agency ${number}`, 16)}`,
		integrationId,
		name,
		linked: true,
		storesMedia: false,
		consent: initialConsent,
		senders: [uuid(`sender ${number}`)],
		...given,
	});
	world.agencies.set(agency.id, agency);
	world.events.add({ type: "agency.changed", agencyId: agency.id });
	return agency;
}

/** An agency without conversations. */
export function agencyFrom(record: AgencyRecord): Agency {
	const { id } = record;
	return {
		...record,
		threads: new Map(),
		index: createConversationIndex((thread) => isSeen(thread, id)),
		summaries: new Map(),
	};
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
	agencyId,
	rank: { at: never, messageId: 0, serial },
	failed: 0,
	lastInboundAt: null,
});

/** The agency that owns the thread, as it is now: a restored snapshot has others. */
export const agencyOf = (world: World, { agencyId }: Thread): Agency => agencyById(world, agencyId);

/** Changes a thread; its place in lists and the rows that were built of it follow. */
export function change(world: World, thread: Thread, act: () => void): void {
	act();
	const last = thread.messages[thread.messages.length - 1];
	// R173: a change of status does not reorder the list, because only a message changes the rank.
	if (last && last.id !== thread.rank.messageId)
		thread.rank = { at: last.at, messageId: last.id, serial: thread.serial };
	for (const { agencyId } of thread.views) {
		const agency = agencyById(world, agencyId);
		agency.summaries.delete(thread);
		agency.index.changed(thread);
	}
}

/** Names the conversation that an event is about. */
export const about = ({ agencyId, phone, name }: Thread): EventContact => ({ agencyId, contact: phone, name });

/** A fault as events describe it. */
export const faultEvent = ({ id, operation, phase, effect: { kind, status }, remaining }: Fault): EventFault => ({
	id: String(id),
	operation,
	phase,
	kind,
	status,
	remaining,
});
