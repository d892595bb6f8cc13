import { createClient } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { callOf, failureOf, fetchInTurn, jsonResponse, sixCalls } from "../calls.ts";
import { apiKey, me, sentNow } from "../canned.ts";
import { inTurn } from "../scripted.ts";

afterEach(() => void vi.useRealTimers());

const baseUrl = "https://messaging.example/api/v1";

const once = { retry: false } as const;

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

test.for(retryAfters)("Retry-After %j is retryAfterMs %j", async ([header, expected]) => {
	const { error } = await failureOf("me.get", inTurn({ status: 503, headers: { "retry-after": header } }), once);
	expect(error.retryAfterMs).toBe(expected);
});

test("Retry-After as a date is held against the answer's own Date, not against our clock", async () => {
	const headers = { date: "Mon, 05 Jan 2015 09:00:00 GMT", "retry-after": "Mon, 05 Jan 2015 09:00:20 GMT" };
	const { error } = await failureOf("me.get", inTurn({ status: 503, headers }), once);
	expect(error.retryAfterMs).toBe(20_000);
	const past = { date: headers["retry-after"], "retry-after": headers.date };
	const second = await failureOf("me.get", inTurn({ status: 503, headers: past }), once);
	expect(second.error).not.toHaveProperty("retryAfterMs");
});

test("Retry-After as the date of the answer itself asks for no wait, so that a 429 is retried", async () => {
	const now = "Mon, 05 Jan 2015 09:00:00 GMT";
	const limited = { status: 429, headers: { date: now, "retry-after": now } };
	const { error, requests } = await failureOf("messages.send", inTurn(limited));
	expect(error).toMatchObject({ _tag: "PartnerGatewayError", attempts: 4, retryAfterMs: 0, outcome: "unknown" });
	expect(requests).toHaveLength(4);
});

test("Retry-After is waited for when it is longer than the own wait, also beyond maxDelayMs", async () => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const busy = () => jsonResponse({}, { status: 503, headers: { "retry-after": "20" } });
	const fetch = fetchInTurn(busy, () => jsonResponse(me));
	const client = createClient({ baseUrl, apiKey, fetch, onAttempt: ({ retryInMs }) => waits.push(retryInMs) });
	const settled = client.me.get();
	await vi.advanceTimersByTimeAsync(19_990);
	expect(fetch.count(), JSON.stringify(waits)).toBe(1);
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
		fetch: fetchInTurn(busy, () => jsonResponse(me)),
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
		expect(error).toMatchObject({ _tag: "PartnerGatewayError", attempts: 1, retryable: true });
		expect(error.retryAfterMs).toBeGreaterThanOrEqual(31_000);
		expect(requests).toHaveLength(1);
	},
);

test("Retry-After beyond the deadline is not slept into", async () => {
	vi.useFakeTimers();
	const fetch = fetchInTurn(() => jsonResponse({}, { status: 503, headers: { "retry-after": "30" } }));
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
		const fetch = fetchInTurn(
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
		const fetch = fetchInTurn(() => jsonResponse({}, { status: 503, headers: { "retry-after": after } }));
		const settled = createClient({ baseUrl, apiKey, fetch, deadline: deadlineMs }).me.get().result();
		await vi.runAllTimersAsync();
		// The last error as it is: no time-out has passed.
		await expect(settled).resolves.toMatchObject({ error: { _tag: "PartnerGatewayError", attempts } });
		expect(fetch.count()).toBe(attempts);
	},
);

// 429

test.for(sixCalls)("a 429 with a Retry-After is waited for and retried: $operation", async ({ run, good }) => {
	vi.useFakeTimers();
	const waits: (number | undefined)[] = [];
	const fetch = fetchInTurn(
		() => jsonResponse({}, { status: 429, headers: { "retry-after": "12" } }),
		() => jsonResponse(good),
	);
	const client = createClient({ baseUrl, apiKey, fetch, onAttempt: ({ retryInMs }) => waits.push(retryInMs) });
	const settled = run(client).withResponse();
	await vi.advanceTimersByTimeAsync(11_990);
	expect(fetch.count(), JSON.stringify(waits)).toBe(1);
	await vi.advanceTimersByTimeAsync(10);
	await expect(settled).resolves.toMatchObject({ response: { attempts: 2 } });
	expect(waits).toEqual([12_000, undefined]);
});

test.for([
	["none", {}],
	["one over the limit", { "retry-after": "31" }],
	["one that says nothing", { "retry-after": "soon" }],
] as [string, Record<string, string>][])(
	"a 429 is final and retryable when there is no Retry-After to wait for: %s",
	async ([, headers]) => {
		for (const { operation } of sixCalls) {
			const { error, requests } = await failureOf(operation, inTurn({ status: 429, headers }));
			expect(error).toMatchObject({ _tag: "PartnerGatewayError", status: 429, attempts: 1, retryable: true });
			expect(error.outcome).toBe(operation === "messages.send" ? "unknown" : undefined);
			expect(requests).toHaveLength(1);
		}
	},
);

test("a 429 whose Retry-After leaves no room before the deadline is final", async () => {
	const headers = { "retry-after": "2" };
	const { error, requests } = await failureOf("me.get", inTurn({ status: 429, headers }), { deadline: 2100 });
	expect(error).toMatchObject({ status: 429, attempts: 1, retryable: true, retryAfterMs: 2000 });
	expect(requests).toHaveLength(1);
});

test.for([304, 400, 402, 418])("a %i is final, even with a Retry-After", async (status) => {
	const { error, requests } = await failureOf("messages.send", inTurn({ status, headers: { "retry-after": "0" } }));
	expect(error).toMatchObject({ status, attempts: 1, retryAfterMs: 0 });
	expect(requests).toHaveLength(1);
});

test("a send that is limited four times is unknown, because any gateway may say so", async () => {
	const headers = { "retry-after": "0" };
	const { error, requests } = await failureOf("messages.send", inTurn({ status: 429, headers }));
	expect(error).toMatchObject({ status: 429, attempts: 4, retryable: true, outcome: "unknown" });
	expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
});
