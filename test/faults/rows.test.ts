// The kinds of fault, by their numbers, that are about time, aborts and ids rather than about one answer.
import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { type ClientOptions, createClient } from "../../src/index.ts";
import { adapters, over } from "../adapters.ts";
import { agencyId, apiKey, operations, phone } from "./answers.ts";
import { factsOf } from "./caller.ts";
import { quiet, timers, timersOver } from "./campaign.ts";
import { call, plainInputs } from "./conformance.ts";
import { faultNamed } from "./faults.ts";
import { type Planned, type Seen, type Service, type ServiceOptions, startService } from "./service.ts";

const services: Service[] = [];
afterEach(async () => {
	vi.restoreAllMocks();
	await Promise.all(services.splice(0).map((service) => service.close()));
});

async function setUp(options: Partial<ClientOptions> = {}, serving: ServiceOptions = {}) {
	const service = await startService(serving);
	services.push(service);
	const client = createClient({
		baseUrl: service.baseUrl,
		apiKey,
		retry: { baseDelayMs: 1, maxDelayMs: 4 },
		...options,
	});
	return { service, client, ...client.agency(agencyId) };
}

const first = (count: number, name: string, variant: Planned["variant"] = "unprocessed") => {
	let seen = 0;
	return () => (++seen <= count ? { fault: faultNamed(name), variant } : undefined);
};
const always = (name: string) => first(Number.POSITIVE_INFINITY, name);
const message = { to: phone, body: "Hello" };
const failure = (calling: Promise<unknown>) => calling.then(() => expect.unreachable("it succeeded"), factsOf);

test.for(adapters)("#9 a connection that went stale costs one retry and doubles nothing (%s)", async (adapter) => {
	const { service, messages, client } = await setUp(over(adapter), {
		plan: first(1, "honest answer, then a stale connection", "processed"),
	});
	await client.me.get();
	// The connection is free for the next call once the runtime has seen the end of the answer.
	await new Promise((resolve) => setTimeout(resolve, 20));
	const { response } = await messages.send(message).withResponse();
	expect(response.attempts).toBe(2);
	expect(service.deliveries).toHaveLength(1);
});

test("#17 a 500 for an id that the caller chose hints that it may be known with another body", async () => {
	const { messages } = await setUp({ retry: false }, { plan: always("500 tagged") });
	expect((await failure(messages.send({ ...message, operationId: "mine" }))).message).toMatch(/different body/);
	expect((await failure(messages.send(message))).message).not.toMatch(/different body/);
});

test("#17 an id that was sent with one body is refused with another, before any request", async () => {
	const { service, messages, client } = await setUp();
	await messages.send({ ...message, operationId: "mine" });
	const refused = await failure(messages.send({ ...message, body: "Other", operationId: "mine" }));
	expect(refused).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, outcome: "not_sent", operationId: "mine" });
	expect(service.requests).toHaveLength(1);
	await messages.send({ ...message, operationId: "mine" });
	await client.agency("agy_other").messages.send({ ...message, body: "Other", operationId: "mine2" });
	expect(service.deliveries).toHaveLength(2);
	expect(service.reuses()).toBe(0);
});

test("#22 after a conflict the same id and body go through once the conversation was read", async () => {
	const { service, messages, conversations } = await setUp({}, { plan: first(1, "409 tagged") });
	const { operationId, _tag } = await failure(messages.send(message));
	expect(_tag).toBe("PartnerConflict");
	await conversations.get(phone);
	const sent = await messages.send({ ...message, operationId: String(operationId) });
	expect([sent.operationId, service.deliveries.length]).toEqual([operationId, 1]);
});

test.for(adapters)("#32 a clock that jumps a day changes neither time-outs nor the deadline (%s)", async (adapter) => {
	const { service, client } = await setUp({ deadline: 5000, ...over(adapter) }, { plan: first(2, "500 empty") });
	let jump = 86_400_000;
	vi.spyOn(Date, "now").mockImplementation(() => {
		jump *= -2;
		return 1_767_600_000_000 + jump;
	});
	await client.me.get();
	expect(service.requests).toHaveLength(3);
});

const calls = adapters.flatMap((adapter) => operations.map((operation) => [operation, adapter] as const));

test.for(calls)("#34 %s with a signal that is aborted already makes no request (%s)", async ([operation, adapter]) => {
	const { service, client } = await setUp(over(adapter));
	const signal = AbortSignal.abort("CANARY");
	const agency = client.agency(agencyId);
	const calls = {
		"me.get": () => client.me.get({ signal }),
		"conversations.list": () => agency.conversations.list({ signal }).page(),
		"conversations.lookup": () => agency.conversations.lookup([phone], { signal }),
		"conversations.get": () => agency.conversations.get(phone, { signal }),
		"conversations.listMessages": () => agency.conversations.listMessages(phone, { signal }).page(),
		"messages.send": () => agency.messages.send(message, { signal }),
	};
	const error = await failure(calls[operation]());
	expect(error).toMatchObject({ _tag: "PartnerAbortError", attempts: 0, retryable: false });
	expect(error.outcome).toBe(operation === "messages.send" ? "not_sent" : undefined);
	expect(JSON.stringify(error)).not.toMatch(/CANARY/);
	expect(service.connections().opened).toBe(0);
});

test.for([
	["an abort", "PartnerAbortError", {}, "fetch"],
	["the time-out", "PartnerTimeoutError", { timeoutMs: 30, retry: false }, "fetch"],
	["an abort", "PartnerAbortError", {}, "nodeHttp"],
	["the time-out", "PartnerTimeoutError", { timeoutMs: 30, retry: false }, "nodeHttp"],
] as const)(
	"#34 %s while the key is being fetched makes no request, then or later",
	async ([, tag, options, adapter]) => {
		const controller = new AbortController();
		let hand: (key: string) => void = () => undefined;
		const key = new Promise<string>((resolve) => {
			hand = resolve;
		});
		const asked = () => {
			if (tag === "PartnerAbortError") setImmediate(() => controller.abort());
			return key;
		};
		const { service, messages } = await setUp({ apiKey: asked, ...over(adapter), ...options });
		const error = await failure(messages.send(message, { signal: controller.signal }));
		expect(error).toMatchObject({ _tag: tag, attempts: 0, outcome: "not_sent" });
		hand(apiKey);
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(service.connections().opened).toBe(0);
	},
);

test.for(adapters)("#35 an abort in flight is unknown and keeps the id (%s)", async (adapter) => {
	const controller = new AbortController();
	const { service, messages } = await setUp(over(adapter), {
		plan() {
			controller.abort();
			return { fault: faultNamed("no headers ever"), variant: "processed" };
		},
	});
	const error = await failure(messages.send(message, { signal: controller.signal }));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", outcome: "unknown", attempts: 1 });
	await quiet(service);
	expect([service.requests.length, service.busy()]).toEqual([1, 0]);
	expect(service.requests[0]?.fields.operationId).toBe(error.operationId);
});

test.for([
	["500 tagged", "unknown", "fetch"],
	["500 tagged", "unknown", "nodeHttp"],
	["connect refused", "not_sent", "fetch"],
	["connect refused", "not_sent", "nodeHttp"],
] as const)("#36 an abort in the wait after %s stops at once: %s, %s", async ([name, outcome, adapter]) => {
	const controller = new AbortController();
	const before = timers();
	const { service, messages } = await setUp(
		{
			retry: { baseDelayMs: 60_000, maxDelayMs: 60_000 },
			deadline: 600_000,
			onAttempt: () => setImmediate(() => controller.abort()),
			...over(adapter),
			...(name === "connect refused" && { baseUrl: "http://127.0.0.1:2/api/v1" }),
		},
		name === "500 tagged" ? { plan: always(name) } : {},
	);
	const error = await failure(messages.send(message, { signal: controller.signal }));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", outcome, attempts: 1 });
	expect(service.requests.length).toBe(name === "500 tagged" ? 1 : 0);
	expect(await timersOver(before)).toBe(0);
	expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
});

test.for(adapters)("#37 an abort after the answer changes nothing (%s)", async (adapter) => {
	const controller = new AbortController();
	const { messages } = await setUp({ onAttempt: () => controller.abort(), ...over(adapter) });
	const sent = await messages.send(message, { signal: controller.signal });
	expect(sent.success).toBe(true);
});

test.for(adapters)(
	"#38 the deadline inside an attempt is a time-out with the last error as its cause (%s)",
	async (adapter) => {
		let turn = 0;
		const plan = (): Planned => ({
			fault: faultNamed(turn++ === 0 ? "502 HTML" : "no headers ever"),
			variant: "unprocessed",
		});
		const { service, messages } = await setUp({ deadline: 600, timeoutMs: 100_000, ...over(adapter) }, { plan });
		const error = await messages.send(message).catch((thrown: unknown) => thrown);
		expect(factsOf(error)).toMatchObject({
			_tag: "PartnerTimeoutError",
			attempts: 2,
			retryable: true,
			outcome: "unknown",
		});
		expect(factsOf(error instanceof Error ? error.cause : undefined)).toMatchObject({
			_tag: "PartnerGatewayError",
			status: 502,
		});
		expect(service.requests).toHaveLength(2);
	},
);

test("#38 a wait that leaves no room before the deadline is not begun: the last error is thrown as it is", async () => {
	const { service, messages } = await setUp(
		{ deadline: 1500, retry: { baseDelayMs: 1 } },
		{ plan: always("503, Retry-After 1") },
	);
	const error = await failure(messages.send(message));
	expect(error).toMatchObject({ _tag: "PartnerInternalError", retryAfterMs: 1000, retryable: true });
	expect(service.requests.length).toBeLessThanOrEqual(2);
});

test.for(adapters)(
	"#38 an event loop that stalls over the deadline sends no attempt after it (%s)",
	async (adapter) => {
		const stall = () => {
			for (const began = performance.now(); performance.now() - began < 700; );
		};
		const { service, messages } = await setUp(
			{ deadline: 600, onAttempt: stall, ...over(adapter) },
			{ plan: always("500 empty") },
		);
		expect(await failure(messages.send(message))).toMatchObject({ attempts: 1, outcome: "unknown", retryable: true });
		expect(service.requests).toHaveLength(1);
	},
);

test.for([
	["budget 0", { retry: { budget: 0 } }],
	["retry false", { retry: false }],
	["one attempt", { retry: { attempts: 1 } }],
] as const)(
	"#39 with %s a failing call makes exactly one request, and the error still says that it may be retried",
	async ([, options]) => {
		const { service, messages } = await setUp(options, { plan: always("500 tagged") });
		expect(await failure(messages.send(message))).toMatchObject({ attempts: 1, retryable: true, outcome: "unknown" });
		expect(service.requests).toHaveLength(1);
	},
);

test("#39 Infinity turns the budget off", async () => {
	const retry = { baseDelayMs: 1, maxDelayMs: 1, budget: Number.POSITIVE_INFINITY };
	const { service, client } = await setUp({ retry }, { plan: always("500 empty") });
	for (let count = 0; count < 20; count++) await failure(client.me.get());
	expect(service.requests).toHaveLength(80);
});

test.for([
	["an empty number", { to: "", body: "x" }],
	["a number in words", { to: "call me", body: "x" }],
	["an empty text", { to: phone, body: "" }],
	["an empty id", { to: phone, body: "x", operationId: "" }],
	["a field of somebody else's", { to: phone, body: "x", attachments: [] }],
	["nothing", undefined],
] as const)("#41 a send of %s is refused before any request", async ([, given]) => {
	const { service, messages } = await setUp();
	const error = await failure(messages.send(given as never));
	expect(error).toMatchObject({
		_tag: "PartnerInvalidInput",
		attempts: 0,
		outcome: "not_sent",
		operation: "messages.send",
	});
	expect(service.connections().opened).toBe(0);
});

test.for([0, 1])(
	"#39 a call with a budget of Infinity is retried even if its client has only %i tokens",
	async (budget) => {
		const { service, client } = await setUp(
			{ retry: { baseDelayMs: 1, maxDelayMs: 1, budget } },
			{ plan: always("500 empty") },
		);
		expect(await failure(client.me.get({ retry: { budget: Number.POSITIVE_INFINITY } }))).toMatchObject({
			attempts: 4,
		});
		expect(service.requests).toHaveLength(4);
	},
);

test.for(adapters)("#20 a 429 that says when is waited for, reads and sends alike (%s)", async (adapter) => {
	const limited = { fault: faultNamed("429, Retry-After 1"), variant: "unprocessed" as const };
	const seen = new Map<unknown, number>();
	const plan = ({ operation }: Seen) => {
		seen.set(operation, (seen.get(operation) ?? 0) + 1);
		return seen.get(operation) === 1 ? limited : undefined;
	};
	const { service, client } = await setUp(over(adapter), { plan });
	await Promise.all(operations.map((operation) => call(client, operation)));
	expect([...seen.values()]).toEqual(operations.map(() => 2));
	expect(service.deliveries).toHaveLength(1);
	const bodies = service.requests.filter(({ operation }) => operation === "messages.send").map(({ body }) => body);
	expect(new Set(bodies).size).toBe(1);
});

test("#43 a 429 that asks for more than the deadline leaves is final and retryable", async () => {
	const { service, messages } = await setUp({ deadline: 1100 }, { plan: always("429, Retry-After 1") });
	expect(await failure(messages.send(message))).toMatchObject({
		_tag: "PartnerGatewayError",
		status: 429,
		outcome: "unknown",
		retryable: true,
		retryAfterMs: 1000,
	});
	expect(service.requests).toHaveLength(1);
});

test("observers that throw, at once or later, change no outcome", async () => {
	const fail = () => {
		throw new Error("observer");
	};
	const late = async () => fail();
	const { service, client } = await setUp(
		{ logger: { debug: fail, info: fail, warn: late, error: fail }, onAttempt: late, onContractDrift: fail },
		{ plan: first(1, "500 empty") },
	);
	for (const operation of operations) await call(client, operation, plainInputs);
	expect(service.requests).toHaveLength(operations.length + 1);
});
