import { Readable } from "node:stream";
import { format, inspect } from "node:util";
import {
	type AttemptEvent,
	type Client,
	type ClientOptions,
	createClient,
	type Fetch,
	type PartnerError,
} from "messaging-conversations";
import { expect, onTestFinished, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { callOf, clientOf, failure, jsonResponse, quick, recordingFetch, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, conversationPage, me, phone, sentNow, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { inTurn, pause, refusal, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";
const hello = { to: phone, body: text };

// Headers

test.for(adapters)("headers of the client and of the call go out with each attempt (%s)", async (adapter) => {
	const service = await scripted(inTurn(refusal(500), { json: sentNow }));
	const headers: Record<string, string | undefined> = { "X-Request-Source": "crm", "x-trace": "client" };
	const client = clientOf(service, { headers, ...over(adapter) });
	const own: Record<string, string> = { "x-trace": "call" };
	const sending = client.agency(agencyId).messages.send(hello, { headers: own });
	own["x-trace"] = "changed";
	await sending;
	for (const request of service.requests) {
		expect(request.headers).toMatchObject({
			"x-request-source": "crm",
			"x-trace": "call",
			authorization: `Bearer ${apiKey}`,
			"content-type": "application/json",
		});
	}
	expect(service.requests).toHaveLength(2);
	await failure(() => client.me.get({ headers: { "x-trace": undefined }, retry: false }));
	expect(service.requests[2]?.headers["x-trace"]).toBe("client");
});

test.for(adapters)("the names of headers are compared without their case (%s)", async (adapter) => {
	const service = await scripted(inTurn({ json: me }));
	const client = clientOf(service, { headers: { "X-Trace": "client", "USER-AGENT": "crm/1" }, ...over(adapter) });
	await client.me.get({ headers: { "X-TRACE": undefined } });
	await client.me.get({ headers: { "x-trace": "call", "User-Agent": "crm/2" } });
	await client.withOptions({ headers: { "X-TRACE": "derived" } }).me.get();
	const sent = service.requests.map(({ headers }) => [headers["x-trace"], headers["user-agent"]]);
	expect(sent).toStrictEqual([
		["client", "crm/1"],
		["call", "crm/2"],
		["derived", "crm/1"],
	]);
});

test.for([
	{ authorization: "Bearer CANARY" },
	{ Authorization: "CANARY" },
	{ "content-type": "CANARY" },
	{ "Content-Length": "5" },
	{ host: "CANARY" },
	{ connection: "close" },
	{ "transfer-encoding": "chunked" },
	{ "x-a": "CANARY\r\nx-b: 1" },
	{ "x-a": "CANARYé" },
	{ "x a": "1" },
	{ "": "1" },
	{ "x-a": 5 },
	{ "x-a": null },
	{ "x-a": "1", host: "CANARY" },
	"x-a: CANARY",
	null,
	[["x-a", "CANARY"]],
])("headers that cannot be sent, or that are ours, are refused: %j", async (headers) => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	expect(() => createClient({ baseUrl, apiKey, fetch, headers: wrong(headers) })).toThrow(/^headers: must be/);
	const error = await failure(() => createClient({ baseUrl, apiKey, fetch }).me.get({ headers: wrong(headers) }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "headers", attempts: 0 });
	expect(inspect(error, { showHidden: true })).not.toContain("CANARY");
	expect(calls).toEqual([]);
});

test("headers whose names only resemble one of ours go out", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const headers = { "x-host": "1", "accept-language": "nl", tenant: "acme", "x-empty": "", "!#$%&'*+.^`|~-_": "1" };
	await createClient({ baseUrl, apiKey, fetch, headers }).me.get();
	expect(calls[0]?.init.headers).toMatchObject(headers);
});

// A derived client

test("a derived client keeps the retry options and headers that it does not change, and can turn retries off", async () => {
	const attempts = async (client: Client) => (await failure(() => client.me.get())).attempts;
	const { fetch, calls } = recordingFetch(() => jsonResponse({}, { status: 503 }));
	const client = createClient({ baseUrl, apiKey, fetch, retry: { ...quick, attempts: 2 }, headers: { "x-a": "1" } });
	expect(await attempts(client.withOptions({ timeoutMs: 1000 }))).toBe(2);
	expect(await attempts(client.withOptions({ retry: { attempts: undefined } }))).toBe(2);
	expect(await attempts(client.withOptions({ retry: false }))).toBe(1);
	for (const { init } of calls) expect(init.headers).toMatchObject({ "x-a": "1" });
	const single = createClient({ baseUrl, apiKey, fetch, retry: false });
	expect(await attempts(single.withOptions({ retry: { ...quick, attempts: 3 }, headers: { "x-b": "2" } }))).toBe(3);
	expect(calls.at(-1)?.init.headers).toMatchObject({ "x-b": "2" });
});

test("a derived client has other options, and shares connections, retry tokens and operationIds", async () => {
	const { fetch, calls } = recordingFetch((index) =>
		index < 2 ? jsonResponse({}, { status: 503 }) : jsonResponse(sentNow),
	);
	const budget = { ...quick, attempts: 2, budget: 5 };
	const client = createClient({ baseUrl, apiKey, fetch, retry: budget, headers: { "x-a": "1" } });
	const derived = client.withOptions({ retry: { attempts: 3 }, headers: { "x-b": "2" }, defaultCountry: "FR" });
	expect([client.defaultCountry, derived.defaultCountry]).toEqual(["BE", "FR"]);
	// One retry takes the five tokens of both.
	expect(await failure(() => derived.agency(agencyId).messages.send(hello))).toMatchObject({ attempts: 2 });
	expect(calls[0]?.init.headers).toMatchObject({ "x-a": "1", "x-b": "2" });
	await client.agency(agencyId).messages.send({ ...hello, operationId: "once" });
	expect(calls[2]?.init.headers).not.toHaveProperty("x-b");
	const reused = await failure(() =>
		derived.agency(agencyId).messages.send({ to: phone, body: "other", operationId: "once" }),
	);
	expect(reused).toMatchObject({ _tag: "PartnerInvalidInput", field: "operationId" });
	expect(derived.withOptions({}).defaultCountry).toBe("FR");
	expect(client.withOptions({ defaultCountry: undefined }).defaultCountry).toBe("BE");
});

test.for([
	["baseUrl", { baseUrl: "https://other.example/api/v1" }],
	["fetch", { fetch }],
	["transport", { transport: async () => {} }],
	["dangerouslyAllowBrowser", { dangerouslyAllowBrowser: true }],
	["timeoutMs", { timeoutMs: 0 }],
	["apiKey", { apiKey: "a key" }],
	["options", { nope: 1 }],
	["options", null],
	["options", undefined],
])("a derived client refuses %s", ([field, options]) => {
	const client = createClient({ baseUrl, apiKey });
	expect(() => client.withOptions(wrong(options))).toThrow(
		expect.objectContaining({ _tag: "PartnerConfigurationError", field }),
	);
});

// A list that is awaited

const twoPages = (_: unknown, index: number) => ({
	json: index % 2 === 0 ? conversationPage(["Anna", "Bert"], "next") : conversationPage(["Chris"]),
});

test("a list resolves with its first page, which is plain data", async () => {
	const service = await scripted(twoPages);
	const { conversations } = clientOf(service).agency(agencyId);
	const list = conversations.list({ search: "an" });
	await pause();
	expect(service.requests).toEqual([]);
	const page = await list;
	expect(await list).toBe(page);
	expect(service.requests).toHaveLength(1);
	const result = await conversations.list({ cursor: "b" }).result();
	const answered = await conversations.list({ cursor: "b" }).withResponse();
	for (const each of [page, result.ok && result.data, answered.data]) {
		expect(JSON.stringify(each)).toMatch(/^\{"conversations":\[.*"nextCursor":/);
		// What frameworks take for a stream, and read on.
		expect(Reflect.ownKeys(Object(each)).filter((key) => typeof key === "symbol")).toEqual([]);
		expect(Symbol.asyncIterator in Object(each)).toBe(false);
		expect(structuredClone(each)).toEqual(each);
	}
});

test("the next page of an awaited one is read by its cursor", async () => {
	const service = await scripted(twoPages);
	const { conversations } = clientOf(service).agency(agencyId);
	const { nextCursor } = await conversations.list();
	const { conversations: rows } = await conversations.list({ cursor: nextCursor ?? "" });
	expect(rows.map(({ contactName }) => contactName)).toEqual(["Chris"]);
	expect(service.requests.map(({ url }) => new URL(url, "http://x").searchParams.get("cursor"))).toEqual([
		null,
		"next",
	]);
});

test("a list has the methods of a call, and a failure rejects", async () => {
	const service = await scripted(inTurn({ json: conversationPage(["Anna"]) }, refusal(403)));
	const { conversations } = clientOf(service).agency(agencyId);
	const { data, response } = await conversations.list().withResponse();
	expect([data.conversations.length, response.status, response.correlationId]).toEqual([1, 200, "cor-1"]);
	expect(await conversations.list().result()).toMatchObject({ ok: false, error: { _tag: "PartnerForbidden" } });
	const caught = conversations.list().catch((error: PartnerError) => error._tag);
	expect(await caught).toBe("PartnerForbidden");
	const refused = await failure(() => conversations.list({ pageSize: 0 }));
	expect(refused).toMatchObject({ _tag: "PartnerInvalidInput", field: "pageSize" });
});

// Leaving an iteration

test.for(adapters)("leaving an iteration ends the request that is under way (%s)", async (adapter) => {
	const service = await scripted((_, index) => (index === 0 ? { json: conversationPage(["Anna"], "next") } : "hang"));
	const { conversations } = clientOf(service, { retry: false, ...over(adapter) }).agency(agencyId);
	const iterators = [
		conversations.list()[Symbol.asyncIterator](),
		conversations.list().pages(),
		conversations.listMessages(phone)[Symbol.asyncIterator](),
		conversations.lookup([phone])[Symbol.asyncIterator](),
	] as AsyncGenerator<unknown>[];
	// The first page of the first list is answered.
	await iterators[0]?.next();
	for (const [index, iterator] of iterators.entries()) {
		const pending = iterator.next();
		await eventually(() => expect(service.requests).toHaveLength(index + 2));
		expect(await iterator.return(undefined)).toEqual({ done: true, value: undefined });
		expect(await pending).toEqual({ done: true, value: undefined });
		expect(await iterator.next()).toEqual({ done: true, value: undefined });
		await eventually(() => expect(service.requests[index + 1]?.cut).toBe(true));
	}
});

test("an error that is thrown into an iteration comes out of it, and ends the request that is under way", async () => {
	const service = await scripted(() => "hang");
	const iterator = clientOf(service).agency(agencyId).conversations.list()[Symbol.asyncIterator]();
	const pending = iterator.next();
	await eventually(() => expect(service.requests).toHaveLength(1));
	await expect(iterator.throw(new RangeError("enough"))).rejects.toThrow("enough");
	expect(await pending).toEqual({ done: true, value: undefined });
	await eventually(() => expect(service.requests[0]?.cut).toBe(true));
});

test("a stream made of a list is destroyed at once", async () => {
	const service = await scripted(() => "hang");
	const stream = Readable.from(clientOf(service).agency(agencyId).conversations.list());
	stream.on("data", () => {});
	await eventually(() => expect(service.requests).toHaveLength(1));
	const closed = new Promise((resolve) => stream.once("close", resolve));
	stream.destroy();
	await closed;
	await eventually(() => expect(service.requests[0]?.cut).toBe(true));
});

// Empty pages

test("empty pages in a row are waited for from the tenth on, and end an iteration after a hundred", async () => {
	const { fetch, calls } = recordingFetch((index) =>
		jsonResponse(conversationPage([], index < 300 ? `row-${index}` : null)),
	);
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const client = createClient({ baseUrl, apiKey, fetch, retry: { baseDelayMs: 1000, maxDelayMs: 1000 } });
	const ending = failure(() => client.agency(agencyId).conversations.list().toArray());
	await vi.advanceTimersByTimeAsync(100);
	expect(calls).toHaveLength(10);
	await vi.advanceTimersByTimeAsync(1000);
	expect(calls.length).toBeGreaterThan(10);
	expect(calls.length).toBeLessThan(14);
	await vi.advanceTimersByTimeAsync(100_000);
	expect(await ending).toMatchObject({
		_tag: "PartnerUnexpectedResponse",
		message: "conversations.list: the service returned 100 empty pages in a row",
		itemsRead: 0,
		cursor: "row-99",
	});
	expect(calls).toHaveLength(100);
});

test("some empty pages are normal, and an abort ends the wait after them", async () => {
	const rows = (index: number) => (index % 10 === 9 ? ["Anna"] : []);
	const { fetch } = recordingFetch((index) =>
		jsonResponse(conversationPage(rows(index), index === 49 ? null : `${index}`)),
	);
	const slow = { baseDelayMs: 60_000, maxDelayMs: 60_000 };
	const client = createClient({ baseUrl, apiKey, fetch, retry: slow });
	expect(await client.agency(agencyId).conversations.list().toArray()).toHaveLength(5);
	const controller = new AbortController();
	const empty = recordingFetch((index) => jsonResponse(conversationPage([], `row-${index}`)));
	const list = clientOf({ baseUrl }, { fetch: empty.fetch, retry: slow })
		.agency(agencyId)
		.conversations.list({ signal: controller.signal });
	const ending = failure(() => list.toArray());
	await eventually(() => expect(empty.calls).toHaveLength(10));
	controller.abort();
	expect(await ending).toMatchObject({ _tag: "PartnerAbortError" });
});

// A new key after a 401

const unauthorized = () => jsonResponse({ _tag: "PartnerUnauthorized", message: "Revoked." }, { status: 401 });

test("a 401 is repeated once with the key that the function then gives", async () => {
	for (const { run, good } of sixCalls) {
		const { fetch, calls } = recordingFetch((index) => (index === 0 ? unauthorized() : jsonResponse(good)));
		const keys = ["old_live.key.one", "new_live.key.two"];
		const key = vi.fn(async () => keys[Math.min(key.mock.calls.length, 2) - 1]);
		const events: AttemptEvent[] = [];
		const client = createClient({ baseUrl, apiKey: key, fetch, onAttempt: (event) => events.push(event) });
		expect((await run(client).withResponse()).response.attempts).toBe(2);
		const sent = calls.map(({ init }) => Reflect.get(Object(init.headers), "authorization"));
		expect(sent).toEqual(keys.map((each) => `Bearer ${each}`));
		expect(key).toHaveBeenCalledTimes(2);
		expect(events).toMatchObject([{ status: 401, errorTag: "PartnerUnauthorized", retryInMs: 0 }, { status: 200 }]);
	}
});

test.for<[what: string, options: Partial<ClientOptions>]>([
	["the same key", { apiKey: async () => "old_live.key.one" }],
	["a key that is a text", { apiKey: "old_live.key.one" }],
	["retry: false", { apiKey: rotating(), retry: false }],
	["attempts: 1", { apiKey: rotating(), retry: { attempts: 1 } }],
	["a key function that fails then", { apiKey: rotating(1) }],
])("a 401 is final with %s", async ([, options]) => {
	const { fetch, calls } = recordingFetch(unauthorized);
	const error = await failure(() => callOf("messages.send").run(createClient({ baseUrl, apiKey, fetch, ...options })));
	expect(error).toMatchObject({ _tag: "PartnerUnauthorized", attempts: 1, outcome: "not_sent" });
	expect(calls).toHaveLength(1);
});

test("a send that may have gone out is not repeated with another key after a 401", async () => {
	const { fetch, calls } = recordingFetch((index) =>
		index === 0 ? jsonResponse({}, { status: 503 }) : unauthorized(),
	);
	const client = createClient({ baseUrl, apiKey: rotating(), fetch, retry: quick });
	const error = await failure(() => callOf("messages.send").run(client));
	expect(error).toMatchObject({ _tag: "PartnerUnauthorized", attempts: 2, outcome: "unknown" });
	expect(calls).toHaveLength(2);
});

/** A key function with another key at each call, of which only the first few succeed. */
function rotating(most = Number.POSITIVE_INFINITY): () => Promise<string> {
	let asked = 0;
	return async () => {
		if (++asked > most) throw new Error("the vault is closed");
		return `some_live.key.${asked}`;
	};
}

// Other faults

test("a deadline that passes while the key function blocks sends nothing", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(sentNow));
	const block = () => {
		for (const until = performance.now() + 60; performance.now() < until; );
		return apiKey;
	};
	for (const limit of [{ deadline: 30 }, { timeoutMs: 30 }]) {
		const client = createClient({ baseUrl, apiKey: block, fetch, ...limit, retry: quick });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 0, outcome: "not_sent" });
	}
	expect(calls).toEqual([]);
});

test.for([
	["TimeoutError", new DOMException("late", "TimeoutError")],
	["AbortError", undefined],
	["AbortError", "a text"],
	["RangeError", new RangeError(phone)],
] as const)("the cause of an abort has the name of its reason: %s", async ([name, reason]) => {
	const controller = new AbortController();
	const client = clientOf({ baseUrl }, { fetch: () => new Promise(() => {}) });
	const error = failure(() => client.me.get({ signal: controller.signal }));
	controller.abort(reason);
	expect((await error).cause).toEqual({ name });
	expect(await failure(() => client.me.get({ signal: controller.signal }))).toMatchObject({ cause: { name } });
});

test("a line of the log is the same whether its logger formats or not, and the event keeps a percent sign", async () => {
	const logged: [line: string, event: AttemptEvent][] = [];
	const log = (...given: [line: string, event: AttemptEvent]) => void logged.push(given);
	const { fetch } = recordingFetch(() => jsonResponse(sentNow));
	const client = createClient({ baseUrl, apiKey, fetch, logger: { debug: log, info: log, warn: log, error: log } });
	await client.agency(agencyId).messages.send({ ...hello, operationId: "100%d%s%%" });
	const [[line, event] = expect.unreachable("nothing was logged")] = logged;
	expect(line).toContain(" operationId=100?d?s? ");
	expect(format(line, event)).toBe(`${line} ${format(event)}`);
	expect(event.operationId).toBe("100%d%s%%");
});

test("what is added to Object.prototype is not an option, a field or a parameter", async () => {
	Object.assign(Object.prototype, { added: () => {} });
	onTestFinished(() => void Reflect.deleteProperty(Object.prototype, "added"));
	const urls: string[] = [];
	for (const { run, good } of sixCalls) {
		const fetch: Fetch = async (url, init) => {
			urls.push(url);
			expect(Object.keys(init.headers)).not.toContain("added");
			return jsonResponse(good);
		};
		const retry = { attempts: 2 };
		await run(createClient({ baseUrl, apiKey, fetch, retry, appInfo: { name: "x" } }), { retry });
	}
	expect(urls.join()).not.toContain("added");
});

test.for(adapters)("a base URL without /api/v1 is named by the first error (%s)", async (adapter) => {
	for (const status of [404, 405, 501]) {
		const service = await scripted(inTurn({ status, text: "<h1>Not here</h1>" }));
		const error = await failure(() => clientOf({ baseUrl: service.origin }, over(adapter)).me.get());
		expect(error).toMatchObject({
			_tag: "PartnerConfigurationError",
			field: "baseUrl",
			status,
			attempts: 1,
			retryable: false,
		});
		expect(error.message).toContain("/api/v1");
		const right = await failure(() => clientOf(service, { retry: false, ...over(adapter) }).me.get());
		expect(right._tag).not.toBe("PartnerConfigurationError");
	}
	const tagged = await scripted(inTurn(refusal(404)));
	expect(await failure(() => clientOf({ baseUrl: tagged.origin }).me.get())).toMatchObject({ _tag: "PartnerNotFound" });
});

test("allowRecipients holds for a path of client.request that has the version itself", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse({}));
	const path = "/api/v1/agencies/{agencyId}/messages";
	const client = createClient({ baseUrl: "https://messaging.example", apiKey, fetch, allowRecipients: [] });
	const error = await failure(() => client.request({ method: "POST", path, agencyId, body: hello }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "path" });
	expect(calls).toEqual([]);
});

test("a path of a megabyte is refused before it is looked through", async () => {
	const client = createClient({ baseUrl, apiKey, fetch: () => expect.unreachable("no request") });
	for (const unit of ["/a", "{a}", "/{a}", "/..", "a", "%"]) {
		const path = `/${unit.repeat(1_000_000 / unit.length)}`;
		expect(await failure(() => client.request({ method: "GET", path }))).toMatchObject({ field: "path" });
	}
});

test.for(adapters)("an error has the headers of its response, and nothing prints them (%s)", async (adapter) => {
	const service = await scripted(inTurn({ status: 403, json: {}, headers: { "x-echo": "CANARY" } }));
	const error = await failure(() => clientOf(service, over(adapter)).me.get());
	expect(error.headers).toBeInstanceOf(Headers);
	expect(error.headers?.get("x-echo")).toBe("CANARY");
	expect(Object.keys(error)).not.toContain("headers");
	for (const shown of [inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error)])
		expect(shown).not.toContain("CANARY");
	const refused = await failure(() => clientOf(service).me.get({ timeoutMs: 0 }));
	expect(refused.headers).toBeUndefined();
});

test("http to a host that is named goes with a sandbox key only", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const named = { baseUrl: "http://sandbox:4010/api/v1", allowInsecureHosts: ["sandbox"], fetch };
	await createClient({ ...named, apiKey: "sandbox_live.a.b" }).me.get();
	expect(calls[0]?.url).toBe("http://sandbox:4010/api/v1/me");
	expect(() => createClient({ ...named, apiKey })).toThrow("apiKey: must be a sandbox key, because baseUrl is http");
	const late = await failure(() => createClient({ ...named, apiKey: () => apiKey }).me.get());
	expect(late).toMatchObject({ _tag: "PartnerConfigurationError", field: "apiKey", attempts: 0 });
	const other = { ...named, baseUrl: "http://sandbox.example/api/v1", apiKey: "sandbox_live.a.b" };
	expect(() => createClient(other)).toThrow(/^baseUrl: must be https/);
	for (const hosts of ["sandbox", ["sandbox", 5], ["sandbox", "other:4010"], ["Sandbox"], ["sandbox", ""]]) {
		expect(() => createClient({ ...named, apiKey, allowInsecureHosts: wrong(hosts) })).toThrow(
			/^allowInsecureHosts: must/,
		);
	}
	expect(calls).toHaveLength(1);
});
