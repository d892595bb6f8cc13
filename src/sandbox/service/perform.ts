import { oneOf, optional, rule } from "../../shared/validation.ts";
import { type Call, isLater, type Reply } from "../base/call.ts";
import { aString, assertValid, fields, isRecord, someText } from "../base/input.ts";
import { type Entry, jsonOrText } from "../world/journal.ts";
import { apiKeyOf, type Integration, type Key, type World } from "../world/world.ts";
import { handle } from "./handle.ts";

/** A request to the service. */
export interface SandboxRequest {
	/** The HTTP method. */
	readonly method: string;
	/** Path and query below the base URL, such as `/me`. */
	readonly path: string;
	/** A value that is sent as JSON; text is sent as it is. @default none */
	readonly body?: unknown;
	/** By lower-case name. @default `content-type: application/json` with a body */
	readonly headers?: Readonly<Record<string, string>> | undefined;
	/** Null for a request without a key. @default a good key of the default integration */
	readonly apiKey?: string | null | undefined;
}

/** What came of a request. */
export interface SandboxAnswer {
	/** The request's, as in `requests()`. */
	readonly correlationId: string;
	/** Null when no answer came. */
	readonly status: number | null;
	/** The body: as JSON when it is JSON, else as text; null without one. */
	readonly answer: unknown;
	/** How a fault broke the connection; null when it did not. */
	readonly cut: "reset" | "hang" | "body" | null;
}

/** How to make a request again. */
export interface ReplayOptions {
	/** `same`: with what it had as its key, good or not. `good`: with a good key of the same integration. @default "same" */
	readonly key?: "same" | "good" | undefined;
	/** Another operationId, which makes a send a new one. @default the one that it had */
	readonly operationId?: string | undefined;
}

const requestRule = fields<SandboxRequest>({
	method: someText,
	path: rule((path) => typeof path === "string" && path.startsWith("/"), "must be a path that begins with /"),
	body: rule(() => true, ""),
	headers: optional(
		rule(
			(headers) => isRecord(headers) && Object.values(headers).every((value) => typeof value === "string"),
			"must be an object of strings, by lower-case name",
		),
	),
	apiKey: optional(rule((key) => key === null || typeof key === "string", "must be a key, or null")),
});

const replayRule = fields<ReplayOptions>({ key: optional(oneOf("same", "good")), operationId: optional(aString) });

/** Makes a request, and waits for what comes of it. `goodKey` is for a request that names none. */
export function perform(world: World, given: SandboxRequest, goodKey: string): Promise<SandboxAnswer> {
	assertValid("request", { body: undefined, ...given }, requestRule);
	const { method, path, body, headers, apiKey = goodKey } = given;
	const hasBody = body !== undefined && body !== null;
	return answered(world, {
		method: method.toUpperCase(),
		target: path,
		headers: {
			...(headers ?? (hasBody ? { "content-type": "application/json" } : {})),
			...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
		},
		body: hasBody ? (typeof body === "string" ? body : JSON.stringify(body)) : "",
	});
}

/** Makes a request of the journal again. */
export function replay(world: World, correlationId: string, options: ReplayOptions = {}): Promise<SandboxAnswer> {
	assertValid("replay", options, replayRule);
	const entry = world.journal.find(correlationId);
	if (!entry) throw new Error("replay: the sandbox has no such request, or none any more.");
	const { method, path, query, text, headers } = entry;
	const { key = "same", operationId } = options;
	const authorization = key === "same" ? authorizationOf(world, entry) : `Bearer ${apiKeyOf(goodKey(world, entry))}`;
	// The masked ones have no value to repeat.
	const kept = Object.entries(headers).filter(([, value]) => value !== "(masked)");
	return answered(world, {
		method,
		target: `${path}${query && `?${query}`}`,
		headers: { ...Object.fromEntries(kept), ...(authorization === null ? {} : { authorization }) },
		body: operationId === undefined ? text : withOperationId(text, operationId),
	});
}

/** The header as it was. A bug file has none, but says of which kind the key was. */
function authorizationOf({ keys }: World, { authorization, key }: Entry): string | null {
	if (authorization !== null || key.state === "absent") return authorization;
	const known = keys.get(key.id ?? "");
	return known ? `Bearer ${apiKeyOf(known)}` : "Bearer unknown_live.unknown.unknown";
}

/** A good key of the integration whose key, or whose agency, the request names; else of the first one that has any. */
function goodKey({ keys, agencies, integrations }: World, { key, path }: Entry): Key {
	const [, , agencyId = ""] = path.split("/");
	const wanted = keys.get(key.id ?? "")?.integrationId ?? agencies.get(agencyId)?.integrationId;
	const live = [...keys.values()].filter(({ state }) => state === "live");
	const own = live.find(({ integrationId }) => integrationId === wanted);
	const first: Integration | undefined = [...integrations.values()][0];
	const found = own ?? live.find(({ integrationId }) => integrationId === first?.id) ?? live[0];
	if (!found) throw new Error("replay: the sandbox has no good key. Create one.");
	return found;
}

function withOperationId(text: string, operationId: string): string {
	const body = jsonOrText(text);
	return isRecord(body) ? JSON.stringify({ ...body, operationId }) : text;
}

async function answered(world: World, call: Call): Promise<SandboxAnswer> {
	let reply: Reply = handle(world, call);
	const { correlationId = "" } = world.journal.newest() ?? {};
	while (isLater(reply)) {
		const { waitMs, until, resume } = reply;
		await (until ?? new Promise<void>((resolve) => void setTimeout(resolve, waitMs)));
		reply = resume();
	}
	const { status, body, cut = null } = reply;
	if (cut !== null) return { correlationId, status: null, answer: null, cut };
	return { correlationId, status, answer: jsonOrText(body), cut };
}
