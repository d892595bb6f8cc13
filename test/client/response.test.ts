import type { Fetch, OperationId, PartnerError, Transport } from "messaging-conversations";
import { expect, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls } from "../calls.ts";
import { agencyId, me, operationId, phone, sentNow, text } from "../canned.ts";
import { refusal } from "../scripted.ts";

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

/** A response of any status, also of those that `new Response` refuses. */
function statusOf(status: number): Response {
	return Object.defineProperty(jsonResponse({}), "status", { value: status });
}

test("a good answer is returned as it is", async () => {
	const client = clientOf({ baseUrl }, { fetch: async () => jsonResponse(me), retry: false });
	await expect(client.me.get()).resolves.toEqual(me);
});

test("an answer that cannot be read may be read another time, one that is wrong or too large may not", async () => {
	const retryable = async (end: () => Response) => (await failureFrom(end)).retryable;
	await expect(retryable(() => new Response("<html>"))).resolves.toBe(true);
	await expect(retryable(() => jsonResponse({}))).resolves.toBe(false);
	await expect(retryable(() => new Response("x", { headers: { "content-length": "99999999" } }))).resolves.toBe(false);
});

const refused = (status: number, headers = {}) => jsonResponse(refusal(status).json, { status, headers });
const html = (headers = {}, status = 403) => new Response("<html>", { status, headers });
const location = (url: string, status = 302) => new Response(null, { status, headers: { location: url } });

test.for([
	["500", () => refused(500), "me.get: the service answered 500: The reason."],
	["502 of a gateway", () => html({}, 502), "me.get: 502 from something in front of the service"],
	["403", () => refused(403), "me.get: refused with 403: The reason."],
	[
		"403 with a tag alone",
		() => jsonResponse({ _tag: "PartnerForbidden" }, { status: 403 }),
		"me.get: 403 from something in front of the service",
	],
	[
		"403 whose message is no text",
		() => jsonResponse({ _tag: "PartnerForbidden", message: { text: "No." } }, { status: 403 }),
		"me.get: 403 from something in front of the service",
	],
	[
		"403 with an empty message",
		() => jsonResponse({ _tag: "PartnerForbidden", message: "" }, { status: 403 }),
		"me.get: refused with 403",
	],
	[
		"403 with more fields",
		() => jsonResponse({ _tag: "PartnerForbidden", message: "No.", scope: "messages:write" }, { status: 403 }),
		"me.get: refused with 403: No.",
	],
	["403 of a firewall", () => html(), "me.get: 403 from something in front of the service"],
	[
		"403 of a firewall that names itself",
		() => html({ server: "cloudflare", via: "1.1 proxy" }),
		"me.get: 403 from something in front of the service (server: cloudflare, via: 1.1 proxy)",
	],
	["429", () => jsonResponse({}, { status: 429 }), "me.get: 429 from something in front of the service"],
	["400, tagged", () => refused(400), "me.get: answered 400, which is outside the contract: The reason."],
	[
		"a redirect",
		() => location("https://elsewhere.example:8443/path?query"),
		"me.get: answered 302 to https://elsewhere.example:8443, which is outside the contract",
	],
	[
		"a redirect that is not encrypted",
		() => location("http://elsewhere.example/"),
		"me.get: answered 302 to http://elsewhere.example, which is outside the contract",
	],
	[
		"a redirect to a host with a very long name",
		() => location(`https://${"elsewhere.".repeat(12)}example/`),
		"me.get: answered 302, which is outside the contract",
	],
	["a redirect on the same host", () => location("/path"), "me.get: answered 302, which is outside the contract"],
	["a redirect to no host", () => location("data:text/plain,x"), "me.get: answered 302, which is outside the contract"],
	[
		"a redirect without a target",
		() => new Response(null, { status: 302 }),
		"me.get: answered 302, which is outside the contract",
	],
	[
		"a 418 with a target, which is not a redirect",
		() => location("https://elsewhere.example/", 418),
		"me.get: 418 from something in front of the service",
	],
	[
		"a 400 with a target, which is not a redirect",
		() => location("https://elsewhere.example/", 400),
		"me.get: 400 from something in front of the service",
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
	[400, "PartnerGatewayError", "unknown"],
	[402, "PartnerGatewayError", "unknown"],
	[429, "PartnerGatewayError", "unknown"],
	[499, "PartnerGatewayError", "unknown"],
	[500, "PartnerGatewayError", "unknown"],
	[599, "PartnerGatewayError", "unknown"],
	[600, "PartnerGatewayError", "unknown"],
] as const)("a status without the service's body, up to its borders: %d is %s, %s", async ([status, tag, outcome]) => {
	const error = await failureFrom(() => statusOf(status), "messages.send");
	expect(error).toMatchObject({
		_tag: tag,
		status,
		outcome,
		retryable: tag === "PartnerGatewayError" && status !== 400,
	});
});

test.for([
	["a 500", 500],
	["a 403", 403],
	["a 429", 429],
	["a 302", 302],
] as const)("the error has the status and the Retry-After of the answer: %s", async ([, status]) => {
	const end = () => refused(status, { "retry-after": "7" });
	await expect(failureFrom(end)).resolves.toMatchObject({ status, retryAfterMs: 7000, correlationId: "cor-1" });
});

test.for([
	["success alone", { success: true }, "unknown"],
	["queued and an id alone", { queued: false, messageId: "SM1" }, "sent"],
	["no success", { success: false }, "unknown"],
	["a text for it", { success: "true" }, "unknown"],
	["a number for it", { success: 1 }, "unknown"],
	["an array", [true], "unknown"],
	["null", null, "unknown"],
	["a text", "success", "unknown"],
	["all but one field", { ...sentNow, windowOpen: undefined }, "sent"],
] as const)("a broken answer to a send is sent only where it has `queued` and an id: %s", async ([, json, outcome]) => {
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

const ok = JSON.stringify(sentNow);

test.for([201, 202, 203, 206, 299])("#29 a %i that says success is unknown: only a 200 is sent", async (status) => {
	for (const [name, options] of [
		["fetch", { fetch: async () => new Response(ok, { status }) }],
		["transport", { transport: (async () => ({ status, headers: new Map(), text: ok })) satisfies Transport }],
	] as const) {
		const error = await failure(() => callOf("messages.send").run(clientOf({ baseUrl }, { retry: false, ...options })));
		expect([name, error]).toMatchObject([
			name,
			{ _tag: "PartnerUnexpectedResponse", status, outcome: "unknown", retryable: false },
		]);
	}
});

test.for([
	["me.get", 400],
	["conversations.list", 404],
	["conversations.lookup", 404],
	["messages.send", 404],
	["conversations.get", 409],
	["conversations.listMessages", 409],
] as const)(
	"a status that the contract does not list for the operation is outside the contract: %s, %i",
	async ([operation, status]) => {
		const error = await failureFrom(() => refused(status), operation);
		expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", status, retryable: false });
	},
);

/** An answer that is cut off after its head. */
const cut = (status: number) => {
	const body = new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });
	return Object.defineProperty(new Response(body), "status", { value: status });
};

test.for([
	[299, "PartnerConnectionError"],
	[300, "PartnerUnexpectedResponse"],
	[500, "PartnerGatewayError"],
] as const)("the status of a failure decides although its body is cut off: %i is %s", async ([status, tag]) => {
	await expect(failureFrom(() => cut(status))).resolves.toMatchObject({ _tag: tag, status });
});

test("outside the contract an answer may be empty, and have any status of success", async () => {
	for (const [end, data] of [
		[new Response(null, { status: 204 }), null],
		[new Response(""), null],
		[jsonResponse({ tags: [] }, { status: 201 }), { tags: [] }],
	] as const) {
		const client = clientOf({ baseUrl }, { fetch: async () => end, retry: false });
		await expect(client.request({ method: "GET", path: "/tags" })).resolves.toEqual(data);
	}
	const client = clientOf({ baseUrl }, { fetch: async () => new Response("<html>"), retry: false });
	await expect(failure(() => client.request({ method: "GET", path: "/tags" }))).resolves.toMatchObject({
		message: "request: the answer could not be read",
	});
	await expect(failureFrom(() => new Response(""))).resolves.toMatchObject({ _tag: "PartnerConnectionError" });
});

const page = () => new Response("<html>", { headers: { "content-type": "text/html; charset=utf-8" } });
const webApp = "https://messaging.example";

test("#27 a web page in place of the first response is a wrong base URL, if that lacks /api/v1", async () => {
	for (const { operation, run } of sixCalls) {
		let requests = 0;
		const fetch: Fetch = async () => {
			requests++;
			return page();
		};
		const error = await failure(() => run(clientOf({ baseUrl: webApp }, { fetch })));
		expect(error).toMatchObject({
			_tag: "PartnerConfigurationError",
			message: "baseUrl: must end in /api/v1: the service answered with a web page",
			retryable: false,
			...(operation === "messages.send" && { outcome: "unknown" }),
		});
		expect(requests).toBe(1);
	}
});

test.for([
	["the base URL has /api/v1", baseUrl, []],
	["the service has answered before", webApp, [jsonResponse(me)]],
	["the response is no page", webApp, []],
] as const)("#27 it is retried if %s", async ([name, url, before]) => {
	const answers = [...before];
	const fetch: Fetch = async () => answers.shift() ?? (name.endsWith("no page") ? new Response("<html>") : page());
	const client = clientOf({ baseUrl: url }, { fetch });
	if (before.length > 0) await client.me.get();
	const error = await failure(() => client.withOptions({ timeoutMs: 5000 }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", attempts: 4, retryable: true });
	const hint = name.endsWith("no page") ? "" : ": a web page. Is baseUrl right?";
	expect(error.message).toBe(`me.get: the answer could not be read${hint}`);
});

test.for([
	[404, "not_sent"],
	[405, "not_sent"],
	[501, "unknown"],
] as const)("a %i of a base URL without /api/v1 is a wrong base URL, and a send is %s", async ([status, outcome]) => {
	for (const url of [webApp, `${webApp}/api/v1/mount`]) {
		const client = clientOf({ baseUrl: url }, { fetch: async () => jsonResponse({}, { status }) });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({ _tag: "PartnerConfigurationError", status, outcome, attempts: 1 });
		expect(error.message).toBe(`baseUrl: must end in /api/v1: the service answered ${status}`);
		// The path of a custom request can be the cause.
		const custom = await failure(() => client.request({ method: "POST", path: "/tags" }));
		expect(custom).toMatchObject({ status, attempts: 1 });
		expect(custom._tag).not.toBe("PartnerConfigurationError");
	}
});

test("a key function that fails is a wrong configuration, with its rule", async () => {
	const apiKey = () => {
		throw new TypeError("the vault is closed");
	};
	const error = await failure(() => clientOf({ baseUrl }, { apiKey, retry: false }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "apiKey", retryable: true });
	expect(error.message).toBe(`apiKey: ${error.rule}`);
});

test("what ends a call without an answer says so: an abort and a time limit", async () => {
	const fetch: Fetch = (_, { signal }) =>
		new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
	const client = clientOf({ baseUrl }, { fetch, retry: false });
	const controller = new AbortController();
	setTimeout(() => controller.abort(), 5);
	await expect(failure(() => client.me.get({ signal: controller.signal }))).resolves.toMatchObject({
		_tag: "PartnerAbortError",
		message: "me.get: aborted by the caller",
		retryable: false,
	});
	await expect(failure(() => client.me.get({ timeoutMs: 5 }))).resolves.toMatchObject({
		_tag: "PartnerTimeoutError",
		message: "me.get: no complete answer within 5 ms",
		retryable: true,
	});
});

test("the correlation id of a failed answer is left out when it repeats the request", async () => {
	const end = (id: string) => () => refused(403, { "x-correlation-id": id });
	const idOf = async (id: string) => (await failureFrom(end(id), "messages.send")).correlationId;
	expect(await idOf("gateway.1234:56")).toBe("gateway.1234:56");
	expect(await idOf("CANARYTEXT.the.visit.is.at.14:00")).toBeUndefined();
	expect(await idOf("32470123456")).toBeUndefined();
});

test("a redirect whose target repeats the request is not shown", async () => {
	const error = await failureFrom(() => location("https://canarytext-the-visit-is-at-14-00.example/"), "messages.send");
	expect(error.message).toBe("messages.send: answered 302, which is outside the contract");
});
