import type { AttemptEvent, Logger } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { clientOf, failure, jsonResponse, sixCalls } from "../calls.ts";
import { agencyId, me, operationId, phone, sentNow, text } from "../canned.ts";
import { deadBaseUrl, inTurn, pause, refusal, scripted } from "../scripted.ts";

afterEach(() => void vi.useRealTimers());

const throwing = () => {
	throw new Error("the observer's own fault");
};
const rejecting = () => Promise.reject(new Error("the observer's own fault"));

function recorder(): { events: AttemptEvent[]; onAttempt: (event: AttemptEvent) => void } {
	const events: AttemptEvent[] = [];
	return { events, onAttempt: (event) => void events.push(event) };
}

function loggerOf(say: (...line: unknown[]) => unknown): Logger {
	return { debug: say, info: say, warn: say, error: say };
}

// onAttempt

test.for(sixCalls)("onAttempt: one event for a clean $operation", async ({ operation, run, good }) => {
	const service = await scripted(inTurn({ json: good }));
	const { events, onAttempt } = recorder();
	const data = await run(clientOf(service, { onAttempt }));
	expect(events).toEqual([
		{
			operation,
			...(operation !== "me.get" && { agencyId }),
			attempt: 1,
			status: 200,
			correlationId: "cor-1",
			durationMs: expect.any(Number),
			...(operation === "messages.send" && { operationId: Reflect.get(Object(data), "operationId") }),
		},
	]);
});

test("onAttempt: each attempt of a send, with its status, error, wait and correlation id", async () => {
	const service = await scripted(inTurn(refusal(500), "reset", { json: sentNow }));
	const { events, onAttempt } = recorder();
	const { messages } = clientOf(service, { onAttempt }).agency(agencyId);
	await messages.send({ to: phone, body: text, operationId });
	const facts = { operation: "messages.send", agencyId, operationId, durationMs: expect.any(Number) };
	const wait = { retryInMs: expect.any(Number) };
	expect(events).toEqual([
		{ ...facts, ...wait, attempt: 1, status: 500, errorTag: "PartnerInternalError", correlationId: "cor-1" },
		{ ...facts, ...wait, attempt: 2, errorTag: "PartnerConnectionError", errorCode: expect.any(String) },
		{ ...facts, attempt: 3, status: 200, correlationId: "cor-3" },
	]);
});

test("the logger's line is one line, whatever the operationId holds, and not much longer", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const lines: string[] = [];
	const { messages } = clientOf(service, { logger: loggerOf((line) => lines.push(String(line))) }).agency(agencyId);
	await messages.send({ to: phone, body: text, operationId: `a\r\nb\u001b[31m\u2028${"c".repeat(10_000)}` });
	expect(lines).toHaveLength(1);
	expect(lines[0]).toMatch(/^[ -~]{1,500}$/);
	expect(lines[0]).toContain(" operationId=a?b?[31m?ccc");
});

test("a read that finds nothing is logged as a fact, not as an error", async () => {
	const service = await scripted(inTurn(refusal(404)));
	const levels: string[] = [];
	const note = (level: string) => () => levels.push(level);
	const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	await failure(() => clientOf(service, { logger }).agency(agencyId).conversations.get(phone));
	expect(levels).toEqual(["info"]);
});

test("a write that finds nothing is logged as an error", async () => {
	const service = await scripted(inTurn(refusal(404)));
	const levels: string[] = [];
	const note = (level: string) => () => levels.push(level);
	const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	await failure(() => clientOf(service, { logger }).request({ method: "POST", path: "/tags", body: {} }));
	expect(levels).toEqual(["error"]);
});

test("onAttempt: the last failure has no wait after it", async () => {
	const service = await scripted(inTurn(refusal(500), refusal(403)));
	const { events, onAttempt } = recorder();
	await failure(() => clientOf(service, { onAttempt }).me.get());
	expect(events.map(({ errorTag, retryInMs }) => [errorTag, typeof retryInMs])).toEqual([
		["PartnerInternalError", "number"],
		["PartnerForbidden", "undefined"],
	]);
});

test("onAttempt: an attempt that never reached the service is reported too", async () => {
	const { events, onAttempt } = recorder();
	const client = clientOf({ baseUrl: await deadBaseUrl() }, { onAttempt, retry: false });
	await failure(() => client.me.get());
	expect(events).toEqual([
		{
			operation: "me.get",
			attempt: 1,
			errorTag: "PartnerConnectionError",
			errorCode: "ECONNREFUSED",
			durationMs: expect.any(Number),
		},
	]);
});

test.for(["baseUrl", "apiKey"])("onAttempt: an absent %s is reported like a key function that failed", async (name) => {
	const { events, onAttempt } = recorder();
	const client = clientOf({ baseUrl: "https://messaging.example/api/v1" }, { onAttempt, [name]: undefined });
	const error = await failure(() => client.me.get());
	expect(error).toMatchObject({ field: name, attempts: 0, retryable: false });
	const errorTag = "PartnerConfigurationError";
	expect(events).toEqual([{ operation: "me.get", attempt: 1, errorTag, durationMs: expect.any(Number) }]);
});

test("onAttempt: no event for what was no attempt", async () => {
	const service = await scripted(inTurn({ json: me }));
	const { events, onAttempt } = recorder();
	const client = clientOf(service, { onAttempt });
	await failure(() => client.me.get({ timeoutMs: 0 }));
	await failure(() => client.me.get({ signal: AbortSignal.abort() }));
	await client.agency(agencyId).conversations.lookup([]);
	expect(events).toEqual([]);
});

test("onAttempt: a key that fails before the second attempt is an event of its own, without status and id", async () => {
	const service = await scripted(inTurn(refusal(500)));
	const { events, onAttempt } = recorder();
	let asked = 0;
	const apiKey = () => (++asked === 1 ? "test_live.a.b" : Promise.reject(new RangeError("locked")));
	await failure(() => clientOf(service, { onAttempt, apiKey }).me.get());
	expect(events).toEqual([
		expect.objectContaining({
			attempt: 1,
			status: 500,
			errorTag: "PartnerInternalError",
			retryInMs: expect.any(Number),
		}),
		{
			operation: "me.get",
			attempt: 2,
			errorTag: "PartnerConfigurationError",
			errorCode: "RangeError",
			durationMs: expect.any(Number),
		},
	]);
});

test("onAttempt: durationMs is the attempt's own, without the wait before it", async () => {
	vi.useFakeTimers();
	let attempts = 0;
	const fetch = async () => {
		await pause(30);
		return jsonResponse(me, { status: ++attempts === 1 ? 500 : 200 });
	};
	const { events, onAttempt } = recorder();
	const call = clientOf(
		{ baseUrl: "https://messaging.example/api/v1" },
		{ fetch, onAttempt, retry: { baseDelayMs: 600 } },
	);
	const settled = call.me.get();
	await vi.runAllTimersAsync();
	await settled;
	expect(events.map(({ durationMs }) => durationMs)).toEqual([30, 30]);
});

test("onAttempt: the event is the observer's: changing it changes nothing", async () => {
	const service = await scripted(inTurn(refusal(500), refusal(403)));
	const onAttempt = (event: AttemptEvent) => {
		for (const field of Object.keys(event)) Reflect.deleteProperty(event, field);
	};
	const error = await failure(() => clientOf(service, { onAttempt }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerForbidden", attempts: 2, correlationId: "cor-2" });
});

test.for([
	["throws", throwing],
	["rejects", rejecting],
] as const)("onAttempt, logger and onContractDrift: one that %s never changes the outcome", async ([, observer]) => {
	const unhandled: unknown[] = [];
	const note = (reason: unknown) => unhandled.push(reason);
	process.on("unhandledRejection", note);
	const observers = { onAttempt: observer, onContractDrift: observer, logger: loggerOf(observer) };
	const service = await scripted(inTurn(refusal(500), "reset", { json: { ...me, extra: 1 } }, refusal(403)));
	const client = clientOf(service, observers);
	await expect(client.me.get()).resolves.toMatchObject(me);
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerForbidden", attempts: 1 });
	expect(service.requests).toHaveLength(4);
	await pause();
	process.off("unhandledRejection", note);
	expect(unhandled).toEqual([]);
});

test("a logger's methods are called as its own", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	class Lines {
		lines: string[] = [];
		debug(line: string) {
			this.lines.push(line);
		}
		info(line: string) {
			this.lines.push(line);
		}
		warn(line: string) {
			this.lines.push(line);
		}
		error(line: string) {
			this.lines.push(line);
		}
	}
	const logger = new Lines();
	await clientOf(service, { logger }).me.get();
	expect(logger.lines.length).toBeGreaterThanOrEqual(2);
	expect(logger.lines.join("\n")).toMatch(/500/);
});

test("a logger gets what an attempt came to: operation, status, correlation id, operationId", async () => {
	const service = await scripted(inTurn(refusal(500), { json: sentNow }));
	const lines: string[] = [];
	const logger = loggerOf((line) => lines.push(`${line}`));
	await clientOf(service, { logger }).agency(agencyId).messages.send({ to: phone, body: text, operationId });
	for (const part of ["messages.send", "500", "PartnerInternalError", "cor-1", "cor-2", operationId]) {
		expect(lines.join("\n")).toContain(part);
	}
});

test("without observers nothing is said anywhere", async () => {
	const service = await scripted(inTurn(refusal(500), { json: { ...me, extra: 1 } }));
	const written: unknown[] = [];
	const levels = ["log", "debug", "info", "warn", "error"] as const;
	const kept = levels.map((level) => [level, console[level]] as const);
	for (const level of levels) console[level] = (...line: unknown[]) => written.push(line);
	await clientOf(service).me.get();
	for (const [level, method] of kept) console[level] = method;
	expect(written).toEqual([]);
});

test("a clean attempt without a correlation id is reported without one, even after an attempt that had one", async () => {
	const service = await scripted(
		inTurn(
			{ status: 503, headers: { "x-correlation-id": "first" } },
			{ json: me, headers: { "x-correlation-id": undefined } },
		),
	);
	const { events, onAttempt } = recorder();
	const { response } = await clientOf(service, { onAttempt }).me.get().withResponse();
	expect(response.correlationId).toBeUndefined();
	expect(events.map(({ correlationId }) => correlationId)).toEqual(["first", undefined]);
});

test("logger: each method gets the event of the attempt as its second argument", async () => {
	const service = await scripted(inTurn(refusal(500), { json: sentNow }));
	const { events, onAttempt } = recorder();
	const logged: [level: string, line: string, event: AttemptEvent][] = [];
	const say = (level: string) => (line: string, event: AttemptEvent) => void logged.push([level, line, event]);
	const logger = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
	const { messages } = clientOf(service, { logger, onAttempt }).agency(agencyId);
	await messages.send({ to: phone, body: text, operationId });
	expect(logged.map(([level]) => level)).toEqual(["warn", "debug"]);
	expect(logged.map(([, , event]) => event)).toEqual(events);
	expect(logged[0]?.[1]).toContain(` agencyId=${agencyId} `);
});

test("logger and onAttempt get an event object each, so that neither changes what the other sees", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const spoil = (event: AttemptEvent) => {
		for (const field of Object.keys(event)) Reflect.deleteProperty(event, field);
		Object.freeze(event);
	};
	const kept: AttemptEvent[] = [];
	const lines: string[] = [];
	const logger = loggerOf((line, event) => {
		lines.push(`${line}`);
		kept.push(event as AttemptEvent);
	});
	await clientOf(service, { logger, onAttempt: spoil }).me.get();
	expect(kept.map(({ operation, attempt, status }) => [operation, attempt, status])).toEqual([
		["me.get", 1, 500],
		["me.get", 2, 200],
	]);
	expect(lines[0]).toContain("errorTag=PartnerInternalError");
	const { events, onAttempt } = recorder();
	const second = await scripted(inTurn(refusal(500), { json: me }));
	await clientOf(second, { logger: loggerOf((_line, event) => spoil(event as AttemptEvent)), onAttempt }).me.get();
	expect(events.map(({ attempt, status }) => [attempt, status])).toEqual([
		[1, 500],
		[2, 200],
	]);
});

test("a logger's line is written after the level of the attempt, whatever onAttempt does to its event", async () => {
	const service = await scripted(inTurn(refusal(403)));
	const levels: string[] = [];
	const note = (level: string) => () => levels.push(level);
	const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	const onAttempt = (event: AttemptEvent) => Reflect.deleteProperty(event, "errorTag");
	await failure(() => clientOf(service, { logger, onAttempt }).me.get());
	expect(levels).toEqual(["error"]);
});
