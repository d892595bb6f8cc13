import type { AttemptEvent, ContractDrift, Logger } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { clientOf, failure, jsonResponse, sixCalls } from "../calls.ts";
import { agencyId, conversationPage, me, messagePage, operationId, phone, sentNow, summary, text } from "../canned.ts";
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
	const facts = { operation: "messages.send", operationId, durationMs: expect.any(Number) };
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

test("the logger is told of a read that finds nothing as of a fact, not of an error", async () => {
	const service = await scripted(inTurn(refusal(404)));
	const levels: string[] = [];
	const note = (level: string) => () => levels.push(level);
	const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	await failure(() => clientOf(service, { logger }).agency(agencyId).conversations.get(phone));
	expect(levels).toEqual(["info"]);
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

test("onAttempt: an attempt that never reached the service is told as well", async () => {
	const { events, onAttempt } = recorder();
	await failure(() => clientOf({ baseUrl: "" }, { baseUrl: undefined, onAttempt }).me.get());
	expect(events).toEqual([]);
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

test("onAttempt: no event for what was no attempt", async () => {
	const service = await scripted(inTurn({ json: me }));
	const { events, onAttempt } = recorder();
	const client = clientOf(service, { onAttempt });
	await failure(() => client.me.get({ timeoutMs: 0 }));
	await failure(() => client.me.get({ signal: AbortSignal.abort() }));
	await client.agency(agencyId).conversations.lookup([]);
	expect(events).toEqual([]);
});

test("onAttempt: a key that fails before the second attempt makes no second event for the first", async () => {
	const service = await scripted(inTurn(refusal(500)));
	const { events, onAttempt } = recorder();
	let asked = 0;
	const apiKey = () => (++asked === 1 ? "test_live.a.b" : "");
	await failure(() => clientOf(service, { onAttempt, apiKey }).me.get());
	expect(events.map(({ attempt, errorTag }) => [attempt, errorTag])).toEqual([[1, "PartnerInternalError"]]);
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

// Contract drift

async function driftsOf(run: (client: ReturnType<typeof clientOf>) => Promise<unknown>, json: unknown, headers = {}) {
	const service = await scripted(inTurn({ json, headers }));
	const drifts: ContractDrift[] = [];
	const data = await run(clientOf(service, { onContractDrift: (drift) => drifts.push(drift) }));
	return { drifts, data };
}

test("contract drift: nothing is told of an answer that the contract knows", async () => {
	for (const { run, good } of sixCalls) expect((await driftsOf((client) => run(client), good)).drifts).toEqual([]);
});

test("contract drift: an extra field is told and stays in the data", async () => {
	const json = { ...me, agencies: [{ id: agencyId, name: "A", phone: "0470123456" }] };
	const { drifts, data } = await driftsOf((client) => client.me.get(), json);
	expect(drifts).toEqual([{ operation: "me.get", path: "agencies[].phone", kind: "unknown-field" }]);
	expect(data).toEqual(json);
});

test("contract drift: a new value of a known set is told and stays in the data", async () => {
	const odd = summary({ latestFlowStatus: "paused", visibility: { ...summary().visibility, reason: "gift" } });
	const json = { ...conversationPage([]), conversations: [odd, odd] };
	const { drifts, data } = await driftsOf((client) => client.agency(agencyId).conversations.list().page(), json);
	expect(drifts).toEqual([
		{ operation: "conversations.list", path: "conversations[].latestFlowStatus", kind: "unknown-value" },
		{ operation: "conversations.list", path: "conversations[].visibility.reason", kind: "unknown-value" },
	]);
	expect(data).toEqual(json);
});

test("contract drift: of a send too, and the send has succeeded", async () => {
	const { drifts, data } = await driftsOf(
		(client) => client.agency(agencyId).messages.send({ to: phone, body: text }),
		{ ...sentNow, status: "teleported", price: 1 },
	);
	expect(drifts.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
		"unknown-field price",
		"unknown-value status",
	]);
	expect(data).toMatchObject({ queued: false, status: "teleported" });
});

test("contract drift: a missing correlation id is told", async () => {
	const { drifts } = await driftsOf((client) => client.me.get(), me, { "x-correlation-id": undefined });
	expect(drifts).toEqual([expect.objectContaining({ operation: "me.get", kind: "missing-header" })]);
});

test("contract drift: no value and no name that could be one is told", async () => {
	const page = messagePage([1]);
	const json = { ...page, messages: [{ ...page.messages[0], "+32470123456": "CANARYTEXT", [text]: 1 }] };
	const { drifts } = await driftsOf((client) => client.agency(agencyId).conversations.listMessages(phone).page(), json);
	expect(drifts.length).toBeGreaterThan(0);
	expect(JSON.stringify(drifts)).not.toMatch(/CANARY|470123456/);
});

test("contract drift: an answer that breaks the contract is an error and no drift", async () => {
	const service = await scripted(inTurn({ json: { ...me, scopes: "all", extra: 1 } }));
	const drifts: ContractDrift[] = [];
	const client = clientOf(service, { onContractDrift: (drift) => drifts.push(drift) });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerUnexpectedResponse" });
	expect(drifts).toEqual([]);
});

test("a clean attempt without a correlation id is told without one, also after an attempt that had one", async () => {
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
