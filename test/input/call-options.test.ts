import {
	type CallOptions,
	type Client,
	createClient,
	type Fetch,
	isWindowOpen,
	operationIdFrom,
	toE164,
} from "messaging-conversations";
import { expect, onTestFinished, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, text } from "../canned.ts";

// What the API and spec §8 limit is refused before any request, with a message that names the field and the rule and
// never the value.

const baseUrl = "https://messaging.example/api/v1";
const loneSurrogate = "CANARY\ud83d";

/** Expects a refusal that names `field`, shows nothing of `value` and made no request. */
async function expectRefusal(run: (client: Client) => unknown, field: RegExp, value?: unknown): Promise<void> {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	const error = await failure(() => run(createClient({ baseUrl, apiKey, fetch })));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, retryable: false });
	expect(error.message).toMatch(field);
	// A rule stands beside the field.
	expect(error.message.replace(field, "").trim().length).toBeGreaterThan(5);
	if (typeof value === "string" && value.length > 5) {
		for (const shown of [error.message, error.stack, JSON.stringify(error)]) expect(shown).not.toContain(value);
	}
	expect(urls).toEqual([]);
}

const notMilliseconds = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, "1000", null, {}];
const notRetry = [
	true,
	null,
	3,
	"no",
	[],
	{ attempts: 0 },
	{ attempts: -1 },
	{ attempts: 1.5 },
	{ attempts: Number.NaN },
	{ attempts: Number.POSITIVE_INFINITY },
	{ attempts: "4" },
	{ baseDelayMs: -1 },
	{ baseDelayMs: Number.NaN },
	{ baseDelayMs: 1.5 },
	{ baseDelayMs: 2 ** 31 },
	{ maxDelayMs: -1 },
	{ maxDelayMs: Number.NaN },
	{ maxDelayMs: "8000" },
	{ budget: -1 },
	{ budget: Number.NaN },
	{ budget: "100" },
	{ retries: 3 },
];

// createClient

const badOptions: [field: string, value: unknown][] = [
	...notMilliseconds.map((value): [string, unknown] => ["timeoutMs", value]),
	...notMilliseconds.map((value): [string, unknown] => ["deadlineMs", value]),
	...notRetry.map((value): [string, unknown] => ["retry", value]),
	...[5, "fetch", {}, null].map((value): [string, unknown] => ["fetch", value]),
	...[5, "console", {}, null, () => {}, { debug() {}, info() {}, warn() {} }, { log() {} }].map(
		(value): [string, unknown] => ["logger", value],
	),
	...[5, "x", {}, null].map((value): [string, unknown] => ["onAttempt", value]),
	...[5, "x", {}, null].map((value): [string, unknown] => ["onContractDrift", value]),
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
	await expectRefusal(
		() => createClient({ baseUrl, apiKey, ...{ [name]: wrong(value) } }),
		new RegExp(field),
		JSON.stringify(value),
	);
});

test("createClient refuses an option that it does not have", async () => {
	await expectRefusal(() => createClient({ baseUrl, apiKey, ...{ timeout: 5000 } }), /timeout/);
});

test.for([undefined, null, 5, "https://x"])("createClient refuses %j in place of its options", async (options) => {
	await expectRefusal(() => createClient(wrong(options)), /options/);
});

test("createClient takes every option as undefined", () => {
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: undefined,
		timeoutMs: undefined,
		deadlineMs: undefined,
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

test.for([
	"http://messaging.example/api/v1",
	"http://localhost.evil.example/api/v1",
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
])("S1 S3 baseUrl %s is refused at once, and is not told", async (given) => {
	await expectRefusal(() => createClient({ baseUrl: given, apiKey }), /baseUrl/, given);
});

test.for([
	["user and password", "https://someuser:CANARYPASS@messaging.example/api/v1"],
	["a user", "https://CANARYPASS@messaging.example/api/v1"],
	["a password on loopback", "http://:CANARYPASS@127.0.0.1/api/v1"],
	["a query", "https://messaging.example/api/v1?CANARYPASS=1"],
	["an empty query", "https://messaging.example/api/v1?"],
	["a fragment", "https://messaging.example/api/v1#CANARYPASS"],
	["a password in what is no URL", "https://someuser:CANARYPASS@:99999999/api/v1"],
] as const)("S2 S4 baseUrl with %s is refused at once, and is not told", async ([, given]) => {
	await expectRefusal(() => createClient({ baseUrl: given, apiKey }), /baseUrl/, "CANARYPASS");
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

test.for(badKeys)("S13 apiKey with %s is refused at once, and no character of it is told", async ([, key]) => {
	await expectRefusal(() => createClient({ baseUrl, apiKey: key }), /apiKey/, "CANARY");
});

test.for(badKeys)("S13 apiKey from a function, with %s, is refused at the first call", async ([, key]) => {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	const error = await failure(() => createClient({ baseUrl, apiKey: () => key, fetch }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0 });
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

// Agency ids

const badAgencyIds: [string, unknown][] = [
	["empty", ""],
	["a dot", "."],
	["two dots", ".."],
	["encoded dots", "%2e%2e"],
	["a slash", "agy_canary/x"],
	["a climb", "../../agy_canary"],
	["a backslash", "agy_canary\\x"],
	["a query", "agy_canary?x"],
	["a fragment", "agy_canary#f"],
	["NUL", "agy_canary\0"],
	["a line break", "agy_canary\r\n"],
	["a line feed at the end", "agy_canary\n"],
	["a lone surrogate", "agy_canary\ud83d"],
	["a space", " agy_canary"],
	["a letter outside ASCII", "agy_canáry"],
	["129 characters", `agy_canary${"a".repeat(119)}`],
	["undefined", undefined],
	["null", null],
	["an array", ["agy_canary"]],
	["an object", { id: "agy_canary", toString: () => "agy_canary" }],
	["a number", 5],
];

test.for(badAgencyIds)("S9 agency id: %s is refused", async ([, id]) => {
	await expectRefusal(async (client) => client.agency(wrong(id)).conversations.get(phone), /agencyId/, id);
	await expectRefusal(async (client) => client.agency(wrong(id)).messages.send({ to: phone, body: text }), /agencyId/);
});

test("S9 agency id: 128 letters, digits, - and _ are taken", async () => {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	const id = `Agy-_9${"a".repeat(122)}`;
	await createClient({ baseUrl, apiKey, fetch }).agency(id).messages.send({ to: phone, body: text });
	expect(urls).toEqual([`${baseUrl}/agencies/${id}/messages`]);
});

// Call options, on every operation

type Bad = [field: string, value: unknown];
const badCallOptions: Bad[] = [
	...notMilliseconds.map((value): Bad => ["timeoutMs", value]),
	...notMilliseconds.map((value): Bad => ["deadlineMs", value]),
	...notRetry.map((value): Bad => ["retry", value]),
	...[{}, "abort", 5, null, new AbortController(), new EventTarget(), () => {}].map((value): Bad => ["signal", value]),
	["timeout", 5000],
];

test.for(sixCalls)("bad time, retry, signal or excess field in the options of $operation", async ({ run }) => {
	for (const [field, value] of badCallOptions) {
		const options: CallOptions = { [field]: wrong(value) };
		await expectRefusal((client) => run(client, options), new RegExp(field), JSON.stringify(value));
	}
});

test.for(sixCalls)("$operation refuses what is no object in place of its options", async ({ run }) => {
	for (const value of [5, "canary", true, null]) await expectRefusal((client) => run(client, wrong(value)), /options/);
});

test.for(sixCalls)("$operation takes the options at their bounds, and undefined", async ({ run, good }) => {
	const fetch: Fetch = async () => jsonResponse(good);
	const client = createClient({ baseUrl, apiKey, fetch });
	const signal = new AbortController().signal;
	await run(client, { timeoutMs: 2 ** 31 - 1, deadlineMs: 2 ** 31 - 1, signal, retry: { attempts: 6 } });
	await run(client, { timeoutMs: undefined, deadlineMs: undefined, signal: undefined, retry: undefined });
	await run(client, { retry: { attempts: undefined, baseDelayMs: undefined } });
});

// Pages

const badPageSizes = [0, -1, 101, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "50", null, {}];

test.for(badPageSizes)("pageSize %j is outside 1 to 100: list, get, listMessages", async (given) => {
	const pageSize: number = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ pageSize }).page(), /pageSize/);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { pageSize }), /pageSize/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages(phone, { pageSize }).page(),
		/pageSize/,
	);
});

test.for([5, null, loneSurrogate, {}, ["CANARY"]])("cursor %j is no cursor: list, get, listMessages", async (given) => {
	const cursor: string = wrong(given);
	const canary = typeof given === "string" ? "CANARY" : undefined;
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ cursor }).page(), /cursor/, canary);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { cursor }), /cursor/, canary);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages(phone, { cursor }).page(),
		/cursor/,
	);
});

test.for([5, null, loneSurrogate, {}])("search %j is no text", async (given) => {
	const search: string = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ search }).page(), /search/, "CANARY");
});

test.for([5, "no", null])("readAhead %j is neither true nor false", async (given) => {
	const readAhead: boolean = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ readAhead }).toArray(), /readAhead/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages(phone, { readAhead }).toArray(),
		/readAhead/,
	);
});

test.for([-1, 1.5, Number.NaN, "3", null])("toArray limit %j is no count", async (given) => {
	const limit: number = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list().toArray({ limit }), /limit/);
});

test("a list with bad options fails where it is used, in every form of use", async () => {
	const bad = { pageSize: 0 };
	await expectRefusal((client) => client.agency(agencyId).conversations.list(bad).toArray(), /pageSize/);
	await expectRefusal((client) => client.agency(agencyId).conversations.list(bad).pages().next(), /pageSize/);
	await expectRefusal(async (client) => {
		for await (const row of client.agency(agencyId).conversations.list(bad)) return row;
	}, /pageSize/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages("CANARY").toArray(),
		/phone/,
		"CANARY",
	);
});

test("a field that a read does not take is refused", async () => {
	const options = { pageSize: 10, pageSise: 10 };
	await expectRefusal(
		(client) =>
			client
				.agency(agencyId)
				.conversations.list({ ...options })
				.page(),
		/pageSise/,
	);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { ...options }), /pageSise/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.lookup([phone], { concurrency: 1, ...options }),
		/pageSi[sz]e/,
	);
});

// Phone numbers

const noPhones = [
	"",
	"   ",
	"CANARY",
	"112",
	"+0123456789",
	"+999123456789",
	"tel:+32470123456",
	"0470 12 34 56 ext 5",
	"0470123456, 0470123457",
	"+32470123456;ext=5",
	"call me 0470123456 now",
	"%2B32470123456",
	"+3247012345\ud83d",
	"+",
	5,
	null,
	undefined,
	["+32470123456"],
];

test.for(noPhones)("S10 %j is no phone number: get, listMessages, send", async (given) => {
	const number: string = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(number), /phone/, given);
	await expectRefusal((client) => client.agency(agencyId).conversations.listMessages(number).page(), /phone/, given);
	await expectRefusal((client) => client.agency(agencyId).messages.send({ to: number, body: text }), /to/, given);
});

// Lookup

test.for([0, -1, 1.5, Number.NaN, "4", null])("lookup concurrency %j is no count", async (given) => {
	const concurrency: number = wrong(given);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.lookup([phone], { concurrency }),
		/concurrency/,
	);
});

test.for([
	5,
	null,
	undefined,
	{},
	"+32470123456",
	[5],
	["+32470123456", null],
	["+32470123456", { toString: () => "+32470123457" }],
])("lookup refuses %j: an iterable of strings is asked for", async (given) => {
	await expectRefusal((client) => client.agency(agencyId).conversations.lookup(wrong(given)), /phoneNumbers/, "32470");
});

// Sends

const badMessages: [string, unknown, RegExp][] = [
	["to missing", { body: text }, /to/],
	["body missing", { to: phone }, /body/],
	["body empty", { to: phone, body: "" }, /body/],
	["body blank", { to: phone, body: " \t\r\n\u00a0" }, /body/],
	["body no text", { to: phone, body: 5 }, /body/],
	["body null", { to: phone, body: null }, /body/],
	["body with a lone surrogate", { to: phone, body: `${text}\ud83d` }, /body/],
	["operationId empty", { to: phone, body: text, operationId: "" }, /operationId/],
	["operationId blank", { to: phone, body: text, operationId: "  " }, /operationId/],
	["operationId null", { to: phone, body: text, operationId: null }, /operationId/],
	["operationId no text", { to: phone, body: text, operationId: 5 }, /operationId/],
	["operationId with a lone surrogate", { to: phone, body: text, operationId: "half\ud83d" }, /operationId/],
	["subaccountId no UUID", { to: phone, body: text, subaccountId: "CANARY" }, /subaccountId/],
	["subaccountId empty", { to: phone, body: text, subaccountId: "" }, /subaccountId/],
	["subaccountId no text", { to: phone, body: text, subaccountId: 5 }, /subaccountId/],
	["consentLanguage null", { to: phone, body: text, consentLanguage: null }, /consentLanguage/],
	["consentLanguage no text", { to: phone, body: text, consentLanguage: 5 }, /consentLanguage/],
	[
		"consentLanguage with a lone surrogate",
		{ to: phone, body: text, consentLanguage: loneSurrogate },
		/consentLanguage/,
	],
	["an excess field", { to: phone, body: text, attachments: ["CANARY"] }, /attachments/],
	["an excess field that is a secret", { to: phone, body: text, [text]: 1 }, /message/],
	["nothing at all", undefined, /message/],
	["null", null, /message/],
	["a text", "CANARY", /message/],
	["an array", [phone, text], /message/],
];

test.for(badMessages)("a send with %s is refused, and says that nothing was sent", async ([, message, field]) => {
	await expectRefusal((client) => client.agency(agencyId).messages.send(wrong(message)), field, "CANARY");
	const client = createClient({ baseUrl, apiKey });
	const error = await failure(() => client.agency(agencyId).messages.send(wrong(message)));
	expect(error).toMatchObject({ operation: "messages.send", outcome: "not_sent" });
	expect(error.operationId).toBeTypeOf("string");
	for (const shown of [error.message, error.stack, JSON.stringify(error)]) expect(shown).not.toContain(phone);
});

test("a send takes what the contract takes: null and undefined where they are allowed", async () => {
	const fetch: Fetch = async () => jsonResponse(sentNow);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await messages.send({ to: phone, body: text, subaccountId: null });
	await messages.send({ to: phone, body: text, subaccountId: "0B5A3D9E-0000-4000-8000-000000000000" });
	await messages.send({
		to: phone,
		body: text,
		operationId: undefined,
		subaccountId: undefined,
		consentLanguage: undefined,
	});
	await messages.send({ to: phone, body: "😀", operationId: "not a uuid, and the caller's own" });
});

test("an operation names itself in the error", async () => {
	for (const { operation, run } of sixCalls) {
		const error = await failure(() => run(createClient({ baseUrl, apiKey }), { timeoutMs: 0 }));
		expect(error.operation).toBe(operation);
	}
});

test("a number that is no phone names its operation too", async () => {
	const { conversations, messages } = clientOf({ baseUrl }).agency(agencyId);
	expect((await failure(() => conversations.get("CANARY"))).operation).toBe("conversations.get");
	expect((await failure(() => conversations.listMessages("CANARY").page())).operation).toBe(
		"conversations.listMessages",
	);
	expect((await failure(() => conversations.lookup(wrong([5])))).operation).toBe("conversations.lookup");
	expect((await failure(() => messages.send({ to: "CANARY", body: text }))).operation).toBe("messages.send");
});

test("an absent key names the operation that missed it", async () => {
	const client = createClient({ baseUrl, apiKey: undefined });
	for (const { operation } of sixCalls) {
		expect((await failure(() => callOf(operation).run(client))).operation).toBe(operation);
	}
});

test("a reused operationId with another body is PartnerInvalidInput", async () => {
	const fetch: Fetch = async () => jsonResponse(sentNow);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await messages.send({ to: phone, body: text, operationId });
	const error = await failure(() => messages.send({ to: phone, body: "another", operationId }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, operationId, outcome: "not_sent" });
	expect(error.message).toContain("operationId");
});

test("a host's own zod is left as it is: no copy of zod in the process is configured", () => {
	expect(Reflect.get(globalThis, "__zod_globalConfig")).toEqual({});
});

const unreadable = {
	get(): never {
		throw new Error(`canary ${apiKey}`);
	},
	enumerable: true,
};

test.for<[name: string, run: (client: Client) => Promise<unknown>]>([
	[
		"to",
		({ agency }) => agency(agencyId).messages.send(wrong(Object.defineProperty({ body: text }, "to", unreadable))),
	],
	[
		"operationId",
		({ agency }) =>
			agency(agencyId).messages.send(
				wrong(Object.defineProperty({ to: phone, body: text }, "operationId", unreadable)),
			),
	],
	["timeoutMs", ({ me }) => me.get(wrong(Object.defineProperty({}, "timeoutMs", unreadable)))],
	[
		"limit",
		({ agency }) =>
			agency(agencyId)
				.conversations.list()
				.toArray(wrong(Object.defineProperty({}, "limit", unreadable))),
	],
])("a getter of %s that throws is bad input, told without what it threw", async ([, run]) => {
	const error = await failure(() => run(clientOf({ baseUrl: "https://messaging.example/api/v1" })));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0 });
	expect(error.message).toMatch(/^(message|options): cannot be read$/);
	if (error.operation === "messages.send") {
		expect(error.outcome).toBe("not_sent");
		expect(error.operationId).toMatch(/^[0-9a-f-]{36}$/);
	}
});

const throws = (): never => {
	throw new Error(`canary ${apiKey}`);
};
const traps = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((name) => [name, throws]));
const revoked = Proxy.revocable({}, {});
revoked.revoke();

const unlookable: [name: string, value: unknown][] = [
	["a symbol", Symbol("canary")],
	["a bigint", 5n],
	["what has no text", Object.create(null)],
	["what refuses to be a text or a number", { [Symbol.toPrimitive]: throws, toString: throws, valueOf: throws }],
	["a proxy that throws", new Proxy({}, traps)],
	["a list that throws", new Proxy([], traps)],
	["a function that throws", new Proxy(() => {}, traps)],
	["a proxy that was revoked", revoked.proxy],
	["what cannot be walked", { [Symbol.iterator]: throws }],
	["what is walked to nowhere", { [Symbol.iterator]: () => ({ next: () => 5 }) }],
];

const takers: [name: string, take: (value: never, client: Client) => unknown][] = [
	["createClient's base URL", (value) => createClient({ baseUrl: value, apiKey })],
	["createClient's tracer", (value) => createClient({ baseUrl, apiKey, tracer: value })],
	["createClient's retry", (value) => createClient({ baseUrl, apiKey, retry: { attempts: value } })],
	["agency", (value, { agency }) => agency(value)],
	["get", (value, { agency }) => agency(agencyId).conversations.get(value)],
	["listMessages", (value, { agency }) => agency(agencyId).conversations.listMessages(value).toArray()],
	["lookup", (value, { agency }) => agency(agencyId).conversations.lookup(value)],
	["a number of lookup", (value, { agency }) => agency(agencyId).conversations.lookup([value])],
	["a search", (value, { agency }) => agency(agencyId).conversations.list({ search: value }).page()],
	["send", (value, { agency }) => agency(agencyId).messages.send(value)],
	["send's to", (value, { agency }) => agency(agencyId).messages.send({ to: value, body: text })],
	["send's body", (value, { agency }) => agency(agencyId).messages.send({ to: phone, body: value })],
	["a signal", (signal, { me }) => me.get({ signal })],
	["toE164", (value) => toE164(value)],
	["toE164's country", (defaultCountry) => toE164("0470123456", { defaultCountry })],
	["isWindowOpen", (value) => isWindowOpen(value)],
	["isWindowOpen's summary", (summary) => isWindowOpen({ summary })],
	["isWindowOpen's time", (value) => isWindowOpen({ windowExpiresAt: null }, value)],
	["operationIdFrom", (value) => operationIdFrom("crm", value)],
];

test.for(takers)("%s refuses what cannot be looked at, and tells nothing of it", async ([, take]) => {
	const fetch: Fetch = () => expect.unreachable("no request is made");
	const client = createClient({ baseUrl, apiKey, fetch });
	for (const [name, value] of unlookable) {
		const error = await failure(() => take(wrong(value), client));
		expect(error, name).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, retryable: false });
		expect(error.message).toMatch(/^[\w[\]]+: (attempts )?(must|cannot) /);
		expect(`${error.stack} ${JSON.stringify(error)}`).not.toMatch(/canary/i);
	}
});

test.for<[name: string, take: (value: never) => unknown]>([
	["createClient", (value) => createClient(value)],
	["toArray", (value) => clientOf({ baseUrl }).agency(agencyId).conversations.list().toArray(value)],
	["toE164", (value) => toE164("0470123456", value)],
])("options of %s that throw are refused as unreadable", async ([, take]) => {
	for (const value of [new Proxy({}, traps), revoked.proxy]) {
		const error = await failure(() => take(wrong(value)));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", message: "options: cannot be read" });
	}
});

test("a list of recipients that throws is refused as unreadable", () => {
	for (const allowRecipients of [new Proxy([], traps), Object.defineProperty([phone], 0, unreadable)]) {
		expect(() => createClient({ baseUrl, apiKey, allowRecipients })).toThrow("allowRecipients: cannot be read");
	}
});

test("a lookup whose numbers break off is refused, as a result too", async () => {
	function* numbers() {
		yield phone;
		throws();
	}
	const { lookup } = clientOf({ baseUrl }).agency(agencyId).conversations;
	const result = await lookup(numbers()).result();
	expect(result).toMatchObject({ ok: false, error: { message: "phoneNumbers: cannot be read" } });
});

test("a process that has frozen its errors gets the package's all the same", async () => {
	const { name } = Object.getOwnPropertyDescriptors(Error.prototype);
	Object.defineProperty(Error.prototype, "name", { ...name, writable: false });
	onTestFinished(() => void Object.defineProperty(Error.prototype, "name", { ...name, writable: true }));
	for (const run of [() => createClient(wrong({ nope: 1 })), () => clientOf({ baseUrl }).me.get(wrong({ nope: 1 }))]) {
		await expect(failure(run)).resolves.toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0 });
	}
});
