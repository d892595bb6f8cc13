import { type SetupServer, setupServer } from "msw/node";
import { afterEach, describe, expect } from "vitest";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/index.ts";
import { handlers } from "../../src/sandbox/msw.ts";
import { serve } from "../../src/sandbox/server.ts";
import { isLong } from "../length.ts";
import { assertContract, type Check, type Schemas } from "./contract.ts";

export const NOW = "2026-01-05T09:00:00.000Z";
export const ANNA = "+447700900101";
export const BRAM = "+447700900102";
export const CARL = "+447700900103";
export const BELGIAN = "+32470123456";

const HOUR = 60 * 60 * 1000;

/** The instant so many hours after the sandbox's start, as the service writes it. */
export function after(hours: number, ms = 0): string {
	return new Date(Date.parse(NOW) + hours * HOUR + ms).toISOString();
}

/** A sandbox behind one of its entry points. */
export interface Box {
	readonly sandbox: Sandbox;
	readonly agency: ReturnType<Sandbox["agency"]>;
	readonly baseUrl: string;
	readonly key: string;
	readonly check: Check;
	readonly correlationIds: Set<string>;
	fetch(url: string, init?: RequestInit): Promise<Response>;
	close(): Promise<void>;
}

export interface OpenOptions extends SandboxOptions {
	/** How closely the answers of this box are held to the contract. */
	check?: Check;
}

export interface EntryPoint {
	readonly name: "in process" | "msw" | "server";
	open(options?: OpenOptions): Promise<Box>;
}

function made({ check = "exact", ...options }: OpenOptions = {}) {
	const sandbox = createSandbox({ now: NOW, ...options });
	const { baseUrl, apiKey } = sandbox.connection;
	return { sandbox, agency: sandbox.agency(), baseUrl, key: apiKey, check, correlationIds: new Set<string>() };
}

const inProcess: EntryPoint = {
	name: "in process",
	async open(options) {
		const box = made(options);
		return { ...box, fetch: async (url, init) => box.sandbox.fetch(new Request(url, init)), close: async () => {} };
	},
};

const throughMsw: EntryPoint = {
	name: "msw",
	async open(options) {
		const box = made(options);
		const server: SetupServer = setupServer(...handlers(box.sandbox));
		server.listen({ onUnhandledRequest: "error" });
		return { ...box, fetch: (url, init) => fetch(url, init), close: async () => server.close() };
	},
};

const overHttp: EntryPoint = {
	name: "server",
	async open(options) {
		const box = made(options);
		const server = await serve(box.sandbox, { port: 0 });
		return { ...box, baseUrl: server.baseUrl, fetch: (url, init) => fetch(url, init), close: () => server.close() };
	},
};

/** The length at which to test what no entry point touches: `npm test` tests it at full length in process alone. */
export function lengthThrough<Length>({ name }: EntryPoint, full: Length, short: Length): Length {
	return isLong || name === "in process" ? full : short;
}

const entryPoints: readonly EntryPoint[] = [inProcess, throughMsw, overHttp];

/** Runs the same tests through each entry point; what a test opens is closed after it. */
export function throughEachEntryPoint(
	tests: (open: EntryPoint["open"], entryPoint: EntryPoint) => void,
	through: readonly EntryPoint[] = entryPoints,
): void {
	for (const entryPoint of through) {
		describe(`through ${entryPoint.name}`, () => {
			const opened: Box[] = [];
			afterEach(async () => {
				for (const box of opened.splice(0)) {
					await box.close();
					assertExplained(box);
				}
			});
			tests(async (options) => {
				const { close, ...box } = await entryPoint.open(options);
				let closed: Promise<void> | undefined;
				const closable = { ...box, close: () => (closed ??= close()) };
				opened.push(closable);
				return closable;
			}, entryPoint);
		});
	}
}

/** Each refusal that the journal holds has its explanation, which shows neither key nor phone number. */
function assertExplained({ sandbox }: Box): void {
	const explanations = sandbox
		.requests()
		.flatMap(({ status, explanation }) => (status === null || status >= 400 ? [explanation] : []));
	const secrets = sandbox.keys.list().map(({ id }) => `_live.${id}`);
	for (const explanation of explanations) {
		expect(explanation).toMatch(/^[^\n]+\.$/);
		expect(explanation).not.toMatch(/447700|32470/);
		for (const secret of secrets) expect(explanation).not.toContain(secret);
	}
}

export interface CallOptions {
	/** `null` sends no Authorization header. */
	key?: string | null;
	/** An object is sent as JSON; text and bytes go as they are. */
	body?: unknown;
	headers?: Record<string, string>;
	/** `null` sends no content type. */
	contentType?: string | null;
	check?: Check;
	signal?: AbortSignal;
}

export interface Answer<T = unknown> {
	readonly status: number;
	readonly headers: Headers;
	readonly text: string;
	/** The body of a 200; fails the test on any other status. */
	ok(): T;
	/** The body of a refusal with that status; fails the test on any other. */
	refused(status: number): { _tag: string; message: string };
}

const encoder = new TextEncoder();

/** One raw HTTP request below the base URL; its answer has been held to the contract. */
export async function call<T = unknown>(
	box: Box,
	method: string,
	path: string,
	options: CallOptions = {},
): Promise<Answer<T>> {
	const { key = box.key, body, contentType = "application/json", check = box.check, signal } = options;
	const headers: Record<string, string> = { ...options.headers };
	if (key !== null && !("authorization" in headers)) headers.authorization = `Bearer ${key}`;
	const init: RequestInit = { method, headers, redirect: "manual" };
	if (body !== undefined) {
		// Bytes, because fetch would add a content type of its own to a string.
		const given = body instanceof Uint8Array ? Uint8Array.from(body) : undefined;
		init.body = given ?? encoder.encode(typeof body === "string" ? body : JSON.stringify(body));
		if (contentType !== null) headers["content-type"] = contentType;
	}
	if (signal) init.signal = signal;
	const response = await box.fetch(box.baseUrl + path, init);
	const text = await response.text();
	const { status } = response;
	const seen = { method, path: path.replace(/\?.*$/s, ""), status, headers: response.headers, text };
	assertContract(seen, check, box.correlationIds);
	return {
		status,
		headers: response.headers,
		text,
		ok() {
			expect(status, text).toBe(200);
			// The contract check has just validated it against the schema that T is generated from.
			return JSON.parse(text) as T;
		},
		refused(expected) {
			expect(status, text).toBe(expected);
			const { _tag, message } = JSON.parse(text);
			return { _tag: String(_tag), message: String(message) };
		},
	};
}

type Query = Record<string, string | number>;

function withQuery(path: string, query: Query = {}): string {
	const entries = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
	return entries.length > 0 ? `${path}?${entries.join("&")}` : path;
}

export interface AgencyOptions extends CallOptions {
	agencyId?: string;
}

const of = (box: Box, options: AgencyOptions = {}) => `/agencies/${options.agencyId ?? box.agency.id}`;

export function me(box: Box, options?: CallOptions): Promise<Answer<Schemas["Me"]>> {
	return call(box, "GET", "/me", options);
}

export function list(box: Box, query?: Query, options?: AgencyOptions): Promise<Answer<Schemas["ConversationPage"]>> {
	return call(box, "GET", withQuery(`${of(box, options)}/conversations`, query), options);
}

export function lookup(
	box: Box,
	phoneNumbers: unknown,
	options?: AgencyOptions,
): Promise<Answer<Schemas["LookupResponse"]>> {
	return call(box, "POST", `${of(box, options)}/conversations/lookup`, { body: { phoneNumbers }, ...options });
}

export function get(
	box: Box,
	phone: string,
	query?: Query,
	options?: AgencyOptions,
): Promise<Answer<Schemas["ConversationWithMessages"]>> {
	const path = `${of(box, options)}/conversations/${encodeURIComponent(phone)}`;
	return call(box, "GET", withQuery(path, query), options);
}

export function messages(
	box: Box,
	phone: string,
	query?: Query,
	options?: AgencyOptions,
): Promise<Answer<Schemas["MessagePage"]>> {
	const path = `${of(box, options)}/conversations/${encodeURIComponent(phone)}/messages`;
	return call(box, "GET", withQuery(path, query), options);
}

export function send(box: Box, body: unknown, options?: AgencyOptions): Promise<Answer<Schemas["SendMessageResult"]>> {
	return call(box, "POST", `${of(box, options)}/messages`, { body, ...options });
}

/** The five operations below an agency, each with a request that is right. */
export function agencyCalls(box: Box, phone: string, options?: AgencyOptions): Record<string, () => Promise<Answer>> {
	return {
		"conversations.list": () => list(box, {}, options),
		"conversations.lookup": () => lookup(box, [phone], options),
		"conversations.get": () => get(box, phone, {}, options),
		"conversations.listMessages": () => messages(box, phone, {}, options),
		"messages.send": () => send(box, { to: phone, body: "Hello" }, options),
	};
}

export async function summaryOf(
	box: Box,
	phone: string,
	options?: AgencyOptions,
): Promise<Schemas["ConversationSummary"]> {
	return (await get(box, phone, {}, options)).ok().conversation.summary;
}

/** The phone numbers of a list, in its order. */
export async function listed(box: Box, query?: Query, options?: AgencyOptions): Promise<string[]> {
	return (await list(box, query, options)).ok().conversations.map((each) => each.phoneNumber);
}

/** All rows of a list, page by page. */
export async function listAll(
	box: Box,
	query: Query,
	options?: AgencyOptions,
): Promise<Schemas["ConversationSummary"][]> {
	const rows: Schemas["ConversationSummary"][] = [];
	let cursor: string | null = null;
	do {
		const page: Schemas["ConversationPage"] = (await list(box, cursor ? { ...query, cursor } : query, options)).ok();
		rows.push(...page.conversations);
		cursor = page.nextCursor;
	} while (cursor !== null);
	return rows;
}

/** All messages of a conversation, page by page. */
export async function walkMessages(box: Box, phone: string, query: Query = {}): Promise<Schemas["Message"][]> {
	const rows: Schemas["Message"][] = [];
	let cursor: string | null = null;
	do {
		const page: Schemas["MessagePage"] = (await messages(box, phone, cursor ? { ...query, cursor } : query)).ok();
		rows.push(...page.messages);
		cursor = page.nextCursor;
	} while (cursor !== null);
	return rows;
}

/** The element there must be; a test that finds none fails here. */
export function only<T>(items: readonly T[]): T {
	expect(items).toHaveLength(1);
	return first(items);
}

export function first<T>(items: readonly T[]): T {
	const [item] = items;
	if (item === undefined) throw new Error("expected at least one");
	return item;
}

export function present<T>(value: T | null | undefined): T {
	if (value === null || value === undefined) throw new Error("expected a value");
	return value;
}
