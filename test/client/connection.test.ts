import { inspect } from "node:util";
import { createClient, type Fetch } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { callOf, clientOf, failure, jsonResponse, quick, recordingFetch, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { expectMisconfigured } from "../refusals.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";

afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllGlobals();
	vi.unstubAllEnvs();
});

const authorization = (init: RequestInit | undefined): string | null => new Headers(init?.headers).get("authorization");
const failing = () => jsonResponse({ _tag: "PartnerInternalError", message: "no" }, { status: 500 });

function raise(words: string): never {
	throw new Error(words);
}

function named(name: string): Error {
	return Object.assign(new Error("x"), { name });
}

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
	"http://127.255.0.9:8080/api/v1",
	"http://LOCALHOST/api/v1",
	"http://[::1]:8080/api/v1",
])("option baseUrl: %s is taken", async (given) => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	await createClient({ baseUrl: given, apiKey, fetch }).me.get();
	expect(calls[0]?.url).toBe(`${new URL(given).href}/me`);
});

test.for([undefined, ""])("option baseUrl: absent (%j), it fails at the first call and not before", async (given) => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const client = createClient({ baseUrl: given, apiKey, fetch });
	for (const { run } of sixCalls) {
		const error = await failure(() => run(client));
		expect(error).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0, retryable: false });
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
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey: given, fetch });
	const error = await failure(() => client.me.get());
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0 });
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

test.for([
	["a 503 of a gateway", { status: 503, text: "<h1>Unavailable</h1>" }],
	["a 404 of a gateway", { status: 404, text: "default backend" }],
	["a 500 of the service", refusal(500)],
	["a lost connection", "reset"],
] as const)(
	"S17 the repeat of a send in doubt after %s keeps its key, because its id may not be known under another",
	async ([, first]) => {
		const service = await scripted(inTurn(first, { json: sentNow }));
		const keys = ["old_live.a.b", "new_live.a.b", "third_live.a.b"];
		const client = clientOf(service, { apiKey: () => keys.shift() ?? "none" });
		await client.agency(agencyId).messages.send({ to: phone, body: text });
		expect(service.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill("Bearer old_live.a.b"));
		// The next call has the key of now.
		await client.agency(agencyId).messages.send({ to: phone, body: text });
		expect(service.requests.at(-1)?.headers.authorization).toBe("Bearer new_live.a.b");
	},
);

test("option apiKey: an abort right after the call of a send asks no function", async () => {
	const apiKey = vi.fn(() => "key_live.a.b");
	const abort = new AbortController();
	const send = clientOf({ baseUrl }, { apiKey })
		.agency(agencyId)
		.messages.send({ to: phone, body: text }, { signal: abort.signal });
	abort.abort();
	expect(await failure(() => send)).toMatchObject({ _tag: "PartnerAbortError", outcome: "not_sent", attempts: 0 });
	expect(apiKey).not.toHaveBeenCalled();
});

test("option apiKey: an abort while the function is asked after a 401 ends the call as aborted", async () => {
	const service = await scripted(inTurn(refusal(401)));
	const abort = new AbortController();
	let asked = 0;
	const apiKey = (): string | Promise<string> => {
		if (asked++ === 0) return "key_live.a.b";
		setTimeout(() => abort.abort());
		return new Promise(() => {});
	};
	const { signal } = abort;
	const error = await failure(() => clientOf(service, { apiKey }).me.get({ signal }));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
});

test("option apiKey: a function may answer with a promise", async () => {
	const service = await scripted(inTurn({ json: me }));
	await clientOf(service, { apiKey: async () => "later_live.a.b" }).me.get();
	expect(service.requests[0]?.headers.authorization).toBe("Bearer later_live.a.b");
});

test.for([
	[
		"rejects",
		() => Promise.reject(new RangeError(`the vault says ${apiKey}`)),
		"RangeError",
		"its function failed (RangeError)",
	],
	["throws", () => raise(`the vault says ${apiKey}`), "Error", "its function failed (Error)"],
	[
		"throws an error whose name is not text",
		() => Promise.reject(Object.assign(new Error("x"), { name: Object.create(null) })),
		"Error",
		"its function failed (Error)",
	],
	[
		"throws an error whose name is a secret",
		() => Promise.reject(named(`${apiKey} ${apiKey}`)),
		"Error",
		"its function failed (Error)",
	],
] as [string, () => Promise<string>, string, string][])(
	"option apiKey: a function that %s is PartnerConfigurationError, retryable, with zero requests",
	async ([, given, name, rule]) => {
		const { fetch, calls } = recordingFetch(() => jsonResponse(sentNow));
		const levels: string[] = [];
		const events: unknown[] = [];
		const note = (level: string) => () => levels.push(level);
		const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
		const onAttempt = (event: unknown) => events.push(event);
		const client = createClient({ baseUrl, apiKey: given, fetch, logger, onAttempt });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({ _tag: "PartnerConfigurationError", operation: "messages.send", agencyId });
		expect(error).toMatchObject({ field: "apiKey", rule, message: `apiKey: ${rule}`, cause: { name } });
		expect(error).toMatchObject({ attempts: 0, outcome: "not_sent", retryable: true });
		const tag = "PartnerConfigurationError";
		const { operationId } = error;
		expect(events).toEqual([
			{
				operation: "messages.send",
				agencyId,
				operationId,
				attempt: 1,
				errorTag: tag,
				errorCode: name,
				durationMs: expect.any(Number),
			},
		]);
		expect(levels).toEqual(["error"]);
		expect(inspect([error, events], { depth: 10, showHidden: true })).not.toContain("CANARYKEY");
		expect(calls).toEqual([]);
	},
);

const missing = "is required. Pass the key, or a function that returns it; is its environment variable set?";

test.for([
	["nothing", () => "", missing],
	["undefined", () => undefined, missing],
	["what cannot stand in a header", () => `${apiKey}\n`, "must be visible ASCII without spaces, and without `Bearer`"],
	["a number", () => wrong(5), "must be a string"],
] as [string, () => string | undefined, string][])(
	"option apiKey: a function that returns %s is PartnerConfigurationError, not retryable, with zero requests",
	async ([, given, rule]) => {
		const { fetch, calls } = recordingFetch(() => jsonResponse(sentNow));
		const error = await failure(() => callOf("messages.send").run(createClient({ baseUrl, apiKey: given, fetch })));
		expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "apiKey", rule, attempts: 0 });
		expect(error).toMatchObject({ outcome: "not_sent", retryable: false });
		expect(`${error.stack}`).not.toContain("CANARYKEY");
		expect(calls).toEqual([]);
	},
);

test("option apiKey: a function that would fail before the second attempt is not asked for a send in doubt", async () => {
	const keys = [apiKey];
	const { fetch, calls } = recordingFetch(failing);
	const given = () => keys.pop() ?? raise("locked");
	const client = createClient({ baseUrl, apiKey: given, fetch, retry: quick });
	const error = await failure(() => callOf("messages.send").run(client));
	expect(error).toMatchObject({ _tag: "PartnerInternalError", attempts: 4, outcome: "unknown", retryable: true });
	expect(calls).toHaveLength(4);
});

test("option apiKey: a function that fails before the second attempt of a read ends it", async () => {
	const keys = [apiKey];
	const { fetch, calls } = recordingFetch(failing);
	const given = () => keys.pop() ?? raise("locked");
	const client = createClient({ baseUrl, apiKey: given, fetch, retry: quick });
	const error = await failure(() => client.me.get());
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 1, retryable: true });
	expect(calls).toHaveLength(1);
});

test("option apiKey: a function that never answers does not hold the call beyond its deadline", async () => {
	vi.useFakeTimers();
	const { fetch, calls } = recordingFetch(() => jsonResponse(sentNow));
	const client = createClient({ baseUrl, apiKey: () => new Promise<string>(() => {}), fetch });
	const settled = callOf("messages.send").run(client).result();
	await vi.advanceTimersByTimeAsync(60_001);
	await expect(settled).resolves.toMatchObject({
		ok: false,
		error: { _tag: "PartnerTimeoutError", outcome: "not_sent", attempts: 0 },
	});
	expect(calls).toEqual([]);
});

const sandboxKey = "sandbox_live.key.secret";

test.for([baseUrl, "https://app.localhost/api/v1", "https://sandbox.invalid.example/api/v1"])(
	"a sandbox's key is refused for a host that is not a sandbox, %s, at once or from its function",
	async (given) => {
		const { fetch, calls } = recordingFetch(() => jsonResponse(me));
		const rule = "is a sandbox key, but baseUrl is not a sandbox. Pass the key of the service";
		const atOnce = await failure(() => createClient({ baseUrl: given, apiKey: sandboxKey, fetch }));
		const later = await failure(() => createClient({ baseUrl: given, apiKey: () => sandboxKey, fetch }).me.get());
		for (const error of [atOnce, later]) {
			expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "apiKey", rule, attempts: 0 });
		}
		expect(calls).toEqual([]);
	},
);

test.for([
	"http://127.0.0.1:9/api/v1",
	"http://localhost:9/api/v1",
	"http://[::1]:9/api/v1",
	"https://sandbox.invalid/api/v1",
])("a sandbox's key is taken for %s", async (given) => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	await createClient({ baseUrl: given, apiKey: sandboxKey, fetch }).me.get();
	expect(calls).toHaveLength(1);
});

test("an error of this package that an apiKey function throws is a failed function like any other", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const inner = await failure(() =>
		createClient({ baseUrl, apiKey, retry: false, fetch: async () => failing() }).me.get(),
	);
	const apiKeyFunction = () => Promise.reject(Object.freeze(inner));
	const error = await failure(() => createClient({ baseUrl, apiKey: apiKeyFunction, fetch }).me.get());
	expect(error).toMatchObject({
		_tag: "PartnerConfigurationError",
		message: "apiKey: its function failed (PartnerInternalError)",
		attempts: 0,
	});
	expect(calls).toEqual([]);
});

test("option apiKey: a function is waited for, even if another Promise replaced the global one", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(sixCalls[0]?.good));
	vi.stubGlobal("Promise", class extends Promise<unknown> {});
	await createClient({ baseUrl, apiKey: async () => apiKey, fetch }).me.get();
	expect(authorization(calls[0]?.init)).toBe(`Bearer ${apiKey}`);
});

test.for([
	"http://messaging.example/api/v1",
	"http://localhost.evil.example/api/v1",
	"http://app.localhost/api/v1",
	"http://localhost./api/v1",
	"http://0.0.0.0/api/v1",
	"http://128.0.0.1/api/v1",
	"http://127.0.0.1.evil.example/api/v1",
	"http://10.0.0.1/api/v1",
	"http://192.168.0.10/api/v1",
	"http://[2001:db8::1]/api/v1",
	"ftp://messaging.example/api/v1",
	"javascript:alert(1)//canary",
	"data:text/plain,canary",
	"file:///etc/canary",
	"//messaging.example/api/v1",
	"/api/v1/canary",
	"messaging.example/api/v1",
	"https://",
	"https://exa mple.com/api",
	"canary canary",
])("S1 S3 baseUrl %s is refused at once, and is not shown", async (given) => {
	await expectMisconfigured(() => createClient({ baseUrl: given, apiKey }), /baseUrl/, given);
});

test.for([
	["user and password", "https://someuser:CANARYPASS@messaging.example/api/v1"],
	["a user", "https://CANARYPASS@messaging.example/api/v1"],
	["a password on loopback", "http://:CANARYPASS@127.0.0.1/api/v1"],
	["a query", "https://messaging.example/api/v1?CANARYPASS=1"],
	["an empty query", "https://messaging.example/api/v1?"],
	["a fragment", "https://messaging.example/api/v1#CANARYPASS"],
	["a password in what is no URL", "https://someuser:CANARYPASS@:99999999/api/v1"],
] as const)("S2 S4 baseUrl with %s is refused at once, and is not shown", async ([, given]) => {
	await expectMisconfigured(() => createClient({ baseUrl: given, apiKey }), /baseUrl/, "CANARYPASS");
});

const badKeys: [string, string][] = [
	["a line feed at its end", "test_live.CANARY.secret\n"],
	["a line break inside", "test_live.CANARY\r\nx-evil: 1"],
	["NUL", "test_live.CANARY\0"],
	["a space inside", "test_live.CANARY secret"],
	["spaces around it", " test_live.CANARY.secret "],
	["a tab", "test_live.CANARY\tsecret"],
	["a letter outside ASCII", "test_live.CANARÝ.CANARY"],
	["a Bearer prefix", "Bearer test_live.CANARY.secret"],
	["an emoji", "test_live.CANARY.🔑"],
	["DEL", "test_live.CANARY\x7f"],
];

test.for(badKeys)("S13 apiKey with %s is refused at once, and no character of it is shown", async ([, key]) => {
	await expectMisconfigured(() => createClient({ baseUrl, apiKey: key }), /apiKey/, "CANARY");
});

test.for(badKeys)("S13 apiKey from a function, with %s, is refused at the first call", async ([, key]) => {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	const error = await failure(() => createClient({ baseUrl, apiKey: () => key, fetch }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0 });
	expect(error.message).toMatch(/apiKey/);
	expect(`${error.stack}${JSON.stringify(error)}`).not.toContain("CANARY");
	expect(urls).toEqual([]);
});

test("apiKey: any visible ASCII is taken, as its form is the service's business", async () => {
	const keys: (string | null)[] = [];
	const fetch: Fetch = async (_url, init) => {
		keys.push(new Headers(init.headers).get("authorization"));
		return jsonResponse({ integration: { id: "x", name: "x" }, agencies: [], scopes: [] });
	};
	for (const key of ["x", "no-dots-at-all", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"]) {
		await createClient({ baseUrl, apiKey: key, fetch }).me.get();
	}
	expect(keys).toEqual(["Bearer x", "Bearer no-dots-at-all", "Bearer !#$%&'()*+,-./:;<=>?@[]^_`{|}~"]);
});
