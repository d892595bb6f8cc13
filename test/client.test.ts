import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, type Fetch, toE164 } from "messaging-conversations";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls } from "./calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "./canned.ts";
import { inTurn, pause, refusal, scripted } from "./scripted.ts";

const baseUrl = "https://messaging.example/api/v1";

afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllGlobals();
	vi.unstubAllEnvs();
});

/** A fetch that notes its calls and answers by number. */
function fetchOf(answer: (index: number) => Response | Promise<Response>) {
	const calls: { url: string; init: RequestInit; self: unknown }[] = [];
	const fetch: Fetch = async function (this: unknown, url, init) {
		calls.push({ url, init, self: this });
		return answer(calls.length - 1);
	};
	return { fetch, calls };
}

const authorization = (init: RequestInit | undefined): string | null => new Headers(init?.headers).get("authorization");
const failing = () => jsonResponse({ _tag: "PartnerInternalError", message: "no" }, { status: 500 });
const never = () => new Promise<Response>(() => {});

test("createClient makes no request and reads no environment", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	vi.stubGlobal("fetch", fetch);
	vi.stubEnv("MESSAGING_API_KEY", apiKey);
	vi.stubEnv("MESSAGING_BASE_URL", baseUrl);
	const client = createClient({ baseUrl: undefined, apiKey: undefined });
	client.agency(agencyId);
	const error = await failure(() => client.me.get());
	expect(error._tag).toBe("PartnerInvalidInput");
	expect(calls).toEqual([]);
});

test("the client and its groups can be destructured", async () => {
	const service = await scripted((seen) => ({ json: seen.method === "POST" ? sentNow : me }));
	const { me: group, agency } = clientOf(service);
	const { get } = group;
	const {
		messages: { send },
		conversations: { list },
		id,
	} = agency(agencyId);
	expect(id).toBe(agencyId);
	await expect(get()).resolves.toEqual(me);
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ messageId: "SM900" });
	expect(list).toBeTypeOf("function");
});

test("client.agency makes no request", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await Promise.resolve();
	expect(calls).toEqual([]);
});

test.for([
	["", ""],
	["a trailing slash", "/"],
	["spaces around it", "  "],
])("option baseUrl: every path is beneath it, also with %s", async ([, tail]) => {
	const service = await scripted(inTurn({ json: me }));
	await clientOf({ baseUrl: `${tail === "  " ? tail : ""}${service.baseUrl}${tail}` }).me.get();
	expect(service.requests.map(({ url }) => url)).toEqual(["/api/v1/me"]);
});

test.for([
	"HTTPS://messaging.example/api/v1",
	"http://localhost:8080/api/v1",
	"http://127.0.0.1/api/v1",
	"http://[::1]:8080/api/v1",
])("option baseUrl: %s is taken", async (given) => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	await createClient({ baseUrl: given, apiKey, fetch }).me.get();
	expect(calls[0]?.url).toBe(`${new URL(given).href}/me`);
});

test.for([undefined, ""])("option baseUrl: absent (%j), it fails at the first call and not before", async (given) => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	const client = createClient({ baseUrl: given, apiKey, fetch });
	for (const { run } of sixCalls) {
		const error = await failure(() => run(client));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, retryable: false });
		expect(error.message).toContain("baseUrl");
	}
	expect(calls).toEqual([]);
});

test("option apiKey: a string goes out as the bearer of every operation, and nowhere else", async () => {
	const service = await scripted((_seen, index) => ({ json: sixCalls[index]?.good }));
	const client = clientOf(service);
	for (const { run } of sixCalls) await run(client);
	expect(service.requests).toHaveLength(6);
	for (const { headers, url, body } of service.requests) {
		expect(headers.authorization).toBe(`Bearer ${apiKey}`);
		expect(`${url} ${body} ${headers["user-agent"]}`).not.toContain("CANARYKEY");
	}
});

test.for([undefined, ""])("option apiKey: absent (%j), it fails at the first call and not before", async (given) => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey: given, fetch });
	const error = await failure(() => client.me.get());
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0 });
	expect(error.message).toContain("apiKey");
	expect(calls).toEqual([]);
});

test("option apiKey: a function is asked anew for each attempt, so that a rotated key is used at once", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const keys = ["old_live.a.b", "new_live.a.b", "third_live.a.b"];
	const client = clientOf(service, { apiKey: () => keys.shift() ?? "none" });
	await client.me.get();
	await client.me.get();
	expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
		"Bearer old_live.a.b",
		"Bearer new_live.a.b",
		"Bearer third_live.a.b",
	]);
});

test("option apiKey: a function may answer with a promise", async () => {
	const service = await scripted(inTurn({ json: me }));
	await clientOf(service, { apiKey: async () => "later_live.a.b" }).me.get();
	expect(service.requests[0]?.headers.authorization).toBe("Bearer later_live.a.b");
});

test.for([
	["throws", () => Promise.reject(new Error(`vault says ${apiKey}`))],
	["throws at once", () => raise(`vault says ${apiKey}`)],
	["gives nothing", () => ""],
	["gives what cannot stand in a header", () => `${apiKey}\n`],
] as [string, () => string | Promise<string>][])(
	"option apiKey: a function that %s is PartnerInvalidInput with zero requests",
	async ([, given]) => {
		const { fetch, calls } = fetchOf(() => jsonResponse(sentNow));
		const client = createClient({ baseUrl, apiKey: given, fetch });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, outcome: "not_sent", retryable: false });
		expect(error.message).toContain("apiKey");
		expect(`${error.stack}`).not.toContain("CANARYKEY");
		expect(calls).toEqual([]);
	},
);

test("option apiKey: a function that never answers does not hold the call beyond its deadline", async () => {
	vi.useFakeTimers();
	const { fetch, calls } = fetchOf(() => jsonResponse(sentNow));
	const client = createClient({ baseUrl, apiKey: () => new Promise<string>(() => {}), fetch });
	const settled = callOf("messages.send").run(client).result();
	await vi.advanceTimersByTimeAsync(60_000);
	await expect(settled).resolves.toMatchObject({
		ok: false,
		error: { _tag: "PartnerTimeoutError", outcome: "not_sent", attempts: 0 },
	});
	expect(calls).toEqual([]);
});

test("option fetch: globalThis.fetch by default, looked up at each call", async () => {
	const first = fetchOf(() => jsonResponse(me));
	const second = fetchOf(() => jsonResponse(me));
	vi.stubGlobal("fetch", () => Promise.reject(new TypeError("captured at creation")));
	const client = createClient({ baseUrl, apiKey });
	vi.stubGlobal("fetch", first.fetch);
	await client.me.get();
	vi.stubGlobal("fetch", second.fetch);
	await client.me.get();
	expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
});

test("option fetch: called unbound, with a URL and an init", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	await createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(calls[0]?.self).toBeUndefined();
	expect(calls[0]?.url).toBe(`${baseUrl}/me`);
	expect(calls[0]?.init).toMatchObject({ method: "GET", redirect: "manual" });
	expect(authorization(calls[0]?.init)).toBe(`Bearer ${apiKey}`);
});

test("option fetch: reads ask for no-store, and a send for nothing of the kind", async () => {
	const { fetch, calls } = fetchOf((index) => jsonResponse(sixCalls[index]?.good));
	const client = createClient({ baseUrl, apiKey, fetch });
	for (const { run } of sixCalls) await run(client);
	const caches = calls.map(({ init }) => init.cache);
	expect(caches).toEqual([...Array(5).fill("no-store"), undefined]);
});

test.for(sixCalls)(
	"option timeoutMs: 15 s for reads and 30 s for sends by default: $operation",
	async ({ operation, run }) => {
		vi.useFakeTimers();
		const ends: number[] = [];
		const startedAt = performance.now();
		const client = createClient({
			baseUrl,
			apiKey,
			fetch: never,
			retry: false,
			onAttempt: () => ends.push(performance.now() - startedAt),
		});
		const settled = run(client).result();
		await vi.runAllTimersAsync();
		await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerTimeoutError", attempts: 1 } });
		expect(ends).toEqual([operation === "messages.send" ? 30_000 : 15_000]);
	},
);

test("option timeoutMs: the client's, and a call's before it", async () => {
	vi.useFakeTimers();
	const startedAt = performance.now();
	const client = createClient({ baseUrl, apiKey, fetch: never, retry: false, timeoutMs: 400 });
	const ends: number[] = [];
	const note = () => ends.push(performance.now() - startedAt);
	const both = [client.me.get().result().then(note), client.me.get({ timeoutMs: 700 }).result().then(note)];
	await vi.runAllTimersAsync();
	await Promise.all(both);
	expect(ends).toEqual([400, 700]);
});

test("option timeoutMs: covers the body, not the headers alone", async () => {
	const service = await scripted(inTurn("stall"));
	const client = clientOf(service, { timeoutMs: 60, retry: false });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1 });
});

test.for(sixCalls)(
	"option deadlineMs: 30 s for reads and 60 s for sends by default: $operation",
	async ({ operation, run }) => {
		vi.useFakeTimers();
		const startedAt = performance.now();
		const settled = run(createClient({ baseUrl, apiKey, fetch: never }))
			.result()
			.then((result) => ({ result, ms: performance.now() - startedAt }));
		await vi.runAllTimersAsync();
		const { result, ms } = await settled;
		// Two attempts of half the deadline each: the second one, begun after a wait, is cut short by the deadline.
		expect(result).toMatchObject({ ok: false, error: { _tag: "PartnerTimeoutError", attempts: 2 } });
		expect(ms).toBe(operation === "messages.send" ? 60_000 : 30_000);
	},
);

test("option deadlineMs: bounds attempts and waits together; a call's goes before the client's", async () => {
	vi.useFakeTimers();
	const startedAt = performance.now();
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: never,
		timeoutMs: 1000,
		deadlineMs: 2500,
		retry: { baseDelayMs: 10 },
	});
	const ends: number[] = [];
	const note = () => ends.push(performance.now() - startedAt);
	const both = [client.me.get({ deadlineMs: 1800 }).result().then(note), client.me.get().result().then(note)];
	await vi.runAllTimersAsync();
	await Promise.all(both);
	expect(ends).toEqual([1800, 2500]);
});

test("option retry: four attempts by default, after 250–500, 500–1000 and 1000–2000 ms", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const { fetch, calls } = fetchOf(failing);
	const client = createClient({ baseUrl, apiKey, fetch, onAttempt: ({ retryInMs }) => waits.push(retryInMs) });
	const settled = client.me.get().result();
	await vi.runAllTimersAsync();
	await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerInternalError", attempts: 4 } });
	expect(calls).toHaveLength(4);
	expect(waits).toHaveLength(4);
	for (const [index, bound] of [500, 1000, 2000].entries()) {
		expect(waits[index]).toBeGreaterThanOrEqual(bound / 2);
		expect(waits[index]).toBeLessThanOrEqual(bound);
	}
	expect(waits[3]).toBeUndefined();
});

test("option retry: the waits that are told are the waits that are made", async () => {
	vi.useFakeTimers();
	const at: number[] = [];
	const waits: number[] = [];
	const { fetch } = fetchOf(() => {
		at.push(performance.now());
		return failing();
	});
	const onAttempt = ({ retryInMs }: { retryInMs?: number }) => retryInMs !== undefined && waits.push(retryInMs);
	const settled = createClient({ baseUrl, apiKey, fetch, onAttempt }).me.get().result();
	await vi.runAllTimersAsync();
	await settled;
	const gaps = at.slice(1).map((each, index) => each - (at[index] ?? 0));
	expect(gaps).toHaveLength(3);
	for (const [index, gap] of gaps.entries()) expect(Math.abs(gap - (waits[index] ?? 0))).toBeLessThanOrEqual(1);
});

test("option retry: baseDelayMs and maxDelayMs bound the waits, which never shrink", async () => {
	vi.useFakeTimers();
	const waits: number[] = [];
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: fetchOf(failing).fetch,
		retry: { attempts: 6, baseDelayMs: 40, maxDelayMs: 100 },
		onAttempt: ({ retryInMs }) => retryInMs !== undefined && waits.push(retryInMs),
	});
	const settled = client.me.get().result();
	await vi.runAllTimersAsync();
	await settled;
	expect(waits).toHaveLength(5);
	expect(waits[0]).toBeGreaterThanOrEqual(20);
	expect(waits[0]).toBeLessThanOrEqual(40);
	expect(Math.max(...waits)).toBeLessThanOrEqual(100);
	expect([...waits].sort((a, b) => a - b)).toEqual(waits);
});

test.for([
	["false", false],
	["attempts: 1", { attempts: 1 }],
] as const)("option retry: %s means exactly one request, on the client and on a call", async ([, retry]) => {
	const service = await scripted(inTurn(refusal(500)));
	for (const { run } of sixCalls) {
		await expect(failure(() => run(clientOf(service, { retry })))).resolves.toMatchObject({ attempts: 1 });
		await expect(failure(() => run(clientOf(service), { retry }))).resolves.toMatchObject({ attempts: 1 });
	}
	expect(service.requests).toHaveLength(12);
});

test("option retry: a call's partial retry is filled from the client's, the client's from the defaults", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const { fetch, calls } = fetchOf(failing);
	const onAttempt = ({ retryInMs }: { retryInMs?: number }) => waits.push(retryInMs);
	const client = createClient({ baseUrl, apiKey, fetch, onAttempt, retry: { baseDelayMs: 2000 } });
	const settled = client.me.get({ retry: { attempts: 2 } }).result();
	await vi.runAllTimersAsync();
	await settled;
	expect(calls).toHaveLength(2);
	expect(waits[0]).toBeGreaterThanOrEqual(1000);
	expect(waits[0]).toBeLessThanOrEqual(2000);
	const filled = client.me.get({ retry: { baseDelayMs: 100 } }).result();
	await vi.runAllTimersAsync();
	await filled;
	expect(calls).toHaveLength(6);
	expect(waits[2]).toBeLessThanOrEqual(100);
});

test("option retry: a call may retry where the client does not", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const client = clientOf(service, { retry: false });
	await expect(client.me.get({ retry: { attempts: 2, baseDelayMs: 1 } })).resolves.toEqual(me);
});

test("option retry.budget: 100 tokens let a client retry twenty times in an outage, then each call is one request", async () => {
	const service = await scripted(inTurn(refusal(503)));
	const client = clientOf(service);
	const attempts: number[] = [];
	for (let call = 0; call < 9; call++) attempts.push((await failure(() => client.me.get())).attempts);
	expect(attempts).toEqual([4, 4, 4, 4, 4, 4, 3, 1, 1]);
});

test("option retry.budget: Infinity turns it off", async () => {
	const service = await scripted(inTurn(refusal(503)));
	const client = clientOf(service, { retry: { baseDelayMs: 1, budget: Number.POSITIVE_INFINITY } });
	for (let call = 0; call < 9; call++)
		await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 4 });
});

test("option retry.budget: what succeeds pays back: a retry 5 when it helped, a clean success 1", async () => {
	const plan = [500, 200, 500, 200, 500, 500, 500, 500, 200, 200, 200, 200, 200, 500, 200];
	const service = await scripted((_seen, index) => (plan[index] === 500 ? refusal(500) : { json: me }));
	const client = clientOf(service, { retry: { baseDelayMs: 1, attempts: 2, budget: 5 } });
	await client.me.get();
	await client.me.get();
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 2 });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 1 });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 1 });
	for (let call = 0; call < 5; call++) await client.me.get();
	await expect(client.me.get().withResponse()).resolves.toMatchObject({ response: { attempts: 2 } });
});

test("option retry.budget: it is the client's own: another client is not held back", async () => {
	const service = await scripted(inTurn(refusal(503)));
	const spent = clientOf(service, { retry: { baseDelayMs: 1, budget: 0 } });
	await expect(failure(() => spent.me.get())).resolves.toMatchObject({ attempts: 1 });
	await expect(failure(() => clientOf(service).me.get())).resolves.toMatchObject({ attempts: 4 });
});

test("option logger: debug, info, warn and error fit, and something is said of each attempt", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const lines: string[] = [];
	const say = (...line: unknown[]) => lines.push(line.map(String).join(" "));
	await clientOf(service, { logger: { debug: say, info: say, warn: say, error: say } }).me.get();
	expect(lines.length).toBeGreaterThanOrEqual(2);
	expect(lines.join("\n")).toContain("me.get");
});

test("option onAttempt: called after each attempt", async () => {
	const service = await scripted(inTurn(refusal(500), { json: me }));
	const attempts: number[] = [];
	await clientOf(service, { onAttempt: ({ attempt }) => attempts.push(attempt) }).me.get();
	expect(attempts).toEqual([1, 2]);
});

test("option onContractDrift: told of what the contract does not know; the call succeeds", async () => {
	const service = await scripted(inTurn({ json: { ...me, region: "eu" } }));
	const drifts: unknown[] = [];
	const data = await clientOf(service, { onContractDrift: (drift) => drifts.push(drift) }).me.get();
	expect(drifts).toEqual([{ operation: "me.get", path: "region", kind: "unknown-field" }]);
	expect(data).toMatchObject({ region: "eu" });
});

test("option allowRecipients: a send to anyone else is refused before any request", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { messages } = clientOf(service, { allowRecipients: ["0470 12 34 56"] }).agency(agencyId);
	const error = await failure(() => messages.send({ to: "+32470999999", body: text }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", outcome: "not_sent" });
	expect(service.requests).toEqual([]);
	await messages.send({ to: phone, body: text });
	expect(service.requests).toHaveLength(1);
});

test("option appInfo: stands in the User-Agent beside SDK and runtime, and nothing else is reported", async () => {
	const service = await scripted(inTurn({ json: me }));
	await clientOf(service, { appInfo: { name: "acme-crm", version: "4.2" } }).me.get();
	await clientOf(service, { appInfo: { name: "acme-crm" } }).me.get();
	await clientOf(service).me.get();
	const agents = service.requests.map(({ headers }) => headers["user-agent"]);
	const plain = `${agents[2]}`;
	expect(plain).toMatch(/^messaging-conversations\/\d+\.\d+\.\d+\S* /);
	expect(plain).toContain(process.version.slice(1));
	expect(agents[0]).toContain("acme-crm/4.2");
	expect(agents[1]).toMatch(/acme-crm(?!\/)/);
	expect(plain).not.toContain("acme");
});

test("option defaultCountry: BE unless told otherwise, for every number that a call takes", async () => {
	const service = await scripted((seen) => {
		if (seen.url.endsWith("/messages") && seen.method === "POST") return { json: sentNow };
		return { json: sixCalls.find(({ operation }) => operation === "conversations.get")?.good };
	});
	const belgian = clientOf(service).agency(agencyId);
	const french = clientOf(service, { defaultCountry: "FR" }).agency(agencyId);
	await belgian.conversations.get("0470 12 34 56");
	await french.conversations.get("06 12 34 56 78");
	await french.messages.send({ to: "06 12 34 56 78", body: text });
	expect(service.requests[0]?.url).toContain("/%2B32470123456");
	expect(service.requests[1]?.url).toContain("/%2B33612345678");
	expect(JSON.parse(service.requests[2]?.body ?? "").to).toBe("+33612345678");
	expect(toE164("06 12 34 56 78", { defaultCountry: "FR" })).toBe("+33612345678");
});

test("option defaultCountry: also for allowRecipients and lookup", async () => {
	const service = await scripted((seen) => ({
		json: seen.url.endsWith("/lookup") ? { results: [{ phoneNumber: "+33612345678", conversation: null }] } : sentNow,
	}));
	const french = clientOf(service, { defaultCountry: "FR", allowRecipients: ["06 12 34 56 78"] }).agency(agencyId);
	await expect(french.messages.send({ to: "+33612345678", body: text })).resolves.toMatchObject({ queued: false });
	await expect(french.conversations.lookup(["0612345678"])).resolves.toMatchObject([{ phoneNumber: "+33612345678" }]);
});

test("option dangerouslyAllowBrowser: without it the client does not start in a page", async () => {
	vi.stubGlobal("window", { document: {} });
	vi.stubGlobal("document", {});
	vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0" });
	const error = await failure(() => createClient({ baseUrl, apiKey }));
	expect(error._tag).toBe("PartnerInvalidInput");
	expect(error.message).toContain("dangerouslyAllowBrowser");
	await expect(failure(() => createClient({ baseUrl, apiKey, dangerouslyAllowBrowser: false }))).resolves.toBeDefined();
	const { fetch } = fetchOf(() => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey, fetch, dangerouslyAllowBrowser: true });
	await expect(client.me.get()).resolves.toEqual(me);
});

test("a client shows its key in no form", async () => {
	const { inspect } = await import("node:util");
	const client = createClient({ baseUrl, apiKey, fetch: never });
	const forms = [inspect(client, { showHidden: true, depth: 10 }), JSON.stringify(client), String(client)];
	forms.push(inspect(client.agency(agencyId), { showHidden: true, depth: 10 }));
	expect(forms.join("\n")).not.toContain("CANARYKEY");
});

test("a sandbox's key and a host that is no sandbox do not go together", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	const key = "sandbox_live.key.secret";
	const error = await failure(() => createClient({ baseUrl, apiKey: key, fetch }).me.get());
	expect(error._tag).toBe("PartnerInvalidInput");
	expect(calls).toEqual([]);
	await createClient({ baseUrl: "http://127.0.0.1:9/api/v1", apiKey: key, fetch }).me.get();
	await createClient({ baseUrl: "https://sandbox.invalid/api/v1", apiKey: key, fetch }).me.get();
	expect(calls).toHaveLength(2);
});

function raise(words: string): never {
	throw new Error(words);
}

test("an abort in the same breath as the call makes no request", async () => {
	const { fetch, calls } = fetchOf(never);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency("agy_1");
	const controller = new AbortController();
	const call = messages.send({ to: phone, body: "Hello" }, { signal: controller.signal });
	controller.abort();
	await expect(call).rejects.toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(calls).toEqual([]);
});

test("S36 a fetch that hands out a clone leaves no rejection unheard when the body is cut", async () => {
	const unheard: unknown[] = [];
	const note = (reason: unknown) => unheard.push(reason);
	process.on("unhandledRejection", note);
	onTestFinished(() => void process.off("unhandledRejection", note));
	// Of no length that is told: its bytes are counted as they come.
	const server = createServer((_request, response) => response.writeHead(200).write('{"half":')).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close().closeAllConnections());
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const fetch: Fetch = async (url, init) => (await globalThis.fetch(url, init)).clone();
	const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey, fetch, retry: false });
	const error = await failure(() => client.me.get({ timeoutMs: 50 }));
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", status: 200 });
	await pause();
	expect(unheard).toEqual([]);
});

test("a read is on its way when its call returns", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	const call = createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(calls).toHaveLength(1);
	await call;
});

test("an error of this package that an apiKey function throws is a failed function like any other", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	const inner = await failure(() =>
		createClient({ baseUrl, apiKey, retry: false, fetch: async () => failing() }).me.get(),
	);
	const apiKeyFunction = () => Promise.reject(Object.freeze(inner));
	const error = await failure(() => createClient({ baseUrl, apiKey: apiKeyFunction, fetch }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", message: "apiKey: its function failed", attempts: 0 });
	expect(calls).toEqual([]);
});

test.for(["a\nb", "Näh/1", 5])("a runtime whose name cannot stand in a header is left out: %j", async (userAgent) => {
	vi.stubGlobal("navigator", { userAgent });
	const { fetch, calls } = fetchOf(() => jsonResponse(me));
	await createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(new Headers(calls[0]?.init.headers).get("user-agent")).toMatch(
		/^messaging-conversations\/\S+ Node\.js\/\S+$|^messaging-conversations\/\S+ 5 *$/,
	);
});

test("a runtime without fetch sends nothing, and says what is missing", async () => {
	vi.stubGlobal("fetch", undefined);
	const { send } = createClient({ baseUrl, apiKey }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text }));
	const message = "fetch: is required";
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", message, attempts: 0, outcome: "not_sent" });
});

test("option apiKey: a function is waited for, whoever put another Promise in place of the global one", async () => {
	const { fetch, calls } = fetchOf(() => jsonResponse(sixCalls[0]?.good));
	vi.stubGlobal("Promise", class extends Promise<unknown> {});
	await createClient({ baseUrl, apiKey: async () => apiKey, fetch }).me.get();
	expect(authorization(calls[0]?.init)).toBe(`Bearer ${apiKey}`);
});
