import { getEventListeners } from "node:events";
import { Worker } from "node:worker_threads";
import type {
	ClientOptions,
	Transport,
	TransportControl,
	TransportFault,
	TransportHeaders,
	TransportRequest,
} from "messaging-conversations";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { callOf, clientOf, failure, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";

const baseUrl = "https://messaging.example/api/v1";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const overTransport = (transport: Transport, options: Partial<ClientOptions> = {}) =>
	clientOf({ baseUrl }, { transport, retry: false, ...options });

const send = callOf("messages.send");
const headersOf = (headers: Record<string, string> = {}): TransportHeaders => new Map(Object.entries(headers));
const answer = (json: unknown, status = 200) => ({ status, headers: headersOf(), text: JSON.stringify(json) });

/** A transport that never ends by itself, and how often it was cut. When it is cut, it rejects with what it knows. */
function hanging(knows?: TransportFault) {
	const seen = { requests: 0, cuts: 0 };
	const transport: Transport = (_request, { signal }) => {
		seen.requests++;
		return new Promise((_, reject) => {
			signal.addEventListener("abort", () => {
				seen.cuts++;
				if (knows) reject(Object.assign(new Error("cut"), knows));
			});
		});
	};
	return { transport, seen };
}

test("a transport gets the whole request and the limit of the body, and its answer is the call's", async () => {
	const given: [TransportRequest, TransportControl][] = [];
	const transport: Transport = async (request, control) => {
		given.push([request, control]);
		return { ...answer(request.method === "GET" ? me : sentNow), headers: headersOf({ "x-correlation-id": "cor-1" }) };
	};
	const client = overTransport(transport);
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
	const transport: Transport = async () => ({ status, headers: headersOf({}), text: undefined });
	const error = await failure(() => overTransport(transport, { retry: false }).me.get());
	expect(error.message).not.toContain("larger");
	expect(error).toMatchObject({ status, attempts: 1 });
});

const broken: [what: string, transport: Transport][] = [
	[
		"throws before it returns a promise",
		() => {
			throw new TypeError("canary");
		},
	],
	["rejects with an error", () => Promise.reject(new Error("canary"))],
];

test.for(broken)("a transport that %s ends as a lost connection, and a send as unknown", async ([, transport]) => {
	const error = await failure(() => send.run(overTransport(transport)));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 1, retryable: true });
	expect(error.message).toBe("messages.send: the connection was lost");
	expect(vi.getTimerCount()).toBe(0);
	const read = await failure(() => overTransport(transport).me.get());
	expect(read._tag).toBe("PartnerConnectionError");
	expect(read).not.toHaveProperty("outcome");
});

test.for(broken)("a transport that %s is retried", async ([, transport]) => {
	let asked = 0;
	const client = overTransport((...given) => (asked++ === 0 ? transport(...given) : Promise.resolve(answer(me))), {
		retry: { baseDelayMs: 1 },
	});
	const calling = client.me.get().withResponse();
	await vi.runAllTimersAsync();
	expect((await calling).response.attempts).toBe(2);
});

test.for<[string, Transport]>([
	["resolves with nothing", wrong(async () => undefined)],
	["returns nothing", wrong(() => undefined)],
])("#46 a transport that %s is told so, and not asked again", async ([, transport]) => {
	const error = await failure(() => send.run(overTransport(transport, { retry: { baseDelayMs: 1 } })));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 1, retryable: false });
	expect(error.message).toContain("is no response");
});

test("a transport that returns its answer at once is as good as one that promises it", async () => {
	await expect(overTransport(wrong(() => answer(me))).me.get()).resolves.toEqual(me);
});

test.for([
	["does not end when it is cut", undefined],
	["ends when it is cut", {}],
] as const)("#14 the time is up on the millisecond when the transport %s", async ([, knows]) => {
	const { transport, seen } = hanging(knows);
	const calling = failure(() => overTransport(transport).me.get({ timeoutMs: 1000 }));
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

test("a time-out cuts the transport once, an answer never", async () => {
	const { transport, seen } = hanging();
	const calling = failure(() => overTransport(transport).me.get({ timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(5000);
	await calling;
	expect(seen).toEqual({ requests: 1, cuts: 1 });
	const cut = vi.fn();
	const answering: Transport = async (_request, { signal }) => {
		signal.addEventListener("abort", cut);
		return answer(me);
	};
	await overTransport(answering).me.get();
	await vi.advanceTimersByTimeAsync(60_000);
	expect(cut).not.toHaveBeenCalled();
});

test.for(["resolves", "rejects"])("a transport that %s after the caller has gone changes nothing", async (how) => {
	let end: () => void = () => {};
	const transport: Transport = () =>
		new Promise((resolve, reject) => {
			end = () => (how === "resolves" ? resolve(answer(me)) : reject(new Error("late")));
		});
	const calling = failure(() => overTransport(transport).me.get({ timeoutMs: 1000 }));
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
	"#12 #35 a send that is cut while the transport says %s of its connection: %s → %s",
	async ([, connected, outcome]) => {
		const { transport } = hanging({ connected });
		const late = failure(() => send.run(overTransport(transport), { timeoutMs: 1000 }));
		await vi.advanceTimersByTimeAsync(1001);
		expect(await late).toMatchObject({ _tag: "PartnerTimeoutError", outcome, attempts: 1 });
		const controller = new AbortController();
		const aborted = failure(() => send.run(overTransport(transport), { signal: controller.signal }));
		await vi.advanceTimersByTimeAsync(1);
		controller.abort();
		expect(await aborted).toMatchObject({ _tag: "PartnerAbortError", outcome, attempts: 1, retryable: false });
	},
);

const headed = (status: number) =>
	hanging({ head: { status, headers: headersOf({ "x-correlation-id": "cor-9", "retry-after": "3" }) } }).transport;

test.for([
	[200, "PartnerTimeoutError", "unknown"],
	[403, "PartnerGatewayError", "unknown"],
	[429, "PartnerGatewayError", "unknown"],
	[500, "PartnerGatewayError", "unknown"],
	[302, "PartnerUnexpectedResponse", "unknown"],
] as const)("#13 #23 a status of %i whose body does not end in time is %s, %s", async ([status, tag, outcome]) => {
	const calling = failure(() => send.run(overTransport(headed(status)), { timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1001);
	expect(await calling).toMatchObject({ _tag: tag, outcome, status, correlationId: "cor-9" });
});

test.for([200, 403, 500])("an abort while the body of a %i comes in is an abort", async (status) => {
	const controller = new AbortController();
	const calling = failure(() => send.run(overTransport(headed(status)), { signal: controller.signal }));
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
	const { transport, seen } = hanging();
	const key = vi.fn(async () => apiKey);
	const client = overTransport(transport, { apiKey: key });
	expect(await failure(() => send.run(client, { signal: AbortSignal.abort() }))).toMatchObject({
		_tag: "PartnerAbortError",
		attempts: 0,
		outcome: "not_sent",
	});
	expect([key.mock.calls.length, seen.requests, vi.getTimerCount()]).toEqual([0, 0, 0]);
});

test("an abort in the same tick as the call stops a send", async () => {
	const { transport, seen } = hanging();
	const controller = new AbortController();
	const calling = failure(() => send.run(overTransport(transport), { signal: controller.signal }));
	controller.abort();
	expect(await calling).toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(seen.requests).toBe(0);
});

test("a key that comes when the time is up sends nothing, and is asked for once", async () => {
	const { transport, seen } = hanging();
	let give: (key: string) => void = () => {};
	const key = vi.fn(() => new Promise<string>((resolve) => (give = resolve)));
	const client = overTransport(transport, { apiKey: key, retry: { attempts: 3 } });
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
	const transport: Transport = async ({ headers }) => {
		keys.push(headers.authorization);
		return answer(me);
	};
	await overTransport(transport, { apiKey: async () => apiKey }).me.get();
	const failing = overTransport(transport, { apiKey: () => Promise.reject(new Error("the vault is closed")) });
	for (const { run } of [callOf("me.get"), send]) {
		expect(await failure(() => run(failing))).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0 });
	}
	expect(keys).toEqual([`Bearer ${apiKey}`]);
});

test("an abort whose event an earlier listener keeps to itself stops what waits for its key", async () => {
	const { transport, seen } = hanging();
	let give: (key: string) => void = () => {};
	const client = overTransport(transport, { apiKey: () => new Promise<string>((resolve) => (give = resolve)) });
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
		const calling = failure(() => overTransport(hanging().transport).me.get({ timeoutMs: 1000 }));
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
	// A transport that does not end by itself is given up one turn of the event loop later.
	expect(await endsAfter(0)).toBe(1001);
	expect(await endsAfter(50)).toBe(1051);
	expect(await endsAfter(5000)).toBe(1101);
});

test("an attempt leaves no timer and no listener behind", async () => {
	const { signal } = new AbortController();
	await overTransport(async () => answer(me)).me.get({ signal });
	await failure(() => overTransport(() => Promise.reject(new Error("lost"))).me.get({ signal }));
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
