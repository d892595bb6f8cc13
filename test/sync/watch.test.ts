import { getEventListeners } from "node:events";
import { createClient, PartnerForbidden } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { type Change, changes, type WatchOptions, watch } from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";

const second = 1_000;
const minute = 60 * second;
const [anna, bert] = ["+447700900101", "+447700900102"];

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
	vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

function open(options: Partial<WatchOptions> = {}) {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const client = createClient({ ...sandbox.connection, retry: false }).agency(agency.id);
	/** When each list was asked for, in seconds from the beginning. */
	const lists: number[] = [];
	const began = Date.now();
	const fetch: typeof globalThis.fetch = (input, init) => {
		if (/conversations(\?|$)/.test(String(input))) lists.push((Date.now() - began) / second);
		return sandbox.fetch(input, init);
	};
	const watched = createClient({ ...sandbox.connection, fetch, retry: false }).agency(agency.id);
	const feed = watch(watched, { since: "now", ...options });
	const delivered: Change[] = [];
	const run = (async () => {
		for await (const change of feed) delivered.push(change);
	})();
	// A loop that throws is looked at by the test that waits for it.
	run.catch(() => {});
	const pass = async (ms: number) => {
		sandbox.clock.advance({ ms });
		await vi.advanceTimersByTimeAsync(ms);
	};
	return { sandbox, agency, client, feed, delivered, lists, run, pass };
}

test("a change is delivered by the next poll", async () => {
	const { agency, delivered, pass } = open();
	agency.contact(anna, { name: "Anna" }).writes("Hello?");
	await pass(0);
	expect(delivered).toEqual([]);
	await pass(minute);
	agency.contact(anna).writes("Anybody?");
	await pass(minute);
	expect(delivered).toMatchObject([{ phoneNumber: anna, messages: [{ body: "Anybody?" }] }]);
});

test("the pause is short after activity, and grows by half with each quiet poll up to its bound", async () => {
	const { agency, lists, pass } = open({ minMs: 10 * second, maxMs: 40 * second });
	await pass(0);
	await pass(140 * second);
	expect(lists).toEqual([0, 15, 37.5, 71.25, 111.25].map((at) => expect.closeTo(at, 1)));
	agency.contact(anna).writes("Hello?");
	await pass(25 * second);
	expect(lists.slice(5)).toEqual([expect.closeTo(151.25, 1), expect.closeTo(161.25, 1)]);
});

test.each([
	[0, 13.5],
	[1, 16.5],
])("the pause varies by a tenth: %d", async (random, at) => {
	vi.mocked(Math.random).mockReturnValue(random);
	const { lists, pass } = open({ minMs: 10 * second });
	await pass(0);
	await pass(17 * second);
	expect(lists).toEqual([0, expect.closeTo(at, 1)]);
});

test("a poll of several pages is followed by one at once, and then by a pause", async () => {
	const { sandbox, lists, pass, feed, delivered } = open({ since: "beginning", minMs: 10 * second });
	sandbox.loadScenario("busy");
	await pass(0);
	await pass(second);
	expect(delivered).toHaveLength(250);
	const { length } = lists;
	expect(length).toBeGreaterThan(3);
	expect(feed.failures).toEqual([]);
	await pass(8 * second);
	expect(lists).toHaveLength(length);
	await pass(10 * second);
	expect(lists.length).toBeGreaterThan(length);
});

test("errors that may pass go to onError and double the pause; nothing is lost by them", async () => {
	const tags: string[] = [];
	const { sandbox, agency, lists, delivered, pass } = open({
		minMs: 10 * second,
		maxMs: minute,
		onError: ({ _tag }) => tags.push(_tag),
	});
	await pass(0);
	sandbox.faults.add({ operation: "conversations.list", times: 3, effect: { status: 503 } });
	agency.contact(anna).writes("Hello?");
	await pass(15 * second);
	expect([lists.length, tags]).toEqual([2, ["PartnerInternalError"]]);
	await pass(30 * second);
	await pass(60 * second);
	expect(lists).toEqual([0, 15, 45, 105].map((at) => expect.closeTo(at, 1)));
	// One alert for one outage.
	expect(tags).toHaveLength(1);
	await pass(60 * second);
	expect(delivered).toMatchObject([{ phoneNumber: anna }]);
});

test("a wait that the service asks for is kept", async () => {
	const { sandbox, lists, pass } = open({ minMs: second, maxMs: 2 * second });
	await pass(0);
	sandbox.faults.add({ operation: "conversations.list", times: 1, effect: { status: 503, retryAfter: 90 } });
	await pass(2 * second);
	expect(lists).toHaveLength(2);
	await pass(85 * second);
	expect(lists).toHaveLength(2);
	await pass(10 * second);
	expect(lists.length).toBeGreaterThan(2);
});

test.each([
	["up to an hour is kept beyond maxMs", 3_600],
	["of a day counts as an hour", 86_400],
	["of a timestamp in milliseconds counts as an hour", 1_767_603_600_000],
	["that is a date far away counts as an hour", "Fri, 01 Jan 2100 00:00:00 GMT"],
])("a Retry-After %s", async (_name, retryAfter) => {
	const { sandbox, lists, pass } = open({ minMs: 50, maxMs: 100 });
	await pass(0);
	// The sandbox's faults have whole seconds only.
	const { fetch } = sandbox;
	let isFirst = true;
	const limited: typeof fetch = async (input, init) => {
		const response = await fetch(input, init);
		if (!isFirst) return response;
		isFirst = false;
		const headers = { "retry-after": `${retryAfter}`, date: new Date().toUTCString() };
		return Response.json({ _tag: "PartnerInternalError", message: "Later." }, { status: 503, headers });
	};
	Object.assign(sandbox, { fetch: limited });
	await pass(minute);
	expect(lists).toHaveLength(2);
	await pass(58 * minute);
	expect(lists).toHaveLength(2);
	await pass(2 * minute);
	expect(lists.length).toBeGreaterThan(2);
});

test("a 401 pauses, onError hears of it, and a key that works again continues without a loss", async () => {
	const tags: string[] = [];
	const { sandbox, agency, delivered, lists, pass } = open({
		minMs: 10 * second,
		onError: ({ _tag }) => tags.push(_tag),
	});
	await pass(0);
	const fault = sandbox.faults.add({ times: 3, effect: { status: 401 } });
	agency.contact(anna).writes("Hello?");
	await pass(15 * second);
	await pass(30 * second);
	await pass(60 * second);
	expect([tags, fault.remaining]).toEqual([["PartnerUnauthorized"], 0]);
	expect(lists).toEqual([0, 15, 45, 105].map((at) => expect.closeTo(at, 1)));
	await pass(120 * second);
	expect(delivered).toMatchObject([{ phoneNumber: anna, messages: [{ body: "Hello?" }] }]);
});

test("a read that hangs when a poll ends with an error does not outlast the poll", async () => {
	const sandbox = createSandbox();
	for (const phone of [anna, bert]) sandbox.agency().contact(phone).writes("Hello?");
	let reads = 0;
	let hanging: AbortSignal | null | undefined;
	const fetch: typeof globalThis.fetch = (input, init) => {
		if (!/conversations\/./.test(String(input)) || reads++ === 0) return sandbox.fetch(input, init);
		hanging = init?.signal;
		return new Promise((_, reject) => hanging?.addEventListener("abort", () => reject(hanging?.reason)));
	};
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 401 } });
	const agency = createClient({ ...sandbox.connection, fetch, retry: false }).agency(sandbox.agency().id);
	const tags: string[] = [];
	const stop = new AbortController();
	const { signal } = stop;
	const feed = watch(agency, { since: "beginning", signal, onError: ({ _tag }) => tags.push(_tag) });
	const next = feed[Symbol.asyncIterator]().next();
	await vi.advanceTimersByTimeAsync(second);
	expect([tags, hanging?.aborted]).toEqual([["PartnerUnauthorized"], true]);
	stop.abort();
	await next;
});

test("a 401 in the middle of the reads, and one of a status, pause too", async () => {
	const tags: string[] = [];
	const { sandbox, agency, client, feed, delivered, pass } = open({
		statuses: true,
		onError: ({ _tag, operation }) => tags.push(`${_tag} ${operation}`),
	});
	await pass(0);
	agency.contact(anna).writes("Hello?");
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 401 } });
	await pass(2 * minute);
	expect(delivered).toHaveLength(1);
	const { messageId } = await client.messages.send({ to: anna, body: "Hello Anna" });
	feed.pollNow();
	await pass(0);
	sandbox.message(messageId ?? "").delivered();
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 401 } });
	await pass(2 * minute);
	expect(delivered.at(-1)).toMatchObject({ messages: [{ status: "delivered" }] });
	expect(tags).toEqual(Array(2).fill("PartnerUnauthorized conversations.get"));
});

test("nothing but 401s for maxMs ends the loop, and a success in between begins anew", async () => {
	const { sandbox, lists, run, pass } = open({ minMs: 10 * second, maxMs: minute });
	await pass(0);
	let isOver = false;
	run.catch(() => {
		isOver = true;
	});
	sandbox.faults.add({ times: 2, effect: { status: 401 } });
	await pass(2 * minute);
	expect(isOver).toBe(false);
	sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: { status: 401 } });
	const before = lists.length;
	await pass(5 * minute);
	await expect(run).rejects.toMatchObject({ _tag: "PartnerUnauthorized" });
	// One when it begins, and one after a pause of `maxMs`.
	expect(lists.length - before).toBe(2);
	expect(vi.getTimerCount()).toBe(0);
});

test("another error between two 401s begins anew", async () => {
	const { sandbox, run, pass } = open({ minMs: 10 * second, maxMs: 30 * second });
	let isOver = false;
	run.catch(() => {
		isOver = true;
	});
	await pass(0);
	for (let i = 0; i < 5; i++) {
		sandbox.faults.add({ times: 1, effect: { status: 401 } });
		sandbox.faults.add({ times: 1, effect: { status: 503 } });
	}
	await pass(10 * minute);
	expect([isOver, sandbox.faults.unused()]).toEqual([false, []]);
});

test("changes ends at once with a 401", async () => {
	const { sandbox, client, pass } = open();
	await pass(0);
	sandbox.faults.add({ times: 1, effect: { status: 401 } });
	await expect(changes(client, { since: "now" })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 401 });
});

test("what will not pass ends the loop with its error", async () => {
	const { agency, run, pass } = open();
	await pass(0);
	agency.unlink();
	await pass(10 * minute);
	await expect(run).rejects.toBeInstanceOf(PartnerForbidden);
	expect(vi.getTimerCount()).toBe(0);
});

test("a conversation that cannot be read goes to onError, ends nothing, and comes when it can be read", async () => {
	const tags: string[] = [];
	const { sandbox, agency, delivered, pass } = open({ onError: ({ _tag }) => tags.push(_tag) });
	await pass(0);
	await pass(minute);
	// An answer that breaks the contract will not pass, as errors go; it is one conversation's all the same.
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: "missing-field" });
	agency.contact(anna).writes("Hello?");
	await pass(2 * minute);
	expect(tags).toEqual(["PartnerUnexpectedResponse"]);
	await pass(10 * minute);
	expect(delivered).toMatchObject([{ phoneNumber: anna, messages: [{ body: "Hello?" }] }]);
});

test.each([
	[
		"throws",
		() => {
			throw new Error("enough");
		},
	],
	["rejects with", () => Promise.reject(new Error("enough"))],
	[
		"rejects a while later with",
		() => new Promise((_, reject) => setTimeout(() => reject(new Error("enough")), 5_000)),
	],
])("what onError %s ends the loop", async (_how, onError) => {
	const { sandbox, run, pass } = open({ onError });
	sandbox.faults.add({ operation: "conversations.list", times: 1, effect: { status: 500 } });
	const ended = expect(run).rejects.toThrow("enough");
	await pass(10 * second);
	await ended;
	expect(vi.getTimerCount()).toBe(0);
});

test("an onError that never answers does not hold up the loop", async () => {
	const { sandbox, delivered, lists, pass } = open({ onError: () => new Promise(() => {}) });
	await pass(0);
	sandbox.faults.add({ operation: "conversations.list", times: 1, effect: { status: 500 } });
	await pass(minute);
	expect(lists.length).toBeGreaterThan(1);
	sandbox.agency().contact(anna).writes("Hello?");
	await pass(5 * minute);
	expect(delivered).toHaveLength(1);
});

test("a signal ends the loop in its pause, at once and without a timer left", async () => {
	const stop = new AbortController();
	const { run, pass } = open({ signal: stop.signal });
	await pass(0);
	expect(vi.getTimerCount()).toBe(1);
	stop.abort();
	expect(vi.getTimerCount()).toBe(0);
	await run;
});

test("a signal ends the loop in a request, at once and without a timer left", async () => {
	const stop = new AbortController();
	const { sandbox, run, pass } = open({ signal: stop.signal });
	sandbox.faults.add({ operation: "conversations.list", times: 1, effect: "hang" });
	await pass(second);
	stop.abort();
	await run;
	expect(vi.getTimerCount()).toBe(0);
});

test("a signal that aborts in the body ends the loop after the current change, even if others are read already", async () => {
	const sandbox = createSandbox({ scenario: "busy" });
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const stop = new AbortController();
	let delivered = 0;
	for await (const _ of watch(agency, { since: "beginning", signal: stop.signal })) {
		delivered++;
		await vi.advanceTimersByTimeAsync(second);
		stop.abort();
	}
	expect(delivered).toBe(1);
	expect(vi.getTimerCount()).toBe(0);
});

test("a signal that is aborted already makes no request", async () => {
	const { run, lists } = open({ signal: AbortSignal.abort() });
	await run;
	expect(lists).toEqual([]);
});

test("break and return end the loop without a timer left, return also in the middle of a pause", async () => {
	const sandbox = createSandbox();
	sandbox.agency().contact(anna).writes("Hello?");
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	for await (const _ of watch(agency, { since: "beginning" })) break;
	expect(vi.getTimerCount()).toBe(0);

	const iterator = watch(agency, { since: "now" })[Symbol.asyncIterator]();
	const next = iterator.next();
	await vi.advanceTimersByTimeAsync(second);
	expect(vi.getTimerCount()).toBe(1);
	const returned = iterator.return?.();
	expect(vi.getTimerCount()).toBe(0);
	expect(await Promise.all([next, returned])).toEqual([
		{ done: true, value: undefined },
		{ done: true, value: undefined },
	]);
});

test("pollNow polls now", async () => {
	const { agency, client, feed, delivered, lists, pass } = open();
	agency.contact(anna).writes("Hello?");
	await pass(0);
	await client.messages.send({ to: anna, body: "Hello Anna" });
	feed.pollNow();
	await pass(0);
	expect(delivered).toMatchObject([{ messages: [{ body: "Hello Anna" }] }]);
	expect(lists).toHaveLength(2);
	expect(vi.getTimerCount()).toBe(1);
});

test("the checkpoint of watch is one for changes, and the other way round", async () => {
	const { sandbox, agency, client, feed, pass } = open();
	await pass(0);
	agency.contact(anna).writes("Hello?");
	await pass(minute);
	const poll = changes(client, { since: feed.checkpoint });
	for await (const change of poll) expect(change).toBeUndefined();
	agency.contact(bert).writes("Hello!");
	for await (const { phoneNumber } of watch(client, { since: poll.checkpoint })) {
		expect(phoneNumber).toBe(bert);
		break;
	}
	expect(sandbox.violations()).toEqual([]);
});

test("over HTTP, for a day of the fake clock: everything once, and as it is", async () => {
	vi.useRealTimers();
	const sandbox = createSandbox({ scenario: "busy" });
	const server = await serve(sandbox, { port: 0 });
	onTestFinished(server.close);
	vi.useFakeTimers({ now: sandbox.clock.now(), toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
	const client = createClient({ baseUrl: server.baseUrl, apiKey: sandbox.connection.apiKey, retry: false });
	const agency = client.agency(sandbox.agency().id);
	const stop = new AbortController();
	const feed = watch(agency, { since: "now", signal: stop.signal });
	const bodies: (string | null)[] = [];
	const run = (async () => {
		for await (const { messages } of feed) bodies.push(...messages.map(({ body }) => body));
	})();
	const settle = async () => {
		for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
	};
	// The server is in this process: each request needs a few turns of the event loop.
	const until = async (isSo: () => boolean) => {
		for (let i = 0; i < 2_000 && !isSo(); i++) {
			await settle();
			await vi.advanceTimersByTimeAsync(second);
		}
		expect(isSo()).toBe(true);
	};
	const polls = () => sandbox.requests().filter(({ operation }) => operation === "conversations.list").length;
	await until(() => polls() >= 2);
	const expected: string[] = [];
	for (let hour = 0; hour < 24; hour++) {
		sandbox.clock.advance({ hours: 1 });
		for (const phone of [anna, bert]) {
			sandbox.agency().contact(phone).writes(`${phone} at ${hour}`);
			expected.push(`${phone} at ${hour}`);
		}
		if (hour % 6 === 0) sandbox.faults.add({ operation: "conversations.list", times: 1, effect: "reset" });
		await until(() => bodies.length === expected.length);
	}
	stop.abort();
	await run;
	expect(bodies.sort()).toEqual(expected.sort());
	expect(sandbox.violations()).toEqual([]);
});

test("any number of feeds share a signal, which gets one listener and ends them all", async () => {
	const stop = new AbortController();
	const opened = Array.from({ length: 12 }, () => open({ signal: stop.signal }));
	for (const { pass } of opened) await pass(0);
	expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
	stop.abort();
	await Promise.all(opened.map(({ run }) => run));
	expect(vi.getTimerCount()).toBe(0);
});
