import { context, type Span as OtelSpan, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
	BasicTracerProvider,
	InMemorySpanExporter,
	type ReadableSpan,
	SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { isPartnerError, type Span, type Tracer } from "messaging-conversations";
import { afterEach, beforeEach, expect, test } from "vitest";
import { callOf, clientOf, failure, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, conversationPage, me, operationId, phone, sentNow, spelledPhone, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("crm");

beforeEach(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterEach(() => {
	context.disable();
	exporter.reset();
});

/** The spans that have ended, with all that an exporter may send of them. */
function spans(): Pick<ReadableSpan, "name" | "kind" | "attributes" | "status" | "events" | "links">[] {
	return exporter
		.getFinishedSpans()
		.map(({ name, kind, attributes, status, events, links }) => ({ name, kind, attributes, status, events, links }));
}

const idOf = (data: unknown): unknown => Reflect.get(Object(data), "operationId");

/** The attributes of the one span. */
function attributes(): ReadableSpan["attributes"] {
	const [span, ...others] = exporter.getFinishedSpans();
	expect(others).toEqual([]);
	return span?.attributes ?? {};
}

// What a span says

const templates: Record<string, [method: string, template: string]> = {
	"me.get": ["GET", "/me"],
	"conversations.list": ["GET", "/agencies/{agencyId}/conversations"],
	"conversations.lookup": ["POST", "/agencies/{agencyId}/conversations/lookup"],
	"conversations.get": ["GET", "/agencies/{agencyId}/conversations/{phone}"],
	"conversations.listMessages": ["GET", "/agencies/{agencyId}/conversations/{phone}/messages"],
	"messages.send": ["POST", "/agencies/{agencyId}/messages"],
};

test.for(sixCalls)(
	"$operation is one client span, by the HTTP semantic conventions",
	async ({ operation, run, good }) => {
		const service = await scripted(inTurn({ json: good }));
		const data = await run(clientOf(service, { tracer }));
		const [method = "", template = ""] = templates[operation] ?? [];
		expect(spans()).toEqual([
			{
				name: `${method} ${template}`,
				kind: SpanKind.CLIENT,
				attributes: {
					"http.request.method": method,
					"url.template": template,
					"server.address": "127.0.0.1",
					"server.port": Number(new URL(service.origin).port),
					"http.response.status_code": 200,
					"messaging_conversations.operation": operation,
					...(operation !== "me.get" && { "messaging_conversations.agency_id": agencyId }),
					...(operation === "messages.send" && { "messaging_conversations.operation_id": idOf(data) }),
					"messaging_conversations.attempts": 1,
					"messaging_conversations.correlation_id": "cor-1",
				},
				status: { code: SpanStatusCode.UNSET },
				events: [],
				links: [],
			},
		]);
	},
);

test("retries are counted on the one span of their call", async () => {
	const service = await scripted(inTurn(refusal(500), "reset", { json: sentNow }));
	await clientOf(service, { tracer }).agency(agencyId).messages.send({ to: phone, body: text });
	expect(attributes()).toMatchObject({
		"http.request.resend_count": 2,
		"http.response.status_code": 200,
		"messaging_conversations.attempts": 3,
		"messaging_conversations.correlation_id": "cor-3",
	});
	expect(attributes()).not.toHaveProperty("error.type");
});

test("a refusal has its tag as error.type, its status and no resend count", async () => {
	const service = await scripted(inTurn(refusal(403)));
	await failure(() => clientOf(service, { tracer }).me.get());
	expect(attributes()).toMatchObject({
		"error.type": "PartnerForbidden",
		"http.response.status_code": 403,
		"messaging_conversations.attempts": 1,
		"messaging_conversations.correlation_id": "cor-1",
	});
	expect(attributes()).not.toHaveProperty("http.request.resend_count");
	expect(attributes()).not.toHaveProperty("messaging_conversations.outcome");
	expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: "PartnerForbidden" });
});

test("a read's 404 has its status on the span, and neither error.type nor an error status", async () => {
	const service = await scripted(inTurn(refusal(404)));
	await failure(() => clientOf(service, { tracer }).agency(agencyId).conversations.get(phone));
	expect(attributes()).toMatchObject({ "http.response.status_code": 404, "messaging_conversations.attempts": 1 });
	expect(attributes()).not.toHaveProperty("error.type");
	expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.UNSET });
});

test("a 404 of a request that changes something is an error, with its outcome", async () => {
	const service = await scripted(inTurn(refusal(404)));
	await failure(() => clientOf(service, { tracer }).request({ method: "DELETE", path: "/tags/1" }));
	expect(attributes()).toMatchObject({
		"error.type": "PartnerNotFound",
		"messaging_conversations.outcome": "not_sent",
	});
	expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: "PartnerNotFound" });
});

test.for<[path: string, shown: string]>([
	["/contacts/32470123456/notes/12345", "/contacts/?/notes/12345"],
	["/contacts/32-470.12.34.56/notes", "/contacts/?/notes"],
	["/contacts/tel32470123456", "/contacts/tel?"],
	["/v2/visits-2026/{agencyId}/1.2", "/v2/visits-2026/{agencyId}/1.2"],
])("a number that a caller writes into the path of a request is not in its span: %s", async ([path, shown]) => {
	const service = await scripted(inTurn({ json: {} }));
	const client = clientOf(service, { tracer });
	await client.request({ method: "GET", path, ...(path.includes("{") && { agencyId }) });
	expect(attributes()["url.template"]).toBe(shown);
	expect(spans()[0]?.name).toBe(`GET ${shown}`);
});

test("a span never gets an attribute without a value, because not every tracer drops those", async () => {
	const given: object[] = [];
	const span: Span = { setAttributes: (attributes) => given.push(attributes), setStatus: () => {}, end: () => {} };
	const tracer: Tracer = {
		startSpan: (_, { attributes }) => {
			given.push(attributes);
			return span;
		},
	};
	const service = await scripted(inTurn({ json: sentNow, headers: { "x-correlation-id": "" } }, "reset"));
	await callOf("me.get")
		.run(clientOf({ baseUrl: wrong(undefined) }, { tracer }))
		.catch(() => {});
	await callOf("messages.send").run(clientOf(service, { tracer }));
	await failure(() => callOf("me.get").run(clientOf(service, { tracer, retry: false })));
	expect(given).toHaveLength(6);
	expect(given.flatMap((attributes) => Object.values(attributes))).not.toContain(undefined);
	expect(given[0]).not.toHaveProperty("server.address");
	expect(given[3]).not.toHaveProperty("messaging_conversations.outcome");
});

test("a send's span has the operationId and the agency, chosen or made, even if it fails", async () => {
	const service = await scripted(inTurn({ json: sentNow }, refusal(409)));
	const { send } = clientOf(service, { tracer }).agency(agencyId).messages;
	await send({ to: phone, body: text, operationId });
	const error = await failure(() => send({ to: phone, body: text }));
	const ids = exporter.getFinishedSpans().map((span) => span.attributes["messaging_conversations.operation_id"]);
	expect(ids).toEqual([operationId, error.operationId]);
	const agencies = exporter.getFinishedSpans().map((span) => span.attributes["messaging_conversations.agency_id"]);
	expect(agencies).toEqual([agencyId, agencyId]);
});

test("a read-ahead that is given up is not an error on its span", async () => {
	const service = await scripted((_seen, index) =>
		index === 0 ? { json: conversationPage(["a", "b", "c", "d"], "next") } : "hang",
	);
	let seen = 0;
	for await (const _row of clientOf(service, { tracer }).agency(agencyId).conversations.list()) {
		if (++seen < 3) continue;
		await eventually(() => expect(service.requests).toHaveLength(2));
		break;
	}
	await eventually(() => expect(spans()).toHaveLength(2));
	expect(spans().map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
	expect(spans()[1]?.attributes).not.toHaveProperty("error.type");
});

test("a send that failed has its outcome on the span", async () => {
	const refused = await scripted(inTurn(refusal(400)));
	await failure(() => callOf("messages.send").run(clientOf(refused, { tracer })));
	expect(attributes()).toMatchObject({ "messaging_conversations.outcome": "not_sent" });
	exporter.reset();
	const lost = await scripted(inTurn("reset"));
	await failure(() => callOf("messages.send").run(clientOf(lost, { tracer, retry: { attempts: 2, baseDelayMs: 1 } })));
	expect(attributes()).toMatchObject({
		"error.type": "PartnerConnectionError",
		"http.request.resend_count": 1,
		"messaging_conversations.outcome": "unknown",
	});
	expect(attributes()).not.toHaveProperty("http.response.status_code");
});

test("each page of an iteration is a call, and a span", async () => {
	const service = await scripted(
		inTurn({ json: conversationPage(["Anna"], "next") }, { json: conversationPage(["Bo"]) }),
	);
	await clientOf(service, { tracer }).agency(agencyId).conversations.list().toArray();
	expect(spans().map(({ name }) => name)).toEqual(Array(2).fill("GET /agencies/{agencyId}/conversations"));
});

test("what is refused before any request has no span, or one with no attempt", async () => {
	const service = await scripted(inTurn({ json: me }));
	await failure(() => clientOf(service, { tracer }).agency(agencyId).conversations.get("no phone"));
	expect(spans()).toEqual([]);
	const client = clientOf(service, { tracer, apiKey: () => Promise.reject(new Error("no vault")) });
	await failure(() => client.me.get());
	expect(attributes()).toMatchObject({
		"error.type": "PartnerConfigurationError",
		"messaging_conversations.attempts": 0,
	});
	expect(service.requests).toEqual([]);
});

test.for([
	["https://messaging.example/api/v1", "messaging.example", 443],
	["http://localhost/api/v1", "localhost", 80],
] as const)("the span of a call to %s has the default port", async ([baseUrl, address, port]) => {
	const fetch = () => Promise.resolve(Response.json(me));
	await clientOf({ baseUrl }, { tracer, fetch }).me.get();
	expect(attributes()).toMatchObject({ "server.address": address, "server.port": port });
	expect(attributes()).not.toHaveProperty("messaging_conversations.correlation_id");
});

// What a span never says

test.for(sixCalls)("S19 no span of $operation holds a number, a text, a search or the key", async ({ run, good }) => {
	const echo = { "x-correlation-id": `${phone} ${apiKey}` };
	const said = { _tag: "PartnerBadRequest", message: `${phone} ${text} ${apiKey}` };
	const service = await scripted(
		inTurn({ status: 500, json: said, headers: echo }, { json: good }, { status: 400, json: said, headers: echo }),
	);
	const client = clientOf(service, { tracer });
	await run(client);
	await failure(() => run(client));
	expect(service.requests).toHaveLength(3);
	const reported = JSON.stringify(spans());
	expect(spans()).toHaveLength(2);
	for (const secret of [phone.slice(1), "470123456", spelledPhone, "CANARY", apiKey, "Anna"]) {
		expect(reported).not.toContain(secret);
	}
});

test("no span of a list holds its search or its cursor", async () => {
	const service = await scripted(inTurn({ json: conversationPage(["Anna"]) }, refusal(400, "cursor CANARYCURSOR")));
	const { conversations } = clientOf(service, { tracer }).agency(agencyId);
	await conversations.list({ search: "CANARYSEARCH", cursor: "CANARYCURSOR" }).page();
	await failure(() => conversations.list({ search: "CANARYSEARCH", cursor: "CANARYCURSOR" }).page());
	expect(service.requests.map(({ url }) => url.includes("CANARYSEARCH"))).toEqual([true, true]);
	expect(spans()).toHaveLength(2);
	expect(JSON.stringify(spans())).not.toContain("CANARY");
});

// Context

test("the span is a child of the one that is active where the call is made", async () => {
	const service = await scripted(inTurn({ json: me }));
	const client = clientOf(service, { tracer });
	const parent = tracer.startSpan("nightly job");
	await context.with(trace.setSpan(context.active(), parent), () => client.me.get());
	const [span] = exporter.getFinishedSpans();
	expect(span?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
	expect(span?.spanContext().traceId).toBe(parent.spanContext().traceId);
});

test("the spans that an instrumentation makes for each request are children of the span of the call", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const fetch: typeof globalThis.fetch = (...given) => {
		tracer.startSpan("request").end();
		return globalThis.fetch(...given);
	};
	await clientOf(service, { tracer, fetch: wrong(fetch) }).me.get();
	const finished = exporter.getFinishedSpans();
	const call = finished.find(({ name }) => name === "GET /me");
	const requests = finished.filter(({ name }) => name === "request");
	expect(requests.map((span) => span.parentSpanContext?.spanId)).toEqual(
		requests.map(() => call?.spanContext().spanId),
	);
	expect(requests).toHaveLength(2);
});

test("a tracer that runs the call late, twice or never does not run it more than once", async () => {
	const tracers: Tracer[] = [
		{ startSpan: fault, startActiveSpan: (_, __, run) => wrong([run(wrong({})), run(wrong({}))]) },
		{ startSpan: fault, startActiveSpan: (_, __, run) => wrong(setTimeout(() => run(wrong({})))) },
		{ startSpan: fault, startActiveSpan: () => wrong(undefined) },
		{ startSpan: fault, startActiveSpan: fault },
		{
			startSpan: fault,
			startActiveSpan: (_, __, run) => {
				run(wrong({}));
				return fault();
			},
		},
	];
	for (const each of tracers) {
		const service = await scripted(inTurn({ json: me }));
		expect(await clientOf(service, { tracer: each }).me.get()).toEqual(me);
		await new Promise((resolve) => setTimeout(resolve, 5));
		expect(service.requests).toHaveLength(1);
	}
});

test("the address of an IPv6 host has no brackets", async () => {
	await clientOf({ baseUrl: "http://[::1]:9/api/v1" }, { tracer, retry: false }).me.get().result();
	expect(attributes()).toMatchObject({ "server.address": "::1", "server.port": 9 });
});

test("two calls under two parents do not mix them up", async () => {
	const service = await scripted(inTurn({ json: me }));
	const client = clientOf(service, { tracer });
	const under = (parent: OtelSpan) => context.with(trace.setSpan(context.active(), parent), () => client.me.get());
	const parents = ["one", "two"].map((name) => tracer.startSpan(name));
	await Promise.all(parents.map(under));
	const found = exporter.getFinishedSpans().map((span) => span.parentSpanContext?.spanId);
	expect(found.sort()).toEqual(parents.map((parent) => parent.spanContext().spanId).sort());
});

test("without a tracer nothing is traced, though one is set up for the process", async () => {
	trace.setGlobalTracerProvider(provider);
	const service = await scripted(inTurn({ json: me }));
	await clientOf(service).me.get();
	trace.disable();
	expect(spans()).toEqual([]);
});

// A tracer at fault

const fault = (): never => {
	throw new Error("the tracer's own fault");
};
const rejection = () => Promise.reject(new Error("the tracer's own fault"));

function recording(overrides: Partial<Span>): { tracer: Tracer; seen: string[] } {
	const seen: string[] = [];
	const span: Span = {
		setAttributes: () => seen.push("setAttributes"),
		setStatus: () => seen.push("setStatus"),
		end: () => seen.push("end"),
		...overrides,
	};
	return { tracer: { startSpan: () => span }, seen };
}

const faulty: [string, Tracer][] = [
	["throws in startSpan", { startSpan: fault }],
	["gives no span", { startSpan: () => wrong(undefined) }],
	["gives a span without methods", { startSpan: () => wrong({}) }],
	["gives a Promise", { startSpan: () => wrong(rejection()) }],
	...(["setAttributes", "setStatus", "end"] as const).flatMap((method): [string, Tracer][] => [
		[`throws in ${method}`, recording({ [method]: fault }).tracer],
		[`rejects in ${method}`, recording({ [method]: rejection }).tracer],
	]),
];

test.for(faulty)("a tracer that %s changes neither an answer nor an error", async ([, tracer]) => {
	const service = await scripted(inTurn({ json: sentNow }, refusal(409)));
	const { messages } = clientOf(service, { tracer }).agency(agencyId);
	const sent = await messages.send({ to: phone, body: text, operationId });
	expect(sent).toMatchObject({ ...sentNow, operationId });
	const result = await messages.send({ to: phone, body: text }).result();
	expect(result).toMatchObject({ ok: false, error: { _tag: "PartnerConflict", outcome: "not_sent" } });
	expect(service.requests).toHaveLength(2);
});

test("a span that cannot be described is ended all the same", async () => {
	const service = await scripted(inTurn(refusal(401)));
	const { tracer, seen } = recording({ setAttributes: fault });
	await failure(() => clientOf(service, { tracer }).me.get());
	expect(seen).toEqual(["setStatus", "end"]);
});

test("what is not a tracer is refused when the client is made", async () => {
	for (const tracer of [null, {}, { startSpan: true }, "crm"]) {
		const error = await failure(() => clientOf({ baseUrl: "http://localhost/api/v1" }, { tracer: wrong(tracer) }));
		expect(isPartnerError(error) && error.message).toContain("tracer");
	}
});
