import { createClient, type Fetch } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { callOf, clientOf, failure, failureOf, fetchFault, fetchInTurn, jsonResponse, sixCalls } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { jumpingTimers } from "../jumping-timers.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

afterEach(() => void vi.useRealTimers());

const baseUrl = "https://messaging.example/api/v1";

const broken = { success: true, queued: false, messageId: "SM1" };
const reset = () => fetchFault("ECONNRESET", "read");
const refused = () => fetchFault("ECONNREFUSED", "connect");
const notFound = () => fetchFault("ENOTFOUND", "getaddrinfo");
const status = (code: number) => () => jsonResponse(refusal(code).json, { status: code });
const page = (code: number) => () => new Response("<html>", { status: code });

const busy = () => jsonResponse({}, { status: 429, headers: { "retry-after": "0" } });

/** An answer of the service that something in front of it has kept. */
const kept = (code: number, json: unknown, age: string) => () => jsonResponse(json, { status: code, headers: { age } });
const keptRefusal = (code: number) => kept(code, refusal(code).json, "60");

/** A 200 that proves nothing: the words of a captive portal, of an API gateway that queues, and of a mock. */
const noSuccess: [what: string, body: unknown][] = [
	["{}", {}],
	["[]", []],
	["success alone", { success: true }],
	["what a portal says", { success: true, errors: [], messages: [], result: null }],
	["success and queued", { success: true, queued: true }],
	["success and an id", { success: true, messageId: "SM1" }],
	["queued as a text", { success: true, queued: "true", queueId: "q" }],
	["ids that are numbers", { success: true, queued: false, messageId: 1, queueId: 2 }],
	["ids that are objects", { success: true, queued: true, messageId: null, queueId: { id: "q" } }],
	["empty ids", { success: true, queued: false, messageId: "", queueId: "" }],
	["a full answer whose id is empty", { ...sentNow, messageId: "" }],
	["the answer within another one", { data: sentNow }],
	["a list of it", [sentNow]],
	["success as a text", { ...sentNow, success: "true", windowOpen: 1 }],
];

const outcomes: [ends: string, tag: string, outcome: string, (Error | (() => Response))[]][] = [
	["400", "PartnerBadRequest", "not_sent", [status(400)]],
	["401", "PartnerUnauthorized", "not_sent", [status(401)]],
	["403", "PartnerForbidden", "not_sent", [status(403)]],
	["409", "PartnerConflict", "not_sent", [status(409)]],
	["404, which a send does not list", "PartnerUnexpectedResponse", "not_sent", [status(404)]],
	["429", "PartnerGatewayError", "unknown", [page(429)]],
	["a page with 403", "PartnerGatewayError", "unknown", [page(403)]],
	["a page with 400", "PartnerGatewayError", "unknown", [page(400)]],
	["a page with 404 × 4", "PartnerGatewayError", "unknown", [page(404)]],
	["a page with 408, then 400", "PartnerBadRequest", "unknown", [page(408), status(400)]],
	[
		"the tag of another status",
		"PartnerGatewayError",
		"unknown",
		[() => jsonResponse(refusal(403).json, { status: 400 })],
	],
	["302", "PartnerUnexpectedResponse", "unknown", [status(302)]],
	["500 × 4", "PartnerInternalError", "unknown", [status(500)]],
	["reset × 4", "PartnerConnectionError", "unknown", [reset()]],
	["refused × 4", "PartnerConnectionError", "not_sent", [refused()]],
	["no such host × 4", "PartnerConnectionError", "not_sent", [notFound()]],
	["refused, then no such host", "PartnerConnectionError", "not_sent", [refused(), notFound()]],
	["refused, then 400", "PartnerBadRequest", "not_sent", [refused(), status(400)]],
	["reset, then 400", "PartnerBadRequest", "unknown", [reset(), status(400)]],
	["reset, then 409", "PartnerConflict", "unknown", [reset(), status(409)]],
	["500, then 403", "PartnerForbidden", "unknown", [status(500), status(403)]],
	["500, then 404", "PartnerUnexpectedResponse", "unknown", [status(500), status(404)]],
	["reset, then refused × 3", "PartnerConnectionError", "unknown", [reset(), refused()]],
	["refused, reset, refused, 400", "PartnerBadRequest", "unknown", [refused(), reset(), refused(), status(400)]],
	["an unreadable 200, then 400", "PartnerBadRequest", "unknown", [() => new Response("<html>"), status(400)]],
	["a broken success", "PartnerUnexpectedResponse", "sent", [() => jsonResponse(broken)]],
	["500, then a broken success", "PartnerUnexpectedResponse", "sent", [status(500), () => jsonResponse(broken)]],
	...noSuccess.map(([what, body]): [string, string, string, (() => Response)[]] => [
		what,
		"PartnerUnexpectedResponse",
		"unknown",
		[() => jsonResponse(body)],
	]),
	["a portal's page, then its JSON", "PartnerUnexpectedResponse", "unknown", [page(200), () => jsonResponse({})]],
	["success: false", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse({ ...sentNow, success: false })]],
	["a broken answer without success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse({ ok: 1 })]],
	["201 with success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse(sentNow, { status: 201 })]],
	["202 with success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse(sentNow, { status: 202 })]],
	["203 with success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse(sentNow, { status: 203 })]],
	["206 with success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse(sentNow, { status: 206 })]],
	["a broken 201 with success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse(broken, { status: 201 })]],
	["429, then 400", "PartnerBadRequest", "unknown", [busy, status(400)]],
	["500, then 429, then 400", "PartnerBadRequest", "unknown", [status(500), busy, status(400)]],
	...[400, 401, 403, 409].map((code): [string, string, string, (() => Response)[]] => [
		`a copy of a ${code}`,
		"PartnerGatewayError",
		"unknown",
		[keptRefusal(code)],
	]),
	["a copy of a 400, then a 400", "PartnerGatewayError", "unknown", [keptRefusal(400), status(400)]],
	["a 500, then a copy of a 403", "PartnerGatewayError", "unknown", [status(500), keptRefusal(403)]],
	["a 403 that is ten seconds old", "PartnerForbidden", "not_sent", [kept(403, refusal(403).json, "10")]],
	["a copy of a success", "PartnerUnexpectedResponse", "unknown", [kept(200, sentNow, "60")]],
	["a copy of a success by two caches", "PartnerUnexpectedResponse", "unknown", [kept(200, sentNow, "60, 0")]],
	["a broken success after a reset", "PartnerUnexpectedResponse", "sent", [reset(), () => jsonResponse(broken)]],
];

test.for(outcomes)("outcome of a send: %s → %s, %s", async ([, tag, outcome, ends]) => {
	const fetch = fetchInTurn(...ends);
	const { messages } = clientOf({ baseUrl }, { fetch }).agency(agencyId);
	const error = await failure(() => messages.send({ to: phone, body: text, operationId }));
	expect(error).toMatchObject({ _tag: tag, outcome, operationId, attempts: fetch.count() });
});

/** Answers with one correlation id after the other. */
const withIds = (...ids: string[]) => {
	const answers = ids.map((id) => () => {
		const [code, correlationId] = id.split(" ");
		const json = code === "200" ? sentNow : refusal(Number(code)).json;
		return jsonResponse(json, { status: Number(code), headers: { "x-correlation-id": `${correlationId}` } });
	});
	return fetchInTurn(...answers);
};

test("outcome of a send: a refusal whose correlation id was seen before is a copy of an earlier one", async () => {
	const { messages } = clientOf({ baseUrl }, { fetch: withIds("200 a", "400 b", "400 b", "400 c") }).agency(agencyId);
	await messages.send({ to: phone, body: text });
	const refused = () => failure(() => messages.send({ to: phone, body: text }));
	expect(await refused()).toMatchObject({ _tag: "PartnerBadRequest", outcome: "not_sent" });
	expect(await refused()).toMatchObject({ _tag: "PartnerGatewayError", outcome: "unknown" });
	expect(await refused()).toMatchObject({ _tag: "PartnerBadRequest", outcome: "not_sent" });
});

test("outcome of a send: a correlation id that is the same in all answers makes no refusal a copy", async () => {
	const { messages } = clientOf({ baseUrl }, { fetch: withIds("403 a", "403 a", "403 a") }).agency(agencyId);
	for (const _ of [1, 2, 3])
		expect(await failure(() => messages.send({ to: phone, body: text }))).toMatchObject({ _tag: "PartnerForbidden" });
});

test("outcome of a send: a time-out is unknown, and stays so after a refusal", async () => {
	const jump = jumpingTimers();
	const service = await scripted((_, index) => {
		if (index > 0) return refusal(400);
		setImmediate(() => jump(30_000));
		return "hang";
	});
	const error = await failure(() => callOf("messages.send").run(clientOf(service)));
	expect(error).toMatchObject({ _tag: "PartnerBadRequest", outcome: "unknown", attempts: 2 });
});

test("outcome of a send: aborted before it went out is not_sent, in flight unknown", async () => {
	const service = await scripted(inTurn("hang"));
	const { messages } = clientOf(service).agency(agencyId);
	const before = await failure(() => messages.send({ to: phone, body: text }, { signal: AbortSignal.abort() }));
	expect(before).toMatchObject({ _tag: "PartnerAbortError", outcome: "not_sent", attempts: 0 });
	const controller = new AbortController();
	const flying = failure(() => messages.send({ to: phone, body: text }, { signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	controller.abort();
	await expect(flying).resolves.toMatchObject({ _tag: "PartnerAbortError", outcome: "unknown", attempts: 1 });
});

test.for([
	["refused", refused(), "not_sent"],
	["a 500", status(500), "unknown"],
] as const)("outcome of a send: aborted in the wait after %s it is what it was", async ([, end, outcome]) => {
	vi.useFakeTimers();
	const controller = new AbortController();
	const client = createClient({ baseUrl, apiKey, fetch: fetchInTurn(end) });
	const settled = callOf("messages.send").run(client, { signal: controller.signal }).result();
	await vi.advanceTimersByTimeAsync(100);
	controller.abort();
	await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerAbortError", outcome, attempts: 1 } });
});

test("outcome of a send: the deadline keeps it", async () => {
	vi.useFakeTimers();
	const fetch: Fetch = () => new Promise(() => {});
	const settled = callOf("messages.send")
		.run(clientOf({ baseUrl }, { fetch, deadline: 30 }))
		.result();
	await vi.advanceTimersByTimeAsync(100);
	await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerTimeoutError", outcome: "unknown" } });
});

test("reads carry neither operationId nor outcome", async () => {
	for (const { operation } of sixCalls.slice(0, 5)) {
		for (const answer of [refusal(401), refusal(500), "reset"] as const) {
			const { error } = await failureOf(operation, inTurn(answer));
			expect(error).not.toHaveProperty("outcome");
			expect(error).not.toHaveProperty("operationId");
		}
	}
});
