// The security promises, by their S-numbers, that one request can show. Elsewhere: S11 S12 S26 S27 S29 fuzz.test.ts, S14 S15 S16 S21
// secrets.test.ts, S25 conformance.test.ts (#31), S34 and S36 campaigns.test.ts.
import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { inspect, promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type ClientOptions, createClient } from "../../src/index.ts";
import { adapters, over } from "../adapters.ts";
import { eventually } from "../eventually.ts";
import { longestWaitMs } from "../patience.ts";
import { agencyId, apiKey, operations, phone, readAnswer, sentNow } from "./answers.ts";
import { type Bundle, bundle } from "./bundle.ts";
import { factsOf } from "./caller.ts";
import { call, plainInputs } from "./conformance.ts";
import { faultNamed } from "./faults.ts";
import { type Service, type ServiceOptions, startService } from "./service.ts";

const services: Service[] = [];
afterEach(async () => {
	vi.unstubAllGlobals();
	vi.unstubAllEnvs();
	vi.restoreAllMocks();
	await Promise.all(services.splice(0).map((service) => service.close()));
});

async function setUp(options: Partial<ClientOptions> = {}, serving: ServiceOptions = {}) {
	const service = await startService(serving);
	services.push(service);
	const client = createClient({ baseUrl: service.baseUrl, apiKey, retry: { baseDelayMs: 1 }, ...options });
	return { service, client, ...client.agency(agencyId) };
}

/** A client whose every request is answered by one canned answer; the URLs and headers that it asked for. */
function canned(answer: () => Response, options: Partial<ClientOptions> = {}) {
	const asked: { url: string; headers: Record<string, string> }[] = [];
	const fetch: ClientOptions["fetch"] = async (url, init) => {
		asked.push({ url, headers: { ...Object(init.headers) } });
		return answer();
	};
	const client = createClient({ baseUrl: "https://host.example/api/v1", apiKey, retry: false, fetch, ...options });
	return { asked, client };
}

const me = () => new Response(JSON.stringify(readAnswer("me.get")));
const message = { to: phone, body: "Hello" };
const untyped = (value: unknown) => value as never;

async function failure(run: () => unknown): Promise<Readonly<Record<string, unknown>>> {
	try {
		await run();
	} catch (error) {
		return factsOf(error);
	}
	return expect.unreachable("it succeeded");
}

test.for([
	"https://host.example/api/v1",
	"http://localhost:4010/api/v1",
	"http://127.0.0.1/api/v1",
	"http://127.9.9.9:1/api/v1",
	"http://[::1]:8080/api/v1",
])("S1 %s is taken without an option", async (baseUrl) => {
	const { asked, client } = canned(me, { baseUrl });
	await client.me.get();
	expect(asked).toHaveLength(1);
});

test.for([
	["S1", "http://host.example/api/v1"],
	["S1", "http://10.0.0.1/api/v1"],
	["S1", "http://localhost.example/api/v1"],
	["S1", "http://some.localhost/api/v1"],
	["S1", "http://0.0.0.0/api/v1"],
	["S1", "http://127.0.0.1.example/api/v1"],
	["S2", "https://user:CANARY@host.example/api/v1"],
	["S2", "https://CANARY@host.example/api/v1"],
	["S2", "https://host.example/api/v1?CANARY=1"],
	["S2", "https://host.example/api/v1#CANARY"],
	["S2", "https://host.example/api/v1?"],
	["S3", "ftp://CANARY.example/api/v1"],
	["S3", "javascript:alert('CANARY')"],
	["S3", "//CANARY.example/api/v1"],
	["S3", "CANARY"],
	["S3", "https://"],
	["S3", "data:text/plain,CANARY"],
] as const)("%s %s is refused at once", async ([, baseUrl]) => {
	const refused = await failure(() => createClient({ baseUrl, apiKey }));
	expect(refused).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0, retryable: false });
});

test("S4 the refusal of a base URL repeats nothing of it", async () => {
	for (const baseUrl of [
		"https://user:CANARY@h.example/",
		"ftp://CANARY",
		"https://h.example/?CANARY",
		"http://CANARY.example",
	]) {
		const refused = await failure(() => createClient({ baseUrl, apiKey }));
		expect(refused.message).toMatch(/baseUrl/);
		expect(inspect(refused)).not.toMatch(/CANARY|h\.example/);
	}
});

test.for([" HTTPS://Host.Example/api/v1/ ", "https://host.example/api/v1///", "https://host.example:443/api/v1"])(
	"S3 %s is normalised",
	async (baseUrl) => {
		const { asked, client } = canned(me, { baseUrl });
		await client.me.get();
		expect(asked[0]?.url).toBe("https://host.example/api/v1/me");
	},
);

const redirects = adapters.flatMap((adapter) => [301, 302, 303, 307, 308].map((status) => [status, adapter] as const));

test.for(redirects)(
	"S5 after a %i to another origin the other server sees no request (%s)",
	async ([status, adapter]) => {
		const plan = () => ({ fault: faultNamed(`${status} to another origin`), variant: "unprocessed" as const });
		const { service, client } = await setUp(over(adapter), { plan });
		for (const operation of operations) await failure(() => call(client, operation));
		expect([service.landings(), service.requests.length]).toEqual([0, operations.length]);
	},
);

test.for(redirects)("S6 a %i on a send is answered by no second request (%s)", async ([status, adapter]) => {
	const plan = () => ({ fault: faultNamed(`${status} to same origin`), variant: "unprocessed" as const });
	const { service, messages } = await setUp(over(adapter), { plan });
	await failure(() => messages.send(message));
	expect(service.requests.map(({ method }) => method)).toEqual(["POST"]);
	expect(service.landings()).toBe(0);
});

test.for(["data:application/json,{}", "file:///etc/passwd", "javascript:1", "//evil.example/x", "%%%"])(
	"S7 a redirect to %s is an unexpected response",
	async (location) => {
		const { asked, client } = canned(() => new Response(null, { status: 302, headers: { location } }));
		expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerUnexpectedResponse", status: 302 });
		expect(asked).toHaveLength(1);
	},
);

test("S8 a media URL is data: it is returned and never fetched", async () => {
	const { service, client } = await setUp();
	const url = `${service.origin}/landing`;
	const page = JSON.parse(JSON.stringify(readAnswer("conversations.listMessages")));
	page.messages[0].media = [{ url, index: 0, contentType: "image/png" }];
	const answering = canned(() => new Response(JSON.stringify(page)));
	const messages = await answering.client.agency(agencyId).conversations.listMessages(phone).toArray();
	expect(messages[0]?.media?.[0]?.url).toBe(url);
	await client.me.get();
	expect(service.landings()).toBe(0);
});

test.for([
	"",
	".",
	"..",
	"%2e%2e",
	"a/b",
	"a\\b",
	"a?x",
	"a#f",
	"a\0",
	"a\r\nb",
	"\ud800",
	" agy_1",
	"agy_1 ",
	"ü",
	"a".repeat(129),
	undefined,
	null,
	["agy_1"],
	[".."],
	{},
	7,
	{ toString: () => "agy_1" },
])("S9 %j is not an agency id", async (id) => {
	const { asked, client } = canned(me);
	expect(await failure(() => client.agency(untyped(id)).conversations.list().page())).toMatchObject({
		_tag: "PartnerInvalidInput",
	});
	expect(asked).toEqual([]);
});

test.for([phone, "0044 7700 900101", "+44 (0)7700 900101"])(
	"S10 %s is written in a path as %%2B and digits",
	async (given) => {
		const { asked, client } = canned(() => new Response("{}", { status: 404 }));
		await failure(() => client.agency(agencyId).conversations.get(given));
		expect(asked[0]?.url).toBe(`https://host.example/api/v1/agencies/${agencyId}/conversations/%2B447700900101`);
	},
);

test.for([
	{ pageSize: Number.NaN },
	{ pageSize: 1.5 },
	{ pageSize: 0 },
	{ pageSize: 101 },
	{ pageSize: "50" },
	{ pageSize: Number.POSITIVE_INFINITY },
	{ cursor: "\ud800" },
	{ search: "a\udc00" },
	{ cursor: "" },
	{ cursor: 7 },
	{ search: {} },
	{ timeoutMs: 0 },
	{ timeoutMs: 2 ** 31 },
	{ timeoutMs: 1.5 },
	{ deadline: -1 },
	{ deadline: Number.NaN },
	{ retry: { attempts: 0 } },
	{ retry: true },
	{ signal: {} },
	{ CANARYFIELD: 1 },
])("S12 options %j are refused before any request", async (options) => {
	const { asked, client } = canned(me);
	const refused = await failure(() => client.agency(agencyId).conversations.list(untyped(options)).page());
	expect(refused).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, operation: "conversations.list" });
	expect(asked).toEqual([]);
});

test.for([
	"CANARY\n",
	"CANARY\r\nX-Evil: 1",
	"CANARY\0",
	"CAN ARY CANARY",
	" CANARY",
	"CANARYé",
	"Bearer CANARY",
	"CANARY\u{1f511}",
])("S13 the key %j is refused at once, and no character of it is shown", async (bad) => {
	const refused = await failure(() => createClient({ baseUrl: "https://host.example/api/v1", apiKey: bad }));
	expect(refused._tag).toBe("PartnerConfigurationError");
	expect(JSON.stringify(refused)).not.toMatch(/CANARY/);
	const { asked, client } = canned(me, { apiKey: async () => bad });
	const late = await failure(() => client.me.get());
	expect(late).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0, retryable: false });
	expect(JSON.stringify(late)).not.toMatch(/CANARY/);
	expect(asked).toEqual([]);
});

test("S13 a key function that throws is reported without what it threw, and makes no request", async () => {
	const apiKeyFails = () => {
		throw new Error("vault says CANARY");
	};
	const { asked, client } = canned(me, { apiKey: apiKeyFails });
	const refused = await failure(() => client.agency(agencyId).messages.send(message));
	expect(refused).toMatchObject({
		_tag: "PartnerConfigurationError",
		outcome: "not_sent",
		attempts: 0,
		retryable: true,
	});
	expect(JSON.stringify(refused)).not.toMatch(/CANARY/);
	expect(asked).toEqual([]);
});

test.for(adapters)(
	"S17 a key function is asked for each attempt, so that a rotated key is used at once (%s)",
	async (adapter) => {
		let turn = 0;
		const plan = () => (turn < 3 ? { fault: faultNamed("500 empty"), variant: "unprocessed" as const } : undefined);
		const { service, client } = await setUp(
			{ apiKey: async () => `rig_live.key${++turn}.s`, ...over(adapter) },
			{ plan },
		);
		await client.me.get();
		expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
			"Bearer rig_live.key1.s",
			"Bearer rig_live.key2.s",
			"Bearer rig_live.key3.s",
		]);
	},
);

test("S17 two clients with two keys do not mix them up", async () => {
	const { service, client } = await setUp({ apiKey: "rig_live.one.s" });
	const other = createClient({ baseUrl: service.baseUrl, apiKey: "rig_live.two.s" });
	await Promise.all([client.me.get(), other.me.get(), client.me.get()]);
	const keys = service.requests.map(({ headers }) => headers.authorization).sort();
	expect(keys).toEqual(["Bearer rig_live.one.s", "Bearer rig_live.one.s", "Bearer rig_live.two.s"]);
});

test("S18 no key and no address is read from the environment", async () => {
	for (const name of ["MESSAGING_API_KEY", "API_KEY", "MESSAGING_BASE_URL", "BASE_URL"])
		vi.stubEnv(name, "rig_live.env.CANARY");
	const { asked, client } = canned(me, { apiKey: undefined });
	expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerConfigurationError", attempts: 0 });
	expect(asked).toEqual([]);
});

test.for(adapters)("S18 the key is in Authorization and nowhere else (%s)", async (adapter) => {
	const { service, client } = await setUp({ appInfo: { name: "crm", version: "1.2" }, ...over(adapter) });
	for (const operation of operations) await call(client, operation);
	for (const { path, body, headers } of service.requests) {
		const { authorization, ...rest } = headers;
		expect(authorization).toBe(`Bearer ${apiKey}`);
		expect(JSON.stringify([path, body, rest])).not.toContain(apiKey);
		expect(rest["user-agent"]).toMatch(/messaging-conversations\/\d.*crm\/1\.2/);
	}
});

test("S19 S20 nothing is written anywhere unless asked, and what is reported is an allow-list without URL or query", async () => {
	const spies = (["debug", "info", "log", "warn", "error"] as const).map((level) => vi.spyOn(console, level));
	const stdout = vi.spyOn(process.stdout, "write");
	const plan = () => ({ fault: faultNamed("500 tagged"), variant: "unprocessed" as const });
	const { client } = await setUp({ retry: false }, { plan });
	for (const operation of operations) await failure(() => call(client, operation));
	for (const spy of [...spies, stdout]) expect(spy).not.toHaveBeenCalled();
	vi.restoreAllMocks();

	const events: object[] = [];
	const lines: string[] = [];
	const logged: object[] = [];
	const log = (line: string, event: object) => {
		lines.push(line);
		logged.push(event);
	};
	const logger = { debug: log, info: log, warn: log, error: log };
	const chosen = await setUp({ retry: false, onAttempt: (event) => events.push(event), logger }, { plan });
	for (const operation of operations) await failure(() => call(chosen.client, operation));
	const allowed = [
		"operation",
		"agencyId",
		"attempt",
		"status",
		"errorTag",
		"correlationId",
		"operationId",
		"durationMs",
		"retryInMs",
	];
	expect(events).toHaveLength(operations.length);
	for (const event of [...events, ...logged]) expect(allowed).toEqual(expect.arrayContaining(Object.keys(event)));
	expect(lines).toHaveLength(operations.length);
	for (const line of lines) expect(line).not.toMatch(/https?:|\/agencies|%2B|search|cursor|Bearer/);
});

test("S22 an error about a value names the field, never the value or an odd name", async () => {
	const { client } = canned(me);
	const { messages } = client.agency(agencyId);
	const given = { ...message, subaccountId: "CANARY", "+32470987654 CANARY": 1 };
	expect(JSON.stringify(await failure(() => messages.send(untyped(given))))).not.toMatch(/CANARY|470987654/);
	const { message: said } = await failure(() => messages.send({ ...message, subaccountId: "CANARY" }));
	expect(said).toMatch(/subaccountId/);
	expect(said).not.toMatch(/CANARY/);
});

const saying = async (body: string, search?: string) => {
	const { client } = canned(() => new Response(body, { status: 400, headers: { "x-correlation-id": "cor-1" } }));
	return String((await failure(() => client.agency(agencyId).conversations.list({ search }).page())).message);
};
const tagged = (text: string) => JSON.stringify({ _tag: "PartnerBadRequest", message: text });

test.for([
	"pageSize is over 100",
	"The agency has no consent template for nl, fr or en (see the console).",
	'/body/to: must match pattern "^[+]"',
	"Le numéro est inconnu",
])("S23 the service's message is shown: %j", async (text) => {
	expect(await saying(tagged(text))).toBe(`conversations.list: refused with 400: ${text}`);
});

test("S23 what the request contained, control characters and other bodies are never shown", async () => {
	expect(await saying(tagged("no Peeters here"), "Peeters")).toBe(
		"conversations.list: refused with 400: no [hidden] here",
	);
	expect(await saying(tagged("a\r\nb\tc"))).toBe("conversations.list: refused with 400: a b c");
	for (const body of ["<html>CANARY</html>", '{"_tag":7,"message":"CANARY"}', '"CANARY"', "CANARY"]) {
		expect(await saying(body)).toBe("conversations.list: 400 from something in front of the service");
	}
});

test.for([
	["abc-123", "abc-123"],
	["0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319c"],
	["Root=1-67891233-abcdef012345678912345678", undefined],
	["0470/98.76.54", undefined],
	["+32470987654", undefined],
	["rig_live.key1.secret", undefined],
	["<b>", undefined],
	["{abc}", undefined],
	["a b", undefined],
	["a, b", undefined],
	["é", undefined],
	["x".repeat(65), undefined],
	["x".repeat(64), "x".repeat(64)],
	["", undefined],
] as const)("S24 the correlation id %j is reported as %j", async ([sent, kept]) => {
	const headers = { "x-correlation-id": sent };
	const { client } = canned(() => new Response("{}", { status: 401, headers }));
	expect((await failure(() => client.me.get())).correlationId).toBe(kept);
});

test("S24 a successful answer's correlation id is left out if it repeats the text", async () => {
	const headers = { "x-correlation-id": "any.form:of-id" };
	const { client } = canned(() => new Response(JSON.stringify(sentNow), { headers }));
	const { response } = await client
		.agency(agencyId)
		.messages.send({ ...message, body: "any.form:of-id" })
		.withResponse();
	expect(response.correlationId).toBeUndefined();
});

test("S25 the size limit counts decoded bytes, and a declared length over it is not even read", async () => {
	const { client } = canned(() => new Response("x", { headers: { "content-length": "10485761" } }));
	expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerUnexpectedResponse", status: 200 });
	const nearly = ` ${JSON.stringify(readAnswer("me.get"))}`.padStart(10 * 1024 * 1024, " ");
	expect(await canned(() => new Response(nearly)).client.me.get()).toEqual(readAnswer("me.get"));
	const over = canned(() => new Response(` ${nearly}`));
	expect(await failure(() => over.client.me.get())).toMatchObject({ _tag: "PartnerUnexpectedResponse" });
});

test("S28 an id beyond 2^53 does not fail the page; it is reported as drift", async () => {
	const page = JSON.stringify(readAnswer("conversations.listMessages")).replace('"id":7', '"id":9007199254740993');
	const drift: string[] = [];
	const { client } = canned(() => new Response(page), { onContractDrift: ({ path }) => drift.push(path) });
	const messages = await client.agency(agencyId).conversations.listMessages(phone).toArray();
	expect(messages).toHaveLength(1);
	expect(drift.join()).toMatch(/id/);
});

test("S30 a megabyte of hostile text anywhere is refused or taken without a stall", { timeout: 120_000 }, async () => {
	const { client } = canned(() => new Response("{}", { status: 400 }));
	const { conversations, messages } = client.agency(agencyId);
	const long = ["a", "0", "+", " ", "(0)", "\u0660", "-0", "+32", "..", "é", "\u200e"].map((unit) =>
		unit.repeat(1_000_000 / unit.length),
	);
	for (const text of long) {
		await failure(() => conversations.get(text));
		await failure(() => messages.send({ to: text, body: "x" }));
		await failure(() => messages.send({ to: phone, body: text, operationId: text }));
		await failure(() => conversations.list({ cursor: text, search: text }).page());
		await conversations.lookup([text]).catch(() => undefined);
		await failure(() => client.agency(text).messages.send(message));
		await failure(() =>
			createClient({ baseUrl: `https://${text}`, apiKey: text }).me.get({ timeoutMs: 1, retry: false }),
		);
		const header = text.replace(/[^\x21-\x7e]/g, "x");
		const said = canned(
			() =>
				new Response(JSON.stringify({ _tag: "x", message: text }), {
					status: 503,
					headers: { "retry-after": header, "x-correlation-id": header },
				}),
		);
		await failure(() => said.client.agency(agencyId).messages.send(message));
	}
});

test.for([
	"call me 0470123456 now",
	"tel:+32470123456;ext=5",
	"0470123456;ext=5",
	"0470123456 / 0471123456",
	"112",
	"+32470123456 x5",
	"O470123456",
])("S31 %s is not a recipient", async (to) => {
	const { asked, client } = canned(me);
	const refused = await failure(() => client.agency(agencyId).messages.send({ to, body: "x" }));
	expect(refused).toMatchObject({ _tag: "PartnerInvalidInput", outcome: "not_sent", attempts: 0 });
	expect(asked).toEqual([]);
});

test("S32 in a page the client refuses to be made, unless the option says that this is meant", async () => {
	vi.stubGlobal("window", { document: {} });
	vi.stubGlobal("document", {});
	vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0" });
	const refused = await failure(() => createClient({ baseUrl: "https://host.example/api/v1", apiKey }));
	expect(refused._tag).toBe("PartnerConfigurationError");
	const { client } = canned(me, { dangerouslyAllowBrowser: true });
	expect(await client.me.get()).toEqual(readAnswer("me.get"));
});

let built: Bundle;
beforeAll(async () => {
	built = await bundle(new URL("../../src/index.ts", import.meta.url));
});
afterAll(() => built.remove());

/** Runs a few lines in a process of their own; a timer that is left behind would hold it for its length. */
function inProcess(lines: string, env: Record<string, string>) {
	const script = `import { createClient } from ${JSON.stringify(pathToFileURL(built.path))};\n${lines}`;
	const args = ["--input-type=module", "-e", script];
	return promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env }, timeout: longestWaitMs });
}

test("S33 after the last answer nothing holds the process", async () => {
	const { service } = await setUp();
	const { stdout } = await inProcess(
		`const client = createClient({ baseUrl: process.env.BASE, apiKey: "rig_live.a.b", timeoutMs: 3_600_000, deadline: 3_600_000 });
		await client.me.get();
		await client.agency("agy_1").messages.send({ to: "+447700900101", body: "x" });
		const left = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout");
		console.log(JSON.stringify(left));`,
		{ BASE: service.baseUrl },
	);
	expect(JSON.parse(stdout)).toEqual([]);
});

test("S33 a wait between two attempts holds the process: it does not exit in the middle of a send", async () => {
	let turn = 0;
	const { service } = await setUp(
		{},
		{ plan: () => (turn++ === 0 ? { fault: faultNamed("reset without an answer"), variant: "processed" } : undefined) },
	);
	const { stdout } = await inProcess(
		`const client = createClient({ baseUrl: process.env.BASE, apiKey: "rig_live.a.b", retry: { baseDelayMs: 300 } });
		const { success } = await client.agency("agy_1").messages.send({ to: "+447700900101", body: "x" });
		console.log(success);`,
		{ BASE: service.baseUrl },
	);
	expect(stdout.trim()).toBe("true");
	expect(service.deliveries).toHaveLength(1);
});

test.for(adapters)("S35 bodies that no caller reads do not pile up connections (%s)", async (adapter) => {
	const plan = () => ({ fault: faultNamed("302 to same origin"), variant: "unprocessed" as const });
	const { service, client } = await setUp(over(adapter), { plan, echo: true });
	for (let count = 0; count < 20; count++) await failure(() => client.me.get());
	await eventually(() => expect(service.connections().open).toBeLessThan(5));
	const oversized = await setUp(over(adapter), {
		plan: () => ({ fault: faultNamed("a body without end"), variant: "unprocessed" }),
	});
	for (let count = 0; count < 4; count++) await failure(() => oversized.client.me.get());
	// A connection that is not in use stays open for the next call, for seconds. One whose body is not read stays in use.
	await eventually(() => expect(oversized.service.busy()).toBe(0));
	await eventually(() => expect(oversized.service.connections().open).toBeLessThan(4));
});

test("a sandbox key is refused where no sandbox can be", async () => {
	const sandboxKey = "sandbox_live.a.b";
	for (const baseUrl of ["https://host.example/api/v1", "https://some.localhost/api/v1"]) {
		const refused = await failure(() => createClient({ baseUrl, apiKey: sandboxKey }));
		expect(refused._tag).toBe("PartnerConfigurationError");
	}
	const { asked, client } = canned(me, { apiKey: () => sandboxKey });
	await failure(() => client.me.get());
	expect(asked).toEqual([]);
});

test("the one call of each operation makes exactly the request that its inputs say", async () => {
	const { service, client } = await setUp();
	for (const operation of operations) await call(client, operation, plainInputs);
	expect(service.requests.map(({ operation }) => operation)).toEqual([...operations]);
});
