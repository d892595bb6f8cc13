// What a reporter of errors finds in the local variables of the frames in which an error is thrown: Sentry's option
// includeLocalVariables stores them in the error itself, by the protocol of the inspector as here (S14).
import { inspect } from "node:util";
import {
	type ClientOptions,
	cachedKey,
	createClient,
	isPartnerError,
	type PartnerError,
} from "messaging-conversations";
import { expect, test } from "vitest";
import { adapters, over } from "../adapters.ts";
import { failure, quick, sixCalls, wrong } from "../calls.ts";
import { agencyId, phone, sentNow, text } from "../canned.ts";
import { isLong } from "../length.ts";
import { watchVariables } from "../local-variables.ts";
import { refusal, type Script, scripted } from "../scripted.ts";

const secret = "LOCALKEYCANARY";
const apiKey = `test_live.key0001.${secret}`;

/** Runs something, and returns each variable of this package's frames that held the key when something was thrown. */
async function variablesWithKey(run: () => unknown): Promise<{ found: string[]; pauses: number }> {
	const stop = watchVariables([secret], /\/src\/([\w/-]+\.tsx?)(\?|$)/);
	try {
		await run();
	} catch (error) {
		stop();
		throw error;
	}
	return stop();
}
test("the search finds a key in a variable", async () => {
	const { found, pauses } = await variablesWithKey(() => {
		const { messages } = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "k" }).agency(agencyId);
		return failure(() => messages.send({ to: phone, body: `${text} ${secret}` }, { retry: wrong(5) }));
	});
	expect(pauses).toBeGreaterThan(0);
	expect(found).not.toEqual([]);
});

const answers: Record<string, Script> = {
	"400": () => refusal(400, `quotes Bearer ${apiKey}, \u0022 %E9 and %ED%A0%80`),
	"401": () => refusal(401),
	"403": () => refusal(403),
	"404": () => refusal(404),
	"409": () => refusal(409),
	"500": () => refusal(500),
	"a gateway's 502": () => ({ status: 502, text: "<html>" }),
	"a gateway's 413": () => ({ status: 413, text: "" }),
	"a redirect": () => ({ status: 302, headers: { location: `https://elsewhere.example/${apiKey}` } }),
	"a broken contract": () => ({ json: { ...sentNow, queued: "no" } }),
	"no JSON": () => ({ text: "no JSON" }),
	"no JSON that repeats the request": ({ headers }) => ({ text: String(headers.authorization) }),
	"a broken contract that repeats it": ({ headers }) => ({ json: { ...sentNow, queued: headers.authorization } }),
	"a gateway's page that repeats it": ({ headers }) => ({ status: 503, text: `<html>${headers.authorization}` }),
	"a reset": () => "reset",
	"a cut body": () => "cut",
	"no answer": () => "hang",
};

/** Each failure over both transports; in a short run over one of them, by turns. */
const failures = Object.keys(answers).flatMap((name, at) =>
	adapters.filter((_, index) => isLong || index === at % 2).map((adapter) => [name, adapter] as const),
);
test.for(failures)("S14 no variable holds the key when a call fails by %s over %s", async ([name, adapter]) => {
	const service = await scripted(answers[name] ?? (() => "reset"));
	const client = createClient({
		baseUrl: service.baseUrl,
		apiKey: () => apiKey,
		retry: { ...quick, attempts: 2 },
		timeoutMs: name === "no answer" ? 100 : 10_000,
		...over(adapter),
	});
	const errors: unknown[] = [];
	const { found, pauses } = await variablesWithKey(async () => {
		for (const { run } of sixCalls) errors.push(await run(client).catch((error: unknown) => error));
	});
	expect(pauses).toBeGreaterThan(0);
	expect(found).toEqual([]);
	expect(errors.filter((error) => isPartnerError(error)).length).toBeGreaterThan(0);
});

const options: [what: string, options: () => ClientOptions][] = [
	["a bad option", () => ({ ...good(), timeoutMs: -1 })],
	["an option that does not exist", () => wrong({ ...good(), retries: 3 })],
	["a bad base URL", () => ({ ...good(), baseUrl: "messaging.example" })],
	["a key with spaces", () => ({ ...good(), apiKey: `Bearer ${apiKey}` })],
	["a sandbox key for the service", () => ({ ...good(), apiKey: `sandbox_live.${secret}` })],
	["a bad list of recipients", () => ({ ...good(), allowRecipients: ["no number"] })],
	["both transports", () => ({ ...good(), fetch: wrong(() => {}), transport: wrong(() => {}) })],
	["a header that cannot be sent", () => ({ ...good(), headers: { authorization: "x" } })],
];
const good = (): ClientOptions => ({ baseUrl: "https://messaging.example/api/v1", apiKey });

test.for(options)("S14 no variable holds the key when createClient or withOptions refuses %s", async ([, given]) => {
	const { baseUrl, ...changed } = given();
	const outer = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "other" });
	const errors: unknown[] = [];
	const { found, pauses } = await variablesWithKey(() => {
		for (const act of [() => createClient({ baseUrl, ...changed }), () => outer.withOptions(changed)])
			try {
				act();
			} catch (error) {
				errors.push(error);
			}
	});
	expect(pauses).toBeGreaterThan(0);
	expect(errors.length).toBeGreaterThan(0);
	expect(found).toEqual([]);
});

const keyFunctions: [what: string, read: () => unknown][] = [
	["returns one with spaces", () => `${apiKey} `],
	["returns an object of it", () => ({ apiKey })],
	["returns nothing", () => undefined],
	["rejects with an error that quotes it", () => Promise.reject(new Error(apiKey))],
];

test.for(keyFunctions.flatMap(([what, read]) => adapters.map((adapter) => [what, adapter, read] as const)))(
	"S14 no variable holds the key when the key function %s, over %s",
	async ([, adapter, read]) => {
		for (const given of [read, cachedKey(wrong(read))]) {
			const client = createClient({ ...good(), apiKey: wrong(given), retry: quick, ...over(adapter) });
			let error: PartnerError | undefined;
			const { found } = await variablesWithKey(async () => {
				error = await failure(() => client.me.get());
			});
			expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "apiKey" });
			expect(found).toEqual([]);
		}
	},
);

const throwing: [what: string, fetch: (url: string, init: { headers: Record<string, string> }) => unknown][] = [
	[
		"throws at once",
		() => {
			throw new Error("no");
		},
	],
	["rejects", async () => Promise.reject(new TypeError("no"))],
	[
		"throws what it was given",
		(_, init) => {
			throw init;
		},
	],
	[
		"rejects as axios does",
		async (url, init) =>
			Promise.reject(
				Object.assign(new Error(`${url} ${init.headers.authorization}`), {
					config: { url, headers: { ...init.headers } },
					request: { _header: `authorization: ${init.headers.authorization}` },
				}),
			),
	],
	["rejects with a text", async (_, init) => Promise.reject(`no: ${init.headers.authorization}`)],
	["returns nothing", () => undefined],
];

test.for(throwing)("S14 no variable holds the key when a fetch of the caller %s", async ([, fetch]) => {
	const client = createClient({ ...good(), fetch: wrong(fetch), retry: { ...quick, attempts: 2 } });
	const { found, pauses } = await variablesWithKey(async () => {
		for (const { run } of sixCalls) await run(client).catch(() => {});
	});
	expect(pauses).toBeGreaterThan(0);
	expect(found).toEqual([]);
});

test("a field that a reporter adds to an error is in no JSON", async () => {
	const service = await scripted(answers["500"] ?? (() => "reset"));
	const client = createClient({ baseUrl: service.baseUrl, apiKey, retry: false });
	const error = await failure(() => client.agency(agencyId).messages.send({ to: phone, body: text }));
	const vars = { apiKey, to: phone, body: text };
	for (const name of ["__SENTRY_ERROR_LOCAL_VARIABLES__", "locals", "toString"])
		Object.defineProperty(error, name, { value: [{ function: "send", vars }], enumerable: true, configurable: true });
	const json = JSON.stringify({ error });
	expect(json).not.toMatch(/CANARY|470123456|locals/);
	expect(JSON.parse(json).error).toEqual({
		message: error.message,
		_tag: "PartnerInternalError",
		operation: "messages.send",
		agencyId,
		attempts: 1,
		retryable: true,
		status: 500,
		correlationId: "cor-1",
		operationId: error.operationId,
		outcome: "unknown",
	});
});

test("a client, its agency and its groups show no key, however they are shown", () => {
	for (const derive of [false, true]) {
		const made = createClient({ ...good(), headers: { "x-source": "crm" } });
		const client = derive ? made.withOptions({ apiKey: `${apiKey}2` }) : made;
		const agency = client.agency(agencyId);
		for (const value of [client, agency, agency.messages, agency.conversations, client.me])
			for (const shown of [
				inspect(value, { depth: null, showHidden: true, getters: true }),
				JSON.stringify(value),
				`${value}`,
			])
				expect(shown).not.toContain(secret);
	}
});
