import { getEventListeners } from "node:events";
import { createClient } from "messaging-conversations";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, conversationPage, me } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

afterEach(() => void vi.useRealTimers());

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

test.for(sixCalls)("signal: aborted before, $operation makes no request", async ({ operation, run, good }) => {
	const service = await scripted(inTurn({ json: good }));
	const signal = AbortSignal.abort();
	const error = await failure(() => run(clientOf(service), { signal }));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", operation, attempts: 0, retryable: false });
	expect(service.requests).toEqual([]);
	expect(listeners(signal)).toBe(0);
});

test.for(sixCalls)("signal: aborted in flight, $operation ends and hangs up", async ({ run }) => {
	const service = await scripted(inTurn("hang"));
	const controller = new AbortController();
	const failing = failure(() => run(clientOf(service), { signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	controller.abort();
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
	await eventually(() => expect(service.requests[0]?.cut).toBe(true));
	expect(listeners(controller.signal)).toBe(0);
	expect(service.requests).toHaveLength(1);
});

test("signal: aborted while the body comes in", async () => {
	const service = await scripted(inTurn("stall"));
	const controller = new AbortController();
	const failing = failure(() => clientOf(service).me.get({ signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	controller.abort();
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
});

test("signal: aborted in the wait, no further request is made and no timer is left", async () => {
	vi.useFakeTimers();
	let requests = 0;
	const fetch = async () => {
		requests++;
		return jsonResponse({}, { status: 503 });
	};
	const controller = new AbortController();
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch });
	const settled = client.me.get({ signal: controller.signal }).result();
	await vi.advanceTimersByTimeAsync(50);
	expect(listeners(controller.signal)).toBe(1);
	controller.abort();
	await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerAbortError", attempts: 1 } });
	expect(vi.getTimerCount()).toBe(0);
	await vi.advanceTimersByTimeAsync(60_000);
	expect(requests).toBe(1);
	expect(listeners(controller.signal)).toBe(0);
});

test("signal: aborted after the answer, the answer counts", async () => {
	const service = await scripted(inTurn({ json: me }));
	const controller = new AbortController();
	const call = clientOf(service).me.get({ signal: controller.signal });
	await call;
	controller.abort();
	await expect(call).resolves.toEqual(me);
	await expect(call.result()).resolves.toMatchObject({ ok: true });
});

test("signal: an abort is none of the client's faults: it costs no retry and is not a time-out", async () => {
	const service = await scripted(inTurn("hang", { json: me }));
	const client = clientOf(service);
	const controller = new AbortController();
	const failing = failure(() => client.me.get({ signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	controller.abort(new DOMException("The operation timed out.", "TimeoutError"));
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError" });
	await expect(client.me.get()).resolves.toEqual(me);
});

test("signal: one call's does not touch another's", async () => {
	const service = await scripted((_seen, index) => (index === 0 ? "hang" : { json: me }));
	const client = clientOf(service);
	const [one, two] = [new AbortController(), new AbortController()];
	const failing = failure(() => client.me.get({ signal: one.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	one.abort();
	await expect(client.me.get({ signal: two.signal })).resolves.toEqual(me);
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError" });
});

test("signal: a call that has ended leaves the other calls on its signal to be aborted", async () => {
	const service = await scripted((_seen, index) => (index === 0 ? "hang" : { json: me }));
	const client = clientOf(service, { retry: false });
	const controller = new AbortController();
	const { signal } = controller;
	const failing = failure(() => client.me.get({ signal, timeoutMs: 5000 }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	await expect(client.me.get({ signal })).resolves.toEqual(me);
	controller.abort();
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError" });
});

test("signal: many calls on one signal hold one listener on it, and none once they have settled", async () => {
	const warnings: Error[] = [];
	const note = (warning: Error) => warnings.push(warning);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const release: (() => void)[] = [];
	const service = await scripted(async () => {
		await new Promise<void>((resolve) => release.push(resolve));
		return { json: me };
	});
	const client = clientOf(service);
	const { signal } = new AbortController();
	const calls = Array.from({ length: 40 }, () => client.me.get({ signal }));
	await eventually(() => expect(release.length).toBe(40));
	expect(listeners(signal)).toBe(1);
	for (const each of release) each();
	await Promise.all(calls);
	expect(listeners(signal)).toBe(0);
	expect(warnings).toEqual([]);
});

test("signal: none is left after calls one after the other, however they end", async () => {
	const service = await scripted(
		(_seen, index) =>
			[{ json: me }, refusal(403), "reset" as const, refusal(500), { json: {} }, { text: "<html>" }][index % 6] ??
			"reset",
	);
	const client = clientOf(service, { retry: { baseDelayMs: 1, maxDelayMs: 1, attempts: 2 } });
	const { signal } = new AbortController();
	for (let call = 0; call < 30; call++) {
		await client.me.get({ signal }).result();
		expect(listeners(signal)).toBe(0);
	}
	for (const { run } of sixCalls) {
		await run(client, { signal }).result();
		expect(listeners(signal)).toBe(0);
	}
});

test("signal: none is left after an iteration, ended or broken off, with a read-ahead in flight or not", async () => {
	const service = await scripted(({ url }) => ({
		json: conversationPage(["a", "b", "c"], url.includes("cursor=2") ? null : "2"),
	}));
	const { conversations } = clientOf(service).agency(agencyId);
	const { signal } = new AbortController();
	await conversations.list({ signal }).toArray();
	expect(listeners(signal)).toBe(0);
	for await (const _row of conversations.list({ signal }));
	expect(listeners(signal)).toBe(0);
	let seen = 0;
	for await (const _row of conversations.list({ signal })) if (++seen === 3) break;
	await eventually(() => expect(listeners(signal)).toBe(0));
});

test("signal: a lookup of many chunks holds one listener", async () => {
	let most = 0;
	const { signal } = new AbortController();
	const service = await scripted(({ body }) => {
		most = Math.max(most, listeners(signal));
		const { phoneNumbers }: { phoneNumbers: string[] } = JSON.parse(body);
		return { json: { results: phoneNumbers.map((phoneNumber) => ({ phoneNumber, conversation: null })) } };
	});
	const numbers = Array.from({ length: 1000 }, (_, index) => `+32470${100_000 + index}`);
	await clientOf(service).agency(agencyId).conversations.lookup(numbers, { signal });
	expect(most).toBe(1);
	expect(listeners(signal)).toBe(0);
});

test("no timer is left once a call has settled", async () => {
	vi.useFakeTimers();
	for (const { run, good } of sixCalls) {
		for (const status of [200, 403]) {
			const fetch = async () => jsonResponse(good, { status });
			await run(createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch })).result();
			expect(vi.getTimerCount()).toBe(0);
		}
	}
});

test("a signal that cannot be let go of is refused", async () => {
	const half = { aborted: false, addEventListener: () => {} };
	const error = await failure(() =>
		clientOf({ baseUrl: "https://messaging.example/api/v1" }).me.get({ signal: wrong(half) }),
	);
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "signal", attempts: 0 });
});

test("an abort that another listener keeps from us stops what has not gone out: a send, and the attempt after a wait", async () => {
	vi.useFakeTimers();
	let requests = 0;
	const fetch = async () => {
		requests++;
		return jsonResponse({}, { status: 503 });
	};
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch });
	const silenced = (): AbortController => {
		const controller = new AbortController();
		controller.signal.addEventListener("abort", (event) => event.stopImmediatePropagation());
		return controller;
	};
	const early = silenced();
	const sending = failure(() => callOf("messages.send").run(client, { signal: early.signal }));
	early.abort();
	await expect(sending).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(requests).toBe(0);
	const late = silenced();
	const waiting = failure(() => client.me.get({ signal: late.signal }));
	await vi.advanceTimersByTimeAsync(50);
	expect(requests).toBe(1);
	late.abort();
	await vi.advanceTimersByTimeAsync(60_000);
	await expect(waiting).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
	expect(requests).toBe(1);
	for (const { signal } of [early, late]) expect(listeners(signal)).toBe(1);
});

test("the abort of a signal that wraps another is heard", async () => {
	const service = await scripted(inTurn("hang"));
	const controller = new AbortController();
	const signal = new Proxy(controller.signal, {
		get(target, name) {
			const value = Reflect.get(target, name, target);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
	const failing = failure(() => clientOf(service).me.get({ signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	controller.abort();
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
	expect(listeners(controller.signal)).toBe(0);
});

test("a signal that aborts while other calls on it are settling ends each of them once", async () => {
	const service = await scripted(inTurn("hang"));
	const client = clientOf(service);
	const controller = new AbortController();
	const calls = Array.from({ length: 10 }, () => client.me.get({ signal: controller.signal }).result());
	await eventually(() => expect(service.requests).toHaveLength(10));
	controller.abort();
	for (const result of await Promise.all(calls)) {
		expect(result).toMatchObject({ ok: false, error: { _tag: "PartnerAbortError", attempts: 1 } });
	}
	expect(listeners(controller.signal)).toBe(0);
	const late = await failure(() => client.me.get({ signal: controller.signal }));
	expect(late).toMatchObject({ _tag: "PartnerAbortError", attempts: 0 });
	expect(listeners(controller.signal)).toBe(0);
	expect(service.requests).toHaveLength(10);
});
