import {
	createIntegrationControl,
	foundIntegration,
	type IntegrationControl,
	type KeysControl,
	type LinkOptions,
} from "./account.ts";
import { type AgencyControl, createAgencyControl } from "./agency.ts";
import { type Archive, archive, type Snapshot, unarchive } from "./archive.ts";
import { type ClockControl, createClockControl, instant } from "./clock.ts";
import { consenting } from "./consent.ts";
import { createMessageControl, type MessageControl } from "./delivery.ts";
import { knock } from "./door.ts";
import { createFaultsControl, type FaultsControl } from "./faults.ts";
import { createFetch } from "./fetch.ts";
import type { RecordedRequest, Violation } from "./journal.ts";
import { type Policy, policyFrom } from "./policy.ts";
import { type ScenarioName, type Stage, scenarios } from "./scenarios.ts";
import { archiveFrom } from "./schema.ts";
import { aString, assertValid, fields, listOf, must, optional } from "./strict.ts";
import type { Call, Reply } from "./wire.ts";
import { addAgency, agencyById, createWorld } from "./world.ts";

export type { CreatedKey, IntegrationControl, KeysControl, LinkOptions } from "./account.ts";
export type { AgencyControl, ConversationControl } from "./agency.ts";
export type { Archive, Snapshot } from "./archive.ts";
export type { Advance, ClockControl } from "./clock.ts";
export type { ConsentSettings } from "./consent.ts";
export type { Contact, ContactMessage, ContactRef, MessageIds } from "./contact.ts";
export type { MessageControl } from "./delivery.ts";
export type { FaultControl, FaultEffect, FaultKind, FaultOptions, FaultsControl } from "./faults.ts";
export type { FlowControl } from "./flow.ts";
export type { OperationId, RecordedRequest, Violation } from "./journal.ts";
export type { Policy } from "./policy.ts";
export type { InboxEntry } from "./rows.ts";
export { type ScenarioName, scenarioNames } from "./scenarios.ts";
export type { Scope } from "./state.ts";
export type { Answer, Call, Later, Reply } from "./wire.ts";

/** What a sandbox is made with. */
export interface SandboxOptions {
	/** Where its clock stands. @default "2026-01-05T09:00:00Z" */
	readonly now?: string | Date;
	/** The world it begins with. @default "fresh": one agency, one key, nothing said yet */
	readonly seed?: ScenarioName;
	/** How it reads the specification where that is silent. */
	readonly policy?: Partial<Policy>;
	/**
	 * Varies what a caller must not lean on: timestamp precision, cursor length, key order, extra fields, unknown words,
	 * null or empty media, the order of scopes. The same value varies the same way. @default no variation
	 */
	readonly latitude?: number | string;
}

/** What a client needs to talk to a sandbox: spread it into `createClient`. */
export interface Connection {
	/** Where the sandbox pretends to be; only its `fetch` answers there. */
	readonly baseUrl: string;
	/** Of the right form, with a prefix that the live service refuses. */
	readonly apiKey: string;
	/** The door in process: a fetch that reaches nothing but the sandbox. */
	readonly fetch: typeof globalThis.fetch;
}

/** The whole service in one process, with the controls of everybody who is not the client. */
export interface Sandbox {
	/** @example const client = createClient({ ...sandbox.connection }); */
	readonly connection: Connection;
	/**
	 * The service, as a `fetch`: no socket, no timer but what a fault asks for.
	 * @example await sandbox.fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
	 */
	readonly fetch: typeof globalThis.fetch;
	/** The default agency, or the one with this id; an unknown id throws. @example sandbox.agency().id; */
	agency(id?: string): AgencyControl;
	/** Makes an agency and links it to the default integration. @example sandbox.link({ name: "Second" }); */
	link(options: LinkOptions): AgencyControl;
	/** The integration of the default key. */
	readonly integration: IntegrationControl;
	/** Further CRMs beside the default one. */
	readonly integrations: {
		/** Another CRM, with keys and agencies of its own. @example sandbox.integrations.add({ name: "Other" }).apiKey; */
		add(options: { name: string }): IntegrationControl;
	};
	/** The keys of the default integration. */
	readonly keys: KeysControl;
	/** Its time, which stands still until it is moved. */
	readonly clock: ClockControl;
	/** Faults to come: answers that fail, hang, or get lost. */
	readonly faults: FaultsControl;
	/**
	 * A message by its id, or by the messageSid that a send returned; an unknown one throws.
	 * @example sandbox.message(sent.messageId).delivered();
	 */
	message(id: number | string): MessageControl;
	/**
	 * What was asked of the sandbox, the oldest first; the newest 10,000.
	 * @example sandbox.requests().map((request) => request.operation);
	 */
	requests(): RecordedRequest[];
	/**
	 * What a good client would not have done: unknown paths (R12), a `+` not encoded (R69).
	 * @example expect(sandbox.violations()).toEqual([]);
	 */
	violations(): Violation[];
	/** This moment, to go back to with {@link restore}. @example const before = sandbox.snapshot(); */
	snapshot(): Snapshot;
	/**
	 * Goes back to a snapshot, its clock too; contacts, agencies and other handles stay good. Correlation ids alone go on.
	 * @example sandbox.restore(before);
	 */
	restore(snapshot: Snapshot): void;
	/** Everything that exists, as data that JSON can carry. @example JSON.stringify(sandbox.export()); */
	export(): Archive;
	/**
	 * Becomes what another sandbox exported: the data, or their JSON text. Policy and latitude stay this one's own.
	 * @example sandbox.import(JSON.parse(text));
	 */
	import(archive: Archive | string): void;
	/** As new: the scenario it was made with, the counters too. @example sandbox.reset(); */
	reset(): void;
	/**
	 * Adds a scenario to the default agency, whatever happened there before: the AI is turned on where it speaks in it,
	 * and over newer activity its messages come last, with their own, older times. One that throws leaves nothing behind.
	 * @example sandbox.tell("busy");
	 */
	tell(scenario: ScenarioName): void;
	/** The primitive below every door, for frames of other kinds: plain values in, plain values out. */
	answer(call: Call): Reply;
}

const optionsRule = fields<SandboxOptions>({
	// The first three say more exactly what they may be.
	now: () => undefined,
	seed: () => undefined,
	policy: () => undefined,
	latitude: optional(must("a number or a string", (value) => typeof value === "string" || Number.isFinite(value))),
});

const integrationRule = fields<{ name: string }>({ name: aString });

const anything = must("there", (value) => value !== undefined);
const snapshotRule = fields<Snapshot>({
	world: anything, // archiveFrom looks at it
	journal: fields<Snapshot["journal"]>({ entries: listOf(anything), violations: listOf(anything) }),
});

const baseUrl = "https://sandbox.invalid/api/v1";

/**
 * The whole service in one process: one agency, one key with both scopes, fixed ids, a clock that stands still.
 * Cheap, and without any shared state: make one per test.
 *
 * @example
 * const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
 * const client = createClient({ ...sandbox.connection });
 * sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Is the flat still free?");
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
	assertValid("createSandbox", options, optionsRule);
	const { now = "2026-01-05T09:00:00.000Z", seed = "fresh", policy, latitude } = options;
	const start = instant("createSandbox: now", now);
	const world = createWorld(start, policyFrom(policy), latitude === undefined ? undefined : String(latitude));
	const founded = foundIntegration(world, "Sandbox CRM");
	const first = addAgency(world, founded.id, "Lakeside Homes").id;
	const integration = createIntegrationControl(world, founded.id);
	const agency = (id: string = first): AgencyControl => createAgencyControl(world, id);
	const stage: Stage = {
		integration,
		agency: agency(),
		ago: (hours, act) => world.clock.during(world.clock.now() - hours * 3_600_000, act),
		consenting: (hours, act) => consenting(agencyById(world, first), hours, act),
	};
	const play = (scenario: ScenarioName): void => {
		if (!Object.hasOwn(scenarios, scenario)) throw new TypeError(`The sandbox has no scenario "${scenario}".`);
		scenarios[scenario](stage);
	};
	play(seed);
	const beginning = archive(world);
	const answer = (call: Call): Reply => knock(world, call);
	const fetch = createFetch(baseUrl, answer);
	return {
		connection: { baseUrl, apiKey: integration.apiKey, fetch },
		fetch,
		agency,
		link: integration.link,
		integration,
		integrations: {
			add(options) {
				assertValid("integrations.add", options, integrationRule);
				return createIntegrationControl(world, foundIntegration(world, options.name).id);
			},
		},
		keys: integration.keys,
		clock: createClockControl(world.clock),
		faults: createFaultsControl(world.faults),
		message: (id) => createMessageControl(world, id),
		requests: world.journal.requests,
		violations: world.journal.violations,
		snapshot: () => ({ world: archive(world), journal: structuredClone(world.journal.dump()) }),
		restore(snapshot) {
			assertValid("restore", snapshot, snapshotRule);
			const journal = structuredClone(snapshot.journal);
			unarchive(world, archiveFrom(snapshot.world));
			world.journal.load(journal);
		},
		export: () => archive(world),
		import: (given) => unarchive(world, archiveFrom(given)),
		reset() {
			world.counters.clear();
			unarchive(world, beginning);
			world.journal.load({ entries: [], violations: [] });
		},
		tell(scenario) {
			const before = archive(world);
			try {
				play(scenario);
			} catch (error) {
				unarchive(world, before); // half a scenario would be a world that nobody described
				throw error;
			}
		},
		answer,
	};
}

const factory =
	(scenario: ScenarioName) =>
	(sandbox: Sandbox): void =>
		sandbox.tell(scenario);

// The scenarios, usable alone: each adds its world to a sandbox's default agency.
/** One agency, one key, nothing said yet. */
export const fresh = factory("fresh");
/** 250 conversations, three pages of 100; the first contact's has 130 messages, three pages of 50. */
export const busy = factory("busy");
/** One contact who wrote 30 hours ago. */
export const closed = factory("closed");
/** The same, and a text that waits since an hour ago. */
export const held = factory("held");
/** The same as closed, at an agency whose consent template awaits approval. */
export const ineligible = factory("ineligible");
/** The same as closed, at an agency with two consent languages. */
export const twoLanguages = factory("twoLanguages");
/** One conversation that no agency owns. */
export const unlinked = factory("unlinked");
/** The default key may read only. */
export const readOnlyKey = factory("readOnlyKey");
/** What real data have and examples lack: null names, files alone, older records. */
export const oddData = factory("oddData");
