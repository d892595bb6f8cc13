import { inspect } from "node:util";
import {
	createClient,
	type Fetch,
	isPartnerError,
	type OperationId,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConflict,
	PartnerConnectionError,
	PartnerError,
	PartnerForbidden,
	PartnerInternalError,
	PartnerInvalidInput,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
	PartnerUnexpectedResponse,
} from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { callOf, clientOf, failure, jsonResponse, quick, sixCalls } from "./calls.ts";
import { agencyId, apiKey, conversationPage, me, operationId, phone, sentNow, spelledPhone, text } from "./canned.ts";
import { type Answer, deadBaseUrl, inTurn, refusal, type Script, scripted } from "./scripted.ts";

afterEach(() => void vi.useRealTimers());

const baseUrl = "https://messaging.example/api/v1";

/** What a call fails with when the service answers so, and how often it was asked. */
async function failureOf(operation: OperationId, script: Script, options = {}) {
	const service = await scripted(script);
	const error = await failure(() => callOf(operation).run(clientOf(service, options)));
	return { error, requests: service.requests };
}

/** A fault as Node's fetch shows it. */
function fetchFault(code: string, syscall?: string): TypeError {
	const cause = Object.assign(new Error(`${code} ${apiKey} ${phone} ${text}`), { code, syscall, host: "canary" });
	return new TypeError("fetch failed", { cause });
}

/** A fetch that plays its ends one after the other: an error is thrown, a response given. */
function fetchOf(...ends: (Error | (() => Response))[]): Fetch & { count: () => number } {
	let index = 0;
	const fetch: Fetch = async () => {
		const end = ends[Math.min(index++, ends.length - 1)];
		if (end instanceof Error || end === undefined) throw end;
		return end();
	};
	return Object.assign(fetch, { count: () => index });
}

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
] as [string, Answer][])("row PartnerForbidden: the status decides where the body is %s", async ([, answer]) => {
	const { error, requests } = await failureOf("conversations.list", inTurn(answer));
	expect(error).toMatchObject({ _tag: "PartnerForbidden", status: 403, attempts: 1 });
	expect(error.message).not.toContain("CANARYTEXT");
	expect(error.message.length).toBeLessThan(600);
	expect(requests).toHaveLength(1);
});

const fiveHundreds: [string, Answer][] = [
	["tagged 500", refusal(500)],
	["empty 500", { status: 500 }],
	["500 null", { status: 500, text: "null" }],
	["501", { status: 501, json: { _tag: "SandboxUnsupported", message: "no" } }],
	["HTML 502", { status: 502, text: "<html>CANARYTEXT</html>", headers: { "content-type": "text/html" } }],
	["503", { status: 503 }],
	["HTML 504", { status: 504, text: "<html>CANARYTEXT</html>", headers: { "content-type": "text/html" } }],
	["599", { status: 599 }],
];

test.for(fiveHundreds)(
	"row PartnerInternalError: %s is retried, and the body of a gateway is not told",
	async ([, answer]) => {
		for (const { operation } of sixCalls) {
			const { error, requests } = await failureOf(operation, inTurn(answer));
			expect(error).toBeInstanceOf(PartnerInternalError);
			expect(error).toMatchObject({
				_tag: "PartnerInternalError",
				operation,
				status: (answer as { status: number }).status,
				correlationId: "cor-4",
				attempts: 4,
				retryable: true,
			});
			expect(error.message).not.toContain("CANARYTEXT");
			expect(requests).toHaveLength(4);
		}
	},
);

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
	const fetch = fetchOf(fetchFault("ENOTFOUND", "getaddrinfo"));
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
		const fetch = fetchOf(fetchFault(code));
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

test("row PartnerConnectionError: a fetch that throws anything at all ends as one", async () => {
	for (const thrown of [new Error(text), text, undefined, null, new SyntaxError(text), { toString: () => text }]) {
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
		await expect(clientOf(service, { timeoutMs: 1000 }).me.get()).resolves.toEqual(me);
	}
});

test("row PartnerTimeoutError: a fetch that does not listen to its signal is left behind", async () => {
	const fetch: Fetch = () => new Promise(() => {});
	const client = clientOf({ baseUrl }, { fetch, timeoutMs: 20, retry: false });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1 });
});

test("row PartnerTimeoutError: the deadline inside an attempt, with the last error as its cause", async () => {
	const { error } = await failureOf("conversations.list", inTurn(refusal(503, "Busy."), "hang"), { deadlineMs: 500 });
	expect(error).toBeInstanceOf(PartnerTimeoutError);
	expect(error).toMatchObject({ attempts: 2, retryable: true });
	expect(error.cause).toBeInstanceOf(PartnerInternalError);
	expect(error.cause).toMatchObject({ status: 503 });
});

test("row PartnerTimeoutError: no room before the deadline for another attempt: the last error as it is", async () => {
	const slow: Script = async () => ({ status: 503, headers: { "retry-after": "2" } });
	const { error, requests } = await failureOf("me.get", slow, { deadlineMs: 2100 });
	expect(error).toMatchObject({ _tag: "PartnerInternalError", attempts: 1, retryable: true, retryAfterMs: 2000 });
	expect(requests).toHaveLength(1);
});

const outside = [301, 302, 303, 304, 307, 308, 402, 405, 408, 410, 413, 418, 422, 425, 429, 451];

test.for(outside)("row PartnerUnexpectedResponse: %d, not retried", async (status) => {
	for (const { operation } of sixCalls) {
		const headers = status < 400 ? { location: "/api/v1/elsewhere" } : {};
		const { error, requests } = await failureOf(operation, inTurn({ status, headers, json: undefined }));
		expect(error).toBeInstanceOf(PartnerUnexpectedResponse);
		expect(error).toMatchObject({ operation, status, correlationId: "cor-1", attempts: 1, retryable: false });
		expect(requests).toHaveLength(1);
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
	"row PartnerUnexpectedResponse: a good body under %d is no answer of the contract",
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
		await vi.waitFor(() => expect(service.requests.some(({ cut }) => !cut)).toBe(true));
		controller.abort(new Error(apiKey));
		const error = await failing;
		expect(error).toBeInstanceOf(PartnerAbortError);
		expect(error).toMatchObject({ operation, attempts: 1, retryable: false });
		expect(inspect(error)).not.toContain("CANARYKEY");
		await vi.waitFor(() => expect(service.requests.every(({ cut }) => cut)).toBe(true));
	}
	expect(service.requests).toHaveLength(6);
});

test("row PartnerInvalidInput: before any request", async () => {
	const service = await scripted(inTurn({ json: me }));
	const error = await failure(() => clientOf(service).me.get({ timeoutMs: 0 }));
	expect(error).toBeInstanceOf(PartnerInvalidInput);
	expect(error).toMatchObject({ name: "PartnerInvalidInput", operation: "me.get", attempts: 0, retryable: false });
	expect(service.requests).toEqual([]);
});

// Retry-After

const retryAfters: [string, number | undefined][] = [
	["0", 0],
	["7", 7000],
	[" 7 ", 7000],
	["5s", undefined],
	["5, 10", undefined],
	["1e3", undefined],
	["-1", undefined],
	["1.5", undefined],
	["soon", undefined],
	["", undefined],
];

test.for(retryAfters)("Retry-After %j is told as retryAfterMs %j", async ([header, expected]) => {
	const { error } = await failureOf("me.get", inTurn({ status: 429, headers: { "retry-after": header } }));
	expect(error.retryAfterMs).toBe(expected);
});

test("Retry-After as a date is held against the answer's own Date, not against our clock", async () => {
	const headers = { date: "Mon, 05 Jan 2015 09:00:00 GMT", "retry-after": "Mon, 05 Jan 2015 09:00:20 GMT" };
	const { error } = await failureOf("me.get", inTurn({ status: 429, headers }));
	expect(error.retryAfterMs).toBe(20_000);
	const past = { date: headers["retry-after"], "retry-after": headers.date };
	const second = await failureOf("me.get", inTurn({ status: 429, headers: past }));
	expect(second.error).not.toHaveProperty("retryAfterMs");
});

test("Retry-After is waited for when it is longer than the own wait, also beyond maxDelayMs", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const busy = () => jsonResponse({}, { status: 503, headers: { "retry-after": "20" } });
	const fetch = fetchOf(busy, () => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey, fetch, onAttempt: ({ retryInMs }) => waits.push(retryInMs) });
	const settled = client.me.get();
	await vi.advanceTimersByTimeAsync(19_990);
	expect(fetch.count()).toBe(1);
	await vi.advanceTimersByTimeAsync(10);
	await expect(settled).resolves.toEqual(me);
	expect(waits).toEqual([20_000, undefined]);
});

test("Retry-After that is shorter than the own wait does not shorten it", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const busy = () => jsonResponse({}, { status: 503, headers: { "retry-after": "1" } });
	const client = createClient({
		baseUrl,
		apiKey,
		fetch: fetchOf(busy, () => jsonResponse(me)),
		retry: { baseDelayMs: 6000 },
		onAttempt: ({ retryInMs }) => waits.push(retryInMs),
	});
	const settled = client.me.get();
	await vi.runAllTimersAsync();
	await settled;
	expect(waits[0]).toBeGreaterThanOrEqual(3000);
});

test.for(["31", "120", "999999999", "9999999999", "99999999999", "9".repeat(400)])(
	"Retry-After %s is longer than a call waits: stop now, and say so",
	async (header) => {
		const { error, requests } = await failureOf("me.get", inTurn({ status: 503, headers: { "retry-after": header } }));
		expect(error).toMatchObject({ _tag: "PartnerInternalError", attempts: 1, retryable: true });
		expect(error.retryAfterMs).toBeGreaterThanOrEqual(31_000);
		expect(requests).toHaveLength(1);
	},
);

test("Retry-After beyond the deadline is not slept into", async () => {
	vi.useFakeTimers();
	const fetch = fetchOf(() => jsonResponse({}, { status: 503, headers: { "retry-after": "30" } }));
	const settled = createClient({ baseUrl, apiKey, fetch }).me.get().result();
	await vi.advanceTimersByTimeAsync(0);
	await expect(settled).resolves.toMatchObject({ error: { attempts: 1, retryAfterMs: 30_000 } });
});

test.for([
	["30", 2],
	["31", 1],
] as const)(
	"Retry-After %s on a send, whose deadline has room for it: up to 30 s are waited for",
	async ([after, attempts]) => {
		vi.useFakeTimers();
		const fetch = fetchOf(
			() => jsonResponse({}, { status: 503, headers: { "retry-after": after } }),
			() => jsonResponse(sentNow),
		);
		const settled = callOf("messages.send").run(createClient({ baseUrl, apiKey, fetch })).result();
		await vi.runAllTimersAsync();
		await expect(settled).resolves.toMatchObject({ ok: attempts === 2 });
		expect(fetch.count()).toBe(attempts);
	},
);

test.for([
	["20", 21_000, 2],
	["20", 20_900, 1],
	["2", 2300, 2],
	["2", 2200, 1],
] as const)(
	"Retry-After %s within a deadline of %d ms: an attempt needs a second, or a tenth of a shorter deadline",
	async ([after, deadlineMs, attempts]) => {
		vi.useFakeTimers();
		const fetch = fetchOf(() => jsonResponse({}, { status: 503, headers: { "retry-after": after } }));
		const settled = createClient({ baseUrl, apiKey, fetch, deadlineMs }).me.get().result();
		await vi.runAllTimersAsync();
		// The last error as it is: no time-out has passed.
		await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerInternalError", attempts } });
		expect(fetch.count()).toBe(attempts);
	},
);

// What is known of a send

const broken = { success: true, queued: false };
const reset = () => fetchFault("ECONNRESET", "read");
const refused = () => fetchFault("ECONNREFUSED", "connect");
const notFound = () => fetchFault("ENOTFOUND", "getaddrinfo");
const status = (code: number) => () => jsonResponse({ _tag: "X", message: "x" }, { status: code });

const outcomes: [ends: string, tag: string, outcome: string, (Error | (() => Response))[]][] = [
	["400", "PartnerBadRequest", "not_sent", [status(400)]],
	["401", "PartnerUnauthorized", "not_sent", [status(401)]],
	["403", "PartnerForbidden", "not_sent", [status(403)]],
	["409", "PartnerConflict", "not_sent", [status(409)]],
	["404, which a send does not list", "PartnerUnexpectedResponse", "not_sent", [status(404)]],
	["429", "PartnerUnexpectedResponse", "not_sent", [status(429)]],
	["302", "PartnerUnexpectedResponse", "unknown", [status(302)]],
	["500 × 4", "PartnerInternalError", "unknown", [status(500)]],
	["reset × 4", "PartnerConnectionError", "unknown", [reset()]],
	["refused × 4", "PartnerConnectionError", "not_sent", [refused()]],
	["no such host × 4", "PartnerConnectionError", "not_sent", [notFound()]],
	["refused, then no such host", "PartnerConnectionError", "not_sent", [refused(), notFound()]],
	["refused, then 400", "PartnerBadRequest", "not_sent", [refused(), status(400)]],
	["reset, then 400", "PartnerBadRequest", "unknown", [reset(), status(400)]],
	["reset, then 409", "PartnerConflict", "unknown", [reset(), status(409)]],
	["500, then 403", "PartnerForbidden", "unknown", [status(500), status(403)]],
	["500, then 404", "PartnerUnexpectedResponse", "unknown", [status(500), status(404)]],
	["reset, then refused × 3", "PartnerConnectionError", "unknown", [reset(), refused()]],
	["refused, reset, refused, 400", "PartnerBadRequest", "unknown", [refused(), reset(), refused(), status(400)]],
	["an unreadable 200, then 400", "PartnerBadRequest", "unknown", [() => new Response("<html>"), status(400)]],
	["a broken success", "PartnerUnexpectedResponse", "sent", [() => jsonResponse(broken)]],
	["500, then a broken success", "PartnerUnexpectedResponse", "sent", [status(500), () => jsonResponse(broken)]],
	["success: false", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse({ ...sentNow, success: false })]],
	["a broken answer without success", "PartnerUnexpectedResponse", "unknown", [() => jsonResponse({ ok: 1 })]],
	["202 with success", "PartnerUnexpectedResponse", "sent", [() => jsonResponse(sentNow, { status: 202 })]],
];

test.for(outcomes)("outcome of a send: %s → %s, %s", async ([, tag, outcome, ends]) => {
	const fetch = fetchOf(...ends);
	const { messages } = clientOf({ baseUrl }, { fetch }).agency(agencyId);
	const error = await failure(() => messages.send({ to: phone, body: text, operationId }));
	expect(error).toMatchObject({ _tag: tag, outcome, operationId, attempts: fetch.count() });
});

test("outcome of a send: a time-out is unknown, and stays so after a refusal", async () => {
	const service = await scripted(inTurn("hang", refusal(400)));
	const error = await failure(() => callOf("messages.send").run(clientOf(service, { timeoutMs: 250 })));
	expect(error).toMatchObject({ _tag: "PartnerBadRequest", outcome: "unknown", attempts: 2 });
});

test("outcome of a send: aborted before it went out is not_sent, in flight unknown", async () => {
	const service = await scripted(inTurn("hang"));
	const { messages } = clientOf(service).agency(agencyId);
	const before = await failure(() => messages.send({ to: phone, body: text }, { signal: AbortSignal.abort() }));
	expect(before).toMatchObject({ _tag: "PartnerAbortError", outcome: "not_sent", attempts: 0 });
	const controller = new AbortController();
	const flying = failure(() => messages.send({ to: phone, body: text }, { signal: controller.signal }));
	await vi.waitFor(() => expect(service.requests).toHaveLength(1));
	controller.abort();
	await expect(flying).resolves.toMatchObject({ _tag: "PartnerAbortError", outcome: "unknown", attempts: 1 });
});

test.for([
	["refused", refused(), "not_sent"],
	["a 500", status(500), "unknown"],
] as const)("outcome of a send: aborted in the wait after %s it is what it was", async ([, end, outcome]) => {
	vi.useFakeTimers();
	const controller = new AbortController();
	const client = createClient({ baseUrl, apiKey, fetch: fetchOf(end) });
	const settled = callOf("messages.send").run(client, { signal: controller.signal }).result();
	await vi.advanceTimersByTimeAsync(100);
	controller.abort();
	await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerAbortError", outcome, attempts: 1 } });
});

test("outcome of a send: the deadline keeps it", async () => {
	const fetch: Fetch = () => new Promise(() => {});
	const client = clientOf({ baseUrl }, { fetch, deadlineMs: 30 });
	await expect(failure(() => callOf("messages.send").run(client))).resolves.toMatchObject({
		_tag: "PartnerTimeoutError",
		outcome: "unknown",
	});
});

test("reads carry neither operationId nor outcome", async () => {
	for (const { operation } of sixCalls.slice(0, 5)) {
		for (const answer of [refusal(401), refusal(500), "reset"] as const) {
			const { error } = await failureOf(operation, inTurn(answer));
			expect(error).not.toHaveProperty("outcome");
			expect(error).not.toHaveProperty("operationId");
		}
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

test("the service's message is kept, in one line, of 500 characters at most, with its numbers masked", async () => {
	const said = `Bad\u0000 value\r\n\u001b[31mfor 0470123456 and +32470123456: ${"long ".repeat(400)}`;
	const { error } = await failureOf("conversations.get", inTurn(refusal(400, said)));
	expect(error.message).toContain("Bad");
	expect(error.message).toContain("value");
	expect(error.message).not.toMatch(/\p{Cc}/u);
	expect(error.message).not.toMatch(/\d{6}/);
	const kept = error.message.slice(error.message.indexOf("Bad"));
	expect(kept.length).toBeLessThanOrEqual(500);
	expect(kept.length).toBeGreaterThan(400);
});

test("short numbers in the service's message stay: a rule would say nothing without them", async () => {
	const { error } = await failureOf("conversations.list", inTurn(refusal(400, "pageSize must be 1 to 100, not 12345")));
	expect(error.message).toContain("pageSize must be 1 to 100, not 12345");
});

const echo = `${apiKey} Bearer ${apiKey} ${phone} ${encodeURIComponent(phone)} ${spelledPhone} ${text} 0470123456`;
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
	const told: unknown[] = [];
	const say = (...line: unknown[]) => told.push(...line);
	const service = await scripted(inTurn(answer));
	const client = clientOf(service, {
		timeoutMs: 40,
		logger: { debug: say, info: say, warn: say, error: say },
		onAttempt: say,
		onContractDrift: say,
	});
	for (const { operation, run } of sixCalls) {
		const error = await failure(() => run(client));
		// What a call did not send it cannot know to be a secret; a number it knows by its form.
		const secrets = ["CANARYKEY", "470123456", "470 12 34 56", "test_live"];
		if (operation === "messages.send") secrets.push("CANARYTEXT");
		const shown = [error.message, error.stack, String(error), JSON.stringify(error)];
		for (let each: unknown = error; each instanceof Error; each = each.cause)
			shown.push(inspect(each, { depth: 10, showHidden: true }));
		shown.push(inspect(error.cause, { depth: 10 }), inspect(told, { depth: 10 }), JSON.stringify(told));
		for (const secret of secrets) expect(shown.join("\n")).not.toContain(secret);
	}
	expect(told.length).toBeGreaterThan(0);
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
	expect(error).toMatchObject({ field: "phoneNumbers[1]", rule: "must be a string" });
	expect(error.message).toBe("phoneNumbers[1]: must be a string");
});

test("toJSON leaves out what an error does not have, its cause and the cursor", async () => {
	const { error } = await failureOf("me.get", inTurn(refusal(404)));
	const always = ["message", "_tag", "operation", "attempts", "retryable"];
	expect(Object.keys(error.toJSON())).toEqual([...always, "status", "correlationId"]);
	const refusedInput = await failure(() => createClient({ baseUrl: "ftp://x", apiKey }));
	expect(Object.keys(refusedInput.toJSON())).toEqual(always);
});

test("cause and cursor can be read but are not counted among an error's fields", async () => {
	const fetch = fetchOf(fetchFault("ECONNRESET", "read"));
	const { conversations } = clientOf({ baseUrl }, { fetch }).agency(agencyId);
	const error = await failure(() => conversations.list({ cursor: "row-1" }).toArray());
	expect(error).toMatchObject({ cursor: "row-1", itemsRead: 0, cause: { code: "ECONNRESET" } });
	expect(Object.keys(error)).toContain("itemsRead");
	for (const hidden of ["cause", "cursor"]) expect(Object.keys(error)).not.toContain(hidden);
});

test("an error of what is refused while the client is made says so, and names field and rule", async () => {
	const error = await failure(() => clientOf({ baseUrl }, { timeoutMs: 0 }));
	expect(error).toMatchObject({ operation: "createClient", attempts: 0, retryable: false });
	expect(error.message).toBe("timeoutMs: must be a whole number from 1 to 2147483647");
});

// Classes

test("each class is told from the others by its literal _tag and by instanceof", async () => {
	const all = [
		PartnerBadRequest,
		PartnerUnauthorized,
		PartnerForbidden,
		PartnerNotFound,
		PartnerConflict,
		PartnerInternalError,
		PartnerConnectionError,
		PartnerTimeoutError,
		PartnerUnexpectedResponse,
		PartnerAbortError,
		PartnerInvalidInput,
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
	const path = "../src/errors.ts?copy";
	const copy: typeof import("../src/errors.ts") = await import(/* @vite-ignore */ path);
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

test("a class of one's own that extends an error of the package is told apart from its base", async () => {
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

// The caller's own file in the stack, after the answer of a real server: the frames of the call itself are long gone

type Client = ReturnType<typeof clientOf>;
const uses: [string, (client: Client) => Promise<unknown>][] = [
	["send", (client) => client.agency(agencyId).messages.send({ to: phone, body: text })],
	["get", (client) => client.agency(agencyId).conversations.get(phone)],
	["me.get", (client) => client.me.get()],
	["lookup", (client) => client.agency(agencyId).conversations.lookup([phone])],
	["page()", (client) => client.agency(agencyId).conversations.list().page()],
	["toArray", (client) => client.agency(agencyId).conversations.list().toArray()],
	["withResponse", (client) => client.agency(agencyId).conversations.get(phone).withResponse()],
	[
		"withResponse of a send",
		(client) => client.agency(agencyId).messages.send({ to: phone, body: text }).withResponse(),
	],
	[
		"result",
		async (client) => {
			const result = await client.agency(agencyId).conversations.get(phone).result();
			if (!result.ok) throw result.error;
		},
	],
	["pages()", (client) => client.agency(agencyId).conversations.listMessages(phone).pages().next()],
	[
		"for await",
		async (client) => {
			for await (const row of client.agency(agencyId).conversations.list()) return row;
		},
	],
	[
		"for await over messages",
		async (client) => {
			for await (const row of client.agency(agencyId).conversations.listMessages(phone)) return row;
		},
	],
];

test.for(uses)("the caller's own file stands in error.stack, on top: %s", async ([, use]) => {
	const service = await scripted(inTurn(refusal(403)));
	const error = await failure(() => use(clientOf(service)));
	const [head, first] = `${error.stack}`.split("\n");
	expect(head).toBe(`PartnerForbidden: ${error.message}`);
	expect(first).toContain("errors.test.ts");
});

test.for(uses)("the caller's own file stands in error.stack of a refused input, on top: %s", async ([, use]) => {
	const error = await failure(() => use(createClient({ baseUrl, apiKey: undefined })));
	expect(`${error.stack}`.split("\n")[1]).toContain("errors.test.ts");
});

test("the caller's own file stands in error.stack of what is refused at once", async () => {
	const atOnce = [() => createClient({ baseUrl: "ftp://x", apiKey }), () => clientOf({ baseUrl }).agency("..")];
	for (const run of atOnce) {
		const error = await failure(run);
		const frames = `${error.stack}`.split("\n").slice(1);
		expect(frames.findIndex((frame) => frame.includes("errors.test.ts"))).toBe(0);
	}
});

test("the cause of a deadline error is the last error, whole", async () => {
	const service = await scripted(inTurn(refusal(503), "hang"));
	const client = clientOf(service, { deadlineMs: 300, retry: quick });
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

test("S14 a part of the key that the service quotes is taken out too", async () => {
	const [, , secret = ""] = apiKey.split(".");
	const service = await scripted(() => refusal(401, `no key has the secret ${secret}`));
	const error = await failure(() => clientOf(service).me.get());
	expect(error.message).toContain("no key has the secret");
	expect(error.message).not.toContain(secret);
});
