/**
 * The whole service in process, for tests.
 *
 * @module messaging-conversations/sandbox
 */

import { observedBy } from "../shared/observer.ts";
import { withProtocol } from "../shared/protocol.ts";
import { anything, callable, flag, listOf, optional, rule } from "../shared/validation.ts";
import { type Archive, archive, type Moment, type Snapshot, unarchive } from "./archive/archive.ts";
import { openBug, takeBug, writeBug } from "./archive/bug.ts";
import type { BugFile } from "./archive/bug-file.ts";
import { aPhone, bugFrom, eventTypes } from "./archive/bug-schema.ts";
import { pastOf } from "./archive/past.ts";
import { archiveFrom } from "./archive/schema.ts";
import type { Call, Reply } from "./base/call.ts";
import { assertValid, fields, wholeFrom } from "./base/input.ts";
import { atOnce, inSlices } from "./base/slices.ts";
import { withoutInJson } from "./base/unlogged.ts";
import { type AgencyControl, createAgencyControl } from "./controls/agency.ts";
import { createBreakpointsControl } from "./controls/breakpoints.ts";
import { assertUsed, type CheckOptions } from "./controls/check.ts";
import { createClockControl } from "./controls/clock.ts";
import { createDuring } from "./controls/during.ts";
import { createFaultsControl } from "./controls/faults.ts";
import { createFlowControl } from "./controls/flow.ts";
import { createIntegrationControl, createIntegrationsControl, foundIntegration } from "./controls/integration.ts";
import { createObserved } from "./controls/observed.ts";
import { createMessageControl } from "./controls/provider.ts";
import { assertScenario, createStage, play } from "./controls/scenarios.ts";
import { type Inside, type OpenedBug, withInside } from "./inside.ts";
import type { Connection, Sandbox, SandboxOptions } from "./sandbox.ts";
import { createFetch } from "./service/fetch.ts";
import { handle, keyFrom } from "./service/handle.ts";
import { perform, replay } from "./service/perform.ts";
import type { SandboxEvent } from "./world/event.ts";
import type { WantedEvents } from "./world/event-log.ts";
import { instant } from "./world/instant.ts";
import { policyFrom } from "./world/policy.ts";
import { createSearch } from "./world/search.ts";
import { addAgency, createWorld } from "./world/world.ts";

export type { ObservedPoll, ObservedText } from "../shared/observer.ts";
export type { Snapshot } from "./archive/archive.ts";

export type { BugOptions } from "./archive/bug.ts";
export type { BugFile, BugPlace } from "./archive/bug-file.ts";
export type { OperationId } from "./base/contract.ts";
export type { AgencyControl } from "./controls/agency.ts";
export type {
	BreakpointControl,
	BreakpointOptions,
	BreakpointState,
	BreakpointsControl,
	HeldRequest,
	ResumeRequestOptions,
} from "./controls/breakpoints.ts";
export type { CheckOptions } from "./controls/check.ts";
export type { Advance, ClockControl } from "./controls/clock.ts";
export type { AiMessage, ContactMessage } from "./controls/compose.ts";
export type { Contact, ContactRef, MessageIds } from "./controls/contact.ts";
export type { ConversationControl } from "./controls/conversation.ts";
export type { During, DuringOptions } from "./controls/during.ts";
export type { FaultControl, FaultState, FaultsControl } from "./controls/faults.ts";
export type { FlowControl } from "./controls/flow.ts";
export type {
	CreatedKey,
	IntegrationControl,
	IntegrationsControl,
	KeyState,
	KeysControl,
	LinkOptions,
} from "./controls/integration.ts";
export type { Observed } from "./controls/observed.ts";
export type { MessageControl } from "./controls/provider.ts";
export { type ScenarioName, scenarioNames } from "./controls/scenarios.ts";
export type {
	AgencyState,
	ConversationRow,
	ConversationState,
	HeldState,
	InboxEntry,
	MessageState,
} from "./controls/state.ts";
export { type SandboxAddress, sandboxFetch } from "./remote.ts";
export type { Connection, HistoryControl, Sandbox, SandboxOptions } from "./sandbox.ts";
export type { ReplayOptions, SandboxAnswer, SandboxRequest } from "./service/perform.ts";
export type { Consent, ConsentSettings } from "./world/consent.ts";
export type { SendDecision } from "./world/decision.ts";
export type {
	Author,
	ConversationEvents,
	EventContact,
	EventFault,
	EventStamp,
	LostText,
	SandboxEvent,
	SandboxEventType,
	SandboxWideEvents,
} from "./world/event.ts";
export type { Gone, WantedEvents } from "./world/event-log.ts";
export type { FaultEffect, FaultKind, FaultOptions } from "./world/fault.ts";
export type { RecordedRequest, RequestKey, Violation } from "./world/journal.ts";
export type { Policy } from "./world/policy.ts";
export type { Found, SearchOptions } from "./world/search.ts";
export type { Scope, VisibilityReason } from "./world/world.ts";

const optionsRule = fields<SandboxOptions>({
	// The first three say more exactly what they may be.
	now: optional(anything),
	scenario: optional(anything),
	policy: optional(anything),
	from: optional(anything),
	observe: optional(flag),
	variation: optional(
		rule((value) => typeof value === "string" || Number.isFinite(value), "must be a number or a string"),
	),
});

const snapshotRule = fields<Moment>({
	world: optional(anything), // archiveFrom looks at it
	journal: fields<Moment["journal"]>({
		entries: listOf(anything),
		violations: listOf(anything),
		replaced: listOf(anything),
	}),
});
function assertMoment(snapshot: Snapshot): asserts snapshot is Moment {
	assertValid("restore", snapshot, snapshotRule);
	archiveFrom(snapshot.world);
}

const eventsRule = fields<WantedEvents>({
	after: optional(wholeFrom(0)),
	before: optional(wholeFrom(0)),
	limit: optional(wholeFrom(0)),
	types: optional(listOf(rule((type) => eventTypes.includes(String(type)), "must be a type of events"))),
	contact: optional(aPhone),
});

const baseUrl = "https://sandbox.invalid/api/v1";

/**
 * The whole service in one process: one agency, one key with both scopes, fixed ids, a clock that does not run.
 * Cheap, and without any shared state: make one per test.
 *
 * @example
 * const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
 * const client = createClient({ ...sandbox.connection });
 * sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Is the flat still free?");
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
	return create(options);
}

/** `moment` is what it becomes at once: a moment of another one. */
function create(options: SandboxOptions, moment?: Moment): Sandbox {
	assertValid("createSandbox", options, optionsRule);
	const bug = options.from === undefined ? undefined : bugFrom(options.from);
	for (const field of ["now", "scenario"] as const)
		if (bug && options[field] !== undefined)
			throw new TypeError(`createSandbox: ${field} is not for a bug file, which has its own. Leave it out.`);
	const { now = "2026-01-05T09:00:00.000Z", scenario = "fresh" } = options;
	const { policy, variation = bug?.variation ?? undefined } = options;
	const start = instant("createSandbox: now", now);
	const world = createWorld(
		start,
		policyFrom(policy, bug?.policy),
		variation === undefined ? undefined : String(variation),
	);
	const { events, journal } = world;
	const { integration, first } = events.silently(() => {
		const { id } = foundIntegration(world, "Sandbox CRM");
		return { integration: createIntegrationControl(world, id), first: addAgency(world, id, "Lakeside Homes").id };
	});
	const agency = (id: string = first): AgencyControl => createAgencyControl(world, id);
	const stage = createStage(world, integration, agency());
	events.silently(() => play(scenario, stage));
	if (bug) openBug(world, { ...bug, policy: world.policy, variation: world.variation ?? null });
	const beginning = archive(world);
	const become = (given: Archive): void => events.silently(() => unarchive(world, given));
	const answer = (call: Call): Reply => handle(world, call);
	const { search, searchSlowly } = createSearch(events);
	const observed = createObserved(options.observe ?? true);
	const fetch = observedBy(createFetch(baseUrl, answer), observed.observer);
	// Beside the snapshots, because the numbers of events mean nothing to another sandbox.
	const lastEventIds = new WeakMap<Snapshot, number>();
	const goBack = (snapshot: Moment): void => {
		const restored = structuredClone(snapshot.journal);
		become(snapshot.world);
		journal.load(restored);
	};
	if (moment) goBack(moment);
	const readEvents = (options: WantedEvents): Generator<void, SandboxEvent[]> => {
		assertValid("events", options, eventsRule);
		return events.reading(options);
	};
	const check = (options?: CheckOptions): void => assertUsed(world, options);
	const connection: Connection = {
		baseUrl,
		get apiKey() {
			return integration.apiKey; // an import brings other keys
		},
		fetch,
	};
	let opened = bug ? openedFrom(bug) : null;
	const sandbox: Sandbox = withProtocol({
		connection: withoutInJson(connection, "apiKey"),
		fetch,
		agency,
		agencies: () => [...world.agencies.keys()].map(agency),
		link: integration.link,
		integration,
		integrations: createIntegrationsControl(world),
		keys: integration.keys,
		policy: world.policy,
		clock: createClockControl(world),
		faults: createFaultsControl(world),
		breakpoints: createBreakpointsControl(world),
		message: (id) => createMessageControl(world, id),
		flow: (id) => createFlowControl(world, id),
		during: createDuring(world),
		events: (options = {}) => atOnce(readEvents(options)),
		forgotten: () => events.gone(),
		search,
		subscribe(listener) {
			assertValid("subscribe: listener", listener, callable());
			return events.subscribe(listener);
		},
		requests: journal.requests,
		request: async (request) => perform(world, request, integration.apiKey),
		replay: async (correlationId, options) => replay(world, correlationId, options),
		violations: journal.violations,
		check,
		[Symbol.dispose]: () => check(),
		snapshot() {
			const snapshot = { world: archive(world), journal: journal.dump() };
			lastEventIds.set(snapshot, events.read({ limit: 1 })[0]?.id ?? 0);
			return snapshot;
		},
		restore(snapshot) {
			assertMoment(snapshot);
			goBack(snapshot);
			events.add({ type: "sandbox.restored", lastEventId: lastEventIds.get(snapshot) ?? 0 });
		},
		history: {
			record: () => world.history.record(),
			get first() {
				return world.history.first;
			},
			at(eventId) {
				assertValid("history.at: eventId", eventId, wholeFrom(0));
				return create({ policy: world.policy, variation: world.variation }, pastOf(world, events.endOf(eventId)));
			},
			continueFrom(eventId) {
				assertValid("history.continueFrom: eventId", eventId, wholeFrom(0));
				const lastEventId = events.endOf(eventId);
				goBack(pastOf(world, lastEventId));
				events.add({ type: "sandbox.restored", lastEventId });
			},
		},
		observed: observed.read,
		bug: (options) => takeBug(world, options),
		import(file) {
			const given = bugFrom(file);
			openBug(world, given);
			opened = openedFrom(given);
			events.add({ type: "sandbox.opened" });
		},
		reset() {
			world.counters.clear();
			become(beginning);
			opened = bug ? openedFrom(bug) : null;
			journal.load({ entries: [], violations: [], replaced: [] });
			events.clear();
			events.add({ type: "sandbox.reset" });
		},
		loadScenario(scenario) {
			assertScenario(scenario);
			const before = archive(world);
			const acts = [...world.interruptions];
			const { all } = world.breakpoints;
			try {
				events.silently(() => play(scenario, stage));
			} catch (error) {
				become(before); // half a scenario would be a world that nobody described
				for (const act of acts) world.interruptions.add(act); // an archive has neither
				world.breakpoints.all = all;
				throw error;
			}
			events.add({ type: "scenario.loaded", scenario });
		},
	});
	const inside: Inside = {
		answer,
		isAuthorized: (authorization) => keyFrom(world, authorization) !== undefined,
		observe: observed.report,
		events: async (options) => inSlices(readEvents(options)),
		search: searchSlowly,
		bug: (options) => inSlices(writeBug(world, options)),
		world: () => archive(world),
		get opened() {
			return opened;
		},
	};
	return withInside(sandbox, inside);
}

const openedFrom = ({ takenAt, content, place }: BugFile): OpenedBug => ({ takenAt, content, place });
