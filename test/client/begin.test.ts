// The latest moment at which a send may begin, and the key that a read and its send share.
import http from "node:http";
import type { ClientOptions, Fetch, Transport } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { type Adapter, adapters, nodeTransport, over } from "../adapters.ts";
import { clientOf, failure, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow } from "../canned.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";
import { listening } from "./listening.ts";

afterEach(() => void vi.restoreAllMocks());

/** Lets time pass by both clocks, and fires no timer, as if the process were stopped. */
function createClocks(): (ms: number) => void {
	const date = Date.now.bind(Date);
	const steady = performance.now.bind(performance);
	let passedMs = 0;
	vi.spyOn(Date, "now").mockImplementation(() => date() + passedMs);
	vi.spyOn(performance, "now").mockImplementation(() => steady() + passedMs);
	return (ms) => void (passedMs += ms);
}

/** A transport that calls something once a request of a method was handed over, before it can be written. */
function interrupted(adapter: Adapter, method: string, happen: () => unknown): Partial<ClientOptions> {
	const interrupt = (request: { method: string }) => request.method === method && happen();
	const transport = adapter === "nodeHttp" ? nodeTransport() : undefined;
	const fetch: Fetch = (url, init) => {
		const response = globalThis.fetch(url, init);
		interrupt(init);
		return response;
	};
	const own: Transport = (request, control) => {
		const answer = (transport ?? wrong(undefined))(request, control);
		interrupt(request);
		return answer;
	};
	return transport ? { transport: own } : { fetch };
}

const hello = { to: phone, body: "Hi" };
const soon = () => new Date(Date.now() + 10_000);
const late = { _tag: "PartnerTimeoutError", field: "beginBy", outcome: "not_sent", retryable: true };

test.for(adapters)("#48 a send whose latest moment passes while it connects is not sent (%s)", async (adapter) => {
	const pass = createClocks();
	const service = await scripted(inTurn({ json: me }));
	const client = clientOf(
		service,
		interrupted(adapter, "POST", () => pass(11_000)),
	);
	const send = () => client.agency(agencyId).messages.send(hello, { beginBy: soon() });
	expect(await failure(send)).toMatchObject({ ...late, attempts: 1 });
	// On a connection that was kept too.
	await client.me.get();
	expect(await failure(send)).toMatchObject(late);
	await client.me.get();
	expect(service.requests.map(({ method }) => method)).toEqual(["GET", "GET"]);
});

test.for(adapters)("#48 nor one whose latest moment passes while the key is asked for (%s)", async (adapter) => {
	const pass = createClocks();
	const service = await scripted(inTurn({ json: sentNow }));
	const key = async () => {
		pass(11_000);
		return apiKey;
	};
	const { messages } = clientOf(service, { apiKey: key, ...over(adapter) }).agency(agencyId);
	expect(await failure(() => messages.send(hello, { beginBy: soon() }))).toMatchObject({ ...late, attempts: 0 });
	expect(service.requests).toEqual([]);
});

test.for(adapters)("the answer to a send may take longer than its latest moment to begin (%s)", async (adapter) => {
	const pass = createClocks();
	const service = await scripted(() => {
		pass(11_000);
		return { json: sentNow };
	});
	const { messages } = clientOf(service, over(adapter)).agency(agencyId);
	await expect(messages.send(hello, { beginBy: soon() })).resolves.toMatchObject({ queued: false });
});

test.for([
	["gets the only connection too late", {}],
	["never gets it", { timeoutMs: 200 }],
] as const)("#48 a send that %s is not sent", async ([, limit]) => {
	const seen: string[] = [];
	let release = (): void => {};
	const server = http.createServer(({ method }, response) => {
		seen.push(String(method));
		release = () => response.end(JSON.stringify(me));
	});
	const { url } = await listening(server);
	const pass = createClocks();
	const client = clientOf({ baseUrl: url }, { transport: nodeTransport({ maxSockets: 1 }), retry: false });
	const first = client.me.get();
	await expect.poll(() => seen.length).toBe(1);
	const send = failure(() => client.agency(agencyId).messages.send(hello, { beginBy: soon(), ...limit }));
	// It waits for the connection by then.
	await new Promise((resolve) => setImmediate(resolve));
	pass(11_000);
	if (!("timeoutMs" in limit)) release();
	expect(await send).toMatchObject(late);
	release();
	await first;
	expect(seen).toEqual(["GET"]);
});

test("#48 no attempt is repeated after the latest moment to begin, and the last error says why", async () => {
	const service = await scripted(inTurn(refusal(500), { json: sentNow }));
	const { messages } = clientOf(service, { retry: { baseDelayMs: 60_000, maxDelayMs: 60_000 } }).agency(agencyId);
	const error = await failure(() => messages.send(hello, { beginBy: soon(), deadline: 600_000 }));
	expect(error).toMatchObject({ _tag: "PartnerInternalError", attempts: 1, outcome: "unknown" });
	const pass = createClocks();
	const again = await scripted(inTurn(refusal(500), { json: sentNow }));
	const repeating = clientOf(again, { retry: { baseDelayMs: 1 }, onAttempt: () => pass(11_000) }).agency(agencyId);
	const stopped = await failure(() => repeating.messages.send(hello, { beginBy: soon() }));
	expect(stopped).toMatchObject({ outcome: "unknown", attempts: 1 });
	expect(again.requests).toHaveLength(1);
});

test.for([new Date(Number.NaN), 1_900_000_000_000, "2031-01-01", null])(
	"beginBy that is no valid Date is refused: %s",
	async (value) => {
		const { messages } = clientOf({ baseUrl: "https://messaging.example/api/v1" }).agency(agencyId);
		const error = await failure(() => messages.send(hello, { beginBy: value as Date }));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "beginBy" });
	},
);

test.for(adapters)("calls of one keyScope ask for the key once, and others on their own (%s)", async (adapter) => {
	const service = await scripted(inTurn({ json: me }));
	let asked = 0;
	const key = async () => `key-${++asked}`;
	const { me: account, withOptions } = clientOf(service, { apiKey: key, ...over(adapter) });
	const keyScope = {};
	await account.get({ keyScope });
	await account.get({ keyScope });
	await Promise.all([account.get({ keyScope: {} }), account.get()]);
	await withOptions({ timeoutMs: 9_000 }).me.get({ keyScope });
	// Another function may be that of another integration.
	await withOptions({ apiKey: () => "other" }).me.get({ keyScope });
	const used = service.requests.map(({ headers }) => headers.authorization?.slice("Bearer ".length));
	expect([used.slice(0, 2), used.slice(2, 4).sort(), used.slice(4)]).toEqual([
		["key-1", "key-1"],
		["key-2", "key-3"],
		["key-1", "other"],
	]);
});

test("a key that was rotated away is replaced for the rest of its keyScope, and one that failed is asked for again", async () => {
	const service = await scripted(inTurn(refusal(401), { json: me }));
	const keys = [new Error("the vault is closed"), "old", "new", "newer"];
	const key = async () => {
		const next = keys.shift();
		if (next instanceof Error) throw next;
		return next;
	};
	const { me: account } = clientOf(service, { apiKey: key });
	const keyScope = {};
	expect(await failure(() => account.get({ keyScope }))).toMatchObject({ _tag: "PartnerConfigurationError" });
	await account.get({ keyScope });
	await account.get({ keyScope });
	expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
		"Bearer old",
		"Bearer new",
		"Bearer new",
	]);
});

test.for([1, "key", true])("a keyScope that is no object is refused: %s", async (value) => {
	const { me: account } = clientOf({ baseUrl: "https://messaging.example/api/v1" });
	const error = await failure(() => account.get({ keyScope: wrong(value) }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "keyScope" });
});

/** A contact of a sandbox, and a send that reads first, during which something happens once before the POST is written. */
async function reading(adapter: Adapter, happen: (world: { pass: (ms: number) => void; hold: () => void }) => void) {
	const sandbox = createSandbox();
	const server = await serve(sandbox);
	onTestFinished(server.close);
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const pass = createClocks();
	const hold = () => void agency.staff.sends({ contact: anna, text: "I'll call you." });
	let isOver = false;
	const transport = interrupted(adapter, "POST", () => {
		if (!isOver) happen({ pass, hold });
		isOver = true;
	});
	const client = clientOf(server, { apiKey: server.apiKey, ...transport });
	const message = { to: anna.phoneNumber, body: "Friday at two?", ifHeld: "refuse" } as const;
	const send = (options = {}) => client.agency(agency.id).messages.send(message, options);
	const asked = () => sandbox.requests().map(({ operation }) => operation);
	return { send, asked, held: () => agency.conversation(anna).state().held?.body };
}

test.for(adapters)(
	"a send that reads first reads again if it could not begin within ten seconds (%s)",
	async (adapter) => {
		const { send, asked, held } = await reading(adapter, ({ pass }) => pass(11_000));
		await expect(send()).resolves.toMatchObject({ queued: true });
		expect(asked()).toEqual(["conversations.get", "conversations.get", "messages.send"]);
		expect(held()).toBe("Friday at two?");
	},
);

test.for(adapters)("and doesn't replace what was held meanwhile (%s)", async (adapter) => {
	const { send, asked, held } = await reading(adapter, ({ pass, hold }) => {
		pass(11_000);
		hold();
	});
	expect(await failure(send)).toMatchObject({ _tag: "PartnerHeldText", outcome: "not_sent" });
	expect(asked()).toEqual(["conversations.get", "conversations.get"]);
	expect(held()).toBe("I'll call you.");
});

test.for(adapters)("but not if the caller's own latest moment has passed (%s)", async (adapter) => {
	const { send, asked } = await reading(adapter, ({ pass }) => pass(6_000));
	const error = await failure(() => send({ beginBy: new Date(Date.now() + 5_000) }));
	expect(error).toMatchObject(late);
	expect(asked()).toEqual(["conversations.get"]);
});

/** A service that notes the text of each send, and a client over a `fetch` around Node's own. */
async function behind(fetch: Fetch, answer?: (text: string) => Promise<unknown>, host = "127.0.0.1") {
	const got: string[] = [];
	const server = http.createServer(async (request, response) => {
		let json = "";
		for await (const chunk of request) json += chunk;
		const text = json === "" ? String(request.url) : String(JSON.parse(json).body);
		got.push(text);
		const end = await answer?.(text);
		if (end === "reset") return void request.socket.destroy();
		response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(sentNow));
	});
	const { url } = await listening(server);
	const { messages } = clientOf(
		{ baseUrl: `${url.replace("127.0.0.1", host)}/api/v1` },
		{ fetch, retry: false },
	).agency(agencyId);
	const send = (body: string, beginMs?: number) => {
		const beginBy = beginMs === undefined ? undefined : new Date(Date.now() + beginMs);
		return messages.send({ ...hello, body }, { beginBy }).result();
	};
	return { got, send, url };
}

/** Something that happens later. */
function later() {
	let happen = (): void => {};
	const happened = new Promise<void>((resolve) => {
		happen = resolve;
	});
	return { happen, happened };
}

const nodeFetch: Fetch = (url, init) => globalThis.fetch(url, init);
const isText = (init: { body?: string }, text: string) => init.body?.includes(`"body":"${text}"`) === true;

test.for([
	["without a latest moment", undefined],
	["with a later one", 60_000],
] as const)("#48 a fetch that holds back one send doesn't let it out for another one %s", async ([, beginMs]) => {
	const pass = createClocks();
	const [called, gate] = [later(), later()];
	const { got, send } = await behind(async (url, init) => {
		if (isText(init, "slow")) {
			called.happen();
			await gate.happened;
		}
		return nodeFetch(url, init);
	});
	const slow = send("slow", 10_000);
	await called.happened;
	pass(11_000);
	expect(await send("quick", beginMs)).toMatchObject({ ok: true });
	gate.happen();
	expect(await slow).toMatchObject({ ok: false, error: late });
	expect(await send("quick again", beginMs)).toMatchObject({ ok: true });
	expect(got).toEqual(["quick", "quick again"]);
});

test("#48 sends may overtake each other in a fetch", async () => {
	const pass = createClocks();
	const gates = new Map(["first", "second", "third"].map((text) => [text, { called: later(), gate: later() }]));
	const { got, send } = await behind(async (url, init) => {
		for (const [text, { called, gate }] of gates) {
			if (!isText(init, text)) continue;
			called.happen();
			await gate.happened;
		}
		return nodeFetch(url, init);
	});
	const sends = new Map([...gates.keys()].map((text) => [text, send(text, text === "second" ? 10_000 : 60_000)]));
	for (const { called } of gates.values()) await called.happened;
	pass(11_000);
	for (const [text, { gate }] of [...gates].reverse()) {
		gate.happen();
		expect(await sends.get(text)).toMatchObject(text === "second" ? { ok: false, error: late } : { ok: true });
	}
	expect(got).toEqual(["third", "first"]);
});

test.for([
	["another host", "localhost", (url: string) => url.replace("localhost", "127.0.0.1")],
	["another path of a gateway", "127.0.0.1", (url: string) => url.replace("/api/v1/", "/gateway/")],
	["a query", "127.0.0.1", (url: string) => `${url}?tenant=1`],
] as const)("#48 a fetch that sends to %s late sends nothing", async ([, host, rewrite]) => {
	const pass = createClocks();
	const fetch: Fetch = async (url, init) => {
		await new Promise((resolve) => setImmediate(resolve));
		pass(11_000);
		return nodeFetch(rewrite(url), init);
	};
	const { got, send } = await behind(fetch, undefined, host);
	expect(await send("late", 10_000)).toMatchObject({ ok: false, error: late });
	expect(await send("on time", 60_000)).toMatchObject({ ok: true });
	expect(got).toEqual(["on time"]);
});

test.for([
	["a reset", "reset"],
	["a connection that is refused", "refused"],
] as const)("#48 a fetch that repeats a send after %s doesn't do so late", async ([, fault]) => {
	const pass = createClocks();
	const fetch: Fetch = async (url, init) => {
		const first = nodeFetch(fault === "reset" ? url : "http://127.0.0.1:9/api/v1/agencies/x/messages", init);
		return first.catch(async () => {
			pass(11_000);
			return nodeFetch(url, init);
		});
	};
	const { got, send } = await behind(fetch, async () => "reset");
	const { error } = Object(await send("once", 10_000));
	// What was written before may have been processed.
	const outcome = fault === "reset" ? "unknown" : "not_sent";
	expect(error).toMatchObject({ ...late, outcome });
	expect(error.message).toContain(`${fault === "reset" ? "stopped" : "not sent"}, because`);
	expect(got).toEqual(fault === "reset" ? ["once"] : []);
});

test.for([
	["a host that refuses connections", "http://127.0.0.1:9/messages"],
	["a port that fetch blocks", "http://127.0.0.1:1/messages"],
	["a host that doesn't exist", "http://nowhere.invalid/messages"],
] as const)("a send that a fetch repeats in vain to %s may have gone out before", async ([, elsewhere]) => {
	const { got, send } = await behind(
		(url, init) => nodeFetch(url, init).catch(() => nodeFetch(elsewhere, init)),
		async () => "reset",
	);
	expect(await send("once")).toMatchObject({ ok: false, error: { outcome: "unknown" } });
	expect(got).toEqual(["once"]);
});

test("the time of a send doesn't hold for what a fetch does beside it, such as a log", async () => {
	const pass = createClocks();
	const post = async (path: string) => (await globalThis.fetch(`${service.url}${path}`, { method: "POST" })).text();
	const service = await behind(async (url, init) => {
		await post("/token");
		if (isText(init, "late")) pass(11_000);
		const response = await nodeFetch(url, init);
		pass(11_000);
		await post(`/log/agencies/${agencyId}/messages`);
		return response;
	});
	expect(await service.send("one", 10_000)).toMatchObject({ ok: true });
	expect(await service.send("two")).toMatchObject({ ok: true });
	// The request for the token proves nothing about the text.
	expect(await service.send("late", 10_000)).toMatchObject({ ok: false, error: late });
	const log = `/log/agencies/${agencyId}/messages`;
	expect(service.got).toEqual(["/token", "one", log, "/token", "two", log, "/token"]);
});

test.for([1, 2])("#48 a send that undici queues behind %s connections keeps its own time", async (connections) => {
	const pass = createClocks();
	const gate = later();
	// Node gives its undici to nobody, but the dispatcher of its fetch is in a global that undici documents. That of Node 26 is the second.
	await nodeFetch("data:,", wrong({})).then((response) => response.text());
	const [earlier, newest] = [1, 2].map(
		(version) => Object(globalThis)[Symbol.for(`undici.globalDispatcher.${version}`)],
	);
	const { constructor: Agent } = newest ?? earlier;
	const dispatcher = new Agent({ connections });
	onTestFinished(() => void dispatcher.destroy());
	const called: (string | undefined)[] = [];
	const fetch: Fetch = (url, init) => {
		called.push(init.body);
		return nodeFetch(url, Object.assign(init, { dispatcher }));
	};
	const { got, send } = await behind(fetch, () => gate.happened);
	const first = Array.from({ length: connections }, (_, index) => send(`first ${index}`, 10_000));
	await expect.poll(() => got.length).toBe(connections);
	const untimed = send("no limit");
	const tooLate = send("late", 10_000);
	const inTime = send("in time", 60_000);
	await expect.poll(() => called.length).toBe(connections + 3);
	pass(11_000);
	gate.happen();
	expect(await Promise.all(first)).toEqual(first.map(() => expect.objectContaining({ ok: true })));
	expect(await Promise.all([untimed, inTime])).toEqual([{}, {}].map(() => expect.objectContaining({ ok: true })));
	expect(await tooLate).toMatchObject({ ok: false, error: late });
	expect(got.slice(connections)).toEqual(["no limit", "in time"]);
});
