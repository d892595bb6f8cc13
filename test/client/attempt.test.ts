import { getEventListeners } from "node:events";
import { Worker } from "node:worker_threads";
import type {
	ClientOptions,
	Exchange,
	ExchangeControl,
	ExchangeFault,
	ExchangeHeaders,
	ExchangeRequest,
} from "messaging-conversations";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { callOf, clientOf, failure, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";

const baseUrl = "https://messaging.example/api/v1";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const overExchange = (http: Exchange, options: Partial<ClientOptions> = {}) =>
	clientOf({ baseUrl }, { http, retry: false, ...options });

const send = callOf("messages.send");
const headersOf = (headers: Record<string, string> = {}): ExchangeHeaders => new Map(Object.entries(headers));
const answer = (json: unknown, status = 200) => ({ status, headers: headersOf(), text: JSON.stringify(json) });

/** An exchange that never ends by itself, and how often it was cut. When it is cut, it rejects with what it knows. */
function hanging(knows?: ExchangeFault) {
	const seen = { requests: 0, cuts: 0 };
	const exchange: Exchange = (_request, { signal }) => {
		seen.requests++;
		return new Promise((_, reject) => {
			signal.addEventListener("abort", () => {
				seen.cuts++;
				if (knows) reject(Object.assign(new Error("cut"), knows));
			});
		});
	};
	return { exchange, seen };
}

test("an exchange gets the whole request and the limit of the body, and its answer is the call's", async () => {
	const given: [ExchangeRequest, ExchangeControl][] = [];
	const http: Exchange = async (request, control) => {
		given.push([request, control]);
		return { ...answer(request.method === "GET" ? me : sentNow), headers: headersOf({ "x-correlation-id": "cor-1" }) };
	};
	const client = overExchange(http);
	const { data, response } = await client.me.get().withResponse();
	expect([data, response.status, response.correlationId]).toEqual([me, 200, "cor-1"]);
	await send.run(client);
	await client.request({ method: "POST", path: "/tags", body: { name: "viewing" } });
	const headers = { accept: "application/json", authorization: `Bearer ${apiKey}`, "user-agent": expect.any(String) };
	const control = { maxBytes: 10 * 1024 * 1024, signal: expect.any(AbortSignal), check: expect.any(Function) };
	expect(given).toEqual([
		[{ method: "GET", url: `${baseUrl}/me`, headers, body: undefined, noStore: true, once: false }, control],
		[
			{
				method: "POST",
				url: `${baseUrl}/agencies/${agencyId}/messages`,
				headers: { ...headers, "content-type": "application/json" },
				body: expect.stringContaining(text),
				noStore: false,
				once: false,
			},
			control,
		],
		[
			{
				method: "POST",
				url: `${baseUrl}/tags`,
				headers: { ...headers, "content-type": "application/json" },
				body: '{"name":"viewing"}',
				noStore: false,
				// It has no operationId, so that a repeat would do it twice.
				once: true,
			},
			control,
		],
	]);
	expect(vi.getTimerCount()).toBe(0);
});

test.for([300, 404, 500])("a status of %d counts even if its body is larger than the limit", async (status) => {
	const http: Exchange = async () => ({ status, headers: headersOf({}), text: undefined });
	const error = await failure(() => overExchange(http, { retry: false }).me.get());
	expect(error.message).not.toContain("larger");
	expect(error).toMatchObject({ status, attempts: 1 });
});

const broken: [what: string, http: Exchange][] = [
	[
		"throws before it returns a promise",
		() => {
			throw new TypeError("canary");
		},
	],
	["rejects with an error", () => Promise.reject(new Error("canary"))],
];

test.for(broken)("an exchange that %s ends as a lost connection, and a send as unknown", async ([, http]) => {
	const error = await failure(() => send.run(overExchange(http)));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 1, retryable: true });
	expect(error.message).toBe("messages.send: the connection was lost");
	expect(vi.getTimerCount()).toBe(0);
	const read = await failure(() => overExchange(http).me.get());
	expect(read._tag).toBe("PartnerConnectionError");
	expect(read).not.toHaveProperty("outcome");
});

test.for(broken)("an exchange that %s is retried", async ([, http]) => {
	let asked = 0;
	const client = overExchange((...given) => (asked++ === 0 ? http(...given) : Promise.resolve(answer(me))), {
		retry: { baseDelayMs: 1 },
	});
	const calling = client.me.get().withResponse();
	await vi.runAllTimersAsync();
	expect((await calling).response.attempts).toBe(2);
});

test.for<[string, Exchange]>([
	["resolves with nothing", wrong(async () => undefined)],
	["returns nothing", wrong(() => undefined)],
])("#46 an exchange that %s is told so, and not asked again", async ([, http]) => {
	const error = await failure(() => send.run(overExchange(http, { retry: { baseDelayMs: 1 } })));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 1, retryable: false });
	expect(error.message).toContain("is no response");
});

test("an exchange that returns its answer at once is as good as one that promises it", async () => {
	await expect(overExchange(wrong(() => answer(me))).me.get()).resolves.toEqual(me);
});

test.for([
	["does not end when it is cut", undefined],
	["ends when it is cut", {}],
] as const)("#14 the time is up on the millisecond when the exchange %s", async ([, knows]) => {
	const { exchange, seen } = hanging(knows);
	const calling = failure(() => overExchange(exchange).me.get({ timeoutMs: 1000 }));
	let isOver = false;
	calling.then(() => (isOver = true));
	await vi.advanceTimersByTimeAsync(999);
	expect([isOver, seen.cuts]).toEqual([false, 0]);
	await vi.advanceTimersByTimeAsync(2);
	expect(isOver).toBe(true);
	expect(await calling).toMatchObject({
		_tag: "PartnerTimeoutError",
		message: "me.get: no complete answer within 1000 ms",
		retryable: true,
	});
	expect(vi.getTimerCount()).toBe(0);
});

test("a time-out cuts the exchange once, an answer never", async () => {
	const { exchange, seen } = hanging();
	const calling = failure(() => overExchange(exchange).me.get({ timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(5000);
	await calling;
	expect(seen).toEqual({ requests: 1, cuts: 1 });
	const cut = vi.fn();
	const answering: Exchange = async (_request, { signal }) => {
		signal.addEventListener("abort", cut);
		return answer(me);
	};
	await overExchange(answering).me.get();
	await vi.advanceTimersByTimeAsync(60_000);
	expect(cut).not.toHaveBeenCalled();
});

test.for(["resolves", "rejects"])("an exchange that %s after the caller has gone changes nothing", async (how) => {
	let end: () => void = () => {};
	const http: Exchange = () =>
		new Promise((resolve, reject) => {
			end = () => (how === "resolves" ? resolve(answer(me)) : reject(new Error("late")));
		});
	const calling = failure(() => overExchange(http).me.get({ timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1001);
	expect(await calling).toMatchObject({ _tag: "PartnerTimeoutError" });
	end();
	await vi.advanceTimersByTimeAsync(0);
});

test.for([
	["false", false, "not_sent"],
	["true", true, "unknown"],
	["nothing", undefined, "unknown"],
] as const)(
	"#12 #35 a send that is cut while the exchange says %s of its connection: %s → %s",
	async ([, connected, outcome]) => {
		const { exchange } = hanging({ connected });
		const late = failure(() => send.run(overExchange(exchange), { timeoutMs: 1000 }));
		await vi.advanceTimersByTimeAsync(1001);
		expect(await late).toMatchObject({ _tag: "PartnerTimeoutError", outcome, attempts: 1 });
		const controller = new AbortController();
		const aborted = failure(() => send.run(overExchange(exchange), { signal: controller.signal }));
		await vi.advanceTimersByTimeAsync(1);
		controller.abort();
		expect(await aborted).toMatchObject({ _tag: "PartnerAbortError", outcome, attempts: 1, retryable: false });
	},
);

const headed = (status: number) =>
	hanging({ head: { status, headers: headersOf({ "x-correlation-id": "cor-9", "retry-after": "3" }) } }).exchange;

test.for([
	[200, "PartnerTimeoutError", "unknown"],
	[403, "PartnerGatewayError", "unknown"],
	[429, "PartnerGatewayError", "unknown"],
	[500, "PartnerGatewayError", "unknown"],
	[302, "PartnerUnexpectedResponse", "unknown"],
] as const)("#13 #23 a status of %i whose body does not end in time is %s, %s", async ([status, tag, outcome]) => {
	const calling = failure(() => send.run(overExchange(headed(status)), { timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1001);
	expect(await calling).toMatchObject({ _tag: tag, outcome, status, correlationId: "cor-9" });
});

test.for([200, 403, 500])("an abort while the body of a %i comes in is an abort", async (status) => {
	const controller = new AbortController();
	const calling = failure(() => send.run(overExchange(headed(status)), { signal: controller.signal }));
	await vi.advanceTimersByTimeAsync(1);
	controller.abort();
	expect(await calling).toMatchObject({
		_tag: "PartnerAbortError",
		outcome: "unknown",
		status,
		correlationId: "cor-9",
	});
	expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

test("a signal that has aborted begins nothing, not even the key", async () => {
	const { exchange, seen } = hanging();
	const key = vi.fn(async () => apiKey);
	const client = overExchange(exchange, { apiKey: key });
	expect(await failure(() => send.run(client, { signal: AbortSignal.abort() }))).toMatchObject({
		_tag: "PartnerAbortError",
		attempts: 0,
		outcome: "not_sent",
	});
	expect([key.mock.calls.length, seen.requests, vi.getTimerCount()]).toEqual([0, 0, 0]);
});

test("an abort in the same tick as the call stops a send", async () => {
	const { exchange, seen } = hanging();
	const controller = new AbortController();
	const calling = failure(() => send.run(overExchange(exchange), { signal: controller.signal }));
	controller.abort();
	expect(await calling).toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(seen.requests).toBe(0);
});

test("a key that comes when the time is up sends nothing, and is asked for once", async () => {
	const { exchange, seen } = hanging();
	let give: (key: string) => void = () => {};
	const key = vi.fn(() => new Promise<string>((resolve) => (give = resolve)));
	const client = overExchange(exchange, { apiKey: key, retry: { attempts: 3 } });
	const calling = failure(() => send.run(client, { timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1001);
	expect(await calling).toMatchObject({
		_tag: "PartnerTimeoutError",
		message: "messages.send: no key within 1000 ms",
		retryable: true,
		attempts: 0,
		outcome: "not_sent",
	});
	give(apiKey);
	await vi.advanceTimersByTimeAsync(0);
	expect([key.mock.calls.length, seen.requests]).toEqual([1, 0]);
});

test("a key that is promised goes out with a read too, and one that fails sends nothing", async () => {
	const keys: (string | undefined)[] = [];
	const http: Exchange = async ({ headers }) => {
		keys.push(headers.authorization);
		return answer(me);
	};
	await overExchange(http, { apiKey: async () => apiKey }).me.get();
	const failing = overExchange(http, { apiKey: () => Promise.reject(new Error("the vault is closed")) });
	for (const { run } of [callOf("me.get"), send]) {
		expect(await failure(() => run(failing))).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0 });
	}
	expect(keys).toEqual([`Bearer ${apiKey}`]);
});

test("an abort whose event an earlier listener keeps to itself stops what waits for its key", async () => {
	const { exchange, seen } = hanging();
	let give: (key: string) => void = () => {};
	const client = overExchange(exchange, { apiKey: () => new Promise<string>((resolve) => (give = resolve)) });
	const controller = new AbortController();
	controller.signal.addEventListener("abort", (event) => event.stopImmediatePropagation());
	const calling = failure(() => send.run(client, { signal: controller.signal }));
	await vi.advanceTimersByTimeAsync(1);
	controller.abort();
	give(apiKey);
	expect(await calling).toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(seen.requests).toBe(0);
});

test("a timer that fires late leaves the answer a tenth of a second at most, one in time leaves it nothing", async () => {
	const endsAfter = async (lateMs: number) => {
		const start = Date.now();
		let end = 0;
		const calling = failure(() => overExchange(hanging().exchange).me.get({ timeoutMs: 1000 }));
		void calling.then(() => (end = Date.now()));
		await vi.advanceTimersByTimeAsync(1);
		// The event loop was blocked meanwhile.
		const now = performance.now.bind(performance);
		const late = vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
		await vi.advanceTimersByTimeAsync(10_000);
		late.mockRestore();
		expect(await calling).toMatchObject({ _tag: "PartnerTimeoutError" });
		return end - start;
	};
	// An exchange that does not end by itself is given up one turn of the event loop later.
	expect(await endsAfter(0)).toBe(1001);
	expect(await endsAfter(50)).toBe(1051);
	expect(await endsAfter(5000)).toBe(1101);
});

test("an attempt leaves no timer and no listener behind", async () => {
	const { signal } = new AbortController();
	await overExchange(async () => answer(me)).me.get({ signal });
	await failure(() => overExchange(() => Promise.reject(new Error("lost"))).me.get({ signal }));
	expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0]);
});

/** Blocks the event loop, but leaves the processor to others. */
function blockFor(ms: number): void {
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A server with an event loop of its own. It answers 20 ms after it got a request, or never. */
async function serverBeside(answers: boolean) {
	const flags = new Int32Array(new SharedArrayBuffer(12));
	const source = `
		const { createServer } = require("node:http");
		const { workerData } = require("node:worker_threads");
		const { flags, json, answers } = workerData;
		const server = createServer((request, response) => {
			request.resume().on("end", () => {
				Atomics.store(flags, 1, 1);
				if (answers) setTimeout(() => response.end(json, () => setTimeout(() => Atomics.store(flags, 2, 1), 20)), 20);
			});
		});
		server.listen(0, "127.0.0.1", () => Atomics.store(flags, 0, server.address().port));
	`;
	const worker = new Worker(source, { eval: true, workerData: { flags, json: JSON.stringify(sentNow), answers } });
	onTestFinished(() => void worker.terminate());
	const is = (index: number) => Atomics.load(flags, index) !== 0;
	const until = async (index: number) => {
		while (!is(index)) await new Promise((resolve) => setImmediate(resolve));
	};
	await until(0);
	return {
		baseUrl: `http://127.0.0.1:${Atomics.load(flags, 0)}/api/v1`,
		received: () => until(1),
		hasAnswered: () => is(2),
	};
}

test.for(adapters)(
	"an answer that is there when a blocked event loop continues wins over the timer (%s)",
	async (adapter) => {
		vi.useRealTimers();
		const { received, hasAnswered, ...server } = await serverBeside(true);
		const client = clientOf(server, { retry: false, ...over(adapter) });
		const sending = client.agency(agencyId).messages.send({ to: phone, body: text }, { timeoutMs: 1000 });
		await received();
		blockFor(1100);
		while (!hasAnswered()) blockFor(10);
		await expect(sending).resolves.toMatchObject({ messageId: sentNow.messageId });
	},
);

test.for(adapters)(
	"after a blocked event loop a request without an answer is cut all the same (%s)",
	async (adapter) => {
		vi.useRealTimers();
		const { received, ...server } = await serverBeside(false);
		const client = clientOf(server, { retry: false, ...over(adapter) });
		const sending = failure(() => client.agency(agencyId).messages.send({ to: phone, body: text }, { timeoutMs: 500 }));
		await received();
		blockFor(600);
		expect(await sending).toMatchObject({ _tag: "PartnerTimeoutError", outcome: "unknown" });
	},
);
