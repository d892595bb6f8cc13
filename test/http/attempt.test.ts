import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AttemptOptions, attempt, type BoundedResponse } from "../src/attempt.ts";

const limit = 10 * 1024 * 1024;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One attempt, of a second, whose fetch ends so. */
function attemptOf(fetch: AttemptOptions["fetch"], options: Partial<AttemptOptions> = {}) {
	return attempt({
		fetch,
		url: "https://messaging.example/api/v1/me",
		init: async (signal) => ({ signal }),
		timeoutMs: 1000,
		signals: [],
		onDispatch: () => {},
		...options,
	});
}

const answering = (response: Response, options: Partial<AttemptOptions> = {}) =>
	attemptOf(async () => response, options);

/** A body in the given chunks, and whether its reader gave up. Never ends where the last chunk is "…". */
function bodyOf(chunks: readonly (Uint8Array | "…")[]) {
	const left = [...chunks];
	const seen = { cancelled: false };
	const stream = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				const chunk = left.shift();
				if (chunk === "…") return new Promise(() => {});
				if (chunk === undefined) return controller.close();
				controller.enqueue(chunk);
			},
			cancel: () => void (seen.cancelled = true),
		},
		{ highWaterMark: 0 },
	);
	return { stream, seen };
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** JSON of exactly so many bytes. */
const jsonOf = (size: number) => bytes(`"${"x".repeat(size - 2)}"`);

test("the answer is told as status, headers and JSON", async () => {
	const response = new Response('{"a":[1]}', { headers: { "x-a": "b" } });
	const end = await answering(response);
	expect(end).toEqual({ status: 200, headers: response.headers, body: { json: { a: [1] } } });
	expect(vi.getTimerCount()).toBe(0);
});

test("fetch is handed the url and what init made, with the signal of the attempt", async () => {
	const handed: unknown[] = [];
	const init: RequestInit = { method: "POST" };
	await attemptOf(
		async (...given) => {
			handed.push(...given);
			return new Response("1");
		},
		{ init: async (signal) => Object.assign(init, { signal }) },
	);
	expect(handed).toEqual(["https://messaging.example/api/v1/me", init]);
	expect(init.signal).toBeInstanceOf(AbortSignal);
});

test("a body of many chunks is put together, a letter that is cut in two as well", async () => {
	const text = bytes('"é😀"');
	const { stream } = bodyOf([...text].map((byte) => new Uint8Array([byte])));
	await expect(answering(new Response(stream))).resolves.toMatchObject({ body: { json: "é😀" } });
});

test("a letter that the end of the body cuts in two is not swallowed", async () => {
	const { stream } = bodyOf([bytes('"a"'), bytes("é").slice(0, 1)]);
	await expect(answering(new Response(stream))).resolves.toMatchObject({ body: "unreadable" });
});

test("an empty body is unreadable", async () => {
	await expect(answering(new Response(null))).resolves.toMatchObject({ status: 200, body: "unreadable" });
	await expect(answering(new Response(""))).resolves.toMatchObject({ body: "unreadable" });
});

test.for([
	["of 10 MB is read", limit, true],
	["of one byte more is not, and is given up", limit + 1, false],
] as const)("a body without a length %s", async ([, size, read]) => {
	const whole = jsonOf(size);
	const { stream, seen } = bodyOf([
		whole.subarray(0, size / 2),
		whole.subarray(size / 2),
		...(read ? [] : ["…" as const]),
	]);
	const end = await answering(new Response(stream));
	expect(end).toHaveProperty("body", read ? { json: expect.any(String) } : "too-large");
	expect(seen.cancelled).toBe(!read);
});

test("a body over the limit that fails to be given up is too large all the same", async () => {
	const stream = new ReadableStream<Uint8Array>({
		pull: (controller) => controller.enqueue(new Uint8Array(limit + 1)),
		cancel: () => Promise.reject(new Error("stuck")),
	});
	await expect(answering(new Response(stream))).resolves.toMatchObject({ body: "too-large" });
});

test.for([
	["of 10 MB is read", limit, true],
	["of one byte more is not, and is given up", limit + 1, false],
] as const)("a body whose length says that it is %s", async ([, length, read]) => {
	const { stream, seen } = bodyOf([bytes("1")]);
	const end = await answering(new Response(stream, { headers: { "content-length": `${length}` } }));
	expect(end).toHaveProperty("body", read ? { json: 1 } : "too-large");
	expect(seen.cancelled).toBe(!read);
});

test.for([
	["a true length", { "content-length": "1" }, true],
	["a length of nothing", { "content-length": "0" }, true],
	["no length", {}, false],
	["a length that is none", { "content-length": "many" }, false],
	["the length of packed bytes", { "content-length": "1", "content-encoding": "gzip" }, false],
] as const)("the runtime's own reader, which counts nothing, serves for %s: %j → %j", async ([, headers, own]) => {
	const response = new Response("1", { headers });
	let asked = false;
	const text = response.text.bind(response);
	response.text = () => {
		asked = true;
		return text();
	};
	await expect(answering(response)).resolves.toMatchObject({ body: { json: 1 } });
	expect(asked).toBe(own);
});

test("a response that counts for itself is told the limit, and its undefined means too large", async () => {
	const limits: number[] = [];
	const bounded = (text: string | undefined): BoundedResponse =>
		Object.assign(new Response("unread"), {
			textWithin: async (most: number) => {
				limits.push(most);
				return text;
			},
		});
	await expect(answering(bounded('{"a":1}'))).resolves.toMatchObject({ body: { json: { a: 1 } } });
	await expect(answering(bounded(undefined))).resolves.toMatchObject({ body: "too-large" });
	expect(limits).toEqual([limit, limit]);
});

test("a length beyond the limit is too large also where no body comes", async () => {
	const response = new Response(null, { headers: { "content-length": `${limit + 1}` } });
	await expect(answering(response)).resolves.toMatchObject({ status: 200, body: "too-large" });
});

test("a body that breaks is a network fault", async () => {
	const error = new TypeError("terminated");
	const stream = new ReadableStream({ pull: (controller) => controller.error(error) });
	const response = new Response(stream);
	const head = { status: 200, headers: response.headers };
	await expect(answering(response)).resolves.toEqual({ kind: "network", error, ...head });
});

test.for([0, 101, 199])("an answer of %d is none, and is given up unread", async (status) => {
	const { stream, seen } = bodyOf([bytes("1")]);
	const response = Object.defineProperty(new Response(stream), "status", { value: status });
	await expect(answering(response)).resolves.toEqual({ kind: "network", error: expect.any(TypeError) });
	expect(seen.cancelled).toBe(true);
});

test.for([300, 304, 399])("an answer of %d is told without its body, which is given up unread", async (status) => {
	const { stream, seen } = bodyOf([bytes("1")]);
	const response = Object.defineProperty(new Response(stream), "status", { value: status });
	await expect(answering(response)).resolves.toMatchObject({ status, body: "unreadable" });
	expect(seen.cancelled).toBe(true);
});

test.for([200, 204, 299, 400, 404, 500, 599])("an answer of %d is read to its end", async (status) => {
	const response = Object.defineProperty(new Response('{"a":1}'), "status", { value: status });
	await expect(answering(response)).resolves.toMatchObject({ status, body: { json: { a: 1 } } });
});

test("an unread body that fails to be given up changes nothing", async () => {
	const stream = new ReadableStream({ cancel: () => Promise.reject(new Error("stuck")) });
	const response = Object.defineProperty(new Response(stream), "status", { value: 302 });
	await expect(answering(response)).resolves.toMatchObject({ status: 302 });
	const bodiless = Object.defineProperty(new Response(null), "status", { value: 302 });
	await expect(answering(bodiless)).resolves.toMatchObject({ status: 302 });
});

test("a refusal whose text breaks is that refusal", async () => {
	const stream = new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
	await expect(answering(new Response(stream, { status: 403 }))).resolves.toMatchObject({
		status: 403,
		body: "unreadable",
	});
});

test("a refusal whose text does not end in time is that refusal, and the rest is given up", async () => {
	const { stream } = bodyOf([bytes('{"a'), "…"]);
	let signal: AbortSignal | null | undefined;
	const end = attemptOf(async (_url, init) => {
		signal = init.signal;
		return new Response(stream, { status: 403 });
	});
	await vi.advanceTimersByTimeAsync(999);
	expect(signal?.aborted).toBe(false);
	await vi.advanceTimersByTimeAsync(1);
	await expect(end).resolves.toMatchObject({ status: 403, body: "unreadable" });
	expect(signal?.aborted).toBe(true);
});

test("an abort while the text of a refusal comes in is an abort", async () => {
	const { stream } = bodyOf([bytes('{"a'), "…"]);
	const controller = new AbortController();
	const response = new Response(stream, { status: 403 });
	const end = answering(response, { signals: [new AbortController().signal, controller.signal] });
	await vi.advanceTimersByTimeAsync(1);
	controller.abort();
	await expect(end).resolves.toEqual({ kind: "abort", status: 403, headers: response.headers });
	expect(getEventListeners(controller.signal, "abort")).toEqual([]);
	await vi.advanceTimersByTimeAsync(1);
	expect(vi.getTimerCount()).toBe(0);
});

test("a good answer whose text does not end in time is a time-out", async () => {
	const { stream } = bodyOf([bytes('{"a'), "…"]);
	const response = new Response(stream);
	const end = answering(response);
	await vi.advanceTimersByTimeAsync(1000);
	await expect(end).resolves.toEqual({ kind: "timeout", status: 200, headers: response.headers });
});

test("an answer that comes when nobody waits any more is given up unread", async () => {
	const { stream, seen } = bodyOf([bytes("1")]);
	let answer: (response: Response) => void = () => {};
	const end = attemptOf(() => new Promise((resolve) => (answer = resolve)));
	await vi.advanceTimersByTimeAsync(1000);
	await expect(end).resolves.toEqual({ kind: "timeout" });
	answer(new Response(stream));
	await vi.advanceTimersByTimeAsync(0);
	expect(seen.cancelled).toBe(true);
});

test("what fetch throws is a network fault, of whatever kind it is", async () => {
	for (const error of [new TypeError("fetch failed"), "text", undefined]) {
		await expect(attemptOf(() => Promise.reject(error))).resolves.toEqual({ kind: "network", error });
	}
	expect(vi.getTimerCount()).toBe(0);
});

test("what init or onDispatch throws is told as init, and fetch is not asked", async () => {
	const error = new Error("no key");
	const fetch = vi.fn(async () => new Response("1"));
	const raise = () => {
		throw error;
	};
	await expect(attemptOf(fetch, { init: raise })).resolves.toEqual({ kind: "init", error });
	await expect(attemptOf(fetch, { init: () => Promise.reject(error) })).resolves.toEqual({ kind: "init", error });
	await expect(attemptOf(fetch, { onDispatch: raise })).resolves.toEqual({ kind: "init", error });
	expect(fetch).not.toHaveBeenCalled();
	expect(vi.getTimerCount()).toBe(0);
});

test("an init that comes after the end dispatches nothing", async () => {
	const told: string[] = [];
	let ready: (init: RequestInit) => void = () => {};
	const end = attemptOf(
		async () => {
			told.push("fetch");
			return new Response("1");
		},
		{ init: () => new Promise((resolve) => (ready = resolve)), onDispatch: () => told.push("dispatch") },
	);
	await vi.advanceTimersByTimeAsync(1000);
	await expect(end).resolves.toEqual({ kind: "timeout" });
	ready({});
	await vi.advanceTimersByTimeAsync(0);
	expect(told).toEqual([]);
});

test("onDispatch comes before fetch", async () => {
	const told: string[] = [];
	await attemptOf(
		async () => {
			told.push("fetch");
			return new Response("1");
		},
		{ onDispatch: () => told.push("dispatch") },
	);
	expect(told).toEqual(["dispatch", "fetch"]);
});

test("one of several signals that was aborted before is enough: nothing is begun", async () => {
	const init = vi.fn(async () => ({}));
	const signals = [new AbortController().signal, AbortSignal.abort()];
	await expect(answering(new Response("1"), { signals, init })).resolves.toEqual({ kind: "abort" });
	expect(init).not.toHaveBeenCalled();
	expect(vi.getTimerCount()).toBe(0);
});

test("a signal aborts what fetch does, and is let go of", async () => {
	const controller = new AbortController();
	let signal: AbortSignal | null | undefined;
	const end = attemptOf(
		(_url, init) => {
			signal = init.signal;
			return new Promise(() => {});
		},
		{ signals: [controller.signal] },
	);
	await vi.advanceTimersByTimeAsync(1);
	expect(signal?.aborted).toBe(false);
	controller.abort();
	await expect(end).resolves.toEqual({ kind: "abort" });
	expect(signal?.aborted).toBe(true);
	expect(getEventListeners(controller.signal, "abort")).toEqual([]);
	expect(vi.getTimerCount()).toBe(0);
});

test("a body that still comes in when the time is up is given up, whoever dropped the signal", async () => {
	const { stream, seen } = bodyOf([bytes('"a'), "…"]);
	const response = new Response(stream);
	const ending = answering(response);
	await vi.advanceTimersByTimeAsync(1001);
	await expect(ending).resolves.toEqual({ kind: "timeout", status: 200, headers: response.headers });
	expect(seen.cancelled).toBe(true);
});

test.for<[what: string, cancel: () => unknown]>([
	["gives nothing", () => undefined],
	[
		"throws",
		() => {
			throw new Error("stuck");
		},
	],
])("a reader whose cancel %s is given up all the same", async ([, cancel]) => {
	const body = { getReader: () => ({ read: () => new Promise(() => {}), cancel }) };
	const ending = answering({ status: 200, headers: new Headers(), body } as unknown as Response);
	await vi.advanceTimersByTimeAsync(1001);
	await expect(ending).resolves.toEqual({ kind: "timeout", status: 200, headers: new Headers() });
});

test("a body of empty chunks without end is too large", async () => {
	const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array()) });
	await expect(answering(new Response(stream))).resolves.toMatchObject({ status: 200, body: "too-large" });
});

test.for([
	["whose length lies", new Headers({ "content-length": "2" })],
	["without a length or a stream", new Headers()],
])("a body over the limit %s is too large", async ([, headers]) => {
	const text = async () => JSON.stringify("x".repeat(limit));
	const end = await answering({ status: 200, headers, text } as unknown as Response);
	expect(end).toHaveProperty("body", "too-large");
});

test.for(["200", undefined, Number.NaN, { valueOf: (): number => 418 }])(
	"a status that is no number is no answer",
	async (status) => {
		const end = await answering({ status, headers: new Headers(), text: async () => "{}" } as unknown as Response);
		expect(end).toMatchObject({ kind: "network" });
	},
);
