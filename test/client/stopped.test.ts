import http from "node:http";
import https from "node:https";
import type { ClientOptions, Fetch, Transport } from "messaging-conversations";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Adapter, adapters, nodeTransport } from "../adapters.ts";
import { clientOf, failure } from "../calls.ts";
import { agencyId, me, phone, sentNow } from "../canned.ts";
import { certificate, privateKey } from "../certificate.ts";
import { listening } from "./listening.ts";

// A process can be stopped or can sleep at any moment. No send goes out after that if its time is up.

const deadlineMs = 150;

/** Nothing of this process runs meanwhile, as if it were stopped. Connections are made all the same. */
const stop = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, deadlineMs + 20);

/** The machine sleeps for an hour, in which one clock stands still. */
function sleepAnHour(): void {
	const now = Date.now.bind(Date);
	vi.spyOn(Date, "now").mockImplementation(() => now() + 3_600_000);
	onTestFinished(() => void vi.restoreAllMocks());
}

/** Calls something right after a request was handed to the transport, and in the turns of the event loop after that. */
const moments = {
	"at once": (happen: () => void) => happen(),
	"in the same turn": (happen: () => void) => void process.nextTick(happen),
	"in the next turn": (happen: () => void) => void setImmediate(happen),
};
type Moment = keyof typeof moments;
const allMoments = Object.keys(moments) as Moment[];

async function serve(scheme: "http" | "https" = "http") {
	const seen: string[] = [];
	const answer: http.RequestListener = ({ method }, response) => {
		seen.push(String(method));
		response.writeHead(200, { "content-type": "application/json" });
		response.end(JSON.stringify(method === "POST" ? sentNow : me));
	};
	const isTls = scheme === "https";
	const server = isTls ? https.createServer({ cert: certificate, key: privateKey }, answer) : http.createServer(answer);
	const { url } = await listening(server, { scheme });
	return { url, seen };
}

/** A transport for which something happens at a moment of each send. */
function interrupted(adapter: Adapter, moment: Moment, happen: () => void): Partial<ClientOptions> {
	const interrupt = (method: string) => method === "POST" && moments[moment](happen);
	if (adapter === "fetch") {
		const fetch: Fetch = (url, init) => {
			const response = globalThis.fetch(url, init);
			interrupt(init.method);
			return response;
		};
		return { fetch };
	}
	const transport = nodeTransport({ ca: certificate });
	return {
		transport: (request, control) => {
			const answer = transport(request, control);
			interrupt(request.method);
			return answer;
		},
	};
}

const hello = { to: phone, body: "Hi" };

// The first send of a process loads what it needs, which can take longer than the deadline.
beforeAll(async () => {
	const server = http.createServer((_, response) => response.end(JSON.stringify(sentNow)));
	const { url } = await listening(server, { onFinished: (end) => afterAll(end) });
	await clientOf({ baseUrl: url }).agency(agencyId).messages.send(hello);
});

const everywhere = adapters.flatMap((adapter) => allMoments.map((moment) => [adapter, moment] as const));

test.for(everywhere)("#38 a process that is stopped while it connects sends nothing late (%s, %s)", async (at) => {
	const [adapter, moment] = at;
	const { url, seen } = await serve();
	const client = clientOf({ baseUrl: url }, interrupted(adapter, moment, stop));
	const error = await failure(() => client.agency(agencyId).messages.send(hello, { deadline: deadlineMs }));
	expect(error).toMatchObject({
		_tag: "PartnerTimeoutError",
		outcome: "not_sent",
		attempts: 1,
	});
	await client.me.get();
	expect(seen).toEqual(["GET"]);
});

test.for(everywhere)("#38 a machine that sleeps while it connects sends nothing late (%s, %s)", async (at) => {
	const [adapter, moment] = at;
	const { url, seen } = await serve();
	const client = clientOf({ baseUrl: url }, interrupted(adapter, moment, sleepAnHour));
	const error = await failure(() => client.agency(agencyId).messages.send(hello));
	expect(error).toMatchObject({
		_tag: "PartnerTimeoutError",
		attempts: 1,
		message: expect.stringContaining("before the deadline of 60000 ms"),
	});
	await client.me.get();
	expect(seen).toEqual(["GET"]);
});

test.for(adapters)("#38 nor on a connection that was kept (%s)", async (adapter) => {
	const { url, seen } = await serve();
	const client = clientOf({ baseUrl: url }, interrupted(adapter, "at once", stop));
	await client.me.get();
	expect(await failure(() => client.agency(agencyId).messages.send(hello, { deadline: deadlineMs }))).toMatchObject({
		_tag: "PartnerTimeoutError",
		outcome: "not_sent",
	});
	await client.me.get();
	expect(seen).toEqual(["GET", "GET"]);
});

test("#38 a send in time goes out beside one that is late, over the same fetch", async () => {
	const { url, seen } = await serve();
	const { messages } = clientOf({ baseUrl: url }, interrupted("fetch", "at once", stop)).agency(agencyId);
	const late = failure(() => messages.send(hello, { deadline: deadlineMs }));
	const inTime = messages.send(hello);
	expect(await late).toMatchObject({ _tag: "PartnerTimeoutError" });
	await inTime;
	expect(seen).toEqual(["POST"]);
});

test.for(allMoments)("#38 nor when a TLS handshake ends late (%s)", async (moment) => {
	const { url, seen } = await serve("https");
	const client = clientOf({ baseUrl: url }, interrupted("nodeHttp", moment, stop));
	expect(await failure(() => client.agency(agencyId).messages.send(hello, { deadline: deadlineMs }))).toMatchObject({
		_tag: "PartnerTimeoutError",
		outcome: "not_sent",
	});
	await client.me.get();
	expect(seen).toEqual(["GET"]);
});

test("#12 nor long after the limit of an attempt", async () => {
	const { url, seen } = await serve();
	const client = clientOf({ baseUrl: url }, interrupted("nodeHttp", "at once", stop));
	const options = { timeoutMs: 50, retry: false } as const;
	expect(await failure(() => client.agency(agencyId).messages.send(hello, options))).toMatchObject({
		_tag: "PartnerTimeoutError",
		outcome: "not_sent",
		message: expect.stringContaining("within 50 ms"),
	});
	await client.me.get();
	expect(seen).toEqual(["GET"]);
});

/** A fetch around Node's own that holds back the first send until it is told to go on. */
function holding(waits: boolean) {
	let goOn = (): void => {};
	let called = (): void => {};
	const isCalled = new Promise<void>((resolve) => (called = resolve));
	const isReleased = new Promise<void>((resolve) => (goOn = resolve));
	let calls = 0;
	const fetch: Fetch = (url, init) => {
		if (calls++ > 0)
			return waits ? Promise.resolve().then(() => globalThis.fetch(url, init)) : globalThis.fetch(url, init);
		called();
		return isReleased.then(() => globalThis.fetch(url, init));
	};
	return { fetch, isCalled, goOn };
}

test("#38 nor one that a fetch holds back meanwhile, and another send goes out all the same", async () => {
	const { url, seen } = await serve();
	const { fetch, isCalled, goOn } = holding(false);
	const { messages } = clientOf({ baseUrl: url }, { fetch }).agency(agencyId);
	const held = failure(() => messages.send(hello));
	await isCalled;
	sleepAnHour();
	await messages.send(hello);
	goOn();
	expect(await held).toMatchObject({ _tag: "PartnerTimeoutError", outcome: "not_sent" });
	await messages.send(hello);
	expect(seen).toEqual(["POST", "POST"]);
});

test("a send that timed out in a fetch that holds it back stops no other send", async () => {
	const { url, seen } = await serve();
	const { fetch, isCalled, goOn } = holding(true);
	const { messages } = clientOf({ baseUrl: url }, { fetch, retry: false }).agency(agencyId);
	const held = failure(() => messages.send(hello, { timeoutMs: 50 }));
	await isCalled;
	expect(await held).toMatchObject({ _tag: "PartnerTimeoutError" });
	await messages.send(hello);
	goOn();
	await messages.send(hello);
	expect(seen).toEqual(["POST", "POST"]);
});

test("#38 nor when a send gets its connection late, because maxSockets are in use", async () => {
	const seen: string[] = [];
	const held: (() => void)[] = [];
	const server = http.createServer(({ method }, response) => {
		seen.push(String(method));
		held.push(() => response.end(JSON.stringify(me)));
	});
	const { url } = await listening(server);
	const transport = nodeTransport({ maxSockets: 1 });
	const client = clientOf({ baseUrl: url }, { transport });
	const first = client.me.get();
	await expect.poll(() => held.length).toBe(1);
	const send = failure(() => client.agency(agencyId).messages.send(hello, { deadline: deadlineMs }));
	setImmediate(() => {
		held[0]?.();
		stop();
	});
	expect(await send).toMatchObject({ _tag: "PartnerTimeoutError", outcome: "not_sent" });
	await first;
	expect(seen).toEqual(["GET"]);
});

test("#38 nor after a wait for a retry in which the machine sleeps", async () => {
	const { url, seen } = await serve();
	let requests = 0;
	const transport: Transport = async () => {
		requests++;
		throw new Error("lost");
	};
	const client = clientOf({ baseUrl: url }, { transport, onAttempt: () => sleepAnHour() });
	const error = await failure(() => client.agency(agencyId).messages.send(hello));
	expect(error).toMatchObject({ outcome: "unknown", attempts: 1 });
	expect([requests, seen]).toEqual([1, []]);
});

test.for(adapters)(
	"#32 a clock that is set back stops no send, and one that is set forward no read (%s)",
	async (adapter) => {
		const { url, seen } = await serve();
		const now = Date.now.bind(Date);
		let jump = -3_600_000;
		onTestFinished(() => void vi.restoreAllMocks());
		const change = () => void vi.spyOn(Date, "now").mockImplementation(() => now() + jump);
		const client = clientOf({ baseUrl: url }, interrupted(adapter, "at once", change));
		await client.agency(agencyId).messages.send(hello);
		jump = 7_200_000;
		await client.me.get();
		expect(seen).toEqual(["POST", "GET"]);
	},
);

test.for(adapters)(
	"nothing goes out after a deadline that is a Date, if the process was stopped before the call (%s)",
	async (adapter) => {
		const { url, seen } = await serve();
		const { me: account, agency } = clientOf(
			{ baseUrl: url },
			adapter === "fetch" ? {} : { transport: nodeTransport({}) },
		);
		const deadline = new Date(Date.now() + 100);
		stop();
		for (const call of [
			() => agency(agencyId).messages.send(hello, { deadline }),
			() => account.get({ deadline }),
			() => agency(agencyId).messages.send(hello, { deadline: new Date(0) }),
		])
			expect(await failure(call)).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 0 });
		await agency(agencyId).messages.send(hello, { deadline: new Date(Date.now() + 60_000) });
		expect(seen).toEqual(["POST"]);
	},
);

test("nothing goes out after a deadline that is a Date, if the machine slept while a key was asked for", async () => {
	const { url, seen } = await serve();
	const apiKey = async () => {
		sleepAnHour();
		return "pk_test_1";
	};
	const client = clientOf({ baseUrl: url }, { apiKey });
	const deadline = new Date(Date.now() + 60_000);
	expect(await failure(() => client.me.get({ deadline }))).toMatchObject({ _tag: "PartnerTimeoutError" });
	expect(seen).toEqual([]);
});

test.for([new Date(Number.NaN), 1_900_000_000_000, "2031-01-01", Number.POSITIVE_INFINITY])(
	"a deadline that is neither a valid Date nor a number of milliseconds is refused: %s",
	async (value) => {
		const { url, seen } = await serve();
		const given = { deadline: value as Date };
		expect(await failure(() => clientOf({ baseUrl: url }).me.get(given))).toMatchObject({
			_tag: "PartnerInvalidInput",
			field: "deadline",
		});
		expect(seen).toEqual([]);
	},
);
