import {
	type ClientOptions,
	createClient,
	type Transport,
	type TransportRequest,
	toE164,
} from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { clientOf, failure, jsonResponse, quick, recordingFetch, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { expectMisconfigured, notMilliseconds, notRetry } from "../refusals.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";

afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllGlobals();
	vi.unstubAllEnvs();
});

const authorization = (init: RequestInit | undefined): string | null => new Headers(init?.headers).get("authorization");
const failing = () => jsonResponse({ _tag: "PartnerInternalError", message: "no" }, { status: 500 });
const never = () => new Promise<Response>(() => {});
/** After its time a time-out looks once more for a response that has arrived: at most 5 ms here. */
const about = (ms: number): unknown => expect.closeTo(ms, -1);

const badOptions: [field: string, value: unknown][] = [
	...notMilliseconds.map((value): [string, unknown] => ["timeoutMs", value]),
	...notMilliseconds.map((value): [string, unknown] => ["deadline", value]),
	...notRetry.map((value): [string, unknown] => ["retry", value]),
	...[5, "no function", {}, null].map((value): [string, unknown] => ["fetch", value]),
	...[5, "no function", {}, null].map((value): [string, unknown] => ["transport", value]),
	...[5, "console", {}, null, () => {}, { debug() {}, info() {}, warn() {} }, { log() {} }].map(
		(value): [string, unknown] => ["logger", value],
	),
	...[5, "x", {}, null].map((value): [string, unknown] => ["onAttempt", value]),
	...[5, "x", {}, null].map((value): [string, unknown] => ["onContractDrift", value]),
	...[5, "x", {}, null, { startSpan: 1 }].map((value): [string, unknown] => ["tracer", value]),
	...[5, "+32470123456", {}, null, ["not a number"], ["+32470123456", 5], [""]].map((value): [string, unknown] => [
		"allowRecipients",
		value,
	]),
	...[5, "acme", {}, null, { name: "" }, { name: 5 }, { name: "a\r\nx-evil: 1" }, { name: "acme", version: 4 }].map(
		(value): [string, unknown] => ["appInfo|name|version", value],
	),
	...[5, "Belgium", "XX", "", null].map((value): [string, unknown] => ["defaultCountry", value]),
	...[5, "yes", null].map((value): [string, unknown] => ["dangerouslyAllowBrowser", value]),
	...[5, {}, []].map((value): [string, unknown] => ["apiKey", value]),
	...[5, {}, () => "https://x"].map((value): [string, unknown] => ["baseUrl", value]),
];

test.for(badOptions)("createClient refuses %s: %j at once", async ([field, value]) => {
	const [name = ""] = field.split("|");
	await expectMisconfigured(
		() => createClient({ baseUrl, apiKey, ...{ [name]: wrong(value) } }),
		new RegExp(field),
		JSON.stringify(value),
	);
});

test("createClient refuses an option that it does not have", async () => {
	await expectMisconfigured(() => createClient({ baseUrl, apiKey, ...{ timeout: 5000 } }), /timeout/);
});

test.for([undefined, null, 5, "https://x"])("createClient refuses %j in place of its options", async (options) => {
	await expectMisconfigured(() => createClient(wrong(options)), /options/);
});

test("createClient takes every option as undefined", () => {
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: undefined,
		timeoutMs: undefined,
		deadline: undefined,
		retry: undefined,
		logger: undefined,
		onAttempt: undefined,
		onContractDrift: undefined,
		allowRecipients: undefined,
		appInfo: undefined,
		defaultCountry: undefined,
		dangerouslyAllowBrowser: undefined,
	});
	expect(client.agency(agencyId).id).toBe(agencyId);
});

test("option fetch: globalThis.fetch by default, looked up at each call", async () => {
	const first = recordingFetch(() => jsonResponse(me));
	const second = recordingFetch(() => jsonResponse(me));
	vi.stubGlobal("fetch", () => Promise.reject(new TypeError("captured at creation")));
	const client = createClient({ baseUrl, apiKey });
	vi.stubGlobal("fetch", first.fetch);
	await client.me.get();
	vi.stubGlobal("fetch", second.fetch);
	await client.me.get();
	expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
});

test("option fetch: called unbound, with a URL and an init", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	await createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(calls[0]?.self).toBeUndefined();
	expect(calls[0]?.url).toBe(`${baseUrl}/me`);
	expect(calls[0]?.init).toMatchObject({ method: "GET", redirect: "manual" });
	expect(authorization(calls[0]?.init)).toBe(`Bearer ${apiKey}`);
});

test("option fetch: reads ask for no-store, and a send for nothing of the kind", async () => {
	const { fetch, calls } = recordingFetch((index) => jsonResponse(sixCalls[index]?.good));
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
		expect(ends).toEqual([about(operation === "messages.send" ? 30_000 : 15_000)]);
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
	expect(ends).toEqual([400, 700].map(about));
});

test("option timeoutMs: covers the body, not the headers alone", async () => {
	const service = await scripted(inTurn("stall"));
	const client = clientOf(service, { timeoutMs: 60, retry: false });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1 });
});

test.for(sixCalls)(
	"option deadline: 30 s for reads and 60 s for sends by default: $operation",
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
		expect(ms).toEqual(about(operation === "messages.send" ? 60_000 : 30_000));
	},
);

test("option deadline: bounds attempts and waits together; a call's goes before the client's", async () => {
	vi.useFakeTimers();
	const startedAt = performance.now();
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: never,
		timeoutMs: 1000,
		deadline: 2500,
		retry: { baseDelayMs: 10 },
	});
	const ends: number[] = [];
	const note = () => ends.push(performance.now() - startedAt);
	const both = [client.me.get({ deadline: 1800 }).result().then(note), client.me.get().result().then(note)];
	await vi.runAllTimersAsync();
	await Promise.all(both);
	expect(ends).toEqual([1800, 2500].map(about));
});

test("option retry: four attempts by default, after 250–500, 500–1000 and 1000–2000 ms", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const { fetch, calls } = recordingFetch(failing);
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

test("option retry: the waits that are reported are the waits that are made", async () => {
	vi.useFakeTimers();
	const at: number[] = [];
	const waits: number[] = [];
	const { fetch } = recordingFetch(() => {
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
		fetch: recordingFetch(failing).fetch,
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
	const { fetch, calls } = recordingFetch(failing);
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

test("option retry.budget: Infinity on one call retries it although the client's tokens are spent", async () => {
	const service = await scripted(inTurn(refusal(503)));
	const client = clientOf(service, { retry: { baseDelayMs: 1, budget: 0 } });
	const retry = { budget: Number.POSITIVE_INFINITY };
	await expect(failure(() => client.me.get({ retry }))).resolves.toMatchObject({ attempts: 4 });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 1 });
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

test("option onContractDrift: called for what the contract does not know; the call succeeds", async () => {
	const service = await scripted(inTurn({ json: { ...me, region: "eu" } }));
	const drifts: unknown[] = [];
	const data = await clientOf(service, { onContractDrift: (drift) => drifts.push(drift) }).me.get();
	expect(drifts).toEqual([{ operation: "me.get", path: "region", kind: "unknown-field" }]);
	expect(data).toMatchObject({ region: "eu" });
});

test("option appInfo: is in the User-Agent beside SDK and runtime, and nothing else is reported", async () => {
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

const agentOf = async (options: Partial<ClientOptions> = {}): Promise<string | null> => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	await createClient({ baseUrl, apiKey, fetch, ...options }).me.get();
	return new Headers(calls[0]?.init.headers).get("user-agent");
};

test("option appInfo: what is not a letter, a digit, a dot, _ or - becomes one - in the User-Agent", async () => {
	const agent = await agentOf({ appInfo: { name: "Acme_CRM (Ghent)", version: "4.2/beta" } });
	expect(agent?.split(" ").at(-1)).toBe("Acme_CRM-Ghent-/4.2-beta");
});

const node = `Node.js/${process.versions.node}`;

test.for([
	["Cloudflare-Workers", "Cloudflare-Workers"],
	["Deno/2.5.0", "Deno/2.5.0"],
	["Node.js/24", node],
	["Rúntime/1", node],
	[undefined, node],
] as const)("the User-Agent names the runtime, which calls itself %j", async ([userAgent, shown]) => {
	vi.stubGlobal("navigator", { userAgent });
	expect(await agentOf()).toMatch(/^messaging-conversations\/[\d.]+\S* /);
	expect((await agentOf())?.split(" ").slice(1)).toEqual([shown]);
});

test("option defaultCountry: BE by default, for every number that a call takes", async () => {
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

test("option defaultCountry: for allowRecipients and lookup too", async () => {
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
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "dangerouslyAllowBrowser" });
	await expect(failure(() => createClient({ baseUrl, apiKey, dangerouslyAllowBrowser: false }))).resolves.toBeDefined();
	const { fetch } = recordingFetch(() => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey, fetch, dangerouslyAllowBrowser: true });
	await expect(client.me.get()).resolves.toEqual(me);
});

test.for(["a\nb", "Näh/1", 5])("a runtime whose name does not fit in a header is left out: %j", async (userAgent) => {
	vi.stubGlobal("navigator", { userAgent });
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	await createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(new Headers(calls[0]?.init.headers).get("user-agent")).toMatch(
		/^messaging-conversations\/\S+ Node\.js\/\S+$|^messaging-conversations\/\S+ 5 *$/,
	);
});

test("option fetch: a runtime without one sends nothing and tries once, and the error says what is missing", async () => {
	vi.stubGlobal("fetch", undefined);
	const { send } = createClient({ baseUrl, apiKey }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text }));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", attempts: 1, retryable: false, outcome: "not_sent" });
	expect(error.message).toBe("messages.send: this runtime has no fetch (ERR_NO_FETCH)");
});

test("option retry: a copy is kept: what the caller does to its object later changes nothing", async () => {
	const service = await scripted(inTurn(refusal(500)));
	const retry = { ...quick, attempts: 2 };
	const client = clientOf(service, { retry });
	retry.attempts = 50;
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 2 });
	const own = { ...quick, attempts: 1 };
	const list = client.agency(agencyId).conversations.list({ retry: own });
	own.attempts = 50;
	await expect(failure(() => list.toArray())).resolves.toMatchObject({ attempts: 1 });
	await expect(failure(() => list.page())).resolves.toMatchObject({ attempts: 1 });
	expect(service.requests).toHaveLength(4);
});

test("option retry: the number of attempts is read once, so that a getter cannot raise it after the check", async () => {
	const service = await scripted(inTurn("reset"));
	let reads = 0;
	const retry = {
		...quick,
		get attempts() {
			return ++reads === 1 ? 2 : 40;
		},
	};
	const { send } = clientOf(service).agency(agencyId).messages;
	await expect(failure(() => send({ to: phone, body: text }, { retry }))).resolves.toMatchObject({ attempts: 2 });
	expect(service.requests).toHaveLength(2);
	reads = 0;
	const client = clientOf(service, { retry });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ attempts: 2 });
});

test("option transport: a transport takes the place of fetch, and both together are refused", async () => {
	const requests: TransportRequest[] = [];
	const transport: Transport = async (request) => {
		requests.push(request);
		return { status: 200, headers: new Map([["x-correlation-id", "cor-1"]]), text: JSON.stringify(me) };
	};
	const client = createClient({ baseUrl, apiKey, transport });
	await expect(client.me.get().withResponse()).resolves.toMatchObject({
		data: me,
		response: { status: 200, correlationId: "cor-1", attempts: 1, headers: expect.any(Headers) },
	});
	expect(requests).toMatchObject([{ method: "GET", url: `${baseUrl}/me`, body: undefined, noStore: true }]);
	expect(requests[0]?.headers).toMatchObject({ authorization: `Bearer ${apiKey}`, accept: "application/json" });
	const error = await failure(() => createClient({ baseUrl, apiKey, transport, fetch: globalThis.fetch }));
	const rule = "must not be given together with fetch: leave one of them out";
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "transport", rule });
});

test("option deadline: a Date ends every call then, and a call's own deadline goes before the client's", async () => {
	vi.useFakeTimers();
	const startedAt = performance.now();
	const deadline = new Date(Date.now() + 2500);
	const client = createClient({ baseUrl, apiKey, fetch: never, timeoutMs: 1000, deadline, retry: { baseDelayMs: 10 } });
	deadline.setTime(0); // the client has a copy
	const ends: number[] = [];
	const end = (call: { result: () => Promise<unknown> }) =>
		call.result().then(() => ends.push(performance.now() - startedAt));
	const calls = [
		end(client.me.get({ deadline: 1500 })),
		end(client.me.get({ deadline: new Date(Date.now() + 2000) })),
		end(client.me.get()),
		end(client.withOptions({ deadline: 2800 }).me.get()),
	];
	await vi.runAllTimersAsync();
	await Promise.all(calls);
	expect(ends).toEqual([1500, 2000, 2500, 2800].map(about));
	expect(await client.me.get().result()).toMatchObject({ error: { _tag: "PartnerTimeoutError", attempts: 0 } });
});

test.for([1_900_000_000_000, new Date(Number.NaN), "2031-01-01T00:00:00Z", 0, 1.5])(
	"option deadline: %s is neither milliseconds nor a moment",
	(value) => {
		const options = { baseUrl, apiKey, deadline: wrong(value) };
		expect(() => createClient(options)).toThrow(
			/^deadline: must be a whole number of milliseconds .*, or a valid Date/,
		);
	},
);
