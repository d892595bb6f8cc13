import { flag, optional, rule } from "../../shared/validation.ts";
import { phoneFrom } from "../base/contract.ts";
import { hex } from "../base/derived.ts";
import { aString, assertValid, fields } from "../base/input.ts";
import { replaceOwn } from "../base/own.ts";
import type { SandboxEvent } from "../world/event.ts";
import type { HistoryStep } from "../world/history.ts";
import { iso } from "../world/instant.ts";
import type { Entry, RequestKey } from "../world/journal.ts";
import { addKey, apiKeyOf, defaultIds, type Key, type World } from "../world/world.ts";
import { type Archive, archive, unarchive } from "./archive.ts";
import type { BugStep, NamedKey, WholeBug } from "./bug-file.ts";
import { bugFormat } from "./format.ts";
import { redacted } from "./redact.ts";

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
export function takeBug(world: World, options: BugOptions = {}): WholeBug {
	assertValid("bug", options, optionsRule);
	const { keepContent = false, contact = null, agencyId = null, request = null } = options;
	if (agencyId !== null && !world.agencies.has(agencyId))
		throw new TypeError("bug: agencyId must be the id of an agency.");
	const history = world.history.dump();
	// A restore takes keys back, which the past still has.
	const allKeys = [...world.keys.values(), ...history.flatMap(({ rest }) => rest?.keys ?? [])];
	const named = nameKeys(allKeys);
	const { keys, ...rest } = archive(world);
	const past = history.map(
		({ rest, ...step }): BugStep => ({ ...step, rest: rest && { ...rest, keys: rest.keys.map(named.key) } }),
	);
	const { entries, violations, replaced } = world.journal.dump();
	const bug: WholeBug = {
		...bugFormat,
		takenAt: iso(Date.now()),
		content: "kept",
		place: { agencyId, contact, request },
		policy: { ...world.policy },
		variation: world.variation ?? null,
		world: { ...rest, keys: keys.map(named.key) },
		events: [...world.events.each()].map(named.event),
		gone: world.events.gone(),
		requests: entries.map(({ correlationId }) => correlationId),
		violations: violations.map((each) => ({ ...each, explanation: named.sentence(each.explanation) })),
		replaced,
		...(past.length > 0 && { past }),
	};
	return readable(withoutKeys(allKeys, keepContent ? structuredClone(bug) : redacted(bug)));
}

/** Fewer bytes than are read, which leaves room for spaces. */
const longestWritten = 90_000_000;

/** The same file, without its oldest events if it were too long to be opened again. `gone` says how many. */
function readable(bug: WholeBug): WholeBug {
	const sizes = bug.events.map(bytesOf);
	let tooMany = bytesOf({ ...bug, events: [] }) + sizes.reduce((a, b) => a + b + 1, 0) - longestWritten;
	if (tooMany <= 0) return bug;
	const dropped = new Set<SandboxEvent>();
	for (const [at, event] of bug.events.entries()) {
		if (tooMany <= 0) break;
		if (event.correlationId !== null && event.correlationId === bug.place.request) continue;
		dropped.add(event);
		tooMany -= (sizes[at] ?? 0) + 1;
	}
	if (tooMany > 0) throw new RangeError("bug: the conversations alone are too long for a file. It has at most 90 MB.");
	const { gone } = bug;
	const lost = [...dropped].filter((event) => event.type === "request");
	const ids = new Set(lost.map(({ correlationId }) => correlationId));
	return {
		...bug,
		events: bug.events.filter((event) => !dropped.has(event)),
		requests: bug.requests.filter((id) => !ids.has(id)),
		gone: { ...gone, events: gone.events + dropped.size, requests: gone.requests + lost.length },
	};
}

/** How many bytes a value has as JSON in UTF-8. */
const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

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

/** Removes keys from wherever a caller has put them: a path, a header, a text. */
function withoutKeys(keys: readonly Key[], bug: WholeBug): WholeBug {
	let text = withoutKeyWords(JSON.stringify(bug));
	for (const key of new Map(keys.map((each) => [each.secret, each])).values()) {
		for (const secret of [key.secret, btoa(apiKeyOf(key)).replace(/=+$/, "")])
			if (secret.length > 7) text = text.replaceAll(JSON.stringify(secret).slice(1, -1), "{key}");
	}
	return JSON.parse(text);
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
