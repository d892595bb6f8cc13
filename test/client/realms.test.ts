import { createContext, runInContext } from "node:vm";
import {
	type Client,
	type ClientOptions,
	createClient,
	type Fetch,
	isPartnerError,
	isWindowOpen,
	toE164,
} from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, reconcile, watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test } from "vitest";
import { type Adapter, adapters, over } from "../adapters.ts";
import { clientOf, failure, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, conversationPage, lookupAnswer, me, messagePage, sentNow, withMessages } from "../canned.ts";
import { type Scripted, scripted } from "../scripted.ts";

const phone = "+447700900123";

/** Another realm, as Jest and node:vm have it: its `Object`, `Array`, `Date` and `Map` are not ours. */
const realm = createContext({});
const foreign = (code: string) => runInContext(`(${code})`, realm);

/** As the DOM of another realm has it. */
const abortController = `(() => {
	const listeners = new Set();
	class AbortSignal {
		aborted = false;
		reason = undefined;
		addEventListener(name, listener) { listeners.add(listener); }
		removeEventListener(name, listener) { listeners.delete(listener); }
	}
	const signal = new AbortSignal();
	const abort = (reason) => {
		Object.assign(signal, { aborted: true, reason });
		for (const listener of listeners) listener();
	};
	return { signal, abort, listeners };
})()`;

/** Answers every operation. */
function service(): Promise<Scripted> {
	return scripted(({ method, url, body }) => {
		if (url.includes("/lookup")) return { json: lookupAnswer(body) };
		if (method === "POST") return { json: sentNow };
		if (url.includes("/messages")) return { json: messagePage([2, 1]) };
		if (/conversations\/./.test(url)) return { json: withMessages };
		return { json: url.includes("/conversations") ? conversationPage(["Anna", "Bert"]) : me };
	});
}

test("the values of another realm are not ours", () => {
	expect(foreign("{}") instanceof Object).toBe(false);
	expect(foreign("new Date()") instanceof Date).toBe(false);
	expect(foreign("new Map()") instanceof Map).toBe(false);
});

test.for(adapters)("options of another realm are taken (%s)", async (adapter) => {
	const { baseUrl, requests } = await service();
	const given = foreign(`{
		retry: { attempts: 2 },
		headers: { "x-trace": "client" },
		appInfo: { name: "crm" },
		allowRecipients: ["${phone}"],
		allowInsecureHosts: [],
	}`);
	const client = createClient({ ...given, baseUrl, apiKey, ...over(adapter) });
	const { signal, listeners } = foreign(abortController);
	const options = Object.assign(foreign('{ retry: { attempts: 1 }, headers: { "x-trace": "call" } }'), { signal });
	for (const { run } of sixCalls.slice(0, 5)) await run(client, options);
	const { conversations, messages } = client.agency(agencyId);
	await messages.send(foreign(`{ to: "${phone}", body: "Hello.", subaccountId: null }`), options);
	await client.request(
		foreign('{ method: "POST", path: "/tags/{name}", params: { name: "a" }, query: { b: 1 }, body: [1] }'),
	);
	for (const inputs of [`["${phone}"]`, `new Set(["${phone}"])`, `new Map([["${phone}", 1]]).keys()`]) {
		expect(await conversations.lookup(foreign(inputs))).toHaveLength(1);
	}
	expect(requests).toHaveLength(10);
	expect(requests[0]?.headers).toMatchObject({ "x-trace": "call" });
	expect(requests[6]).toMatchObject({ url: "/api/v1/tags/a?b=1", body: "[1]" });
	expect(listeners.size).toBe(0);
});

test.for(adapters)("a signal of another realm aborts a call (%s)", async (adapter) => {
	const { signal, abort } = foreign(abortController);
	const hanging = await scripted(() => {
		abort(foreign("new RangeError()"));
		return "hang";
	});
	const call = clientOf(hanging, over(adapter)).me.get({ signal });
	expect(await failure(() => call)).toMatchObject({ _tag: "PartnerAbortError", cause: { name: "RangeError" } });
});

test("an option of another realm that is wrong is refused as ours is", async () => {
	const { conversations } = clientOf({ baseUrl: "https://messaging.example/api/v1" }).agency(agencyId);
	for (const [options, field] of [
		["{ pageSize: 0 }", "pageSize"],
		["{ pagesize: 5 }", "options"],
		["[]", "options"],
		["new Map()", "options"],
		["new Date()", "options"],
		["{ signal: {} }", "signal"],
		["{ headers: new Map() }", "headers"],
		["{ retry: [] }", "retry"],
	] as const) {
		const error = await failure(() => conversations.list(foreign(options)));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field });
	}
});

test("a response of another realm is read", async () => {
	const respond = foreign(`(text) => ({
		status: 200,
		headers: new Map([["content-type", "application/json"]]),
		body: null,
		text: async () => text,
	})`);
	const fetch: Fetch = async () => respond(JSON.stringify(me));
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch });
	expect(await client.me.get()).toEqual(me);
});

test("a date of another realm is a time", () => {
	const conversation = { windowExpiresAt: "2026-01-06T09:00:00.000Z" };
	expect(isWindowOpen(conversation, foreign('new Date("2026-01-05T09:00:00Z")'))).toBe(true);
	const sandbox = createSandbox(foreign('{ now: new Date("2026-03-01T09:00:00Z") }'));
	expect(sandbox.clock.now().toISOString()).toBe("2026-03-01T09:00:00.000Z");
	expect(() => createSandbox({ now: foreign('new Date("nonsense")') })).toThrow("now");
});

test("a Request and headers of another realm reach the sandbox", async () => {
	const { connection, agency } = standing();
	const send = foreign(`({ url, authorization, body }) => ({
		url,
		method: "POST",
		headers: new Map([["authorization", authorization], ["content-type", "application/json"]]),
		signal: null,
		redirect: "follow",
		arrayBuffer: async () => new Uint8Array([...body].map((each) => each.charCodeAt(0))).buffer,
	})`);
	const url = `${connection.baseUrl}/agencies/${agency.id}/messages`;
	const authorization = `Bearer ${connection.apiKey}`;
	const request = send({ url, authorization, body: JSON.stringify({ to: phone, body: "See you." }) });
	const response = await connection.fetch(request, wrong(undefined));
	expect(await response.json()).toMatchObject({ success: true, queued: false });
	for (const headers of [
		`new Map([["authorization", "${authorization}"]])`,
		`[["authorization", "${authorization}"]]`,
		`{ authorization: "${authorization}" }`,
	]) {
		const read = await connection.fetch(
			`${connection.baseUrl}/me`,
			wrong({ method: "GET", headers: foreign(headers) }),
		);
		expect(read.status).toBe(200);
	}
});

/** A sandbox with a conversation whose window is open. */
function standing() {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	agency.contact(phone).writes("Hello.");
	return { connection: sandbox.connection, agency };
}

/** Adds to `Object.prototype` what a `for…in` finds, until `act` has ended. */
async function polluted<Result>(name: string, value: unknown, act: () => Promise<Result>): Promise<Result> {
	Object.defineProperty(Object.prototype, name, { value, enumerable: true, configurable: true, writable: true });
	const clean = () => void Reflect.deleteProperty(Object.prototype, name);
	onTestFinished(clean);
	try {
		return await act();
	} finally {
		clean();
	}
}

/** Makes each call in several ways. Returns the requests, and what came of the calls. */
async function callAll(adapter: Adapter, options: Partial<ClientOptions> = {}) {
	const { baseUrl, requests } = await service();
	const client = clientOf({ baseUrl }, { ...options, ...over(adapter, {}) });
	const { conversations, messages } = client.agency(agencyId);
	const message = { to: phone, body: "Hello.", operationId: "note-1" };
	const ends = [];
	for (const call of [
		...sixCalls
			.slice(0, 5)
			.flatMap(({ run }) => [() => run(client), () => run(client, {}), () => run(client, { retry: {} })]),
		() => messages.send(message),
		() => messages.send(message, {}),
		() => conversations.list().toArray(),
		() => conversations.list({ pageSize: 1 }).toArray({}),
		() => conversations.listMessages(phone, {}).toArray(),
		() => conversations.lookup([phone], {}),
		() => client.withOptions({ retry: {} }).me.get(),
		() => client.withOptions({ timeoutMs: 20_000 }).me.get(),
		() =>
			client.agency(agencyId).messages.send({ to: phone, body: "See you.", operationId: "note-2", ifHeld: "refuse" }),
		() => client.request({ method: "GET", path: "/tags" }),
		() => client.request({ method: "POST", path: "/tags", body: { a: 1 } }, {}),
		() => readChanges(client),
	]) {
		ends.push(
			await Promise.resolve(call()).catch((error: unknown) => (isPartnerError(error) ? error.toJSON() : String(error))),
		);
	}
	// A send has the time at which it began.
	for (const end of ends)
		if (typeof end === "object" && end !== null && Object.hasOwn(end, "since")) Object.assign(end, { since: "then" });
	return { ends, requests: requests.map(({ method, url, body }) => ({ method, url: url.split("/api/v1")[1], body })) };
}

async function readChanges(client: Client) {
	const agency = client.agency(agencyId);
	const found = [];
	for await (const { phoneNumber } of changes(agency, { since: "beginning" })) found.push(phoneNumber);
	for await (const { phoneNumber } of watch(agency, { since: "beginning", signal: AbortSignal.timeout(60_000) })) {
		found.push(phoneNumber);
		break;
	}
	for await (const { phoneNumber } of reconcile(agency, { stored: [] })) found.push(phoneNumber);
	return found;
}

const added: [name: string, value: unknown][] = [
	["extra", 1],
	["each", () => {}],
	["pageSize", 7],
	["pageSize", "CANARY"],
	["cursor", "CANARY"],
	["search", "CANARY"],
	["readAhead", false],
	["limit", 1],
	["concurrency", "CANARY"],
	["timeoutMs", 0],
	["deadline", 1],
	["retry", false],
	["allowUnlistedNumber", "CANARY"],
	["allowRecipients", []],
	["appInfo", "CANARY"],
	["logger", "CANARY"],
	["http", "CANARY"],
	["subaccountId", "CANARY"],
	["consentLanguage", "CANARY"],
	["params", { CANARY: 1 }],
	["since", "CANARY"],
	["statuses", "CANARY"],
	["minMs", 0],
	["skip", () => true],
	["raw", "CANARY"],
	["maxSockets", 0],
	["ca", "CANARY"],
	["route", { method: "PUT", path: "/CANARY" }],
	["verify", () => "/CANARY"],
	["begun", { at: 0, date: 0 }],
	["retries", 0],
	["baseUrl", "http://127.0.0.1:9/elsewhere"],
	["params", { query: { CANARY: 1 }, header: { canary: "1" } }],
	["header", { canary: "1" }],
	["headers", { canary: "1" }],
	["middleware", [{ onRequest: () => Response.json({}) }]],
	["parseAs", "stream"],
	["pathSerializer", () => "/CANARY"],
	["querySerializer", "CANARY"],
	["bodySerializer", () => "CANARY"],
	["Request", "CANARY"],
	["requestInitExt", { CANARY: 1 }],
	["hasMore", true],
	["agencyId", "CANARY"],
	["abandon", AbortSignal.abort()],
	["isWrite", true],
];

/** Node's own fetch reads it, for whichever request. */
const readByFetch: typeof added = [["query", { CANARY: 1 }]];
const cases: [Adapter, typeof added][] = [
	["fetch", added],
	["nodeHttp", [...added, ...readByFetch]],
];

test.for(cases.flatMap(([adapter, names]) => names.map(([name, value]) => [name, adapter, value] as const)))(
	"%s on Object.prototype changes no call (%s)",
	async ([name, adapter, value]) => {
		const before = await callAll(adapter);
		expect(before.ends.filter((end) => Object(end)._tag !== undefined)).toEqual([]);
		expect(await polluted(name, value, () => callAll(adapter))).toEqual(before);
	},
);

test.for([
	["defaultCountry", "FR"],
	["allowUnlistedNumber", true],
	["extra", 1],
] as const)("%s on Object.prototype is no option of toE164", async ([name, value]) => {
	await polluted(name, value, async () => {
		expect(toE164("0470 12 34 56", {})).toBe("+32470123456");
		expect(() => toE164("+32 470 12 34")).toThrow("phoneNumber");
	});
});

test.for(["maxSockets", "keepAliveMs", "maxAgeMs", "ca", "cert", "pfx", "passphrase", "proxy"])(
	"%s on Object.prototype is no option of nodeHttp",
	async (name) => {
		await polluted(name, "CANARY", async () => nodeHttp({}).close());
	},
);

test.for(["extra", "operationId", "subaccountId", "consentLanguage", "phoneNumbers", "attachment"])(
	"the sandbox takes a send while %s is on Object.prototype",
	async (name) => {
		const { connection, agency } = standing();
		const client = createClient(connection).agency(agency.id);
		await polluted(name, "CANARY", async () => {
			expect(await client.messages.send({ to: phone, body: "See you." })).toMatchObject({ queued: false });
			expect(await client.conversations.lookup([phone])).toMatchObject([{ phoneNumber: phone }]);
			const { messages } = await client.conversations.listMessages(phone);
			expect(messages).toMatchObject([{ body: "See you." }, { body: "Hello." }]);
		});
	},
);

test("the sandbox still refuses a field of the body that it does not know", async () => {
	const { connection, agency } = standing();
	const path = `/agencies/${agency.id}/messages`;
	for (const body of [
		{ to: phone, body: "x", extra: 1 },
		JSON.parse(`{ "to": "${phone}", "body": "x", "__proto__": {} }`),
	]) {
		const error = await failure(() => createClient(connection).request({ method: "POST", path, body }));
		expect(error).toMatchObject({ status: 400, message: expect.stringMatching(/extra|__proto__/) });
	}
});
