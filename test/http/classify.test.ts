import { inspect } from "node:util";
import { createClient, type Fetch, type OperationId, type PartnerError } from "messaging-conversations";
import { expect, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse } from "./calls.ts";
import { agencyId, apiKey, me, operationId, phone, sentNow, text } from "./canned.ts";

const baseUrl = "https://messaging.example/api/v1";

/** What a call fails with when its one request ends so. */
async function failureFrom(end: () => unknown, operation: OperationId = "me.get"): Promise<PartnerError> {
	const fetch: Fetch = async () => {
		const response = end();
		if (response instanceof Response) return response;
		throw response;
	};
	return failure(() => callOf(operation).run(clientOf({ baseUrl }, { fetch, retry: false })));
}

/** A fault as Node's fetch throws it. */
function fault(cause: object): TypeError {
	return new TypeError("fetch failed", { cause: Object.assign(new Error("canary"), cause) });
}

/** A response of any status, also of those that `new Response` refuses. */
function statusOf(status: number): Response {
	return Object.defineProperty(jsonResponse({}), "status", { value: status });
}

// Faults: which prove that nothing went out

const connecting = [
	"ENOTFOUND",
	"EAI_AGAIN",
	"EAI_FAIL",
	"EAI_NODATA",
	"EAI_NONAME",
	"ECONNREFUSED",
	"UND_ERR_CONNECT_TIMEOUT",
	// Bun's
	"ConnectionRefused",
	"FailedToOpenSocket",
];

test.for(["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "EADDRNOTAVAIL"])(
	"a fault that comes of a connect and of a read alike is not_sent where it says which it was: %s",
	async (code) => {
		const error = await failureFrom(() => fault({ code, syscall: "connect" }), "messages.send");
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: true });
		const bare = await failureFrom(() => fault({ code }), "messages.send");
		expect(bare).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
	},
);

test("once an answer has begun, no fault proves that nothing went out", async () => {
	for (const cause of [{ code: "ECONNREFUSED", syscall: "connect" }, { code: "CERT_HAS_EXPIRED" }]) {
		const broken = new ReadableStream({ pull: (controller) => controller.error(fault(cause)) });
		const error = await failureFrom(() => new Response(broken), "messages.send");
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", status: 200, outcome: "unknown", retryable: true });
		expect(error.message).toBe(`messages.send: the connection was lost (${cause.code})`);
	}
});

test("a TLS fault is one of the handshake where fetch names it as its cause, and nowhere else", async () => {
	const code = "ERR_SSL_WRONG_VERSION_NUMBER";
	const caused = await failureFrom(() => fault({ code }), "messages.send");
	expect(caused).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: false });
	const bare = await failureFrom(() => Object.assign(new Error("request failed"), { code }), "messages.send");
	expect(bare).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
});

test.for(connecting)("a fault before the connection stands is not_sent: %s", async (code) => {
	const error = await failureFrom(() => fault({ code }), "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: true });
	expect(error.message).toBe(`messages.send: no connection (${code})`);
	expect(error.cause).toStrictEqual({ name: "Error", code });
});

test.for([
	["a connect that ended in any way", fault({ code: "ECONNRESET", syscall: "connect" }), "not_sent"],
	["a name that was not found, in any way", fault({ code: "EOTHER", syscall: "getaddrinfo" }), "not_sent"],
	["a read", fault({ code: "ECONNRESET", syscall: "read" }), "unknown"],
	["a write", fault({ code: "EPIPE", syscall: "write" }), "unknown"],
	["a host that is gone while an answer is read", fault({ code: "EHOSTUNREACH", syscall: "read" }), "unknown"],
	["a refusal in the middle of a write", fault({ code: "ECONNREFUSED", syscall: "write" }), "unknown"],
	["no code at all", fault({}), "unknown"],
	["a code on the error itself", Object.assign(fault({}), { code: "ECONNREFUSED" }), "not_sent"],
	["no cause", Object.assign(new Error("canary"), { code: "ECONNREFUSED" }), "not_sent"],
	[
		"each of several addresses at once",
		fault({ errors: [{ syscall: "connect" }, { syscall: "connect" }] }),
		"not_sent",
	],
	["not all of several addresses", fault({ errors: [{ syscall: "connect" }, { syscall: "read" }] }), "unknown"],
	["several addresses that say nothing", fault({ errors: [null, "connect"] }), "unknown"],
	["no addresses", fault({ errors: [] }), "unknown"],
	["something else in place of the addresses", fault({ errors: "connect" }), "unknown"],
] as const)("outcome of a fault: %s", async ([, thrown, outcome]) => {
	const error = await failureFrom(() => thrown, "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome, retryable: true });
	expect(error.message).toContain(outcome === "unknown" ? "the connection was lost" : "no connection");
});

const untrusted = [
	"CERT_HAS_EXPIRED",
	"DEPTH_ZERO_SELF_SIGNED_CERT",
	"SELF_SIGNED_CERT_IN_CHAIN",
	"UNABLE_TO_VERIFY_LEAF_SIGNATURE",
	"HOSTNAME_MISMATCH",
	"ERR_TLS_CERT_ALTNAME_INVALID",
	"ERR_SSL_WRONG_VERSION_NUMBER",
	"ERR_SSL_UNSUPPORTED_PROTOCOL",
	"ERR_SSL_PACKET_LENGTH_TOO_LONG",
	"ERR_SSL_HTTP_REQUEST",
];

test.for(untrusted)("a connection that is not to be trusted is not_sent and not retryable: %s", async (code) => {
	const error = await failureFrom(() => fault({ code }), "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: false });
	expect(error.message).toBe(`messages.send: no trusted connection (${code})`);
});

test.for(["X_CERT_HAS_EXPIRED", "MY_HOSTNAME_MISMATCH", "ERR_SSL_SOMETHING", "ERR_TLS_OTHER"])(
	"a code that only looks like a certificate's proves nothing: %s",
	async (code) => {
		const error = await failureFrom(() => fault({ code }), "messages.send");
		expect(error).toMatchObject({ outcome: "unknown", retryable: true });
		expect(error.message).toBe(`messages.send: the connection was lost (${code})`);
	},
);

const longest = `E${"X".repeat(63)}`;

test.for([
	["the fault's own name", new TypeError("canary"), { name: "TypeError" }],
	["the cause's name", fault({ name: "SocketError" }), { name: "SocketError" }],
	["a name that is no word", fault({ name: "canary canary" }), { name: "Error" }],
	["a name that is no string", fault({ name: 5 }), { name: "Error" }],
	["a code of 64 characters", fault({ code: longest }), { name: "Error", code: longest }],
	["a code of 65 characters", fault({ code: `${longest}X` }), { name: "Error" }],
	["a code with digits", fault({ code: "EAI_2" }), { name: "Error", code: "EAI_2" }],
	["a code of one letter", fault({ code: "E" }), { name: "Error", code: "E" }],
	["a number for a code", fault({ code: 5 }), { name: "Error" }],
	["a code that begins with a digit", fault({ code: "32470123456" }), { name: "Error" }],
	["a code in quotes", fault({ code: '"ECONNRESET"' }), { name: "Error" }],
	["a code and more", fault({ code: "ECONNRESET canary" }), { name: "Error" }],
	["a list for a code", fault({ code: ["ECONNREFUSED"] }), { name: "Error" }],
	["a syscall", fault({ syscall: "read" }), { name: "Error", syscall: "read" }],
	["a syscall that is no word", fault({ syscall: "read canary" }), { name: "Error" }],
	["a cause that is a text", new TypeError("canary", { cause: "canary" }), { name: "Error" }],
	["a text in place of an error", "canary", { name: "Error" }],
	["null in place of an error", null, { name: "Error" }],
] as const)(
	"the cause of a fault holds name, code and syscall as words, and no more: %s",
	async ([, thrown, facts]) => {
		const error = await failureFrom(() => thrown);
		expect(error._tag).toBe("PartnerConnectionError");
		expect(error.cause).toStrictEqual(facts);
		expect(error.message).toBe(
			"code" in facts ? `me.get: the connection was lost (${facts.code})` : "me.get: the connection was lost",
		);
	},
);

test("a function for the key that fails is the caller's, and what it threw is not told", async () => {
	const apiKey = () => Promise.reject(new Error("CANARY"));
	const error = await failure(() =>
		createClient({ baseUrl, apiKey }).agency(agencyId).messages.send({ to: phone, body: text }),
	);
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, outcome: "not_sent", retryable: false });
	expect(error.message).toBe("apiKey: its function failed");
	expect(error.cause).toBeUndefined();
});

test("an abort and a time-out say which operation they ended", async () => {
	const fetch: Fetch = () => new Promise(() => {});
	const client = clientOf({ baseUrl }, { fetch, retry: false });
	const aborted = await failure(() => client.me.get({ signal: AbortSignal.abort() }));
	expect(aborted).toMatchObject({ message: "me.get: aborted by the caller", retryable: false });
	const late = await failure(() => client.me.get({ timeoutMs: 5 }));
	expect(late).toMatchObject({ message: "me.get: no complete answer within 5 ms", retryable: true });
	const over = await failure(() => client.me.get({ deadlineMs: 5 }));
	expect(over).toMatchObject({ message: "me.get: no complete answer before the deadline of 5 ms", retryable: true });
});

const keys: [string, () => Promise<string>, string][] = [
	["before the request went out", () => new Promise(() => {}), "not_sent"],
	["in flight", async () => apiKey, "unknown"],
];

test.for(keys)("outcome of a send that is aborted or out of time %s", async ([, key, outcome]) => {
	const fetch: Fetch = () => new Promise(() => {});
	const { send } = createClient({ baseUrl, apiKey: key, fetch, retry: false }).agency(agencyId).messages;
	const message = { to: phone, body: text };
	const late = await failure(() => send(message, { timeoutMs: 5 }));
	expect(late).toMatchObject({ _tag: "PartnerTimeoutError", outcome });
	const controller = new AbortController();
	const aborting = failure(() => send(message, { signal: controller.signal }));
	setTimeout(() => controller.abort(), 5);
	await expect(aborting).resolves.toMatchObject({ _tag: "PartnerAbortError", outcome });
});

// Answers

test("a good answer is handed over as it is", async () => {
	const client = clientOf({ baseUrl }, { fetch: async () => jsonResponse(me), retry: false });
	await expect(client.me.get()).resolves.toEqual(me);
});

test("an answer that cannot be read may be read another time, one that is wrong or too large may not", async () => {
	const retryable = async (end: () => Response) => (await failureFrom(end)).retryable;
	await expect(retryable(() => new Response("<html>"))).resolves.toBe(true);
	await expect(retryable(() => jsonResponse({}))).resolves.toBe(false);
	await expect(retryable(() => new Response("x", { headers: { "content-length": "99999999" } }))).resolves.toBe(false);
});

const refused = (status: number, headers = {}) =>
	jsonResponse({ _tag: "X", message: "The reason." }, { status, headers });
const location = (url: string, status = 302) => new Response(null, { status, headers: { location: url } });

test.for([
	["500", () => refused(500), "me.get: the service answered 500: The reason."],
	["500 of a gateway", () => new Response("<html>", { status: 502 }), "me.get: the service answered 502"],
	["403", () => refused(403), "me.get: refused with 403: The reason."],
	["403 without a text", () => jsonResponse({}, { status: 403 }), "me.get: refused with 403"],
	["429", () => refused(429), "me.get: answered 429, which is outside the contract: The reason."],
	[
		"a redirect",
		() => location("https://elsewhere.example:8443/path?query"),
		"me.get: answered 302 to https://elsewhere.example:8443, which is outside the contract",
	],
	["a redirect on the same host", () => location("/path"), "me.get: answered 302, which is outside the contract"],
	["a redirect to no host", () => location("data:text/plain,x"), "me.get: answered 302, which is outside the contract"],
	[
		"a redirect without a target",
		() => new Response(null, { status: 302 }),
		"me.get: answered 302, which is outside the contract",
	],
	[
		"a 418 with a target, which is no redirect",
		() => location("https://elsewhere.example/", 418),
		"me.get: answered 418, which is outside the contract",
	],
	[
		"a 400 with a target, which is no redirect",
		() => location("https://elsewhere.example/", 400),
		"me.get: answered 400, which is outside the contract",
	],
	["200 with HTML", () => new Response("<html>"), "me.get: the answer could not be read"],
	[
		"200 of 11 MB",
		() => new Response("x", { headers: { "content-length": `${11 * 1024 * 1024}` } }),
		"me.get: the answer is larger than 10 MB",
	],
	[
		"200 that breaks the contract",
		() => jsonResponse({ ...me, scopes: "text" }),
		"me.get: the answer breaks the contract at /scopes",
	],
	["201", () => jsonResponse(me, { status: 201 }), "me.get: the answer breaks the contract at the status"],
] as const)("the message says what the service did, and where the contract ends: %s", async ([, end, message]) => {
	expect((await failureFrom(end)).message).toBe(message);
});

test.for([
	["the whole", [], "/"],
	["a field", { ...me, scopes: "text" }, "/scopes"],
	["an object", { ...me, integration: 5 }, "/integration"],
	["a field of an object", { ...me, integration: {} }, "/integration/id"],
	["an entry of a list", { ...me, agencies: [5] }, "/agencies/0"],
	["a field of an entry", { ...me, agencies: [{ id: "agy_1" }] }, "/agencies/0/name"],
] as const)("the message names the place where the contract is broken: %s", async ([, json, place]) => {
	const { message } = await failureFrom(() => jsonResponse(json));
	expect(message).toBe(`me.get: the answer breaks the contract at ${place}`);
});

test.for([
	[300, "PartnerUnexpectedResponse", "unknown"],
	[399, "PartnerUnexpectedResponse", "unknown"],
	[400, "PartnerBadRequest", "not_sent"],
	[402, "PartnerUnexpectedResponse", "not_sent"],
	[499, "PartnerUnexpectedResponse", "not_sent"],
	[500, "PartnerInternalError", "unknown"],
	[599, "PartnerInternalError", "unknown"],
	[600, "PartnerUnexpectedResponse", "unknown"],
] as const)("the status decides, up to its borders: %d is %s, %s", async ([status, tag, outcome]) => {
	const error = await failureFrom(() => statusOf(status), "messages.send");
	expect(error).toMatchObject({ _tag: tag, status, outcome, retryable: tag === "PartnerInternalError" });
});

test.for([
	["an unreadable 200", () => new Response("<", { headers: { "retry-after": "7" } })],
	["a broken 200", () => jsonResponse({}, { headers: { "retry-after": "7" } })],
	["a 500", () => refused(500, { "retry-after": "7" })],
	["a 403", () => refused(403, { "retry-after": "7" })],
	["a 429", () => refused(429, { "retry-after": "7" })],
	[
		"a 200 that is too large",
		() => new Response("x", { headers: { "content-length": "99999999", "retry-after": "7" } }),
	],
] as const)("the error has the status and the Retry-After of the answer: %s", async ([, end]) => {
	const { status } = end();
	await expect(failureFrom(end)).resolves.toMatchObject({ status, retryAfterMs: 7000 });
});

test.for([
	["success alone", { success: true }, "sent"],
	["no success", { success: false }, "unknown"],
	["a text for it", { success: "true" }, "unknown"],
	["a number for it", { success: 1 }, "unknown"],
	["an array", [true], "unknown"],
	["null", null, "unknown"],
	["a text", "success", "unknown"],
	["all but one field", { ...sentNow, windowOpen: undefined }, "sent"],
] as const)("a broken answer to a send is sent only where it says success: %s", async ([, json, outcome]) => {
	const error = await failureFrom(() => jsonResponse(json), "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", outcome });
});

test.for([
	["of 11 MB", () => new Response("x", { headers: { "content-length": "99999999" } })],
	["that cannot be read", () => new Response("<html>")],
] as const)("an answer to a send %s leaves it unknown", async ([, end]) => {
	const error = await failureFrom(end, "messages.send");
	expect(error.outcome).toBe("unknown");
});

test("a send that contradicts itself names the field", async () => {
	const { send } = clientOf({ baseUrl }, { fetch: async () => jsonResponse(answer) }).agency(agencyId).messages;
	let answer: unknown;
	for (const [field, value] of [
		["success", false],
		["messageId", null],
		["queueId", "queue-1"],
	] as const) {
		answer = { ...sentNow, [field]: value };
		const error = await failure(() => send({ to: phone, body: text, operationId }));
		expect(error.message).toBe(`messages.send: the answer breaks the contract at /${field}`);
	}
});

// What an injected fetch can hand over

const unlookable = new Proxy(new Error("canary"), {
	get() {
		throw new Error("canary");
	},
});

test.for<[what: string, given: unknown, outcome: string, requests: number]>([
	["a refusal without headers", { status: 400, text: async () => "{}" }, "not_sent", 1],
	["a failure whose headers are no Headers", { status: 500, headers: {}, text: async () => "" }, "unknown", 4],
	[
		"a failure whose headers throw",
		{
			status: 500,
			headers: {
				get() {
					throw new Error("canary");
				},
			},
			text: async () => "",
		},
		"unknown",
		4,
	],
	["no answer", undefined, "unknown", 4],
	["a fault that will not be looked at", unlookable, "unknown", 4],
	["a fault whose cause will not", new Error("canary", { cause: unlookable }), "unknown", 4],
])("a fetch that gives %s: an error of ours that says what is known", async ([, given, outcome, requests]) => {
	let asked = 0;
	const fetch = async (): Promise<never> => {
		asked++;
		if (given instanceof Error) throw given;
		return given as never;
	};
	const { send } = clientOf({ baseUrl }, { fetch }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text, operationId }));
	expect(error).toMatchObject({ outcome, operationId, attempts: requests });
	expect(asked).toBe(requests);
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("canary");
});

test("a good answer is one, whatever its headers give", async () => {
	const given = { status: 200, headers: { get: () => 5 }, text: async () => JSON.stringify(sentNow) };
	const { send } = clientOf({ baseUrl }, { fetch: async () => given as never }).agency(agencyId).messages;
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ messageId: sentNow.messageId });
});

test("a body that is no WHATWG stream, as of node-fetch, is read in its own way", async () => {
	const given = { status: 200, headers: new Headers(), body: {}, text: async () => JSON.stringify(sentNow) };
	const { send } = clientOf({ baseUrl }, { fetch: async () => given as never }).agency(agencyId).messages;
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ messageId: sentNow.messageId });
});
