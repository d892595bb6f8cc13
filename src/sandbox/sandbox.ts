import type { Snapshot } from "./archive/archive.ts";
import type { BugOptions } from "./archive/bug.ts";
import type { BugFile } from "./archive/bug-file.ts";
import type { AgencyControl } from "./controls/agency.ts";
import type { BreakpointsControl } from "./controls/breakpoints.ts";
import type { CheckOptions } from "./controls/check.ts";
import type { ClockControl } from "./controls/clock.ts";
import type { During, DuringOptions } from "./controls/during.ts";
import type { FaultsControl } from "./controls/faults.ts";
import type { FlowControl } from "./controls/flow.ts";
import type { IntegrationControl, IntegrationsControl, KeysControl, LinkOptions } from "./controls/integration.ts";
import type { Observed } from "./controls/observed.ts";
import type { MessageControl } from "./controls/provider.ts";
import type { ScenarioName } from "./controls/scenarios.ts";
import type { ReplayOptions, SandboxAnswer, SandboxRequest } from "./service/perform.ts";
import type { SandboxEvent } from "./world/event.ts";
import type { Gone, WantedEvents } from "./world/event-log.ts";
import type { RecordedRequest, Violation } from "./world/journal.ts";
import type { Policy } from "./world/policy.ts";
import type { Found, SearchOptions } from "./world/search.ts";

declare global {
	// For compilers without `lib: ["esnext.disposable"]`; where they have it, this is the same declaration.
	interface SymbolConstructor {
		readonly dispose: unique symbol;
	}
}

/** Options of {@link createSandbox}. */
export interface SandboxOptions {
	/**
	 * The time at which its clock stands: with a zone, a day (its midnight in UTC), or a Date. Whether the clock then runs is
	 * `follow` of `serve`. @default "2026-01-05T09:00:00Z"
	 */
	readonly now?: string | Date | undefined;
	/** The made-up world it begins with, where `from` is for one that was recorded. @default "fresh": one agency, one key, no conversation */
	readonly scenario?: ScenarioName | undefined;
	/**
	 * A bug file, parsed or as JSON text, with which it begins: the same phone, log and reasons. It takes the place of `now` and
	 * `scenario`, which are refused beside it. Each rule of `policy` and the `variation` are the file's, unless you give
	 * another. Throws a TypeError for any other file.
	 * @example createSandbox({ from: JSON.stringify(sandbox.bug()) });
	 */
	readonly from?: BugFile | string | undefined;
	/**
	 * Its interpretation of the specification where that is silent: which of two things the service does. What the
	 * specification leaves to chance is `variation`.
	 * @default the interpretation that `Policy` names
	 */
	readonly policy?: { readonly [Name in keyof Policy]?: Policy[Name] | undefined } | undefined;
	/**
	 * Varies the form of the answers in what a caller must not rely on, such as timestamp precision, cursor length, key order,
	 * extra fields, unknown words, and `queued` or `accepted` for a send. The same value varies the same way. What the service
	 * does stays as `policy` says. @default no variation
	 */
	readonly variation?: number | string | undefined;
	/**
	 * Whether outboxes and feeds of a client with its connection show themselves in {@link Sandbox.observed} and on its page.
	 * They are read only when asked for. What the service itself saw is in `events()` either way.
	 * @default true
	 */
	readonly observe?: boolean | undefined;
}

/** Options that connect a client to a sandbox: spread them into `createClient`. */
export interface Connection {
	/** The address of the sandbox. It exists for the sandbox's `fetch` only. */
	readonly baseUrl: string;
	/**
	 * A key of the right form, with a prefix that the live service refuses: the oldest that is neither revoked nor expired. It is
	 * another one after `import`, so that a client of before needs the new one.
	 */
	readonly apiKey: string;
	/**
	 * A fetch that reaches nothing but the sandbox. Any other base URL is `ENOTFOUND` to it. The one in process does not know the
	 * base URL of `serve` either.
	 */
	readonly fetch: typeof globalThis.fetch;
}

/** The way back in time: everything as it was right after an event. */
export interface HistoryControl {
	/**
	 * Begins to note each change, so that one can go back to this moment and to each event after it. `serve` does so. At most
	 * 20,000 changes and some 64 MiB of them are kept, the newest ones.
	 * @example sandbox.history.record();
	 */
	record(): void;
	/** The number of the event after which the oldest state is known: 0 is before any. Null until {@link record}. */
	readonly first: number | null;
	/**
	 * Another sandbox, as this one was right after an event, and after all others of its action: a control that logs several
	 * events happens as a whole. It has the requests until then. Policy and variation are today's.
	 * Throws for an event before `first`.
	 * @example
	 * sandbox.history.record();
	 * const [newest] = sandbox.events({ limit: 1 });
	 * anna.writes("Later");
	 * sandbox.history.at(newest?.id ?? 0).agency().contact(anna.phoneNumber).state();
	 */
	at(eventId: number): Sandbox;
	/**
	 * Goes back to where {@link at} does, as `restore` does: what came later is undone, and stays in `events()`.
	 * @example
	 * sandbox.history.record();
	 * const [newest] = sandbox.events({ limit: 1 });
	 * anna.writes("A mistake");
	 * sandbox.history.continueFrom(newest?.id ?? 0);
	 */
	continueFrom(eventId: number): void;
}

/** The whole service in one process, with the controls of everybody who is not the client. */
export interface Sandbox {
	/** Its JSON has no key. @example const client = createClient({ ...sandbox.connection }); */
	readonly connection: Connection;
	/**
	 * The service, as a `fetch`: no socket, and no timer except for a fault that asks for one. `connection` has the same one. Call it from
	 * an adapter of your own.
	 * @example await sandbox.fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
	 */
	readonly fetch: typeof globalThis.fetch;
	/** The default agency, or the one with this id; an unknown id throws. @example sandbox.agency().id; */
	agency(id?: string): AgencyControl;
	/** All agencies, linked or not, in order of creation. @example sandbox.agencies().map(({ name }) => name); */
	agencies(): AgencyControl[];
	/** Makes an agency and links it to the default integration. @example sandbox.link({ name: "Second" }); */
	link(options: LinkOptions): AgencyControl;
	/** The integration of the default key. */
	readonly integration: IntegrationControl;
	/** Further CRMs beside the default one. */
	readonly integrations: IntegrationsControl;
	/** The keys of the default integration. */
	readonly keys: KeysControl;
	/** Its interpretation of the specification where that is silent. */
	readonly policy: Policy;
	/** Its time, which does not run until it is moved. */
	readonly clock: ClockControl;
	/** Faults to come: answers that fail, hang, or get lost. */
	readonly faults: FaultsControl;
	/** Places at which requests wait, so that something can happen meanwhile. */
	readonly breakpoints: BreakpointsControl;
	/**
	 * A message by its id, or by the messageSid that a send returned; an unknown one throws.
	 * @example sandbox.message(sent.messageId).delivered();
	 */
	message(id: number | string): MessageControl;
	/** A flow by its id. An unknown one throws. @example sandbox.flow(flow.id).status; */
	flow(id: string): FlowControl;
	/**
	 * Does `act` while the next matching request is on its way: a contact's reply that races a send.
	 * An error that `act` throws is an unhandled rejection, which fails the test run. The request continues. `act` must not be
	 * asynchronous.
	 * @example sandbox.during({ operation: "messages.send" }, () => anna.writes("Never mind"));
	 */
	during(options: DuringOptions, act: () => void): During;
	/**
	 * Returns the events, the oldest first, or those that you ask for. It has the newest 200,000 events, at most 32 MiB of
	 * their texts, and beside those at most 32 MiB of answers. The bodies of answers are forgotten before any event is. It
	 * begins empty, after the scenario that the sandbox was made with.
	 * @example sandbox.events().map(({ type }) => type);
	 * @example const [newest] = sandbox.events({ limit: 1 });
	 */
	events(options?: WantedEvents): SandboxEvent[];
	/**
	 * How many events, requests and answers `events()` no longer has, because there were too many.
	 * @example sandbox.forgotten().requests; // 0
	 */
	forgotten(): Gone;
	/**
	 * Searches all requests that are kept, and counts those that match. The query has words, "several words", and filters:
	 * `status:401`, `status:4xx,5xx`, `status:none`, `op:send`, `contact:Anna`, `agency:`, `outcome:held`, `key:revoked`. All must
	 * match; of values with commas between, one.
	 * @example sandbox.search("op:send outcome:held Thursday").count;
	 */
	search(query: string, options?: SearchOptions): Found;
	/**
	 * Calls `listener` with each event as it happens; the returned function ends that. A listener may act on the sandbox.
	 * @example const stop = sandbox.subscribe((event) => console.log(event.type));
	 */
	subscribe(listener: (event: SandboxEvent) => void): () => void;
	/**
	 * The requests to the sandbox, the oldest first: the newest 10,000, and at most 32 MiB of their texts. A refused one has
	 * its `explanation`, which the service does not give.
	 * @example sandbox.requests().map((request) => request.operation);
	 * @example sandbox.requests().at(-1)?.explanation;
	 */
	requests(): RecordedRequest[];
	/**
	 * Makes a request to the service, and waits for what comes of it. Nothing is thrown for a refusal or a lost answer.
	 * @example (await sandbox.request({ method: "GET", path: "/me" })).status; // 200
	 */
	request(request: SandboxRequest): Promise<SandboxAnswer>;
	/**
	 * Makes a request of `requests()` again as it was: with the same headers and body, and with what it had as its key. One
	 * with a revoked key is refused again, unless you ask for a good key. Throws for a request that has been dropped.
	 * @example
	 * const [request] = sandbox.requests();
	 * if (request?.status === 401) await sandbox.replay(request.correlationId, { key: "good" });
	 */
	replay(correlationId: string, options?: ReplayOptions): Promise<SandboxAnswer>;
	/**
	 * Returns the violations: requests that a good client does not make. These are requests to unknown paths, those with
	 * a `+` in the path that is not encoded, and those that reuse an operationId for another message.
	 * @example expect(sandbox.violations()).toEqual([]);
	 */
	violations(): Violation[];
	/**
	 * Call it at the end of a test. Throws if there are violations, held texts that the client replaced by another send, or
	 * requests that still wait. Also throws if a fault, a breakpoint or an act of `during` met fewer requests than its `times`:
	 * take back one that need not meet another with `remove()`. `using sandbox = createSandbox()` calls it by itself.
	 *
	 * Only one text per contact is held. Of three sends to a closed window the contact gets the last one alone, and each of
	 * them was answered with 200. `allowReplaced` accepts that. A repeat with the same operationId replaces nothing. Without an
	 * operationId, every request counts as a new text, even with the same words.
	 * @example
	 * sandbox.check();
	 * sandbox.check({ allowReplaced: true });
	 */
	check(options?: CheckOptions): void;
	/** {@link check}, for `using`. */
	[Symbol.dispose](): void;
	/**
	 * This moment, in memory, to go back to with {@link restore}. It has the keys and the requests so far. For a file that you
	 * keep or give to a colleague, take {@link bug}.
	 * @example const before = sandbox.snapshot();
	 */
	snapshot(): Snapshot;
	/**
	 * Goes back to a snapshot, and to its time. Contacts, agencies and other handles stay valid. Correlation ids and the
	 * numbers of events are not reset. With a snapshot of another sandbox, this one becomes a copy of it, with its keys.
	 * @example sandbox.restore(before);
	 */
	restore(snapshot: Snapshot): void;
	/**
	 * The bug in a file, for people: the world, its events, the requests with their explanations, and where to look. It holds no
	 * key: a sandbox that opens it has another one. Numbers, names and texts are replaced by generated ones of the same length,
	 * unless `keepContent` is true. To go back in this sandbox, take {@link snapshot}.
	 * @example
	 * const text = JSON.stringify(sandbox.bug({ contact: anna.phoneNumber }));
	 * createSandbox({ from: text }).requests();
	 */
	bug(options?: BugOptions): BugFile;
	/**
	 * Becomes what is in a bug file, parsed or as JSON text, with the file's policy and variation. For a sandbox that runs:
	 * `from` of `createSandbox` begins with a file. Throws a TypeError that names the field if it is no bug file.
	 * @example sandbox.import(text);
	 */
	import(file: BugFile | string): void;
	/** The way back in time, to right after any event. */
	readonly history: HistoryControl;
	/**
	 * The texts of the outboxes and the polls of the feeds that use this sandbox: clients with `connection`, with the
	 * connection of `serve`, or with {@link sandboxFetch}. The texts are read from the outboxes' stores at this moment.
	 * @example
	 * const { texts } = await sandbox.observed();
	 * console.log(texts[0]?.state, texts[0]?.description);
	 */
	observed(): Promise<Observed>;
	/** Starts again with the scenario and the counters of the beginning. Only the numbers of events and faults continue. @example sandbox.reset(); */
	reset(): void;
	/**
	 * Adds a scenario to the default agency. Contacts to whom its AI replies have their AI turned on. Its messages come last,
	 * with their own, older times. A scenario that throws changes nothing.
	 * @example sandbox.loadScenario("busy");
	 */
	loadScenario(scenario: ScenarioName): void;
}
