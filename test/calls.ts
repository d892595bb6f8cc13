import {
	type Call,
	type CallOptions,
	type Client,
	type ClientOptions,
	createClient,
	type Fetch,
	isPartnerError,
	type OperationId,
	type PartnerError,
} from "messaging-conversations";
import { onTestFinished } from "vitest";
import {
	agencyId,
	apiKey,
	conversationPage,
	me,
	messagePage,
	phone,
	sentNow,
	spelledPhone,
	summary,
	text,
	withMessages,
} from "./canned.ts";
import { type Script, type Seen, scripted } from "./scripted.ts";

/** Waits that a test can sit out. */
export const quick = { baseDelayMs: 1, maxDelayMs: 2 };

export function clientOf({ baseUrl }: { baseUrl: string }, options: Partial<ClientOptions> = {}): Client {
	return createClient({ baseUrl, apiKey, retry: quick, ...options });
}

interface OneCall {
	operation: OperationId;
	/** A good answer to it. */
	good: unknown;
	run: (client: Client, options?: CallOptions) => Call<unknown, PartnerError>;
}

/** Each operation once, as its simplest call. */
export const sixCalls: readonly OneCall[] = [
	{ operation: "me.get", good: me, run: (client, options) => client.me.get(options) },
	{
		operation: "conversations.list",
		good: conversationPage(["Anna"]),
		run: (client, options) => client.agency(agencyId).conversations.list(options).page(),
	},
	{
		operation: "conversations.lookup",
		good: { results: [{ phoneNumber: phone, conversation: summary({ cursor: null }) }] },
		run: (client, options) => client.agency(agencyId).conversations.lookup([spelledPhone], options),
	},
	{
		operation: "conversations.get",
		good: withMessages,
		run: (client, options) => client.agency(agencyId).conversations.get(spelledPhone, options),
	},
	{
		operation: "conversations.listMessages",
		good: messagePage([1]),
		run: (client, options) => client.agency(agencyId).conversations.listMessages(spelledPhone, options).page(),
	},
	{
		operation: "messages.send",
		good: sentNow,
		run: (client, options) => client.agency(agencyId).messages.send({ to: spelledPhone, body: text }, options),
	},
];

export function callOf(operation: OperationId): OneCall {
	const call = sixCalls.find((each) => each.operation === operation);
	if (!call) throw new Error(`no call for ${operation}`);
	return call;
}

/** What `run` fails with; fails itself when that is none of the package's errors. */
export async function failure(run: () => unknown): Promise<PartnerError> {
	try {
		await run();
	} catch (error) {
		if (isPartnerError(error)) return error;
		throw new Error("it failed with something else", { cause: error });
	}
	throw new Error("it did not fail");
}

/** A value of a type that the compiler would not let through: what plain JavaScript, or a cast, may pass. */
export function wrong(value: unknown): never {
	return value as never;
}

/** An injected fetch's answer. */
export function jsonResponse(json: unknown, { status = 200, headers = {} }: ResponseInit = {}): Response {
	return new Response(JSON.stringify(json), { status, headers: { "x-correlation-id": "cor-1", ...headers } });
}

/** The error of an operation whose requests are answered so, and the requests. */
export async function failureOf(
	operation: OperationId,
	script: Script,
	options: Partial<ClientOptions> = {},
): Promise<{ error: PartnerError; requests: Seen[] }> {
	const service = await scripted(script);
	const error = await failure(() => callOf(operation).run(clientOf(service, options)));
	return { error, requests: service.requests };
}

/** A connection fault as Node's fetch rejects with it. */
export function fetchFault(code: string, syscall?: string): TypeError {
	const cause = Object.assign(new Error(`${code} ${apiKey} ${phone} ${text}`), { code, syscall, host: "canary" });
	return new TypeError("fetch failed", { cause });
}

/** A fetch that throws its errors and returns its responses one after the other; the last one stays. */
export function fetchInTurn(...ends: (Error | (() => Response))[]): Fetch & { count: () => number } {
	let index = 0;
	const fetch: Fetch = async () => {
		const end = ends[Math.min(index++, ends.length - 1)];
		if (end instanceof Error || end === undefined) throw end;
		return end();
	};
	return Object.assign(fetch, { count: () => index });
}

/** A fetch that notes its calls and answers by their number. */
export function recordingFetch(answer: (index: number) => Response | Promise<Response>): {
	fetch: Fetch;
	calls: { url: string; init: RequestInit; self: unknown }[];
} {
	const calls: { url: string; init: RequestInit; self: unknown }[] = [];
	const fetch: Fetch = async function (this: unknown, url, init) {
		calls.push({ url, init, self: this });
		return answer(calls.length - 1);
	};
	return { fetch, calls };
}

/** Notes unhandled rejections until the test ends. The returned function gives Node time to report them. */
export function unhandledRejections(): () => Promise<unknown[]> {
	const seen: unknown[] = [];
	const note = (reason: unknown) => seen.push(reason);
	process.on("unhandledRejection", note);
	onTestFinished(() => void process.off("unhandledRejection", note));
	return async () => {
		for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
		return seen;
	};
}
