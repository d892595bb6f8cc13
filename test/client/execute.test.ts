import type { AttemptEvent, ClientOptions } from "messaging-conversations";
import { expect, onTestFinished, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { callOf, clientOf, failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, me, operationId, phone, sentNow, text } from "../canned.ts";
import { type Answer, inTurn, refusal, scripted } from "../scripted.ts";

const message = { to: phone, body: text };

/** A client of a server that gives these answers in turn, the requests that came, and the events. */
async function serving(answers: Answer[], options: Partial<ClientOptions> = {}) {
	const server = await scripted(inTurn(...answers));
	const events: AttemptEvent[] = [];
	const client = clientOf(server, { onAttempt: (event) => events.push(event), ...options });
	return { ...server, client, events, messages: client.agency(agencyId).messages };
}

test.for(adapters)("each attempt sends the same bytes under the same id (%s)", async (adapter) => {
	const { messages, requests } = await serving(["reset", refusal(500), "cut", { json: sentNow }], over(adapter));
	const { data, response } = await messages.send(message).withResponse();
	expect([response.attempts, response.correlationId, response.status]).toEqual([4, "cor-4", 200]);
	expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
	expect(JSON.parse(requests[0]?.body ?? "")).toEqual({ ...message, operationId: data.operationId });
});

test.for(adapters)(
	"the headers of an answer are its own, by lower-case name and one after the other (%s)",
	async (adapter) => {
		const { client } = await serving([{ json: me, headers: { "X-Any": "one" } }], over(adapter));
		const { response } = await client.me.get().withResponse();
		expect([response.headers.get("x-any"), response.headers.get("absent") ?? null]).toEqual(["one", null]);
		expect([...response.headers]).toContainEqual(["x-any", "one"]);
	},
);

test.for(adapters)("once an attempt was ambiguous, no refusal proves that nothing was sent (%s)", async (adapter) => {
	for (const first of ["reset", refusal(500), { text: "<html>" }] as const) {
		const { messages } = await serving([first, refusal(403)], over(adapter));
		expect(await failure(() => messages.send(message))).toMatchObject({
			_tag: "PartnerForbidden",
			attempts: 2,
			outcome: "unknown",
		});
	}
	const { messages } = await serving([refusal(403)], over(adapter));
	expect(await failure(() => messages.send(message))).toMatchObject({ attempts: 1, outcome: "not_sent" });
});

test("an ambiguous attempt is no longer ambiguous when a later answer confirms the send", async () => {
	const { messages } = await serving([refusal(500), { json: { ...sentNow, windowOpen: "yes" } }]);
	expect(await failure(() => messages.send(message))).toMatchObject({
		_tag: "PartnerUnexpectedResponse",
		attempts: 2,
		outcome: "sent",
	});
});

test("a retry that wakes up so late that an answer could not come in time is not sent", async () => {
	const deadlineMs = 1000;
	let startedAt = 0;
	const block = (): void => {
		const restMs = startedAt + deadlineMs - 30 - performance.now();
		if (restMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, restMs);
	};
	const { messages, requests } = await serving([refusal(500), { json: sentNow }], {
		retry: { baseDelayMs: 200 },
		onAttempt: () => void setTimeout(block),
	});
	startedAt = performance.now();
	const error = await failure(() => messages.send(message, { deadline: deadlineMs }));
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1, outcome: "unknown" });
	expect(error.cause).toMatchObject({ _tag: "PartnerInternalError" });
	expect(requests).toHaveLength(1);
});

test("an error has the correlation id of the last answer that had one", async () => {
	const { client } = await serving([refusal(500), "reset", "reset", "reset"]);
	expect(await failure(() => client.me.get())).toMatchObject({
		_tag: "PartnerConnectionError",
		correlationId: "cor-1",
	});
});

test("an event is made of each attempt", async () => {
	const { messages, events } = await serving([refusal(500), "reset", { json: sentNow }]);
	await messages.send({ ...message, operationId });
	const facts = { operation: "messages.send", agencyId, operationId, durationMs: expect.any(Number) };
	expect(events).toEqual([
		{
			...facts,
			attempt: 1,
			status: 500,
			errorTag: "PartnerInternalError",
			correlationId: "cor-1",
			retryInMs: expect.any(Number),
		},
		{
			...facts,
			attempt: 2,
			errorTag: "PartnerConnectionError",
			errorCode: expect.any(String),
			retryInMs: expect.any(Number),
		},
		{ ...facts, attempt: 3, status: 200, correlationId: "cor-3" },
	]);
});

test("an attempt without a key is reported as the one that it would have been", async () => {
	const keys = [apiKey, undefined];
	const source = async () => keys.shift() ?? Promise.reject(new RangeError("no key"));
	const { client, events, requests } = await serving([refusal(500)], { apiKey: source });
	expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 1 });
	expect(events.map(({ attempt, errorTag, errorCode }) => [attempt, errorTag, errorCode])).toEqual([
		[1, "PartnerInternalError", undefined],
		[2, "PartnerConfigurationError", "RangeError"],
	]);
	expect(requests).toHaveLength(1);
});

test("a key function that never returns is reported like one that fails", async () => {
	const keys = [apiKey];
	const source = () => keys.shift() ?? new Promise<string>(() => {});
	const { client, events, requests } = await serving([refusal(500)], { apiKey: source, deadline: 1000 });
	expect(await failure(() => client.me.get())).toMatchObject({
		_tag: "PartnerTimeoutError",
		message: "me.get: no key before the deadline of 1000 ms",
		attempts: 1,
		retryable: true,
	});
	expect(events.map(({ attempt, errorTag }) => [attempt, errorTag])).toEqual([
		[1, "PartnerInternalError"],
		[2, "PartnerTimeoutError"],
	]);
	expect(requests).toHaveLength(1);
});

test("an absent base URL or key fails the first call, without a request", async () => {
	const fetch = vi.fn(async () => jsonResponse(me));
	for (const [field, absent] of [
		["baseUrl", { baseUrl: undefined }],
		["baseUrl", { baseUrl: "" }],
		["apiKey", { apiKey: undefined }],
		["apiKey", { apiKey: "" }],
	] as const) {
		const client = clientOf({ baseUrl: "https://messaging.example" }, { fetch, ...absent });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field, outcome: "not_sent", attempts: 0 });
		expect(error.message).toMatch(`${field}: is required. Pass the `);
		expect(error.retryable).toBe(false);
	}
	expect(fetch).not.toHaveBeenCalled();
});

test.for(adapters)("a call's limits go before the client's (%s)", async (adapter) => {
	const options = { timeoutMs: 60_000, deadline: 60_000, retry: false, ...over(adapter) } as const;
	const { client } = await serving(["hang"], options);
	const late = await failure(() => client.me.get({ timeoutMs: 20 }));
	expect(late.message).toBe("me.get: no complete answer within 20 ms");
	const expired = await failure(() => client.me.get({ deadline: 20 }));
	expect(expired.message).toBe("me.get: no complete answer before the deadline of 20 ms");
});

test.for(adapters)("a deadline that cuts off an answer keeps its status (%s)", async (adapter) => {
	const { client, events } = await serving(["stall"], { deadline: 2_000, ...over(adapter) });
	const seen = { status: 200, correlationId: "cor-1" };
	const error = await failure(() => client.me.get());
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1, retryable: true, ...seen });
	expect(error.message).toBe("me.get: no complete answer before the deadline of 2000 ms");
	expect(events).toMatchObject([{ attempt: 1, errorTag: "PartnerTimeoutError", ...seen }]);
});

test("the limits are 15 and 30 seconds for a read, 30 and 60 for a send", async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const client = clientOf({ baseUrl: "https://messaging.example" }, { fetch: () => new Promise(() => {}) });
	for (const [operation, attemptMs, deadlineMs] of [
		["me.get", 15_000, 30_000],
		["messages.send", 30_000, 60_000],
	] as const) {
		const once = failure(() => callOf(operation).run(client, { retry: false }));
		await vi.advanceTimersByTimeAsync(attemptMs + 10);
		expect((await once).message).toBe(`${operation}: no complete answer within ${attemptMs} ms`);
		const whole = failure(() => callOf(operation).run(client));
		await vi.advanceTimersByTimeAsync(deadlineMs + 10);
		expect((await whole).message).toBe(`${operation}: no complete answer before the deadline of ${deadlineMs} ms`);
	}
});

test("only a GET of client.request is sent again", async () => {
	for (const [method, requests] of [
		["GET", 4],
		["POST", 1],
		["PUT", 1],
		["PATCH", 1],
		["DELETE", 1],
	] as const) {
		const server = await serving([refusal(500)]);
		const error = await failure(() => server.client.request({ method, path: "/tags" }));
		expect([method, server.requests.length]).toEqual([method, requests]);
		expect(error).toMatchObject({ operation: "request", retryable: true });
		expect(error.outcome).toBe(method === "GET" ? undefined : "unknown");
	}
});
