import type { E164 } from "../input/phone.ts";
import { createClock } from "./clock.ts";
import { createFaults } from "./faults.ts";
import { createJournal } from "./journal.ts";
import { hex, uuid } from "./noise.ts";
import { never } from "./order.ts";
import type { Policy } from "./policy.ts";
import { createRoster } from "./roster.ts";
import {
	type Agency,
	type Consent,
	type Integration,
	type Key,
	type Scope,
	scopes,
	type Thread,
	type World,
} from "./state.ts";

export function createWorld(now: number, policy: Policy, latitude: string | undefined): World {
	return {
		clock: createClock(now),
		policy,
		latitude,
		counters: new Map(),
		integrations: new Map(),
		keys: new Map(),
		agencies: new Map(),
		ledger: new Map(),
		threadOf: [],
		summaries: new Map(),
		messages: new Map(),
		texts: new WeakMap(),
		faults: createFaults(),
		journal: createJournal(),
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
	return key;
}

/** Law 8: the right form, with a prefix that the live service refuses. */
export const apiKeyOf = (key: Key): string => `sandbox_live.${key.id}.${key.secret}`;

/** The consent flow that a new agency has. */
export const consentFlow = (): Consent => ({
	configured: true,
	languages: ["en"],
	defaultLanguage: "en",
	flowCodes: ["window_reopen"],
	missingFlowCodes: [],
	missingTemplates: [],
	unapprovedTemplates: [],
	answerWithinHours: 48, // §8
});

export function addAgency(world: World, integrationId: string, name: string | null): Agency {
	const number = next(world, "agency");
	const agency: Agency = {
		id: `agy_${hex(`agency ${number}`, 16)}`,
		integrationId,
		name,
		linked: true,
		storesMedia: false,
		consent: consentFlow(),
		senders: [uuid(`sender ${number}`)],
		threads: new Map(),
		roster: createRoster(),
	};
	world.agencies.set(agency.id, agency);
	return agency;
}

export function agencyById(world: World, id: string): Agency {
	const agency = world.agencies.get(id);
	if (!agency) throw new Error(`The sandbox has no agency ${id}.`);
	return agency;
}

/** The agency's record of a contact, made when there is none. */
export function threadFor(agency: Agency, phone: E164): Thread {
	const known = agency.threads.get(phone);
	if (known) return known;
	const serial = agency.threads.size;
	const thread: Thread = {
		serial,
		agencyId: agency.id,
		phone,
		name: null,
		opened: false,
		hidden: false,
		reason: "focus",
		shared: false,
		messages: [],
		failed: 0,
		lastInboundAt: null,
		windowFrom: null,
		ai: { enabled: true, reason: null, at: null },
		flows: [],
		held: null,
		conflicts: 0,
		listed: false,
		rank: { at: never, messageId: 0, serial },
	};
	agency.threads.set(phone, thread);
	agency.roster.note(thread);
	return thread;
}

/** The agency as it is now: a restored snapshot has others. */
export const agencyOf = (world: World, { agencyId }: Thread): Agency => agencyById(world, agencyId);

/** Changes a thread; its place in the list and what was remembered of it follow. */
export function change(world: World, thread: Thread, act: () => void): void {
	world.summaries.delete(thread);
	agencyOf(world, thread).roster.move(thread, () => {
		act();
		const last = thread.messages[thread.messages.length - 1];
		thread.listed = thread.opened && !thread.hidden;
		// R173: a change of status does not reorder the list, as only a message changes the rank.
		if (last && last.id !== thread.rank.messageId)
			thread.rank = { at: last.at, messageId: last.id, serial: thread.serial };
	});
}
