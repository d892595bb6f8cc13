import { inspect } from "node:util";
import {
	createClient,
	type Fetch,
	isPartnerError,
	type OperationId,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConfigurationError,
	PartnerConflict,
	PartnerConnectionError,
	PartnerError,
	PartnerForbidden,
	PartnerGatewayError,
	PartnerHeldText,
	PartnerInternalError,
	PartnerInvalidInput,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
	PartnerUnexpectedResponse,
} from "messaging-conversations";
import { expect, test } from "vitest";
import {
	callOf,
	clientOf,
	failure,
	failureOf,
	fetchFault,
	fetchInTurn,
	jsonResponse,
	quick,
	recordingFetch,
	sixCalls,
} from "../calls.ts";
import { agencyId, apiKey, conversationPage, me, operationId, phone, sentNow, spelledPhone, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { type Answer, deadBaseUrl, inTurn, refusal, type Script, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";

// The table, row by row

const listed: [OperationId, number[]][] = [
	["me.get", [401, 403, 404]],
	["conversations.list", [400, 401, 403]],
	["conversations.lookup", [400, 401, 403]],
	["conversations.get", [400, 401, 403, 404]],
	["conversations.listMessages", [400, 401, 403, 404]],
	["messages.send", [400, 401, 403, 409]],
];
const classes = {
	400: PartnerBadRequest,
	401: PartnerUnauthorized,
	403: PartnerForbidden,
	404: PartnerNotFound,
	409: PartnerConflict,
};
const refusals = listed.flatMap(([operation, statuses]) => statuses.map((status) => ({ operation, status })));

test.for(refusals)(
	"row PartnerBadRequest … PartnerConflict: $operation answered $status, not retried",
	async ({ operation, status }) => {
		const Class = classes[status as keyof typeof classes];
		const { error, requests } = await failureOf(operation, inTurn(refusal(status, "pageSize must be 1 to 100")));
		expect(error).toBeInstanceOf(Class);
		expect(error).toBeInstanceOf(PartnerError);
		expect(error).toBeInstanceOf(Error);
		expect(error).toMatchObject({
			_tag: Class.name,
			name: Class.name,
			operation,
			status,
			correlationId: "cor-1",
			attempts: 1,
			retryable: false,
		});
		expect(error.message).toContain("pageSize must be 1 to 100");
		expect(requests).toHaveLength(1);
	},
);

test.for([
	["HTML", { status: 403, text: "<html>CANARYTEXT</html>", headers: { "content-type": "text/html" } }],
	["half a JSON", { status: 403, text: '{"_tag":"Partner' }],
	["another JSON", { status: 403, json: { error: "CANARYTEXT" } }],
	["another tag", { status: 403, json: { _tag: "PartnerBadRequest", message: "no" } }],
	["nothing", { status: 403 }],
	["null", { status: 403, text: "null" }],
	["false", { status: 403, text: "false" }],
	["more than 10 MB", { status: 403, text: `"${"x".repeat(11 * 1024 * 1024)}"` }],
] as [string, Answer][])(
	"row PartnerGatewayError: a 403 is not the service's where its body is %s",
	async ([, answer]) => {
		const { error, requests } = await failureOf("conversations.list", inTurn(answer));
		expect(error).toMatchObject({ _tag: "PartnerGatewayError", status: 403, attempts: 1, retryable: true });
		expect(error.message).not.toContain("CANARYTEXT");
		expect(error.message.length).toBeLessThan(600);
		expect(requests).toHaveLength(1);
	},
);

const fiveHundreds: [string, Answer][] = [
	["empty 500", { status: 500 }],
	["500 null", { status: 500, text: "null" }],
	["501", { status: 501, json: { _tag: "SandboxUnsupported", message: "no" } }],
	["HTML 502", { status: 502, text: "<html>CANARYTEXT</html>", headers: { "content-type": "text/html" } }],
	["503", { status: 503 }],
	["HTML 504", { status: 504, text: "<html>CANARYTEXT</html>", headers: { "content-type": "text/html" } }],
	["599", { status: 599 }],
];

test.for(fiveHundreds)("row PartnerGatewayError: %s is retried, and its body is not shown", async ([, answer]) => {
	for (const { operation } of sixCalls) {
		const { error, requests } = await failureOf(operation, inTurn(answer));
		expect(error).toBeInstanceOf(PartnerGatewayError);
		expect(error).toMatchObject({
			_tag: "PartnerGatewayError",
			operation,
			status: (answer as { status: number }).status,
			correlationId: "cor-4",
			attempts: 4,
			retryable: true,
		});
		expect(error.message).not.toContain("CANARYTEXT");
		expect(requests).toHaveLength(4);
	}
});

test("row PartnerInternalError: of a chosen operationId, the message says that it may have had another body", async () => {
	const service = await scripted(inTurn(refusal(500)));
	const { messages } = clientOf(service).agency(agencyId);
	const chosen = await failure(() => messages.send({ to: phone, body: text, operationId }));
	expect(chosen.message).toMatch(/operationId.*different body/);
	const made = await failure(() => messages.send({ to: phone, body: text }));
	expect(made.message).not.toMatch(/different body/);
});

test("row PartnerConnectionError: refused", async () => {
	const client = clientOf({ baseUrl: await deadBaseUrl() });
	for (const { operation, run } of sixCalls) {
		const error = await failure(() => run(client, { retry: { budget: Number.POSITIVE_INFINITY } }));
		expect(error).toBeInstanceOf(PartnerConnectionError);
		expect(error).toMatchObject({ operation, attempts: 4, retryable: true });
		expect(error).not.toHaveProperty("status");
		expect(error).not.toHaveProperty("correlationId");
		expect(error.cause).toMatchObject({ code: "ECONNREFUSED", syscall: "connect" });
		expect(Object.keys(error.cause ?? {}).sort()).toEqual(["code", "name", "syscall"]);
	}
});

test("row PartnerConnectionError: an answer that breaks off has its status and its correlation id", async () => {
	for (const operation of ["me.get", "messages.send"] as const) {
		const { error } = await failureOf(operation, inTurn("cut"));
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", status: 200, correlationId: "cor-4" });
	}
});

test("row PartnerConnectionError: no such host", async () => {
	const fetch = fetchInTurn(fetchFault("ENOTFOUND", "getaddrinfo"));
	const error = await failure(() => clientOf({ baseUrl }, { fetch }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", attempts: 4, retryable: true });
	expect(error.cause).toEqual({ name: "Error", code: "ENOTFOUND", syscall: "getaddrinfo" });
});

const lostAnswers: [string, Answer][] = [
	["reset", "reset"],
	["cut off in its body", "cut"],
	["200 with HTML", { text: "<html>CANARYTEXT</html>" }],
	["200 with nothing", {}],
	["200 that ends early", { text: '{"integration":{"id":"CANARYTEXT' }],
	["204", { status: 204 }],
];

test.for(lostAnswers)("row PartnerConnectionError: %s is retried", async ([, answer]) => {
	for (const { operation, good } of sixCalls) {
		const { error, requests } = await failureOf(operation, inTurn(answer));
		expect(error).toBeInstanceOf(PartnerConnectionError);
		expect(error).toMatchObject({ operation, attempts: 4, retryable: true });
		expect(`${error.message}${inspect(error.cause)}`).not.toContain("CANARYTEXT");
		expect(requests).toHaveLength(4);
		const service = await scripted(inTurn(answer, { json: good }));
		const { response } = await callOf(operation).run(clientOf(service)).withResponse();
		expect(response.attempts).toBe(2);
	}
});

test("row PartnerConnectionError: of a bad certificate, not retried and not retryable", async () => {
	for (const code of ["DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"]) {
		const fetch = fetchInTurn(fetchFault(code));
		const error = await failure(() => callOf("messages.send").run(clientOf({ baseUrl }, { fetch })));
		expect(error).toMatchObject({
			_tag: "PartnerConnectionError",
			attempts: 1,
			retryable: false,
			outcome: "not_sent",
		});
		expect(error.cause).toMatchObject({ code });
		expect(fetch.count()).toBe(1);
	}
});

test("row PartnerConnectionError: https spoken to a plain port, not retried", async () => {
	const service = await scripted(inTurn({ json: me }));
	const error = await failure(() => clientOf({ baseUrl: service.baseUrl.replace("http:", "https:") }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", attempts: 1, retryable: false });
});

test("row PartnerConnectionError: a fetch that throws any error ends as one", async () => {
	for (const thrown of [new Error(text), new SyntaxError(text), new DOMException(text), new AggregateError([], text)]) {
		const fetch: Fetch = () => Promise.reject(thrown);
		const error = await failure(() => clientOf({ baseUrl }, { fetch }).me.get());
		expect(error._tag).toBe("PartnerConnectionError");
		expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("CANARYTEXT");
	}
});

test("row PartnerTimeoutError: an attempt that takes too long is retried", async () => {
	for (const slow of ["hang", "stall"] as const) {
		const { error } = await failureOf("me.get", inTurn(slow), { timeoutMs: 40 });
		expect(error).toBeInstanceOf(PartnerTimeoutError);
		expect(error).toMatchObject({ operation: "me.get", attempts: 4, retryable: true });
		const service = await scripted(inTurn(slow, { json: me }));
		await expect(clientOf(service, { timeoutMs: 1_000 }).me.get()).resolves.toEqual(me);
	}
});

test("row PartnerTimeoutError: a fetch that does not listen to its signal is left behind", async () => {
	const fetch: Fetch = () => new Promise(() => {});
	const client = clientOf({ baseUrl }, { fetch, timeoutMs: 20, retry: false });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1 });
});

test("row PartnerTimeoutError: the deadline inside an attempt, with the last error as its cause", async () => {
	const script = inTurn(refusal(503, "Busy."), "hang");
	const { error } = await failureOf("conversations.list", script, { deadline: 3_000 });
	expect(error).toBeInstanceOf(PartnerTimeoutError);
	expect(error).toMatchObject({ attempts: 2, retryable: true });
	expect(error.cause).toBeInstanceOf(PartnerInternalError);
	expect(error.cause).toMatchObject({ status: 503 });
});

test("row PartnerTimeoutError: no room before the deadline for another attempt: the last error as it is", async () => {
	const slow: Script = async () => ({ status: 503, headers: { "retry-after": "2" } });
	const { error, requests } = await failureOf("me.get", slow, { deadline: 2100 });
	expect(error).toMatchObject({ _tag: "PartnerGatewayError", attempts: 1, retryable: true, retryAfterMs: 2000 });
	expect(requests).toHaveLength(1);
});

test.for([301, 302, 303, 304, 307, 308])(
	"row PartnerUnexpectedResponse: %d, neither retried nor retryable",
	async (status) => {
		for (const { operation } of sixCalls) {
			const headers = { location: "/api/v1/elsewhere" };
			const { error, requests } = await failureOf(operation, inTurn({ status, headers }));
			expect(error).toBeInstanceOf(PartnerUnexpectedResponse);
			expect(error).toMatchObject({ operation, status, correlationId: "cor-1", attempts: 1 });
			expect(error.retryable).toBe(false);
			expect(requests).toHaveLength(1);
		}
	},
);

/** Status, number of requests, and whether a later call may succeed. */
const gateways: [status: number, attempts: number, retryable: boolean][] = [
	...[404, 408, 410, 421, 425, 499, 500, 501, 502, 503, 504, 520].map((status): [number, number, boolean] => [
		status,
		4,
		true,
	]),
	...[401, 402, 403, 409, 418, 422, 423, 429, 451].map((status): [number, number, boolean] => [status, 1, true]),
	...[400, 405, 411, 413, 414, 415, 426, 431].map((status): [number, number, boolean] => [status, 1, false]),
];

test.for(gateways)(
	"row PartnerGatewayError: %d without the service's body makes %d requests, retryable: %s",
	async (row) => {
		const [status, attempts, retryable] = row;
		for (const { operation } of sixCalls) {
			for (const body of [{ text: "default backend" }, { json: { message: "no Route matched" } }, {}]) {
				const { error, requests } = await failureOf(operation, inTurn({ status, ...body }));
				expect(error).toBeInstanceOf(PartnerGatewayError);
				expect(error).toMatchObject({ operation, status, attempts, retryable });
				expect(error.outcome).toBe(operation === "messages.send" ? "unknown" : undefined);
				// By its standard, fetch repeats a 421 on a new connection.
				if (status !== 421) expect(requests).toHaveLength(attempts);
			}
		}
	},
);

test("row PartnerGatewayError: `server` and `via` are shown without what the request contained", async () => {
	const headers = { server: `proxy-${phone}`, via: `1.1 ${apiKey}` };
	const { error } = await failureOf("conversations.get", inTurn({ status: 403, headers }));
	expect(error.message).toMatch(
		/^conversations.get: 403 from something in front of the service \(server: .*\[hidden\]/,
	);
	expect(error.message).not.toContain(phone.slice(-8));
	expect(error.message).not.toContain(apiKey);
});

test.for([401, 403, 404])(
	"errorBodies \"any\" takes a %d without the service's body for the service's",
	async (status) => {
		const classes: Record<number, string> = {
			401: "PartnerUnauthorized",
			403: "PartnerForbidden",
			404: "PartnerNotFound",
		};
		for (const { operation } of sixCalls) {
			const isListed = listed.find(([name]) => name === operation)?.[1].includes(status);
			const { error } = await failureOf(operation, inTurn({ status, text: "<html>" }), { errorBodies: "any" });
			expect(error).toMatchObject({ _tag: isListed ? classes[status] : "PartnerGatewayError", status });
			expect(error.outcome).toBe(operation === "messages.send" ? "unknown" : undefined);
		}
	},
);

test("an untagged 401 of a read asks the key function once, and one of a send does not", async () => {
	const keys = ["old_live.key.one", "new_live.key.two"];
	for (const operation of ["me.get", "messages.send"] as const) {
		const service = await scripted(inTurn({ status: 401, text: "<html>" }));
		let asked = 0;
		const error = await failure(() =>
			callOf(operation).run(clientOf(service, { apiKey: () => keys[Math.min(asked++, 1)] })),
		);
		expect(error).toMatchObject({ _tag: "PartnerGatewayError", status: 401, attempts: operation === "me.get" ? 2 : 1 });
		expect(service.requests).toHaveLength(error.attempts);
	}
});

const unlisted = sixCalls.flatMap(({ operation }) => {
	const statuses = listed.find(([name]) => name === operation)?.[1] ?? [];
	return [400, 401, 403, 404, 409]
		.filter((status) => !statuses.includes(status))
		.map((status) => ({ operation, status }));
});

test.for(unlisted)(
	"row PartnerUnexpectedResponse: $status, which $operation does not list, not retried",
	async ({ operation, status }) => {
		const { error, requests } = await failureOf(operation, inTurn(refusal(status)));
		expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", status, attempts: 1, retryable: false });
		expect(error.outcome).toBe(operation === "messages.send" ? "not_sent" : undefined);
		expect(requests).toHaveLength(1);
	},
);

test.for([201, 202, 206])(
	"row PartnerUnexpectedResponse: a good body under %d is not an answer of the contract",
	async (status) => {
		for (const { operation, good } of sixCalls) {
			const { error, requests } = await failureOf(operation, inTurn({ status, json: good }));
			expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", status, attempts: 1, retryable: false });
			expect(requests).toHaveLength(1);
		}
	},
);

test.for(sixCalls)(
	"row PartnerUnexpectedResponse: a readable answer to $operation that breaks the contract",
	async ({ operation, good }) => {
		const broken = Object.keys(good as object).map((field) => ({ ...(good as object), [field]: undefined }));
		for (const json of [...broken, [], "text", 5, true, {}, null]) {
			const { error, requests } = await failureOf(operation, inTurn({ text: JSON.stringify(json) }));
			expect(error).toBeInstanceOf(PartnerUnexpectedResponse);
			expect(error).toMatchObject({ status: 200, attempts: 1, retryable: false });
			expect(requests).toHaveLength(1);
		}
	},
);

test("row PartnerUnexpectedResponse: the message names the field that breaks the contract, not its value", async () => {
	const json = conversationPage(["Anna"]);
	const [row] = json.conversations;
	const { error } = await failureOf(
		"conversations.list",
		inTurn({ json: { ...json, conversations: [{ ...row, totalMessages: "CANARYTEXT" }] } }),
	);
	expect(error.message).toContain("/conversations/0/totalMessages");
	expect(error.message).not.toContain("CANARYTEXT");
});

test("row PartnerUnexpectedResponse: a body over the size limit, of an honest length or of none", async () => {
	const huge = JSON.stringify({ ...me, filler: "x".repeat(11 * 1024 * 1024) });
	const { error, requests } = await failureOf("me.get", inTurn({ text: huge }));
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1, retryable: false });
	expect(requests).toHaveLength(1);
	const chunked = await failureOf("me.get", inTurn({ text: huge, headers: { "transfer-encoding": "chunked" } }));
	expect(chunked.error).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1 });
});

test("row PartnerUnexpectedResponse: a redirect is not followed, to no host and by no method", async () => {
	const elsewhere = await scripted(inTurn({ json: sentNow }));
	for (const status of [301, 302, 303, 307, 308]) {
		for (const { operation, run } of sixCalls) {
			const there = `${elsewhere.baseUrl}/stolen?phone=${encodeURIComponent(phone)}`;
			const service = await scripted((seen) =>
				seen.url.includes("/followed")
					? { json: sentNow }
					: { status, headers: { location: status === 303 ? "/api/v1/followed" : there } },
			);
			const error = await failure(() => run(clientOf(service)));
			expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", status });
			expect(error.message).not.toContain("32470123456");
			expect(error.outcome).toBe(operation === "messages.send" ? "unknown" : undefined);
			expect(service.requests).toHaveLength(1);
		}
	}
	expect(elsewhere.requests).toEqual([]);
});

test("row PartnerAbortError: the caller's signal, not retried", async () => {
	const service = await scripted(inTurn("hang"));
	for (const { operation, run } of sixCalls) {
		const controller = new AbortController();
		const failing = failure(() => run(clientOf(service), { signal: controller.signal }));
		await eventually(() => expect(service.requests.some(({ cut }) => !cut)).toBe(true));
		controller.abort(new Error(apiKey));
		const error = await failing;
		expect(error).toBeInstanceOf(PartnerAbortError);
		expect(error).toMatchObject({ operation, attempts: 1, retryable: false });
		expect(inspect(error)).not.toContain("CANARYKEY");
		await eventually(() => expect(service.requests.every(({ cut }) => cut)).toBe(true));
	}
	expect(service.requests).toHaveLength(6);
});

test("row PartnerInvalidInput: what a call was given, before any request", async () => {
	const service = await scripted(inTurn({ json: me }));
	const error = await failure(() => clientOf(service).me.get({ timeoutMs: 0 }));
	expect(error).toBeInstanceOf(PartnerInvalidInput);
	expect(error).toMatchObject({ name: "PartnerInvalidInput", operation: "me.get", attempts: 0, retryable: false });
	expect(service.requests).toEqual([]);
});

test("row PartnerConfigurationError: what the client was made with, at once or at the first call", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const atOnce = await failure(() => createClient({ baseUrl: "http://messaging.example", apiKey, fetch }));
	expect(atOnce).toBeInstanceOf(PartnerConfigurationError);
	expect(atOnce).toMatchObject({ name: "PartnerConfigurationError", operation: "createClient", field: "baseUrl" });
	const absent = await failure(() => createClient({ baseUrl, apiKey: undefined, fetch }).me.get());
	expect(absent).toBeInstanceOf(PartnerConfigurationError);
	expect(absent).toMatchObject({ operation: "me.get", field: "apiKey", retryable: false });
	const vault = () => Promise.reject(new RangeError("locked"));
	const failed = await failure(() => createClient({ baseUrl, apiKey: vault, fetch }).me.get());
	expect(failed).toBeInstanceOf(PartnerConfigurationError);
	expect(failed).toMatchObject({ operation: "me.get", attempts: 0, retryable: true, cause: { name: "RangeError" } });
	expect(calls).toEqual([]);
});

test.for(sixCalls)("agencyId: on each error of $operation that has an agency", async ({ operation, run }) => {
	const agency = operation === "me.get" ? undefined : agencyId;
	const answered = await failureOf(operation, inTurn(refusal(401)));
	const lost = await failureOf(operation, inTurn("reset"), { retry: false });
	const refused = await failure(() => run(clientOf({ baseUrl }), { timeoutMs: 0 }));
	const aborted = await failure(() => run(clientOf({ baseUrl }), { signal: AbortSignal.abort() }));
	const keyless = await failure(() => run(clientOf({ baseUrl }, { apiKey: undefined })));
	for (const error of [answered.error, lost.error, refused, aborted, keyless]) {
		expect(error.agencyId, error._tag).toBe(agency);
		expect(error.toJSON().agencyId).toBe(agency);
	}
});

// What an error says

test("the correlation id is that of the last answer that had one", async () => {
	const { error } = await failureOf("me.get", inTurn(refusal(500), refusal(500), refusal(500), "reset"));
	expect(error).toMatchObject({ attempts: 4, correlationId: "cor-3" });
});

test("a correlation id that a gateway left out or garbled is absent", async () => {
	for (const id of [undefined, "", "x".repeat(200), "two words"]) {
		const { error } = await failureOf("me.get", inTurn({ status: 403, headers: { "x-correlation-id": id } }));
		expect(error).not.toHaveProperty("correlationId");
	}
});

test("the service's message is kept, in one line, of 500 characters at most, with the number of the request masked", async () => {
	const said = `Bad\u0000 value\r\n\u001b[31mfor ${spelledPhone} and +32470123456: ${"long ".repeat(400)}`;
	const { error } = await failureOf("conversations.get", inTurn(refusal(400, said)));
	expect(error.message).toContain("Bad");
	expect(error.message).toContain("value");
	expect(error.message).not.toMatch(/\p{Cc}/u);
	expect(error.message).not.toMatch(/\d{6}|12 34/);
	const kept = error.message.slice(error.message.indexOf("Bad"));
	expect(kept.length).toBeLessThanOrEqual(500);
	expect(kept.length).toBeGreaterThan(400);
});

test("short numbers in the service's message stay: a rule would say nothing without them", async () => {
	const { error } = await failureOf("conversations.list", inTurn(refusal(400, "pageSize must be 1 to 100, not 12345")));
	expect(error.message).toContain("pageSize must be 1 to 100, not 12345");
});

const echo = `${apiKey} Bearer ${apiKey} ${phone} ${encodeURIComponent(phone)} ${spelledPhone} ${text}`;
const sweeps: [string, Answer][] = [
	["an echoing 400", refusal(400, echo)],
	["an echoing 403", refusal(403, echo)],
	["an echoing 500", refusal(500, echo)],
	["an echoing gateway", { status: 502, text: `<html>${echo}</html>` }],
	["an echoing 200", { text: `<html>${echo}</html>` }],
	["an answer that breaks the contract with an echo", { json: { [echo]: echo, success: echo, messages: echo } }],
	["an echoing header", { status: 418, headers: { "x-correlation-id": apiKey, "retry-after": apiKey } }],
	["an echoing redirect", { status: 302, headers: { location: `https://${apiKey}/${encodeURIComponent(phone)}` } }],
	[
		"a redirect to a host that is the number",
		{ status: 302, headers: { location: `https://c${phone.slice(1)}.example/` } },
	],
	["a reset", "reset"],
	["a cut", "cut"],
	["a hang", "hang"],
];

test.for(sweeps)("no error, log line or event shows key, number or text: %s", async ([, answer]) => {
	const reported: unknown[] = [];
	const say = (...line: unknown[]) => reported.push(...line);
	const service = await scripted(inTurn(answer));
	const client = clientOf(service, {
		timeoutMs: 40,
		retry: { ...quick, attempts: 2 },
		logger: { debug: say, info: say, warn: say, error: say },
		onAttempt: say,
		onContractDrift: say,
	});
	for (const { operation, run } of sixCalls) {
		const error = await failure(() => run(client));
		// What a call did not send it cannot know to be a secret. A number that is an id or a host it knows by its form.
		const secrets = ["CANARYKEY", "test_live"];
		const hasNumber = operation !== "me.get" && operation !== "conversations.list";
		if (hasNumber || !JSON.stringify(answer).includes("message")) secrets.push("470123456");
		if (hasNumber && operation !== "conversations.lookup") secrets.push("470 12 34 56");
		if (operation === "messages.send") secrets.push("CANARYTEXT");
		const shown = [error.message, error.stack, String(error), JSON.stringify(error)];
		for (let each: unknown = error; each instanceof Error; each = each.cause)
			shown.push(inspect(each, { depth: 10, showHidden: true }));
		shown.push(inspect(error.cause, { depth: 10 }), inspect(reported, { depth: 10 }), JSON.stringify(reported));
		for (const secret of secrets) expect(shown.join("\n")).not.toContain(secret);
	}
	expect(reported.length).toBeGreaterThan(0);
});

test("toJSON shows the public fields", async () => {
	const { error } = await failureOf("messages.send", inTurn(refusal(409, "Taken over.")));
	expect(JSON.parse(JSON.stringify(error))).toMatchObject({
		_tag: "PartnerConflict",
		message: expect.stringContaining("Taken over."),
		operation: "messages.send",
		status: 409,
		correlationId: "cor-1",
		attempts: 1,
		retryable: false,
		operationId: error.operationId,
		outcome: "not_sent",
	});
});

test("util.inspect shows tag, message and the fields that a log needs", async () => {
	const { error } = await failureOf("messages.send", inTurn(refusal(409, "Taken over.")));
	const shown = inspect(error);
	for (const part of ["PartnerConflict", "Taken over.", "409", "cor-1", "not_sent", `${error.operationId}`]) {
		expect(shown).toContain(part);
	}
});

test("String(error) is name and message", async () => {
	const { error } = await failureOf("me.get", inTurn(refusal(404, "Nothing here.")));
	expect(String(error)).toMatch(/^PartnerNotFound: .*Nothing here\./);
});

test("refused input names its field and its rule apart, too", async () => {
	const error = await failure(() =>
		clientOf({ baseUrl })
			.agency(agencyId)
			.conversations.lookup(["+32470123456", 5 as never]),
	);
	const rule = "must be a string, null or undefined";
	expect(error).toMatchObject({ field: "phoneNumbers[1]", rule });
	expect(error.message).toBe(`phoneNumbers[1]: ${rule}`);
	expect(JSON.parse(JSON.stringify(error))).toMatchObject({ field: "phoneNumbers[1]", rule });
	expect({ ...error }).toMatchObject({ field: "phoneNumbers[1]", rule });
});

test("toJSON leaves out what an error does not have, its cause and the cursor", async () => {
	const { error } = await failureOf("me.get", inTurn(refusal(404)));
	const always = ["message", "_tag", "operation", "attempts", "retryable"];
	expect(Object.keys(error.toJSON()).sort()).toEqual([...always, "status", "correlationId"].sort());
	const refused = await failure(() => createClient({ baseUrl: "ftp://x", apiKey }));
	expect(Object.keys(refused.toJSON()).sort()).toEqual([...always, "field", "rule"].sort());
});

test("cause and cursor can be read but are not counted among an error's fields", async () => {
	const fetch = fetchInTurn(fetchFault("ECONNRESET", "read"));
	const { conversations } = clientOf({ baseUrl }, { fetch }).agency(agencyId);
	const error = await failure(() => conversations.list({ cursor: "row-1" }).toArray());
	expect(error).toMatchObject({ cursor: "row-1", itemsRead: 0, cause: { code: "ECONNRESET" } });
	expect(Object.keys(error)).toContain("itemsRead");
	for (const hidden of ["cause", "cursor"]) expect(Object.keys(error)).not.toContain(hidden);
});

test("a cursor is not counted among the fields of an abort between two rows either", async () => {
	const controller = new AbortController();
	const fetch = async () => jsonResponse(conversationPage(["Anna", "Bert"]));
	const list = clientOf({ baseUrl }, { fetch }).agency(agencyId).conversations.list({
		cursor: "row-1",
		signal: controller.signal,
	});
	const error = await failure(async () => {
		for await (const _row of list) controller.abort();
	});
	expect(error).toMatchObject({ _tag: "PartnerAbortError", cursor: "row-1", itemsRead: 1 });
	expect(Object.keys(error)).not.toContain("cursor");
});

test("an error of what is refused while the client is made says so, and names field and rule", async () => {
	const error = await failure(() => clientOf({ baseUrl }, { timeoutMs: 0 }));
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", operation: "createClient", attempts: 0 });
	expect(error).toMatchObject({ field: "timeoutMs", retryable: false });
	expect(error.message).toBe("timeoutMs: must be a whole number from 1 to 2147483647");
});

// Classes

test("each class is distinguished from the others by its literal _tag and by instanceof", async () => {
	const all = [
		PartnerBadRequest,
		PartnerUnauthorized,
		PartnerForbidden,
		PartnerNotFound,
		PartnerConflict,
		PartnerHeldText,
		PartnerInternalError,
		PartnerGatewayError,
		PartnerConnectionError,
		PartnerTimeoutError,
		PartnerUnexpectedResponse,
		PartnerAbortError,
		PartnerInvalidInput,
		PartnerConfigurationError,
	];
	const { error } = await failureOf("conversations.get", inTurn(refusal(404)));
	expect(all.filter((Class) => error instanceof Class)).toEqual([PartnerNotFound]);
	expect(error instanceof PartnerError && isPartnerError(error)).toBe(true);
	for (const other of [new Error("x"), { _tag: "PartnerNotFound" }, null, undefined, "PartnerNotFound", 5]) {
		expect(isPartnerError(other)).toBe(false);
		expect(other instanceof PartnerError).toBe(false);
		expect(other instanceof PartnerNotFound).toBe(false);
	}
});

test("instanceof works across two copies of the package", async () => {
	const path = "../../src/client/errors.ts?copy";
	const copy: typeof import("../../src/client/errors.ts") = await import(/* @vite-ignore */ path);
	expect(copy.PartnerNotFound).not.toBe(PartnerNotFound);
	const { error } = await failureOf("conversations.get", inTurn(refusal(404)));
	expect(error instanceof copy.PartnerNotFound).toBe(true);
	expect(error instanceof copy.PartnerError).toBe(true);
	expect(error instanceof copy.PartnerConflict).toBe(false);
	expect(copy.isPartnerError(error)).toBe(true);
	const theirs = new copy.PartnerConflict("x", {});
	expect(theirs instanceof PartnerConflict).toBe(true);
	expect(theirs instanceof PartnerError).toBe(true);
	expect(theirs instanceof PartnerNotFound).toBe(false);
});

test("a class of one's own that extends an error of the package is distinguished from its base", async () => {
	class MyError extends PartnerError {}
	const { error } = await failureOf("me.get", inTurn(refusal(404)));
	expect(error instanceof MyError).toBe(false);
});

test("an error of one's own class is an instance of it, of its base, and of nothing else", () => {
	class MyNotFound extends PartnerNotFound {}
	const mine = new MyNotFound("x", {});
	expect(mine instanceof MyNotFound).toBe(true);
	expect(mine instanceof PartnerNotFound).toBe(true);
	expect(mine instanceof PartnerConflict).toBe(false);
	expect(new PartnerNotFound("x", {}) instanceof MyNotFound).toBe(false);
});

test("the cause of a deadline error is the last error, whole", async () => {
	const service = await scripted(inTurn(refusal(503), "hang"));
	const client = clientOf(service, { deadline: 1000, retry: quick });
	const error = await failure(() => client.agency(agencyId).messages.send({ to: phone, body: text, operationId }));
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 2, outcome: "unknown" });
	expect(error.cause).toMatchObject({
		_tag: "PartnerInternalError",
		operation: "messages.send",
		status: 503,
		attempts: 1,
		operationId,
		outcome: "unknown",
	});
});
