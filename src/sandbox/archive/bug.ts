import { flag, optional, rule } from "../../shared/validation.ts";
import { phoneFrom } from "../base/contract.ts";
import { hex } from "../base/derived.ts";
import { aString, assertValid, fields } from "../base/input.ts";
import { replaceOwn } from "../base/own.ts";
import { atOnce } from "../base/slices.ts";
import type { SandboxEvent } from "../world/event.ts";
import type { HistoryStep } from "../world/history.ts";
import { iso } from "../world/instant.ts";
import type { Entry, RequestKey } from "../world/journal.ts";
import { addKey, apiKeyOf, defaultIds, type Key, type Thread, type World } from "../world/world.ts";
import { type Archive, capture, unarchive } from "./archive.ts";
import type { BugPlace, BugStep, NamedKey, WholeBug } from "./bug-file.ts";
import { bugFormat } from "./format.ts";
import { lazyList, partly, writeLazy } from "./lazy.ts";
import { createPseudonyms, createTaken } from "./pseudonyms.ts";
import { createNameWords, createRedaction, type Redaction } from "./redact.ts";

/** What goes into a bug file. */
export interface BugOptions {
	/** Keeps numbers, names and texts as they are. Keys are left out either way. @default false: generated ones */
	readonly keepContent?: boolean | undefined;
	/** The contact whose phone is shown. @default none */
	readonly contact?: string | undefined;
	/** The agency that is shown. @default the default one */
	readonly agencyId?: string | undefined;
	/** The correlation id of the request that is open. @default none */
	readonly request?: string | undefined;
}

const optionsRule = fields<BugOptions>({
	keepContent: optional(flag),
	contact: optional(rule((phone) => typeof phone === "string" && phoneFrom(phone) === phone, "must be E.164")),
	agencyId: optional(aString),
	request: optional(
		rule((id) => typeof id === "string" && /^sandbox-[0-9a-f]{8}$/.test(id), "must be the correlation id of a request"),
	),
});

/** The bug file of a world as it is. */
export const takeBug = (world: World, options?: BugOptions): WholeBug =>
	JSON.parse([...atOnce(writeBug(world, options))].join(""));

/**
 * The same as JSON, in pieces, once, with a pause after each small part. It is of the moment of the first step: what happens
 * meanwhile is not in it.
 */
export function* writeBug(world: World, options: BugOptions = {}): Generator<void, Iterable<string>> {
	assertValid("bug", options, optionsRule);
	const { keepContent = false, contact = null, agencyId = null, request = null } = options;
	if (agencyId !== null && !world.agencies.has(agencyId))
		throw new TypeError("bug: agencyId must be the id of an agency.");
	const { bug, keys } = yield* captureBug(world, { agencyId, contact, request });
	const make = keepContent ? asTheyAre : yield* redactionOf(bug);
	const hide = hideKeys(keys);
	const pieces = new Map<string, Iterable<string>>();
	const events: WrittenEvent[] = [];
	let bytes = 0;
	const hidden = (json: string): string => {
		const text = hide(json);
		bytes += bytesOf(text);
		return text;
	};
	for (const [name, value] of Object.entries(fieldsOf(bug, make))) {
		if (value === undefined) continue;
		const texts: string[] = [];
		pieces.set(name, texts);
		if (name !== "events") yield* writeLazy(value, (json) => void texts.push(hidden(json)));
		else
			for (const given of bug.events) {
				const before = bytes;
				const event = make.event(given);
				const text = hidden(JSON.stringify(event));
				const { type, correlationId } = event;
				events.push({ text, bytes: bytes - before, isRequest: type === "request", correlationId });
				yield;
			}
	}
	const dropped = yield* tooMany(events, bytes + events.length, make.head(bug).place.request);
	if (dropped.size > 0) {
		const { gone } = bug;
		const lost = new Set([...dropped].filter(({ isRequest }) => isRequest).map((event) => event.correlationId));
		const left = bug.requests.map(make.correlationId).filter((id) => !lost.has(id));
		const counts = { ...gone, events: gone.events + dropped.size, requests: gone.requests + lost.size };
		pieces.set("gone", [JSON.stringify(counts)]);
		pieces.set("requests", [JSON.stringify(left)]);
	}
	const kept = events.filter((event) => !dropped.has(event));
	pieces.set("events", listOf(kept));
	return objectOf(pieces);
}

/** Events as a list in JSON, in pieces. */
function* listOf(events: readonly WrittenEvent[]): Generator<string, void> {
	yield "[";
	for (const [at, { text }] of events.entries()) yield at === 0 ? text : `,${text}`;
	yield "]";
}

/** Fields as an object in JSON, in pieces. */
function* objectOf(fields: ReadonlyMap<string, Iterable<string>>): Generator<string, void> {
	let separator = "{";
	for (const [name, texts] of fields) {
		yield `${separator}"${name}":`;
		yield* texts;
		separator = ",";
	}
	yield "}";
}

interface WrittenEvent {
	readonly text: string;
	readonly bytes: number;
	readonly isRequest: boolean;
	readonly correlationId: string | null;
}

/** Fewer bytes than are read, which leaves room for spaces. */
const longestWritten = 90_000_000;

/** The oldest events, if the file were too long to be opened again. That of the request where the reader is to look stays. */
function* tooMany(
	events: readonly WrittenEvent[],
	bytes: number,
	shown: string | null,
): Generator<void, ReadonlySet<WrittenEvent>> {
	const dropped = new Set<WrittenEvent>();
	let over = bytes - longestWritten;
	for (const event of events) {
		if (over <= 0) break;
		yield;
		if (event.correlationId !== null && event.correlationId === shown) continue;
		dropped.add(event);
		over -= event.bytes + 1;
	}
	if (over > 0) throw new RangeError("bug: the conversations alone are too long for a file. It has at most 90 MB.");
	return dropped;
}

const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8. */
const bytesOf = (text: string): number => encoder.encode(text).length;

/** A bug at one moment. Nothing changes it any more, and most of it is shared with the world. */
interface CapturedBug extends Omit<WholeBug, "events" | "content"> {
	readonly events: Iterable<SandboxEvent>;
}

/** All of the world that a file needs is captured before the first pause, and is shared with it where it never changes. */
function* captureBug(
	world: World,
	place: BugPlace,
): Generator<void, { readonly bug: CapturedBug; readonly keys: readonly Key[] }> {
	const steps = world.history.dump();
	const { keys, ...rest } = capture(world);
	const { entries, violations, replaced } = world.journal.dump();
	const events = world.events.each();
	const head = {
		takenAt: iso(Date.now()),
		policy: { ...world.policy },
		variation: world.variation ?? null,
		gone: world.events.gone(),
	};
	yield;
	const history = yield* steps;
	// A restore takes keys back, which the past still has.
	const allKeys = [...keys, ...history.flatMap(({ rest }) => rest?.keys ?? [])];
	const named = nameKeys(allKeys);
	const past = history.map(
		({ rest, ...step }): BugStep => ({ ...step, rest: rest && { ...rest, keys: rest.keys.map(named.key) } }),
	);
	const bug: CapturedBug = {
		...bugFormat,
		...head,
		place,
		world: { ...rest, keys: keys.map(named.key) },
		events: {
			*[Symbol.iterator]() {
				for (const event of events) yield named.event(event);
			},
		},
		requests: entries.map(({ correlationId }) => correlationId),
		violations: violations.map((each) => ({ ...each, explanation: named.sentence(each.explanation) })),
		replaced,
		...(past.length > 0 && { past }),
	};
	return { bug, keys: allKeys };
}

const same = <Part>(part: Part): Part => part;

/** A bug whose content is kept. */
const asTheyAre: Redaction = {
	head: ({ variation, place }) => ({ content: "kept", variation, place }),
	...{ counters: same, integration: same, key: same, agency: same, thread: same, message: same, operation: same },
	...{ fault: same, change: same, event: same, correlationId: same, violation: same, replaced: same },
};

/** Reads all of a bug, and then says what stands in its file. */
function* redactionOf(bug: CapturedBug): Generator<void, Redaction> {
	const taken = createTaken();
	const words = createNameWords();
	const [agencyIds, integrationIds] = [new Set<string>(), new Set<string>()];
	const noteName = <Part extends { readonly name: string | null }>(part: Part): Part => {
		words.note(part.name);
		return part;
	};
	const noteAll: Redaction = {
		...asTheyAre,
		integration(each) {
			integrationIds.add(each.id);
			return noteName(each);
		},
		agency(each) {
			agencyIds.add(each.id);
			return noteName(each);
		},
		thread: noteName,
		event: (each) => ("name" in each ? noteName(each) : each),
	};
	yield* writeLazy(partly(fieldsOf(bug, noteAll)), taken.note);
	const names = createPseudonyms(taken);
	// Names first, so that sentences find them.
	const { integrations, agencies, counters } = bug.world;
	for (const { name } of integrations) names.name("CRM", name);
	for (const { name, threads } of agencies) {
		if (name !== null) names.name("Agency", name);
		for (const { phone, name: contact } of threads) {
			names.phone(phone);
			if (contact !== null) names.name("Contact", contact);
			yield;
		}
	}
	const messages = new Map(counters).get("message") ?? 0;
	return createRedaction(names, { agencyIds, integrationIds, messages, isOfName: words.areIn });
}

/** The fields of a file, whose lists are made while they are written. */
function fieldsOf({ events, world, past, ...bug }: CapturedBug, make: Redaction): Record<keyof WholeBug, unknown> {
	return {
		format: bug.format,
		version: bug.version,
		takenAt: bug.takenAt,
		...make.head(bug),
		policy: bug.policy,
		world: partly({
			...world,
			counters: make.counters(world.counters),
			integrations: world.integrations.map(make.integration),
			keys: world.keys.map(make.key),
			agencies: lazyList(world.agencies, ({ threads, ...agency }) =>
				partly({ ...make.agency(agency), threads: lazyList(threads, (each) => threadOf(each, make)) }),
			),
			operations: lazyList(world.operations, make.operation),
			faults: world.faults.map(make.fault),
		}),
		events: lazyList(events, make.event),
		gone: bug.gone,
		requests: lazyList(bug.requests, make.correlationId),
		violations: lazyList(bug.violations, make.violation),
		replaced: lazyList(bug.replaced, make.replaced),
		past: past && lazyList(past, (step) => stepOf(step, make)),
	};
}

const threadOf = (thread: Thread, make: Redaction): unknown =>
	partly({ ...make.thread({ ...thread, messages: [] }), messages: lazyList(thread.messages, make.message) });

const stepOf = ({ counters, rest, threads, operations, ...step }: BugStep, make: Redaction): unknown =>
	partly({
		...step,
		counters: make.counters(counters),
		rest: rest && {
			integrations: rest.integrations.map(make.integration),
			keys: rest.keys.map(make.key),
			agencies: rest.agencies.map(make.agency),
			faults: rest.faults.map(make.fault),
		},
		threads: lazyList(threads, ({ thread, ...change }) =>
			partly({ ...make.change({ ...change, thread: null }), thread: thread && threadOf(thread, make) }),
		),
		operations: lazyList(operations, make.operation),
	});

/** Puts the names of keys in the place of their ids. */
function nameKeys(keys: readonly Key[]) {
	const ids = new Map([...new Set(keys.map(({ id }) => id))].map((id, at) => [id, `key-${at + 1}`]));
	const id = (given: string): string => ids.get(given) ?? "key-unknown";
	const idOrNull = (given: string | null): string | null => (given === null ? null : id(given));
	const sentence = (given: string): string => replaceOwn(given, (part) => ids.get(part) ?? part);
	const event = (given: SandboxEvent): SandboxEvent => {
		if (given.type === "violation") return { ...given, explanation: sentence(given.explanation) };
		if (given.type !== "request") return given;
		const { key, keyId, explanation } = given;
		return {
			...given,
			keyId: idOrNull(keyId),
			key: { ...key, id: idOrNull(key.id) },
			explanation: explanation === null ? null : sentence(explanation),
		};
	};
	const key = ({ secret: _, ...rest }: Key): NamedKey => ({ ...rest, id: id(rest.id) });
	return { key, sentence, event };
}

/** A key of the API's form from its `_live` on, in any spelling of its dot. It ends before a quote, so the text stays JSON. */
const keyInText = /_live(?:\.|%(?:25)*2e|\\+u002e)[^\s"'\\/]*/gi;
/** What stands before a key and after it. */
const border = /[\s"'\\/]/;

/**
 * Puts `{key}` in the place of each word that has a key. The beginning of the word is looked for backwards from its `_live`: an
 * expression that begins with it would try again at each letter of a long word without a key.
 */
function withoutKeyWords(text: string): string {
	let shown = "";
	let end = 0;
	for (const { 0: found, index } of text.matchAll(keyInText)) {
		let start = index;
		while (start > end && !border.test(text.charAt(start - 1))) start--;
		shown += `${text.slice(end, start)}{key}`;
		end = index + found.length;
	}
	return shown + text.slice(end);
}

/** Removes keys from wherever a caller has put them in a piece of JSON: a path, a header, a text. */
function hideKeys(keys: readonly Key[]): (json: string) => string {
	const secrets = [...new Map(keys.map((each) => [each.secret, each])).values()]
		.flatMap((key) => [key.secret, btoa(apiKeyOf(key)).replace(/=+$/, "")])
		.filter((secret) => secret.length > 7)
		.map((secret) => JSON.stringify(secret).slice(1, -1));
	return (json) => {
		let text = withoutKeyWords(json);
		for (const secret of secrets) if (text.includes(secret)) text = text.replaceAll(secret, "{key}");
		return text;
	};
}

/** Makes a world what a valid bug file holds. */
export function openBug(world: World, bug: WholeBug): void {
	const { world: held, events, gone, policy, variation, ...rest } = structuredClone(bug);
	const { requests, violations, replaced, past } = rest;
	unarchive(world, withSecrets(held));
	addGoodKey(world);
	Object.assign(world.policy, policy);
	world.variation = variation ?? undefined;
	const kept = new Set(requests);
	const entries = events.flatMap((event) =>
		event.type === "request" && kept.has(event.correlationId ?? "") ? entryOf(event) : [],
	);
	world.journal.load({ entries, violations, replaced });
	world.events.load(events, gone);
	world.history.load((past ?? []).map(stepFrom), events.at(-1)?.id ?? 0);
}

/** Whoever opens a file needs a key, and all keys in the file may be revoked. */
function addGoodKey(world: World): void {
	const { integration } = defaultIds;
	const isGood = ({ integrationId, state }: Key): boolean => integrationId === integration && state === "live";
	if (![...world.keys.values()].some(isGood)) world.events.silently(() => addKey(world, integration));
}

/** A step with a secret of its own for each key. */
const stepFrom = ({ rest, ...step }: BugStep): HistoryStep => ({
	...step,
	rest: rest && { ...rest, keys: rest.keys.map(withSecret) },
});

/** The archive in a bug file, with a secret of its own for each key. */
export const withSecrets = ({ keys, ...rest }: WholeBug["world"]): Archive => ({
	...rest,
	keys: keys.map(withSecret),
});

const withSecret = (key: NamedKey): Key => ({ ...key, secret: hex(`secret of ${key.id}`, 32) });

function entryOf(event: Extract<SandboxEvent, { type: "request" }>): Entry {
	const { operation, method, path, query, headers, correlationId, at, body, status, explanation, decision } = event;
	const key: RequestKey = event.key;
	return {
		operation,
		method,
		path,
		query,
		headers,
		authorization: null,
		correlationId: correlationId ?? "",
		at: Date.parse(at),
		text: body === null ? "" : typeof body === "string" ? body : JSON.stringify(body),
		key,
		status,
		explanation,
		decision,
	};
}
