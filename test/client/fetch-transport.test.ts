import {
	type ClientOptions,
	createClient,
	type Fetch,
	PartnerConfigurationError,
	type Transport,
} from "messaging-conversations";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { refusal } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";
const limit = 10 * 1024 * 1024;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllGlobals();
});

const overFetch = (fetch: Fetch, options: Partial<ClientOptions> = {}) =>
	clientOf({ baseUrl }, { fetch, retry: false, ...options });

/** How a call ends whose fetch gives this: the data, or what its error shows. */
async function endOf(response: unknown): Promise<unknown> {
	const result = await overFetch(async () => wrong(response))
		.me.get()
		.result();
	if (result.ok) return result.data;
	const { _tag, status, message } = result.error;
	return { _tag, ...(status && { status }), message };
}

const lost = { _tag: "PartnerConnectionError", message: "me.get: the connection was lost" };
const none = {
	_tag: "PartnerConnectionError",
	message: expect.stringMatching(/^me\.get: what fetch or transport returned is no response\. .* \(ERR_NO_RESPONSE\)$/),
};
const unreadable = { _tag: "PartnerConnectionError", status: 200, message: "me.get: the answer could not be read" };
const tooLarge = { _tag: "PartnerUnexpectedResponse", status: 200, message: "me.get: the answer is larger than 10 MB" };

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

const bytes = (value: string) => new TextEncoder().encode(value);
const json = JSON.stringify(me);
/** The JSON of `me` in exactly so many bytes. */
const paddedTo = (size: number) => bytes(json.padStart(size, " "));
const withStatus = (response: Response, status: unknown) =>
	Object.defineProperty(response, "status", { value: status });

test("fetch and transport together are refused", () => {
	const options = { baseUrl, apiKey, fetch: async () => new Response(), transport: () => Promise.reject() };
	expect(() => createClient(options)).toThrow(PartnerConfigurationError);
	expect(() => createClient(options)).toThrow("transport: must not be given together with fetch");
});

test("fetch is called as fetch(url, init), unbound, and follows no redirect", async () => {
	const given: unknown[] = [];
	async function fetch(this: unknown, ...args: unknown[]) {
		given.push(this, args);
		return jsonResponse(me);
	}
	await overFetch(fetch).me.get();
	expect(given).toStrictEqual([
		undefined,
		[
			`${baseUrl}/me`,
			{
				method: "GET",
				headers: expect.objectContaining({ authorization: `Bearer ${apiKey}` }),
				redirect: "manual",
				signal: expect.any(AbortSignal),
				cache: "no-store",
			},
		],
	]);
});

test("a send has a body and no cache mode", async () => {
	const inits: RequestInit[] = [];
	const client = overFetch(async (_url, init) => {
		inits.push(init);
		return jsonResponse(sentNow);
	});
	await callOf("messages.send").run(client);
	expect(inits[0]).toMatchObject({ method: "POST", body: expect.stringContaining(text) });
	expect(inits[0]).not.toHaveProperty("cache");
});

test("a lookup only reads, so that no cache may answer it", async () => {
	const inits: RequestInit[] = [];
	const client = overFetch(async (_url, init) => {
		inits.push(init);
		return jsonResponse(callOf("conversations.lookup").good);
	});
	await callOf("conversations.lookup").run(client);
	expect(inits[0]).toMatchObject({ method: "POST", cache: "no-store" });
});

test.for([
	["a Request without a cache, as on some workers", class {}],
	["no Request", undefined],
])("a runtime with %s gets no cache mode", async ([, request]) => {
	// A runtime is asked once, at its first read. Other test files share the modules, so what they learn here must not stay.
	vi.resetModules();
	onTestFinished(() => void vi.resetModules());
	vi.stubGlobal("Request", request);
	const fresh = await import("messaging-conversations");
	const inits: RequestInit[] = [];
	const fetch: Fetch = async (_url, init) => {
		inits.push(init);
		return jsonResponse(me);
	};
	await fresh.createClient({ baseUrl, apiKey, fetch, retry: false }).me.get();
	expect(inits).toHaveLength(1);
	expect(inits[0]).not.toHaveProperty("cache");
});

test("a client works where the functions of process throw, as on the edge runtime of Next.js", async () => {
	// The connections are watched from the first client on. Other test files share the modules.
	vi.resetModules();
	onTestFinished(() => void vi.resetModules());
	const getBuiltinModule = () => {
		throw new Error("A Node.js API is used (process.getBuiltinModule) which is not supported in the Edge Runtime.");
	};
	vi.stubGlobal("process", { env: {}, versions: undefined, getBuiltinModule });
	const fresh = await import("messaging-conversations");
	const client = fresh.createClient({ baseUrl, apiKey, fetch: async () => jsonResponse(me) });
	await expect(client.me.get()).resolves.toEqual(me);
});

test("a write without an operationId gets a connection of its own, if it goes through the runtime's fetch", async () => {
	const inits: RequestInit[] = [];
	const close = vi.fn();
	const createHttpClient = vi.fn(() => ({ close }));
	vi.stubGlobal("Deno", { createHttpClient });
	const fetch: Fetch = async (_url, init) => {
		inits.push(init);
		return jsonResponse(sentNow);
	};
	vi.stubGlobal("fetch", fetch);
	const client = clientOf({ baseUrl });
	const write = { method: "POST", path: "/tags", body: {} } as const;
	await callOf("messages.send").run(client);
	await client.request({ method: "GET", path: "/tags" });
	await client.request(write);
	expect(inits.map((init) => "client" in init)).toEqual([false, false, true]);
	expect(inits[2]).toMatchObject({ keepalive: false, client: { close } });
	expect(createHttpClient).toHaveBeenCalledExactlyOnceWith({ poolMaxIdlePerHost: 0 });
	expect(close).toHaveBeenCalledOnce();
	// A fetch of the caller may not know these options.
	await overFetch(fetch).request(write);
	expect(Object.keys(inits[3] ?? {})).toEqual(["method", "headers", "redirect", "signal", "body"]);
});

test("globalThis.fetch is looked up at each request", async () => {
	const client = createClient({ baseUrl, apiKey, retry: false });
	for (const name of ["one", "two"]) {
		vi.stubGlobal("fetch", async () => jsonResponse({ ...me, scopes: [name] }));
		expect((await client.me.get()).scopes).toEqual([name]);
	}
});

test("a body of many chunks is put together, a letter that is cut in two as well", async () => {
	const named = { ...me, scopes: ["é😀"] };
	const { stream } = bodyOf([...bytes(JSON.stringify(named))].map((byte) => new Uint8Array([byte])));
	await expect(endOf(new Response(stream))).resolves.toEqual(named);
});

test("a letter that the end of the body cuts in two is not swallowed", async () => {
	const { stream } = bodyOf([bytes(json), bytes("é").slice(0, 1)]);
	await expect(endOf(new Response(stream))).resolves.toEqual(unreadable);
});

test.for([null, "", "\ufeff", "{", "<html>"])("a body of %j cannot be read", async (body) => {
	await expect(endOf(new Response(body))).resolves.toEqual(unreadable);
});

test("a byte order mark is not part of the JSON", async () => {
	const { stream } = bodyOf([bytes(`\ufeff${json}`)]);
	await expect(endOf(new Response(stream))).resolves.toEqual(me);
	const headers = { "content-length": `${json.length + 3}` };
	await expect(endOf(new Response(`\ufeff${json}`, { headers }))).resolves.toEqual(me);
});

test.for([
	["of 10 MB is read", limit, true],
	["of one byte more is not, and is given up", limit + 1, false],
] as const)("a body without a length %s", async ([, size, isRead]) => {
	const whole = paddedTo(size);
	const halves = [whole.subarray(0, size / 2), whole.subarray(size / 2)];
	const { stream, seen } = bodyOf([...halves, ...(isRead ? [] : ["…" as const])]);
	await expect(endOf(new Response(stream))).resolves.toEqual(isRead ? me : tooLarge);
	expect(seen.cancelled).toBe(!isRead);
});

test.for([
	["10 MB is read", limit, true],
	["one byte more is not, and is given up", limit + 1, false],
] as const)("a body that declares %s", async ([, length, isRead]) => {
	const { stream, seen } = bodyOf([bytes(json)]);
	const end = await endOf(new Response(stream, { headers: { "content-length": `${length}` } }));
	expect(end).toEqual(isRead ? me : tooLarge);
	expect(seen.cancelled).toBe(!isRead);
});

test.for([
	["whose length lies", new Headers({ "content-length": "2" })],
	["without a length or a stream", new Headers()],
])("a body over the limit %s is too large", async ([, headers]) => {
	const given = { status: 200, headers, text: async () => json.padStart(limit + 1, " ") };
	await expect(endOf(given)).resolves.toEqual(tooLarge);
});

test("a body of 10 MB without a length or a stream is read", async () => {
	const given = { status: 200, headers: new Headers(), text: async () => json.padStart(limit, " ") };
	await expect(endOf(given)).resolves.toEqual(me);
});

test("a length beyond the limit is too large also where no body comes", async () => {
	const headers = { "content-length": `${limit + 1}` };
	await expect(endOf(new Response(null, { headers }))).resolves.toEqual(tooLarge);
});

test("a body of empty chunks without end is too large", async () => {
	const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array()) });
	await expect(endOf(new Response(stream))).resolves.toEqual(tooLarge);
});

test("a body over the limit that fails to be given up is too large all the same", async () => {
	const stream = new ReadableStream<Uint8Array>({
		pull: (controller) => controller.enqueue(new Uint8Array(limit + 1)),
		cancel: () => Promise.reject(new Error("stuck")),
	});
	await expect(endOf(new Response(stream))).resolves.toEqual(tooLarge);
});

test.for([
	["a true length", { "content-length": `${json.length}` }, true],
	["no length", {}, false],
	["a length that is none", { "content-length": "many" }, false],
	["the length of compressed bytes", { "content-length": "1", "content-encoding": "gzip" }, false],
] as const)("the runtime's own reader, which counts nothing, serves for %s: %j → %j", async ([, headers, isOwn]) => {
	const response = new Response(json, { headers });
	const own = vi.spyOn(response, "text");
	await expect(endOf(response)).resolves.toEqual(me);
	expect(own.mock.calls.length > 0).toBe(isOwn);
});

test("a body that breaks is a lost connection with the status of its answer", async () => {
	const stream = new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
	await expect(endOf(new Response(stream))).resolves.toEqual({ ...lost, status: 200 });
});

test("a refusal whose body breaks is not the service's word", async () => {
	const stream = new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
	await expect(endOf(new Response(stream, { status: 403 }))).resolves.toMatchObject({
		_tag: "PartnerGatewayError",
		status: 403,
	});
});

test("the body of a 400 is read for its message", async () => {
	const body = JSON.stringify({ _tag: "PartnerBadRequest", message: "The query is wrong." });
	await expect(endOf(new Response(body, { status: 400 }))).resolves.toMatchObject({
		message: expect.stringContaining("The query is wrong."),
	});
});

test.for([0, 101, 199, undefined, Number.NaN])(
	"#25 a status of %j is not an answer, and is given up unread",
	async (status) => {
		const { stream, seen } = bodyOf([bytes(json)]);
		const end = await endOf(withStatus(new Response(stream), status));
		expect(end).toEqual(Number.isInteger(status) ? lost : none);
		expect(seen.cancelled).toBe(true);
	},
);

test.for([300, 304, 399])("an answer of %d is given up unread", async (status) => {
	const { stream, seen } = bodyOf([bytes("1")]);
	const end = await endOf(withStatus(new Response(stream), status));
	expect(end).toMatchObject({ _tag: "PartnerUnexpectedResponse", status });
	expect(seen.cancelled).toBe(true);
});

test("an unread body that fails to be given up, or is not there, changes nothing", async () => {
	const stream = new ReadableStream({ cancel: () => Promise.reject(new Error("stuck")) });
	for (const body of [stream, null]) {
		const end = await endOf(withStatus(new Response(body), 302));
		expect(end).toMatchObject({ _tag: "PartnerUnexpectedResponse", status: 302 });
	}
});

test("an answer that comes after the caller has gone is given up unread", async () => {
	const { stream, seen } = bodyOf([bytes(json)]);
	let give: (response: Response) => void = () => {};
	const calling = failure(() =>
		overFetch(() => new Promise((resolve) => (give = resolve))).me.get({ timeoutMs: 1000 }),
	);
	await vi.advanceTimersByTimeAsync(1001);
	expect(await calling).toMatchObject({ _tag: "PartnerTimeoutError" });
	give(new Response(stream));
	await vi.advanceTimersByTimeAsync(0);
	expect(seen.cancelled).toBe(true);
});

test.for(["the time-out", "an abort"])("%s aborts the signal of fetch", async (how) => {
	const controller = new AbortController();
	let signal: AbortSignal | null | undefined;
	const client = overFetch((_url, init) => {
		({ signal } = init);
		return new Promise(() => {});
	});
	const calling = failure(() => client.me.get({ timeoutMs: 1000, signal: controller.signal }));
	await vi.advanceTimersByTimeAsync(999);
	expect(signal?.aborted).toBe(false);
	if (how === "an abort") controller.abort();
	await vi.advanceTimersByTimeAsync(2);
	await calling;
	expect(signal?.aborted).toBe(true);
});

test("a body that still comes in when the time is up is given up, also by a fetch that ignores its signal", async () => {
	const { stream, seen } = bodyOf([bytes('"a'), "…"]);
	const calling = failure(() => overFetch(async () => new Response(stream)).me.get({ timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1002);
	expect(await calling).toMatchObject({ _tag: "PartnerTimeoutError", status: 200 });
	await vi.advanceTimersByTimeAsync(1);
	expect(seen.cancelled).toBe(true);
});

test.for<[what: string, cancel: () => unknown]>([
	["gives nothing", () => undefined],
	["rejects", () => Promise.reject(new Error("stuck"))],
	[
		"throws",
		() => {
			throw new Error("stuck");
		},
	],
])("a reader whose cancel %s is given up all the same", async ([, cancel]) => {
	const body = { getReader: () => ({ read: () => new Promise(() => {}), cancel }) };
	const given = { status: 200, headers: new Headers(), body };
	const calling = failure(() => overFetch(async () => wrong(given)).me.get({ timeoutMs: 1000 }));
	await vi.advanceTimersByTimeAsync(1002);
	expect(await calling).toMatchObject({ _tag: "PartnerTimeoutError", status: 200 });
	await vi.advanceTimersByTimeAsync(1);
});

// What mocks of fetch return

test.for<[what: string, response: unknown]>([
	["nothing", undefined],
	["null", null],
	["a text", "{}"],
	["a refusal without headers", { status: 400, text: async () => "{}" }],
	["a good answer without headers", { status: 200, json: async () => me }],
	["a failure whose headers are a plain object", { status: 500, headers: {}, text: async () => "" }],
	["an answer without a body to read", { status: 200, headers: new Headers(), json: async () => me }],
	["the data themselves", me],
	["a status that is a text", { status: "200", headers: new Headers(), text: async () => "{}" }],
])("#46 a mock of fetch that gives %s is told so, and a send is unknown and not repeated", async ([, given]) => {
	await expect(endOf(given)).resolves.toEqual(none);
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch: async () => wrong(given) });
	const error = await failure(() => callOf("messages.send").run(client));
	expect(error).toMatchObject({
		_tag: "PartnerConnectionError",
		outcome: "unknown",
		attempts: 1,
		retryable: false,
		message: expect.stringContaining("is no response"),
	});
});

const read = {
	"was read by an earlier call": async () => {
		const response = jsonResponse(me);
		await response.text();
		return response;
	},
	"is an error that was read": async () => {
		const response = jsonResponse(refusal(403).json, { status: 403 });
		await response.json();
		return response;
	},
	"somebody is reading": async () => {
		const response = jsonResponse(me);
		response.body?.getReader();
		return response;
	},
};

test.for(Object.entries(read))(
	"#46 a fetch whose Response %s is told so, and is not called again",
	async ([, make]) => {
		for (const { run } of sixCalls) {
			const response = await make();
			const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch: async () => response });
			const error = await failure(() => run(client));
			expect(error).toMatchObject({ _tag: "PartnerConnectionError", attempts: 1, retryable: false });
			expect(error.message).toMatch(/what fetch returned was read before. Return a new Response for each call/);
			expect([undefined, "unknown"]).toContain(error.outcome);
		}
	},
);

test("a mock whose text is no text is told so", async () => {
	const given = { status: 200, headers: new Headers(), text: async () => me };
	await expect(endOf(given)).resolves.toEqual({ ...none, status: 200 });
});

test.for<[what: string, answer: unknown]>([
	["nothing", undefined],
	["a Response", new Response("{}")],
	["no headers", { status: 200, text: "{}" }],
	["data for a text", { status: 200, headers: new Map(), text: me }],
	["no status", { headers: new Map(), text: "{}" }],
])("a transport in `transport` that gives %s is told so", async ([, answer]) => {
	const transport: Transport = async () => wrong(answer);
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, transport });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({
		_tag: "PartnerConnectionError",
		attempts: 1,
		message: none.message,
	});
});

test("a body that is not a WHATWG stream, as of node-fetch, is read in its own way", async () => {
	const given = { status: 200, headers: new Headers(), body: {}, text: async () => JSON.stringify(sentNow) };
	const { send } = overFetch(async () => wrong(given)).agency(agencyId).messages;
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ messageId: sentNow.messageId });
});
