import { anything, flag, listOf, oneOf, optional, rule, type Schema } from "../../shared/validation.ts";
import { aNumber, aString, stringOrNull } from "../base/input.ts";
import type { AiMessage, ContactMessage } from "../controls/compose.ts";
import type { Contact } from "../controls/contact.ts";
import type { FaultControl } from "../controls/faults.ts";
import type { FlowControl } from "../controls/flow.ts";
import type { IntegrationControl, LinkOptions } from "../controls/integration.ts";
import type { ObservedReport } from "../controls/observed.ts";
import { type ScenarioName, scenarioNames } from "../controls/scenarios.ts";
import type { BreakpointControl, BreakpointOptions, BugFile } from "../index.ts";
import { insideOf } from "../inside.ts";
import type { ConsentSettings } from "../world/consent.ts";
import type { SandboxEventType } from "../world/event.ts";
import type { FaultOptions } from "../world/fault.ts";
import { scopes, visibilityReasons } from "../world/world.ts";
import { excerpt, listed, withoutAnswer } from "./listing.ts";
import { get, LongJson, longList, type Place, post, type Route } from "./route.ts";

/*
 * Every control of the sandbox by method and path, in the order of the page. The tables of docs/sandbox-routes.md are
 * generated from it.
 */

/** A field that the control itself checks, if it is there. */
const passed = <Value>(words = "is missing"): Schema<Value> => rule<Value>((value) => value !== undefined, words);

const matches = (pattern: RegExp, words: string): Schema<string> => rule((text) => pattern.test(String(text)), words);

// In a query everything is text.
const aCount = matches(/^\d{1,15}$/, "must be a whole number");
const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const someIds = matches(/^\d{1,15}(,\d{1,15})*$/, "must be ids with commas between");
const somePhones = matches(/^\+\d+(,\+\d+)*$/, "must be phone numbers such as %2B447700900101, with commas between");

/** The fields of a bug file, which is checked as a whole. */
const importedFields = {
	format: optional(anything),
	version: optional(anything),
	takenAt: optional(anything),
	content: optional(anything),
	place: optional(anything),
	policy: optional(anything),
	variation: optional(anything),
	world: optional(anything),
	events: optional(anything),
	gone: optional(anything),
	requests: optional(anything),
	violations: optional(anything),
	replaced: optional(anything),
	past: optional(anything),
} satisfies { readonly [Field in keyof BugFile]: Schema<unknown> };

const contact = ({ agency, id }: Place) => agency.contact(id);
const conversation = ({ agency, id }: Place) => agency.conversation(id);
const flow = ({ sandbox, id }: Place) => sandbox.flow(id);
const message = ({ sandbox, id }: Place) => sandbox.message(/^\d+$/.test(id) ? Number(id) : id);

const contactOf = ({ phoneNumber, name }: Contact) => ({ phoneNumber, name });
const statusOf = ({ status }: FlowControl) => ({ status });
const nowOf = ({ sandbox }: Place) => ({ now: sandbox.clock.now().toISOString() });
const integrationOf = ({ id, name, hidden, apiKey }: IntegrationControl) => ({ id, name, hidden, apiKey });
// JSON has no Infinity.
const countsOf = ({ id, hits, remaining }: FaultControl | BreakpointControl) => ({
	id,
	hits,
	remaining: Number.isFinite(remaining) ? remaining : null,
});

/** A message whose body may be called `text`. */
function messageIn<Message extends { readonly body?: unknown }>(
	control: string,
	{ text, ...rest }: Message & { readonly text?: string | undefined },
): Omit<Message, "text"> {
	if (text !== undefined && rest.body !== undefined)
		throw new TypeError(`${control}: text and body are the same: give one.`);
	return text === undefined ? rest : { ...rest, body: text };
}

const ids = '`{"id", "messageSid"}`';
const heldText = '`{"hadHeldText"}`';

const contacts = [
	get("contacts", {
		answers: '`[{"phoneNumber", "name"}]` of the contacts that the agency knows',
		run: ({ agency }) => agency.contacts().map(contactOf),
	}),
	get("contacts/{phone}", {
		answers: "the conversation's state, as below",
		run: (place) => contact(place).state(),
	}),
	post("contacts/{phone}", {
		takes: { name: optional(stringOrNull) },
		body: "optional `name` (string or null)",
		answers: '`{"phoneNumber", "name"}`',
		run: ({ agency, id }, given) => contactOf(agency.contact(id, given)),
	}),
	post("contacts/{phone}/writes", {
		takes: {
			text: optional(aString),
			body: optional(stringOrNull),
			media: optional(passed<ContactMessage["media"]>()),
			replyTo: optional(passed<ContactMessage["replyTo"]>()),
		},
		body: "`text`; or `body`, `media`, `replyTo`, for files and replies",
		answers: ids,
		run: (place, given) => contact(place).writes(messageIn("writes", given)),
	}),
	post("contacts/{phone}/taps", {
		takes: { code: aString },
		body: "`code` of the button or of the list item",
		answers: ids,
		run: (place, { code }) => contact(place).taps(code),
	}),
	post("contacts/{phone}/accepts", { answers: heldText, run: (place) => contact(place).accepts() }),
	post("contacts/{phone}/declines", { answers: heldText, run: (place) => contact(place).declines() }),
	post("contacts/{phone}/reads", {
		answers: "null; every message that did not fail becomes `read`",
		run: (place) => contact(place).reads(),
	}),
	post("contacts/{phone}/setReachable", {
		takes: { on: flag },
		body: "`on` (boolean)",
		answers: "null; while off, every message to the contact fails",
		run: (place, { on }) => contact(place).setReachable(on),
	}),
	get("contacts/{phone}/inbox", {
		answers:
			'what the phone got, in order: `[{"kind", "body", "templateCode", "language", "operationId", "sender", "at"}]`',
		run: (place) => contact(place).inbox(),
	}),
	post("contacts/{phone}/startFlow", {
		answers: '`{"id": "1", "status": "active"}`',
		run: ({ agency, id }) => {
			const started = agency.startFlow(id);
			return { id: started.id, ...statusOf(started) };
		},
	}),
];

const staffAiAndFlows = [
	post("staff/setAi", {
		takes: { contact: aString, on: flag },
		body: "`contact` (a phone number), `on` (boolean)",
		run: ({ agency }, { contact, on }) => agency.staff.setAi({ contact, on }),
	}),
	post("staff/sends", {
		takes: { contact: aString, text: aString },
		body: "`contact`, `text`",
		answers: `${ids}; null when the text is held`,
		run: ({ agency }, { contact, text }) => agency.staff.sends({ contact, text }),
	}),
	post("ai/replies", {
		takes: {
			contact: aString,
			text: aString,
			templateName: optional(passed<AiMessage["templateName"]>()),
			interactiveContent: optional(passed<AiMessage["interactiveContent"]>()),
		},
		body: "`contact`, `text`, and optional `templateName`, `interactiveContent`, for buttons and lists",
		answers: `${ids}; 400 while the AI is off or the window closed`,
		run: ({ agency }, message) => agency.ai.replies(message),
	}),
	post("flows/{id}/wait", { answers: '`{"status": "waiting"}`', run: (place) => statusOf(flow(place).wait()) }),
	post("flows/{id}/complete", {
		answers: '`{"status": "completed"}`',
		run: (place) => statusOf(flow(place).complete()),
	}),
	post("flows/{id}/cancel", { answers: '`{"status": "cancelled"}`', run: (place) => statusOf(flow(place).cancel()) }),
	post("flows/{id}/fail", { answers: '`{"status": "failed"}`', run: (place) => statusOf(flow(place).fail()) }),
	post("flows/{id}/timeout", { answers: '`{"status": "timeout"}`', run: (place) => statusOf(flow(place).timeout()) }),
	post("flows/{id}/set", {
		takes: { status: aString },
		body: "`status`, any word",
		answers: '`{"status"}`',
		run: (place, { status }) => statusOf(flow(place).set(status)),
	}),
];

const agency = [
	get("agencies", {
		answers:
			'all agencies: `[{"id", "name", "integrationId", "linked", "storesMedia", "senders", "consent", "eligibleForManualSend"}]`',
		run: ({ sandbox }) => sandbox.agencies().map((each) => each.state()),
	}),
	get("agency", { answers: '`{"id", "name"}`', run: ({ agency: { id, name } }) => ({ id, name }) }),
	post("link", {
		takes: {
			name: optional(stringOrNull),
			consent: optional(passed<ConsentSettings>()),
			senders: optional(passed<LinkOptions["senders"]>()),
			storesMedia: optional(flag),
		},
		body: "none: the agency is linked again. Else a new agency: `name` (string or null), optional `consent` (as below), `senders` (UUIDs), `storesMedia`",
		answers: 'null, or `{"id", "name"}` of the new one',
		run: ({ agency, integration }, { name, ...rest }) => {
			if (name === undefined && Object.values(rest).every((each) => each === undefined)) return agency.link();
			if (name === undefined) throw new TypeError("link: name must be a string, or null.");
			const made = integration.link({ name, ...rest });
			return { id: made.id, name: made.name };
		},
	}),
	post("unlink", { run: ({ agency }) => agency.unlink() }),
	post("rename", {
		takes: { name: stringOrNull },
		body: "`name` (string or null)",
		run: ({ agency }, { name }) => agency.rename(name),
	}),
	post("consent/set", {
		takes: {
			configured: optional(flag),
			languages: optional(passed<ConsentSettings["languages"]>()),
			defaultLanguage: optional(stringOrNull),
			flowCodes: optional(passed<ConsentSettings["flowCodes"]>()),
			missingFlowCodes: optional(passed<ConsentSettings["missingFlowCodes"]>()),
			missingTemplates: optional(passed<ConsentSettings["missingTemplates"]>()),
			unapprovedTemplates: optional(passed<ConsentSettings["unapprovedTemplates"]>()),
			answerWithinHours: optional(aNumber),
		},
		body: "any of `configured`, `languages`, `defaultLanguage`, `flowCodes`, `missingFlowCodes`, `missingTemplates`, `unapprovedTemplates`, `answerWithinHours`",
		run: ({ agency }, settings) => agency.consent.set(settings),
	}),
	get("senders", { answers: "the UUIDs, the default one first", run: ({ agency }) => agency.senders.ids }),
	post("senders/set", {
		takes: { ids: listOf(aString) },
		body: "`ids`, UUIDs",
		run: ({ agency }, { ids }) => agency.senders.set(ids),
	}),
	post("storesMedia", {
		takes: { on: flag },
		body: "`on` (boolean)",
		run: ({ agency }, { on }) => agency.storesMedia(on),
	}),
];

const errorCode = optional(passed<number | null>());

const conversationsAndMessages = [
	get("conversations", {
		takes: {
			search: optional(aString),
			contacts: optional(oneOf("true")),
			offset: optional(aCount),
			limit: optional(aCount),
			phones: optional(somePhones),
		},
		body: "none; in the query `search` (part of a name or number), `offset`, `limit` and `contacts`. True adds contacts without a conversation, last. Or `phones`: only these numbers, known or not",
		answers: "the agency's conversations, newest message first, each as its state without `flows` and `messages`",
		run: ({ agency }, given) => listed(agency, given),
	}),
	get("conversations/{phone}", {
		takes: { messages: optional(someIds), before: optional(aCount), limit: optional(aCount) },
		body: "none; in the query `messages` (only these ids), `before` (only older ones than this id), `limit` (only the newest)",
		answers: "the conversation's state, as below",
		run: (place, given) => excerpt(conversation(place).state(), given),
	}),
	post("conversations/{phone}/open", { run: (place) => conversation(place).open() }),
	post("conversations/{phone}/visibleAs", {
		takes: { reason: oneOf(...visibilityReasons) },
		body: "`reason`: focus, unlinked, tagged or unknown",
		run: (place, { reason }) => conversation(place).visibleAs(reason),
	}),
	post("conversations/{phone}/share", {
		takes: { on: optional(flag) },
		body: "optional `on` (boolean, true when left out)",
		run: (place, { on }) => conversation(place).share(on),
	}),
	post("conversations/{phone}/shareWith", {
		takes: { reason: optional(oneOf(...visibilityReasons)), agency: aString },
		body: "`agency` (an id); optional `reason` (tagged when left out)",
		answers: "null; that agency sees the conversation too",
		run: (place, { agency, ...options }) => conversation(place).shareWith(agency, options),
	}),
	post("conversations/{phone}/hide", { run: (place) => conversation(place).hide() }),
	post("conversations/{phone}/takeOver", {
		takes: { times: optional(aNumber) },
		body: "optional `times` (1 when left out): so many sends answer 409",
		run: (place, options) => conversation(place).takeOver(options),
	}),
	post("messages/{id}/sent", { run: (place) => message(place).sent() }),
	post("messages/{id}/delivered", { run: (place) => message(place).delivered() }),
	post("messages/{id}/read", { run: (place) => message(place).read() }),
	post("messages/{id}/failed", {
		takes: { errorCode },
		body: "optional `errorCode` (number or null)",
		run: (place, options) => message(place).failed(options),
	}),
	post("messages/{id}/undelivered", {
		takes: { errorCode },
		body: "optional `errorCode`",
		run: (place, options) => message(place).undelivered(options),
	}),
	post("messages/{id}/set", {
		takes: { status: aString, errorCode },
		body: "`status`, any word; optional `errorCode`",
		run: (place, { status, ...options }) => message(place).set(status, options),
	}),
];

const keysAndIntegrations = [
	get("connection", {
		answers: '`{"baseUrl", "apiKey", "agencyId"}` of the default CRM; the key is its oldest good one',
		run: ({ sandbox, baseUrl }) => ({
			baseUrl,
			apiKey: sandbox.integration.apiKey,
			agencyId: sandbox.agency().id,
		}),
	}),
	get("integrations", {
		answers: '`[{"id", "name", "hidden", "apiKey"}]`',
		run: ({ sandbox }) => sandbox.integrations.list().map(integrationOf),
	}),
	get("keys", {
		answers: '`[{"id", "apiKey", "scopes", "state"}]`',
		run: ({ integration }) => integration.keys.list(),
	}),
	post("keys/create", {
		takes: { scopes: optional(listOf(oneOf(...scopes))) },
		body: "optional `scopes` (both when left out): conversations:read, messages:write",
		answers: '`{"id", "apiKey"}`',
		run: ({ integration }, options) => integration.keys.create(options),
	}),
	post("keys/{id}/revoke", { run: ({ integration, id }) => integration.keys.revoke(id) }),
	post("keys/{id}/expire", { run: ({ integration, id }) => integration.keys.expire(id) }),
	post("keys/{id}/setScopes", {
		takes: { scopes: listOf(oneOf(...scopes)) },
		body: "`scopes`",
		run: ({ integration, id }, given) => integration.keys.setScopes(id, given.scopes),
	}),
	post("integration/hide", { run: ({ integration }) => integration.hide() }),
	post("integration/restore", { run: ({ integration }) => integration.restore() }),
	post("integrations/add", {
		takes: { name: aString },
		body: "`name`",
		answers: '`{"id", "name", "hidden", "apiKey"}` of another CRM',
		run: ({ sandbox }, options) => integrationOf(sandbox.integrations.add(options)),
	}),
];

const clock = [
	get("clock", { answers: '`{"now"}`', run: nowOf }),
	post("clock/advance", {
		takes: {
			days: optional(aNumber),
			hours: optional(aNumber),
			minutes: optional(aNumber),
			ms: optional(aNumber),
		},
		body: "any of `days`, `hours`, `minutes`, `ms`; they are added up",
		answers: '`{"now"}`, once all that fell due has happened',
		run: (place, by) => {
			place.sandbox.clock.advance(by);
			return nowOf(place);
		},
	}),
	post("clock/advanceTo", {
		takes: { at: aString },
		body: "`at`, ISO 8601 with a zone",
		answers: '`{"now"}`',
		run: (place, { at }) => {
			place.sandbox.clock.advanceTo(at);
			return nowOf(place);
		},
	}),
];

const faults = [
	get("faults", {
		answers:
			'those that still wait to hit: `[{"id", "operation", "agencyId", "contact", "phase", "effect", "hits", "remaining"}]`',
		run: ({ sandbox }) => sandbox.faults.unused(),
	}),
	post("faults/add", {
		takes: {
			operation: optional(passed<FaultOptions["operation"]>()),
			agencyId: optional(aString),
			contact: optional(aString),
			times: optional(passed<number | null>()),
			skip: optional(aNumber),
			phase: optional(passed<FaultOptions["phase"]>()),
			effect: passed<FaultOptions["effect"]>(),
		},
		body: "`effect`; optional `operation`, `agencyId`, `contact` (only their requests), `times` (1 when left out, null is without end), `skip` (0), `phase` (before or after)",
		answers: '`{"id": "1", "hits": 0, "remaining": 1}`',
		run: ({ sandbox }, { times, ...rest }) =>
			countsOf(sandbox.faults.add({ ...rest, times: times === null ? Number.POSITIVE_INFINITY : times })),
	}),
	get("faults/{id}", {
		answers: '`{"id", "hits", "remaining"}`; `remaining` null is without end',
		run: ({ sandbox, id }) => countsOf(sandbox.faults.get(id)),
	}),
	post("faults/{id}/remove", { run: ({ sandbox, id }) => sandbox.faults.get(id).remove() }),
	post("faults/clear", { run: ({ sandbox }) => sandbox.faults.clear() }),
];

const breakpoints = [
	get("breakpoints", {
		answers:
			'those that still wait for a request: `[{"id", "operation", "agencyId", "contact", "hits", "remaining"}]`; `remaining` null is without end',
		run: ({ sandbox }) => sandbox.breakpoints.list().filter(({ remaining }) => remaining !== 0),
	}),
	post("breakpoints/add", {
		takes: {
			operation: optional(passed<BreakpointOptions["operation"]>()),
			agencyId: optional(aString),
			contact: optional(aString),
			times: optional(passed<number | null>()),
		},
		body: "optional `operation`, `agencyId`, `contact` (only their requests), `times` (1 when left out, null is without end)",
		answers: '`{"id": "1", "hits": 0, "remaining": 1}`; the next requests that fit wait, before the operation runs',
		run: ({ sandbox }, { times, ...rest }) =>
			countsOf(sandbox.breakpoints.add({ ...rest, times: times === null ? Number.POSITIVE_INFINITY : times })),
	}),
	post("breakpoints/{id}/remove", { run: ({ sandbox, id }) => sandbox.breakpoints.get(id).remove() }),
	post("breakpoints/clear", { run: ({ sandbox }) => sandbox.breakpoints.clear() }),
	get("held", {
		answers:
			'the requests that wait, the oldest first: `[{"correlationId", "breakpointId", "operation", "method", "path", "query", "agencyId", "contact", "body", "at", "realAt"}]`',
		run: ({ sandbox }) => sandbox.breakpoints.held().map(({ resume: _, ...request }) => request),
	}),
	post("held/{id}/resume", {
		takes: {
			phase: optional(passed<FaultOptions["phase"]>()),
			effect: optional(passed<FaultOptions["effect"]>()),
		},
		body: "none: it is carried out. Or `effect`, and optional `phase`, as of a fault that hits this request alone",
		run({ sandbox, id }, options) {
			const held = sandbox.breakpoints.held().find(({ correlationId }) => correlationId === id);
			if (!held) throw new Error("held: no request with this correlation id waits. GET held lists all.");
			held.resume(options);
		},
	}),
];

const state = [
	get("events", {
		takes: {
			after: optional(aCount),
			before: optional(aCount),
			limit: optional(aCount),
			types: optional(aString),
			contact: optional(aString),
			brief: optional(oneOf("true")),
		},
		body: "none; in the query `after` and `before` (numbers of events), `limit` (at most so many: the newest, or the first ones if there is an after), `types` (only these, with commas between), `contact` (only events of this number), `brief` (true leaves out the answers of requests, except refusals)",
		answers: "what happened, as below",
		run: async ({ sandbox }, { after, before, limit, types, contact, brief }) => {
			const numbers = { after: numberOf(after), before: numberOf(before), limit: numberOf(limit) };
			const events = await insideOf(sandbox).events({
				...numbers,
				types: types?.split(",") as SandboxEventType[] | undefined,
				contact,
			});
			return longList(brief ? events.map(withoutAnswer) : events);
		},
	}),
	get("search", {
		takes: { search: optional(aString), order: optional(oneOf("newest", "oldest")), limit: optional(aCount) },
		body: "none; in the query `search` (words, and `status:`, `op:`, `contact:`, `agency:`, `outcome:`, `key:`), `order` (newest or oldest), `limit` (100 when left out)",
		answers:
			'`{"count", "events", "hints"}`: how many requests match, and some of them with what followed; if none does, which filters and values there are',
		run: ({ sandbox }, { search = "", order, limit }) =>
			insideOf(sandbox).search(search, { order, limit: numberOf(limit) }),
	}),
	get("forgotten", {
		answers:
			'`{"events", "requests", "answers"}`: how many of the oldest are no longer kept, and how many requests are without their answer',
		run: ({ sandbox }) => sandbox.forgotten(),
	}),
	get("check", {
		takes: { allowReplaced: optional(oneOf("true", "false")) },
		body: "none; in the query `allowReplaced` (true accepts replaced texts)",
		answers:
			'`{"ok", "message"}`: whether there are violations, held texts that a send replaced, or faults that hit less often than their `times`',
		run: ({ sandbox }, { allowReplaced }) => {
			try {
				sandbox.check({ allowReplaced: allowReplaced === "true" });
				return { ok: true, message: null };
			} catch (error) {
				return { ok: false, message: error instanceof Error ? error.message : String(error) };
			}
		},
	}),
	get("policy", {
		answers: "how the sandbox reads the specification where that is silent",
		run: ({ sandbox }) => sandbox.policy,
	}),
	get("scenarios", { answers: "the names that `loadScenario` takes", run: () => scenarioNames }),
	get("requests", {
		answers:
			"the requests to the service, the oldest first, without keys; `explanation` says why one was refused or how a fault changed its answer, else it is null",
		run: ({ sandbox }) => longList(sandbox.requests()),
	}),
	post("request", {
		takes: {
			method: aString,
			path: aString,
			body: optional(anything),
			headers: optional(passed<Record<string, string>>()),
			apiKey: optional(stringOrNull),
		},
		body: "`method`, `path` (below the base URL, with its query); optional `body`, `headers`, `apiKey` (null is none; a good one when left out)",
		answers:
			'`{"correlationId", "status", "answer", "cut"}` of a request to the service; `status` is null when no answer came',
		run: ({ sandbox, integration }, { apiKey = integration.apiKey, ...request }) =>
			sandbox.request({ ...request, apiKey }),
	}),
	post("requests/{id}/replay", {
		takes: { key: optional(oneOf("same", "good")), operationId: optional(aString) },
		body: "optional `key` (same when left out: what it had, good or not; or good), `operationId` (another one makes a send a new one)",
		answers: "the same, of the request with this correlation id, which is made again as it was",
		run: ({ sandbox, id }, options) => sandbox.replay(id, options),
	}),
	get("violations", {
		answers:
			'what a good client would not have done: `[{"rule", "message", "explanation", "method", "path", "correlationId"}]`',
		run: ({ sandbox }) => sandbox.violations(),
	}),
	get("observed", {
		answers:
			'`{"isOn", "outboxes", "texts", "unreadable", "polls"}`: the texts of the outboxes and the polls of the feeds that use the sandbox, the newest first',
		run: ({ sandbox }) => sandbox.observed(),
	}),
	post("observed", {
		takes: {
			source: passed<string>(),
			outboxes: passed<number>(),
			unreadable: passed<number>(),
			texts: passed<ObservedReport["texts"]>(),
			polls: passed<ObservedReport["polls"]>(),
		},
		body: "`source`, `outboxes`, `unreadable`, `texts`, `polls`: what the package's sandboxFetch reports of another process",
		run: ({ sandbox }, report) => insideOf(sandbox).observe(report),
	}),
	get("snapshots", {
		answers: 'those that were taken, the oldest first: `[{"snapshot", "name", "at"}]`',
		run: ({ snapshots }) => [...snapshots].map(([snapshot, { name, at }]) => ({ snapshot, name, at })),
	}),
	post("snapshot", {
		takes: { name: optional(stringOrNull) },
		body: "optional `name` (string or null)",
		answers: '`{"snapshot": "1"}`',
		run: ({ sandbox, snapshots }, { name = null }) => {
			const snapshot = String(++snapshots.taken);
			snapshots.set(snapshot, { name, at: sandbox.clock.now().toISOString(), content: sandbox.snapshot() });
			return { snapshot };
		},
	}),
	post("restore", {
		takes: { snapshot: aString },
		body: "`snapshot`",
		run: ({ sandbox, snapshots }, { snapshot }) => {
			const kept = snapshots.get(snapshot);
			if (!kept) throw new Error("restore: there is no such snapshot. GET snapshots lists all.");
			sandbox.restore(kept.content);
		},
	}),
	post("snapshots/{id}/remove", {
		run: ({ snapshots, id }) => {
			if (!snapshots.delete(id)) throw new Error("snapshots: there is no such snapshot. GET snapshots lists all.");
		},
	}),
	get("bug", {
		takes: {
			keepContent: optional(oneOf("true")),
			contact: optional(aString),
			agencyId: optional(aString),
			request: optional(aString),
		},
		body: "none; in the query `contact`, `agencyId` and `request` (a correlation id), where to look first, and `keepContent` (true keeps numbers, names and texts)",
		answers: "a bug file: the world, what happened, requests and explanations, without keys",
		run: async ({ sandbox }, { keepContent, ...place }) =>
			new LongJson(await insideOf(sandbox).bug({ ...place, keepContent: keepContent === "true" })),
	}),
	get("shown", {
		answers: '`{"isReadOnly", "bug"}`: the bug file that was opened (`takenAt`, `content`, `place`), or null',
		run: ({ shown }) => shown,
	}),
	post("import", {
		takes: importedFields,
		body: "a bug file, whole, which is read-only until POST continue: `format`, `version`, `takenAt`, `content`, `place`, `policy`, `variation`, `world`, `events`, `gone`, `requests`, `violations`, `replaced`, `past`",
		isAlwaysOpen: true,
		run({ sandbox, shown }, given) {
			// import checks it as a whole
			const there = Object.entries(given).filter(([, value]) => value !== undefined);
			const file = Object.fromEntries(there) as unknown as BugFile;
			// Before, because whoever hears of it asks at once.
			const { isReadOnly } = shown;
			shown.isReadOnly = true;
			try {
				sandbox.import(file);
			} catch (error) {
				shown.isReadOnly = isReadOnly;
				throw error;
			}
		},
	}),
	post("continue", {
		body: "none; a bug file that was opened becomes a world to act in",
		isAlwaysOpen: true,
		run({ shown }) {
			shown.isReadOnly = false;
		},
	}),
	get("history", {
		answers:
			'`{"first", "last"}`: the events after which the oldest and the newest state is known. Each GET takes `?at=` and the number of an event in between, and answers as everything was right after it',
		run: ({ sandbox }) => ({ first: sandbox.history.first, last: sandbox.events({ limit: 1 })[0]?.id ?? 0 }),
	}),
	post("history/continueFrom", {
		takes: { event: aNumber },
		body: "`event`, the number of an event; what came after it is undone, and a bug file becomes a world to act in",
		isAlwaysOpen: true,
		run({ sandbox, shown }, { event }) {
			sandbox.history.continueFrom(event);
			shown.isReadOnly = false;
		},
	}),
	post("reset", { run: ({ sandbox }) => sandbox.reset() }),
	post("loadScenario", {
		takes: { scenario: passed<ScenarioName>() },
		body: "`scenario`, a name as for `--scenario`; it is added to what is there, at any time",
		run: ({ sandbox }, { scenario }) => sandbox.loadScenario(scenario),
	}),
];

/** The routes by the heading of the guide under which they are. */
export const routes: Readonly<Record<string, readonly Route[]>> = {
	Contacts: contacts,
	"Staff, AI and flows": staffAiAndFlows,
	"The agency": agency,
	"Conversations and messages": conversationsAndMessages,
	"Keys and integrations": keysAndIntegrations,
	Clock: clock,
	Faults: faults,
	Breakpoints: breakpoints,
	State: state,
};
