import { Agent } from "node:https";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import {
	type AttemptEvent,
	type Call,
	type ClientOptions,
	cachedKey,
	createClient,
	type PartnerError,
} from "messaging-conversations";
import { expect, test } from "vitest";
import { type Adapter, adapters, over } from "../adapters.ts";
import { callOf, clientOf, failure, quick, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";
const send = callOf("messages.send");

/** As SvelteKit throws it. */
class Redirect {
	status = 307;
	location = "/login";
}

/** As h3 1 throws it. */
class H3Error extends Error {
	static __h3_error__ = true;
	statusCode = 401;
}

/** As h3 2 throws it. */
class HTTPError extends Error {
	override name = "HTTPError";
	status = 401;
	unhandled = undefined;
}

const withDigest = (digest: unknown) => Object.assign(new Error("of a framework"), { digest });

const steering: [what: string, thrown: unknown][] = [
	["a Response", new Response(null, { status: 302, headers: { location: "/login" } })],
	["a Response of another realm", runInNewContext("new (class Response { status = 302 })()")],
	["a redirect of SvelteKit", new Redirect()],
	["not found of TanStack", Object.freeze({ isNotFound: true, data: { status: 503 } })],
	["an object without a prototype", Object.create(null)],
	["an object that looks like an error of the network", { code: "ECONNREFUSED", syscall: "connect" }],
	["a promise, as React throws it", new Promise(() => {})],
	["a function", () => {}],
	["a symbol", Symbol("canary")],
	["zero", 0],
	["null", null],
	["nothing", undefined],
	["a redirect of Next.js", withDigest("NEXT_REDIRECT;replace;/login;307;")],
	["not found of Next.js", withDigest("NEXT_HTTP_ERROR_FALLBACK;404")],
	["not found of Next.js 14", withDigest("NEXT_NOT_FOUND")],
	["a bailout of Next.js", withDigest("BAILOUT_TO_CLIENT_SIDE_RENDERING")],
	["a hanging promise of Next.js", withDigest("HANGING_PROMISE_REJECTION")],
	["a dynamic page of React", withDigest("DYNAMIC_SERVER_USAGE")],
	["a digest with the code of an error", withDigest("DYNAMIC_SERVER_USAGE@E394")],
	["a TypeError with a digest", Object.assign(new TypeError("canary"), { digest: "NEXT_REDIRECT;push;/;303;" })],
	["a digest of another realm", runInNewContext('Object.assign(new Error(""), { digest: "NEXT_NOT_FOUND" })')],
	["a static page of Next.js", Object.assign(new Error("canary"), { code: "NEXT_STATIC_GEN_BAILOUT" })],
	["a postponed part of React", Object.assign(new Error("canary"), { $$typeof: Symbol.for("react.postpone") })],
	["an error of h3 1", new H3Error("canary")],
	["an error of h3 2", new HTTPError("canary")],
];

const ordinary: [what: string, thrown: unknown][] = [
	["a text", "canary"],
	["an error", new Error("canary")],
	["a TypeError", new TypeError("fetch failed")],
	["an error of another realm", runInNewContext('new RangeError("canary")')],
	["a DOMException", new DOMException("canary", "NetworkError")],
	["an error with the digest of any error in React", withDigest("2871235412")],
	["an error with a hash", withDigest("9F86D081884C7D659A2FEAA0C55AD015")],
	["an error with the name of a hash", withDigest("sha256")],
	["an error with a number for a digest", withDigest(5)],
	["an HTTPError of ky", Object.assign(new Error("canary"), { name: "HTTPError", response: new Response() })],
];

/** The options of a client through which a value is thrown, and how often it was. */
function throwing(through: string, thrown: unknown): { options: ClientOptions; count: () => number } {
	let calls = 0;
	const fail = async () => {
		calls++;
		throw thrown;
	};
	const count = () => calls;
	const client = { baseUrl, apiKey, retry: quick };
	if (through === "fetch") return { count, options: { ...client, fetch: fail } };
	if (through === "transport") return { count, options: { ...client, transport: fail } };
	const adapter: Adapter = through.includes("nodeHttp") ? "nodeHttp" : "fetch";
	return {
		count,
		options: { ...client, apiKey: through.includes("shared") ? cachedKey(fail) : fail, ...over(adapter) },
	};
}

const keys = ["a key function over fetch", "a key function over nodeHttp", "a shared key function"];

/** What a call rejects with, in a list, because a promise would be awaited. */
async function rejection(call: PromiseLike<unknown>): Promise<[unknown]> {
	return call.then(
		() => expect.unreachable("it should have failed"),
		(reason: unknown): [unknown] => [reason],
	);
}

const uses: ((call: Call<unknown, PartnerError>) => PromiseLike<unknown>)[] = [
	(call) => call,
	(call) => call.result(),
	(call) => call.withResponse(),
];

const entries = ["fetch", "transport", ...keys];

test.for(entries.flatMap((through) => steering.map(([what, thrown]) => [what, through, thrown] as const)))(
	"%s that is thrown through %s arrives unchanged, and nothing is retried",
	async ([, through, thrown]) => {
		for (const { operation, run } of sixCalls) {
			if (operation === "messages.send" && !keys.includes(through)) continue;
			for (const use of uses) {
				const { options, count } = throwing(through, thrown);
				const [error] = await rejection(use(run(createClient(options))));
				expect(Object.is(error, thrown)).toBe(true);
				expect(count()).toBe(1);
			}
		}
	},
);

test.for(
	["fetch", "transport"].flatMap((through) => steering.map(([what, thrown]) => [what, through, thrown] as const)),
)(
	"%s that is thrown through %s during a send is the cause of an error whose outcome is unknown",
	async ([, through, thrown]) => {
		const { options, count } = throwing(through, thrown);
		const lines: string[] = [];
		const events: AttemptEvent[] = [];
		const log = (line: string) => void lines.push(line);
		const logger = { debug: log, info: log, warn: log, error: log };
		const client = createClient({ ...options, logger, onAttempt: (event) => events.push(event) });
		const operationId = "note-1";
		const result = await client.agency(agencyId).messages.send({ to: phone, body: text, operationId }).result();
		if (result.ok) throw new Error("it should have failed");
		const { error } = result;
		expect(error).toMatchObject({
			_tag: "PartnerConnectionError",
			outcome: "unknown",
			operationId,
			attempts: 1,
			retryable: true,
		});
		expect(Object.is(error.cause, thrown)).toBe(true);
		expect(JSON.stringify(error)).not.toContain("canary");
		expect(count()).toBe(1);
		expect(events).toMatchObject([{ errorTag: "PartnerConnectionError", operationId }]);
		expect(lines.join()).not.toContain("canary");
		const changed = client.agency(agencyId).messages.send({ to: phone, body: "another text", operationId });
		expect(await failure(() => changed)).toMatchObject({ field: "operationId" });
	},
);

test("a transport that had no connection lets a value through during a send, because nothing was sent", async () => {
	const thrown = { connected: false };
	const [error] = await rejection(send.run(createClient(throwing("transport", thrown).options)));
	expect(error).toBe(thrown);
});

test("what the agent of a proxy throws arrives unchanged, because nothing was sent", async () => {
	const thrown = Object.freeze(new Redirect());
	const proxy = Object.assign(new Agent(), {
		addRequest: () => {
			throw thrown;
		},
	});
	const [error] = await rejection(send.run(clientOf({ baseUrl }, over("nodeHttp", { proxy }))));
	expect(error).toBe(thrown);
});

test.for(entries.flatMap((through) => ordinary.map(([what, thrown]) => [what, through, thrown] as const)))(
	"%s that is thrown through %s is an error of the call",
	async ([, through, thrown]) => {
		const { options, count } = throwing(through, thrown);
		const error = await failure(() => send.run(createClient(options)));
		const isKey = keys.includes(through);
		expect(error).toMatchObject({
			_tag: isKey ? "PartnerConfigurationError" : "PartnerConnectionError",
			outcome: isKey ? "not_sent" : "unknown",
			retryable: true,
		});
		expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("canary");
		expect(count()).toBe(isKey ? 1 : 4);
	},
);

test.for(adapters)(
	"a key function interrupts the retry of a read, and not that of a send in doubt (%s)",
	async (adapter) => {
		const service = await scripted(inTurn(refusal(500)));
		const thrown = new Redirect();
		let asked = 0;
		const key = () => {
			if (++asked > 1) throw thrown;
			return apiKey;
		};
		const client = clientOf(service, { apiKey: wrong(key), ...over(adapter) });
		const error = await failure(() =>
			client.agency(agencyId).messages.send({ to: phone, body: text, operationId: "note-1" }),
		);
		expect(error).toMatchObject({
			_tag: "PartnerInternalError",
			outcome: "unknown",
			operationId: "note-1",
			attempts: 4,
			retryable: true,
		});
		expect(asked).toBe(1);
		asked = 0;
		expect(await rejection(client.me.get())).toEqual([thrown]);
		expect([asked, service.requests.length]).toEqual([2, 5]);
	},
);

test.for(adapters)(
	"a key function that interrupts the read of a new key after a 401 is heard (%s)",
	async (adapter) => {
		const service = await scripted(inTurn(refusal(401)));
		const thrown = new Redirect();
		for (const { run } of [send, callOf("me.get")]) {
			let asked = 0;
			const key = async () => {
				if (++asked > 1) throw thrown;
				return apiKey;
			};
			const events: AttemptEvent[] = [];
			const onAttempt = (event: AttemptEvent) => events.push(event);
			const [error] = await rejection(run(clientOf(service, { apiKey: key, onAttempt, ...over(adapter) })));
			expect(error).toBe(thrown);
			expect(events).toMatchObject([{ errorTag: "PartnerUnauthorized" }]);
		}
		expect(service.requests).toHaveLength(2);
	},
);

test("the id of a send that a key function interrupted is free for another text", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	let asked = 0;
	const key = () => {
		if (++asked === 1) throw new Redirect();
		return apiKey;
	};
	const { messages } = clientOf(service, { apiKey: wrong(key) }).agency(agencyId);
	await rejection(messages.send({ to: phone, body: text, operationId: "note-1" }));
	await messages.send({ to: phone, body: "another text", operationId: "note-1" });
	expect(service.requests).toHaveLength(1);
});

test.for(entries)("an iteration and a lookup end in what is thrown through %s", async (through) => {
	const thrown = new Redirect();
	const { conversations } = createClient(throwing(through, thrown).options).agency(agencyId);
	for (const work of [conversations.list().toArray(), conversations.lookup([phone]), conversations.list()]) {
		expect(await rejection(work)).toEqual([thrown]);
	}
	for (const items of [conversations.list(), conversations.list().pages(), conversations.lookup([phone])]) {
		expect(await rejection(items[Symbol.asyncIterator]().next())).toEqual([thrown]);
	}
});

test("a value that ends the body of a response is a lost connection", async () => {
	const body = new ReadableStream({ pull: (controller) => controller.error({ isNotFound: true }) });
	const client = clientOf({ baseUrl }, { fetch: async () => new Response(body), retry: false });
	expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerConnectionError", status: 200 });
});

test.for(adapters)("a read that is interrupted is reported once for each of its requests (%s)", async (adapter) => {
	const events: AttemptEvent[] = [];
	const { options } = throwing(adapter === "fetch" ? "fetch" : "transport", new Redirect());
	await rejection(createClient({ ...options, onAttempt: (event) => events.push(event) }).me.get());
	expect(events).toMatchObject([{ attempt: 1, errorTag: "PartnerConnectionError" }]);
	expect(events[0]).not.toHaveProperty("retryInMs");
});

test("an error of another call that `transport` rejects with leaves a send unknown, with its own id", async () => {
	const other = createClient({ baseUrl, apiKey, retry: false, fetch: async () => new Response("no", { status: 500 }) });
	const transport = async () => {
		await other.agency("agy_other").messages.send({ to: phone, body: "Other", operationId: "other" });
		throw new Error("never");
	};
	const client = createClient({ baseUrl, apiKey, retry: false, transport });
	const error = await failure(() =>
		client.agency(agencyId).messages.send({ to: phone, body: text, operationId: "mine" }),
	);
	expect(error).toMatchObject({
		_tag: "PartnerConnectionError",
		operation: "messages.send",
		operationId: "mine",
		outcome: "unknown",
	});
});

test("an abort counts for more than what fetch throws because of it", async () => {
	const controller = new AbortController();
	const fetch = async () => {
		controller.abort();
		throw new Redirect();
	};
	const client = clientOf({ baseUrl }, { fetch });
	expect(await failure(() => client.me.get({ signal: controller.signal }))).toMatchObject({
		_tag: "PartnerAbortError",
	});
});

test("a client that was interrupted answers its next call", async () => {
	const service = await scripted(inTurn({ json: me }));
	let asked = 0;
	const key = () => (++asked === 1 ? Promise.reject(new Redirect()) : Promise.resolve(apiKey));
	const client = clientOf(service, { apiKey: key });
	await rejection(client.me.get());
	expect(await client.me.get()).toEqual(me);
});
