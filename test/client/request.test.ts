import { inspect } from "node:util";
import { type AttemptEvent, type CustomRequest, createClient } from "messaging-conversations";
import { expect, test, vi } from "vitest";
import { clientOf, failure, jsonResponse, quick, recordingFetch, wrong } from "../calls.ts";
import { agencyId, apiKey, conversationPage, phone, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { jumpingTimers } from "../jumping-timers.ts";
import { expectRefusal } from "../refusals.ts";
import { type Answer, inTurn, refusal, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";
const tags = "/agencies/{agencyId}/tags";
const writes = ["POST", "PUT", "PATCH", "DELETE"] as const;
const methods = ["GET", ...writes] as const;

// What goes over the wire

test("a GET is sent beneath the base URL, with the key and without a body", async () => {
	const service = await scripted(inTurn({ json: conversationPage(["Anna"]) }));
	const path = "/agencies/{agencyId}/conversations";
	const data = await clientOf(service).request({ method: "GET", path, agencyId, query: { pageSize: 10 } });
	expect(data).toEqual(conversationPage(["Anna"]));
	const [seen] = service.requests;
	expect(seen).toMatchObject({
		method: "GET",
		url: `/api/v1/agencies/${agencyId}/conversations?pageSize=10`,
		body: "",
	});
	expect(seen?.headers.authorization).toBe(`Bearer ${apiKey}`);
	expect(seen?.headers.accept).toBe("application/json");
	expect(seen?.headers["content-type"]).toBeUndefined();
	expect(seen?.headers["user-agent"]).toMatch(/^messaging-conversations\//);
});

test.for(writes)("a %s sends its body as JSON", async (method) => {
	const service = await scripted(inTurn({ json: {} }));
	await clientOf(service).request({ method, path: tags, agencyId, body: { name: "é😀", of: [1, null] } });
	expect(service.requests[0]).toMatchObject({
		method,
		url: `/api/v1/agencies/${agencyId}/tags`,
		body: '{"name":"é😀","of":[1,null]}',
	});
	expect(service.requests[0]?.headers["content-type"]).toContain("application/json");
});

test.for([
	[null, "null"],
	[false, "false"],
	[0, "0"],
	["", '""'],
	[[], "[]"],
	[{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
])("a body may be any JSON: %j", async ([body, bytes]) => {
	const service = await scripted(inTurn({ json: {} }));
	await clientOf(service).request({ method: "POST", path: "/notes", body });
	expect(service.requests[0]?.body).toBe(bytes);
});

test("a write without a body has none", async () => {
	const service = await scripted(inTurn({ json: {} }));
	await clientOf(service).request({ method: "DELETE", path: "/notes/{note}", params: { note: "n1" } });
	expect(service.requests[0]).toMatchObject({ method: "DELETE", url: "/api/v1/notes/n1", body: "" });
	expect(service.requests[0]?.headers["content-type"]).toBeUndefined();
});

test.for([
	["+32470123456", "%2B32470123456"],
	["a/b", "a%2Fb"],
	["../../me", "..%2F..%2Fme"],
	["a?b#c&d=e", "a%3Fb%23c%26d%3De"],
	["%2e%2e", "%252e%252e"],
	["a\\b", "a%5Cb"],
	["https://evil.example/", "https%3A%2F%2Fevil.example%2F"],
	["é 😀", "%C3%A9%20%F0%9F%98%80"],
	["...", "..."],
] as const)("a value of the path fills exactly one segment: %s", async ([value, wire]) => {
	const { fetch, calls } = recordingFetch(() => jsonResponse({}));
	const client = createClient({ baseUrl, apiKey, fetch });
	await client.request({ method: "GET", path: "/agencies/{agencyId}/x/{y}/z", agencyId, params: { y: value } });
	expect(calls[0]?.url).toBe(`${baseUrl}/agencies/${agencyId}/x/${wire}/z`);
	expect(new URL(calls[0]?.url ?? "").pathname.split("/")).toHaveLength(8);
});

test("a query is encoded, and an undefined parameter is left out", async () => {
	const hostile = "a&b=c d+e%2F#?é/../x";
	const service = await scripted(inTurn({ json: {} }));
	const query = { search: hostile, page: 2, all: true, none: undefined, empty: "" };
	await clientOf(service).request({ method: "GET", path: "/tags", query });
	const url = new URL(service.requests[0]?.url ?? "", service.origin);
	expect(url.pathname).toBe("/api/v1/tags");
	expect(Object.fromEntries(url.searchParams)).toMatchObject({ search: hostile, page: "2", all: "true" });
	expect(url.searchParams.has("none")).toBe(false);
	expect(url.hash).toBe("");
});

test("what the caller does to the request after the call changes no attempt", async () => {
	const service = await scripted(inTurn(refusal(500), { json: {} }));
	const request = { method: "GET", path: "/tags", query: { page: 1 } } satisfies CustomRequest;
	const call = clientOf(service).request(request);
	request.query.page = 2;
	request.path = "/other";
	await call;
	expect(service.requests.map(({ url }) => url)).toEqual(["/api/v1/tags?page=1", "/api/v1/tags?page=1"]);
});

// What is refused

test.for([
	"",
	"tags",
	"/",
	"//evil.example/tags",
	"/tags//x",
	"/tags/",
	"https://evil.example/tags",
	"/..",
	"/../me",
	"/tags/./x",
	"/tags/../../x",
	"/%2e%2e/me",
	"/tags?x=1",
	"/tags#x",
	"/ta gs",
	"/tags\\x",
	"/tags\n",
	"/tags\u2028",
	"/{canary",
	"/{agencyId}x",
	"/{a}{b}",
	"/{}",
	"/{a-b}",
	"/@evil.example",
	"/tags:443",
	"/té",
	5,
	null,
	undefined,
])("S8 S11 path %j is not a template: refused before any request", async (path) => {
	const params = { a: "1", b: "2" };
	const request = { method: "GET", path, params, agencyId } as const;
	await expectRefusal((client) => client.request({ ...request, path: wrong(path) }), /^path: /, path);
});

test.for([
	["method", { method: "get" }],
	["method", { method: "HEAD" }],
	["method", { method: "CONNECT" }],
	["method", { method: "GET\r\nx-evil: 1" }],
	["method", { method: undefined }],
	["agencyId", { agencyId: undefined }],
	["agencyId", { agencyId: ".." }],
	["agencyId", { agencyId: "a/b" }],
	["agencyId", { agencyId: "" }],
	["agencyId", { agencyId: 5 }],
	["params.note", { params: {} }],
	["params.note", { params: { note: "." } }],
	["params.note", { params: { note: ".." } }],
	["params", { params: { note: "" } }],
	["params", { params: { note: "CANARY\ud83d" } }],
	["params", { params: { note: 5 } }],
	["params", { params: { note: { toString: () => "CANARY" } } }],
	["params", { params: null }],
	["params", { params: "CANARY" }],
	["query", { query: { x: Number.NaN } }],
	["query", { query: { x: Number.POSITIVE_INFINITY } }],
	["query", { query: { x: null } }],
	["query", { query: { x: {} } }],
	["query", { query: { x: ["CANARY"] } }],
	["query", { query: { x: "CANARY\ud83d" } }],
	["query", { query: "x=CANARY" }],
	["request", { headers: { authorization: "CANARY" } }],
] as [string, object][])("%s: %j is refused before any request", async ([field, change]) => {
	const request = { method: "POST", path: "/agencies/{agencyId}/notes/{note}", agencyId, params: { note: "n1" } };
	await expectRefusal(
		(client) => client.request(wrong({ ...request, ...change })),
		new RegExp(`^${field}: `),
		"CANARY",
	);
});

test.for([
	["a cycle", cycle()],
	["a BigInt", { size: 5n }],
	["a function", () => "CANARY"],
	["a symbol", Symbol("CANARY")],
	["a toJSON that throws", { toJSON: () => JSON.parse("CANARY") }],
] as [string, unknown][])("a body that is %s is not JSON: refused before any request", async ([, body]) => {
	await expectRefusal((client) => client.request({ method: "POST", path: "/notes", body }), /^body: must be JSON/);
});

test("a GET with a body is refused before any request", async () => {
	await expectRefusal((client) => client.request({ method: "GET", path: "/notes", body: {} }), /^body: /);
});

test.for([undefined, null, 5, "/tags", ["/tags"]])("%j in place of the request is refused", async (request) => {
	await expectRefusal((client) => client.request(wrong(request)), /^request: /);
});

test("bad call options are refused, and the error names the operation request", async () => {
	const run = () => clientOf({ baseUrl }).request({ method: "GET", path: "/tags" }, { timeoutMs: 0 });
	await expect(failure(run)).resolves.toMatchObject({ operation: "request", field: "timeoutMs" });
});

test("a name of the prototype fills no template", async () => {
	for (const path of ["/{constructor}", "/{toString}", "/{__proto__}"]) {
		await expectRefusal((client) => client.request({ method: "GET", path, params: {} }), /^params\./);
	}
});

// What it resolves to

test.for([
	["an object", { status: 200, json: { a: 1 } }, { a: 1 }],
	["a list", { status: 200, json: [1] }, [1]],
	["null", { status: 200, text: "null" }, null],
	["false", { status: 200, text: "false" }, false],
	["a number", { status: 200, text: "0" }, 0],
	["a text", { status: 200, text: '"x"' }, "x"],
	["nothing, 200", { status: 200 }, null],
	["nothing, 204", { status: 204 }, null],
	["an object, 201", { status: 201, json: { id: 1 } }, { id: 1 }],
	["an object, 202", { status: 202, json: { id: 1 } }, { id: 1 }],
] as [string, Answer, unknown][])("the response may be any JSON: %s", async ([, answer, data]) => {
	for (const method of ["GET", "POST"] as const) {
		const service = await scripted(inTurn(answer));
		await expect(clientOf(service).request({ method, path: "/tags" })).resolves.toEqual(data);
		expect(service.requests).toHaveLength(1);
	}
});

test("withResponse and result work as on every call", async () => {
	const service = await scripted(inTurn({ status: 201, json: { id: 1 }, headers: { "x-something": "else" } }));
	const call = clientOf(service).request({ method: "POST", path: "/tags", body: {} });
	const { data, response } = await call.withResponse();
	expect(data).toEqual({ id: 1 });
	expect(response).toMatchObject({ status: 201, attempts: 1, correlationId: "cor-1" });
	expect(response.headers.get("x-something")).toBe("else");
	await expect(call.result()).resolves.toEqual({ ok: true, data, correlationId: "cor-1" });
	expect(service.requests).toHaveLength(1);
});

test("nothing in an unlisted response is contract drift", async () => {
	const service = await scripted(inTurn({ json: { odd: 1 }, headers: { "x-correlation-id": undefined } }));
	const drifts: unknown[] = [];
	const client = clientOf(service, { onContractDrift: (drift) => drifts.push(drift) });
	await client.request({ method: "GET", path: "/tags" });
	expect(drifts).toEqual([]);
});

// Errors

test.for(methods)("each status has its class, and a write its outcome: %s", async (method) => {
	const classes = {
		400: "PartnerBadRequest",
		401: "PartnerUnauthorized",
		403: "PartnerForbidden",
		404: "PartnerNotFound",
		409: "PartnerConflict",
	};
	for (const [status, tag] of Object.entries(classes)) {
		const service = await scripted(inTurn(refusal(Number(status))));
		const error = await failure(() => clientOf(service).request({ method, path: tags, agencyId }));
		expect(error).toMatchObject({ _tag: tag, operation: "request", agencyId, status: Number(status), attempts: 1 });
		expect(error.message).toContain("The reason.");
		expect(error.outcome).toBe(method === "GET" ? undefined : "not_sent");
		expect(error).not.toHaveProperty("operationId");
	}
});

const lost: [string, Answer, string, string][] = [
	["500", refusal(500), "PartnerInternalError", "unknown"],
	["503 with Retry-After", { status: 503, headers: { "retry-after": "0" } }, "PartnerGatewayError", "unknown"],
	["429 with Retry-After", { status: 429, headers: { "retry-after": "0" } }, "PartnerGatewayError", "unknown"],
	["404 with HTML", { status: 404, text: "<html>" }, "PartnerGatewayError", "unknown"],
	["a reset", "reset", "PartnerConnectionError", "unknown"],
	["200 with HTML", { text: "<html>" }, "PartnerConnectionError", "unknown"],
	["half a JSON", { text: '{"a":' }, "PartnerConnectionError", "unknown"],
];

test.for(lost)("only a GET is retried: %s", async ([, answer, tag, outcome]) => {
	for (const method of methods) {
		const service = await scripted(inTurn(answer));
		const request = { method, path: tags, agencyId } as const;
		const error = await failure(() => clientOf(service).request(request, { retry: { ...quick, attempts: 3 } }));
		const attempts = method === "GET" ? 3 : 1;
		expect(error).toMatchObject({ _tag: tag, attempts });
		expect(error.outcome).toBe(method === "GET" ? undefined : outcome);
		expect(service.requests).toHaveLength(attempts);
	}
});

test("a GET that succeeds at its second attempt", async () => {
	const service = await scripted(inTurn("reset", { json: [] }));
	const { response } = await clientOf(service).request({ method: "GET", path: "/tags" }).withResponse();
	expect(response.attempts).toBe(2);
});

test("a redirect is not followed", async () => {
	const elsewhere = await scripted(inTurn({ json: {} }));
	for (const method of methods) {
		const service = await scripted(inTurn({ status: 307, headers: { location: `${elsewhere.baseUrl}/x` } }));
		const error = await failure(() => clientOf(service).request({ method, path: "/tags" }));
		expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", status: 307, attempts: 1 });
		expect(error.outcome).toBe(method === "GET" ? undefined : "unknown");
	}
	expect(elsewhere.requests).toEqual([]);
});

test("timeoutMs and a signal end it", async () => {
	const jump = jumpingTimers();
	const service = await scripted((_, index) => {
		if (index === 0) setImmediate(() => jump(20_000));
		return "hang";
	});
	const client = clientOf(service);
	const slow = await failure(() => client.request({ method: "POST", path: "/tags" }, { timeoutMs: 20_000 }));
	expect(slow).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1, outcome: "unknown" });
	const controller = new AbortController();
	const flying = failure(() => client.request({ method: "PUT", path: "/tags" }, { signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(2));
	controller.abort();
	await expect(flying).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 1, outcome: "unknown" });
	const signal = AbortSignal.abort();
	const early = await failure(() => client.request({ method: "PUT", path: "/tags" }, { signal }));
	expect(early).toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(service.requests).toHaveLength(2);
});

test("an absent key or base URL fails the call", async () => {
	const request = { method: "GET", path: "/tags" } as const;
	const keyless = await failure(() => clientOf({ baseUrl }, { apiKey: undefined }).request(request));
	expect(keyless).toMatchObject({ _tag: "PartnerConfigurationError", operation: "request", field: "apiKey" });
	const homeless = await failure(() => createClient({ baseUrl: undefined, apiKey }).request(request));
	expect(homeless).toMatchObject({ _tag: "PartnerConfigurationError", operation: "request", field: "baseUrl" });
});

// What is shown

test("a span masks a number in the path in place of a name", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const startSpan = vi.fn(() => ({ setAttributes: () => {}, setStatus: () => {}, end: () => {} }));
	const path = "/agencies/{agencyId}/contacts/0470-12-34-56";
	await clientOf(service, { tracer: { startSpan } }).request({ method: "GET", path, agencyId });
	const template = "/agencies/{agencyId}/contacts/?";
	const attributes = expect.objectContaining({ "url.template": template });
	expect(startSpan.mock.calls).toEqual([[`GET ${template}`, { kind: 2, attributes }]]);
	expect(service.requests).toMatchObject([{ url: `/api/v1${path.replace("{agencyId}", agencyId)}` }]);
});

test("events, log lines and spans have the operation request, the template and the agency", async () => {
	const service = await scripted(inTurn(refusal(500), { json: {} }));
	const events: AttemptEvent[] = [];
	const lines: string[] = [];
	const spans: unknown[] = [];
	const say = (line: string) => lines.push(line);
	const span = { setAttributes: (given: unknown) => spans.push(given), setStatus: () => {}, end: () => {} };
	const client = clientOf(service, {
		onAttempt: (event) => events.push(event),
		logger: { debug: say, info: say, warn: say, error: say },
		tracer: {
			startSpan(name, { attributes }) {
				spans.push(name, attributes);
				return span;
			},
		},
	});
	const path = "/agencies/{agencyId}/contacts/{phone}";
	await client.request({ method: "GET", path, agencyId, params: { phone }, query: { search: text } });
	expect(events.map(({ operation, attempt, status }) => [operation, attempt, status])).toEqual([
		["request", 1, 500],
		["request", 2, 200],
	]);
	expect(events.every((event) => event.agencyId === agencyId)).toBe(true);
	for (const line of lines) expect(line).toContain(`request attempt=`);
	expect(spans[0]).toBe(`GET ${path}`);
	expect(spans[1]).toMatchObject({
		"url.template": path,
		"messaging_conversations.operation": "request",
		"messaging_conversations.agency_id": agencyId,
	});
	expect(inspect([events, lines, spans], { depth: 10 })).not.toMatch(/CANARY|470123456/);
});

test.for([
	["the body", (message: string) => ({ body: { deep: [message] } })],
	["a value of the path", (message: string) => ({ params: { note: message } })],
	["the query", (message: string) => ({ query: { search: message } })],
] as [string, (message: string) => Partial<CustomRequest>][])(
	"what a service message repeats of %s is masked",
	async ([, part]) => {
		const service = await scripted(inTurn(refusal(400, "No such thing: The visit is at noon.")));
		const client = clientOf(service);
		const request = { method: "POST", path: "/notes/{note}", params: { note: "n1" } } as const;
		const shown = await failure(() => client.request(request));
		expect(shown.message).toBe("request: refused with 400: No such thing: The visit is at noon.");
		const hidden = await failure(() => client.request({ ...request, ...part("The visit is at noon") }));
		expect(inspect(hidden, { depth: 10, showHidden: true })).not.toContain("visit");
		expect(hidden).toMatchObject({ _tag: "PartnerBadRequest", correlationId: "cor-2" });
		expect(hidden.message).toBe("request: refused with 400: No such thing: [hidden].");
	},
);

test.for([
	["a short text", "Hi Anna", '"Hi Anna" is too short', '"[hidden]" is too short'],
	["a text of two lines", "Dear Anna,\nsee you", "Bad words: Dear Anna,\nsee you!", "Bad words: [hidden]!"],
] as const)("what a service message repeats of %s in the body is masked", async ([, note, message, shown]) => {
	const service = await scripted(inTurn(refusal(400, message)));
	const request = { method: "POST", path: "/notes", body: { list: [{ note }] } } as const;
	const error = await failure(() => clientOf(service).request(request));
	expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/Anna|see you/);
	expect(error.message).toBe(`request: refused with 400: ${shown}`);
});

const post = { method: "POST", path: "/contacts" } as const;
test.for<[where: string, request: CustomRequest]>([
	["a number of the body", { ...post, body: { phone: 32470123456 } }],
	["a text of the body in another spelling", { ...post, body: { phones: ["0470 12 34 56"] } }],
	["a part of a text", { ...post, body: { note: "Call +32 (0)470/12.34.56 please" } }],
	["a name of the body", { ...post, body: { "+32470123456": true } }],
	["a number of the query", { method: "GET", path: "/contacts", query: { phone: 32470123456 } }],
	["a text of the query", { method: "GET", path: "/contacts", query: { phone: "0032 470 123 456" } }],
	["a value of the path", { method: "GET", path: "/contacts/{phone}", params: { phone: "0470/123456" } }],
	["the path", { method: "GET", path: "/contacts/0470123456" }],
])("S21 a phone number is masked however the service spells it: %s", async ([, request]) => {
	for (const spelled of ["32470123456", "+32470123456", "0470 12 34 56", "+32 470/12.34.56", "%2B32470123456"]) {
		const service = await scripted(inTurn(refusal(400, `phone ${spelled}: not 32479999999, code 4711`)));
		const error = await failure(() => clientOf(service).request(request));
		expect(error.message).toBe("request: refused with 400: phone [hidden]: not 32479999999, code 4711");
	}
});

test("a flag or an undefined parameter of the query hides no service message", async () => {
	const service = await scripted(inTurn(refusal(400, "all must be true, page is undefined")));
	const query = { all: true, page: undefined };
	const error = await failure(() => clientOf(service).request({ method: "GET", path: "/tags", query }));
	expect(error.message).toBe("request: refused with 400: all must be true, page is undefined");
});

function cycle(): unknown {
	const body: Record<string, unknown> = { secret: "CANARY" };
	body.self = body;
	return body;
}

test("a name in the query is encoded as its value is", async () => {
	const service = await scripted(inTurn({ json: {} }));
	await clientOf(service).request({ method: "GET", path: "/tags", query: { "x&y=1#": "v", "filter[of]": "é" } });
	expect(service.requests[0]?.url).toBe("/api/v1/tags?x%26y%3D1%23=v&filter%5Bof%5D=%C3%A9");
});

test("a write that is refused here has not been sent, a read has no outcome", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse({}));
	const { request } = createClient({ baseUrl, apiKey, fetch });
	for (const method of methods) {
		const error = await failure(() => request({ method, path: "tags" }));
		expect(error.outcome).toBe(method === "GET" ? undefined : "not_sent");
	}
	expect(calls).toEqual([]);
});

test("a client that may send to some numbers only sends no message by request", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf(service, { allowRecipients: [phone] });
	const params = { group: "agencies", kind: "messages" };
	for (const path of ["/agencies/{agencyId}/messages", "/agencies/{agencyId}/{kind}", "/{group}/{agencyId}/{kind}"]) {
		const body = { to: phone, body: text };
		const error = await failure(() => request({ method: "POST", path, agencyId, params, body }));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "path", outcome: "not_sent" });
		expect(error.rule).toContain("allowRecipients");
	}
	expect(service.requests).toEqual([]);
});

test.for([
	...["messages", "Messages", "messages/", "messages?x=1", "messages#x", "messages;v=1", "messages\0", "messages.json"],
	...["messages%00", "messages ", " messages", "\tmessages", "messages\\", "\\messages", "./messages", "x/../messages"],
	...["%6dessages", "%256dessages", "%25256dessages", "mess%61ges", "messages%2F", "messages%252F", "%ff/messages"],
	...[
		"ｍｅｓｓａｇｅｓ",
		"mes\u00adsages",
		"me\u200bssages",
		"messages:send",
		"messages-v2",
		"//messages",
		";v=1/messages",
	],
])("S31 a client that may send to some numbers only sends no message by request to %j", async (kind) => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf(service, { allowRecipients: [phone] });
	const body = { to: phone, body: text };
	const requests: CustomRequest[] = [
		{ method: "POST", path: "/agencies/{agencyId}/{kind}", agencyId, params: { kind }, body },
		{ method: "PUT", path: "/agencies/{agencyId}/x/{kind}", agencyId, params: { kind }, body },
		{ method: "POST", path: "/agencies/{both}", params: { both: `agy_1/${kind}` }, body },
		{ method: "POST", path: "/agencies/{both}", params: { both: `agy_1%2F${kind}` }, body },
		{ method: "POST", path: "/{all}", params: { all: `agencies\\agy_1\\${kind}` }, body },
	];
	for (const each of requests) {
		const error = await failure(() => request(each));
		expect(error, each.path).toMatchObject({ _tag: "PartnerInvalidInput", field: "path", outcome: "not_sent" });
	}
	const written = /^[\w.-]+$/.test(kind) ? kind : "messages.json";
	const literal = await failure(() => request({ method: "POST", path: `/agencies/agy_1/${written}`, body }));
	expect(literal).toMatchObject({ _tag: "PartnerInvalidInput", field: "path" });
	expect(service.requests).toEqual([]);
});

test("a client that may send to some numbers only makes other requests", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf(service, { allowRecipients: [phone] });
	for (const path of ["/agencies/agy_1/tags", "/messages", "/agencies/agy_1/tags/old-messages", "/agencies/messages"])
		await request({ method: "POST", path, body: {} });
	await request({ method: "GET", path: "/agencies/agy_1/messages" });
	expect(service.requests).toHaveLength(5);
});

test.for<[base: string, path: string]>([
	["", "/v1/agencies/{agencyId}/messages"],
	["", "/messaging/v1/agencies/{agencyId}/messages"],
	["/messaging", "/v1/Agencies/{agencyId}/Messages"],
	["/api/v1", "/archive/agencies/{agencyId}/messages"],
	["/api/v1/agencies", "/{agencyId}/messages"],
	["/api", "/{rest}"],
])("it sends none where a gateway mounts the service elsewhere: %s%s", async ([base, path]) => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf({ baseUrl: `${service.origin}${base}` }, { allowRecipients: [phone] });
	const params = { rest: `v1/agencies/${agencyId}/messages` };
	const body = { to: "+32470999999", body: text };
	for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
		const error = await failure(() => request({ method, path, agencyId, params, body }));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "path", outcome: "not_sent" });
	}
	expect(service.requests).toEqual([]);
});

test.for([
	...["messages", "Messages", "messages/", "messages?x=1", "messages#x", "messages;v=1", "messages\0", "messages.json"],
	...["messages%00", "messages ", " messages", "\tmessages", "messages\\", "\\messages", "./messages", "x/../messages"],
	...["%6dessages", "%256dessages", "%25256dessages", "mess%61ges", "messages%2F", "messages%252F", "%ff/messages"],
	...[
		"ｍｅｓｓａｇｅｓ",
		"mes\u00adsages",
		"me\u200bssages",
		"messages:send",
		"messages-v2",
		"//messages",
		";v=1/messages",
	],
])("S31 a client that may send to some numbers only sends no message by request to %j", async (kind) => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf(service, { allowRecipients: [phone] });
	const body = { to: phone, body: text };
	const requests: CustomRequest[] = [
		{ method: "POST", path: "/agencies/{agencyId}/{kind}", agencyId, params: { kind }, body },
		{ method: "PUT", path: "/agencies/{agencyId}/x/{kind}", agencyId, params: { kind }, body },
		{ method: "POST", path: "/agencies/{both}", params: { both: `agy_1/${kind}` }, body },
		{ method: "POST", path: "/agencies/{both}", params: { both: `agy_1%2F${kind}` }, body },
		{ method: "POST", path: "/{all}", params: { all: `agencies\\agy_1\\${kind}` }, body },
	];
	for (const each of requests) {
		const error = await failure(() => request(each));
		expect(error, each.path).toMatchObject({ _tag: "PartnerInvalidInput", field: "path", outcome: "not_sent" });
	}
	const written = /^[\w.-]+$/.test(kind) ? kind : "messages.json";
	const literal = await failure(() => request({ method: "POST", path: `/agencies/agy_1/${written}`, body }));
	expect(literal).toMatchObject({ _tag: "PartnerInvalidInput", field: "path" });
	expect(service.requests).toEqual([]);
});

test("a client that may send to some numbers only makes other requests", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const { request } = clientOf(service, { allowRecipients: [phone] });
	for (const path of ["/agencies/agy_1/tags", "/messages", "/agencies/agy_1/tags/old-messages", "/agencies/messages"])
		await request({ method: "POST", path, body: {} });
	await request({ method: "GET", path: "/agencies/agy_1/messages" });
	expect(service.requests).toHaveLength(5);
});

test("the name of a parameter cannot replace more of the path than one placeholder", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const params = { "a}/{b": "shared", a: "x", b: "y" };
	await clientOf(service, { allowRecipients: [phone] }).request({
		method: "POST",
		path: "/agencies/{a}/{b}/notes",
		params,
		body: {},
	});
	expect(service.requests).toMatchObject([{ url: "/api/v1/agencies/x/y/notes" }]);
});

test.for([
	["POST", "/agencies/{agencyId}/tags"],
	["GET", "/agencies/{agencyId}/messages"],
] as const)("a client that may send to some numbers only makes other requests: %s %s", async ([method, path]) => {
	const service = await scripted(inTurn({ json: {} }));
	await clientOf(service, { allowRecipients: [phone] }).request({ method, path, agencyId });
	expect(service.requests).toMatchObject([{ method, url: `/api/v1${path.replace("{agencyId}", agencyId)}` }]);
});

test("a client that may send to everyone makes the request of a send", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const path = "/agencies/{agencyId}/messages";
	await clientOf(service).request({ method: "POST", path, agencyId, body: { to: phone, body: text } });
	expect(service.requests).toHaveLength(1);
});
