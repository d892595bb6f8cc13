// Exact waits and the tokens after each call, on a clock that stands still: retry.json, in the manner of the AWS SDKs.
import { type CallOptions, type ClientOptions, createClient } from "messaging-conversations";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow } from "../canned.ts";
import vectors from "./retry.json" with { type: "json" };

interface Vector {
	readonly id: string;
	/** What Math.random gives, in turn. The last one stays. */
	readonly random: readonly number[];
	readonly policy?: { attempts?: number; baseDelayMs?: number; maxDelayMs?: number; budget?: number | string };
	/** @default 30000 */
	readonly deadlineMs?: number;
	/** Calls of one client, one after the other. */
	readonly calls: readonly {
		/** How each attempt ends: "ok", a status, or a status with its Retry-After in seconds. */
		readonly steps: readonly string[];
		readonly takesMs?: number;
		readonly waits: readonly number[];
		/** The tokens after the call. */
		readonly tokens: number | null;
		readonly end: string;
	}[];
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

/** A client whose attempts end as the steps say, one after the other, and what it did. */
function stepping({ takesMs = 0, ...options }: Partial<ClientOptions> & { takesMs?: number } = {}) {
	const steps: string[] = [];
	const began: number[] = [];
	const ended: number[] = [];
	const waits: (number | undefined)[] = [];
	const timing = { takesMs };
	const client = createClient({
		baseUrl: "https://messaging.example/api/v1",
		apiKey,
		async fetch() {
			began.push(performance.now());
			if (timing.takesMs > 0) await new Promise((resolve) => setTimeout(resolve, timing.takesMs));
			ended.push(performance.now());
			const step = steps.shift() ?? expect.unreachable("one attempt too many");
			if (step === "ok") return jsonResponse(me);
			const [status, , seconds] = step.split(" ");
			return jsonResponse({}, { status: Number(status), headers: seconds ? { "retry-after": seconds } : {} });
		},
		onAttempt: ({ retryInMs }) => waits.push(retryInMs),
		...options,
	});
	return { client, steps, began, ended, waits, timing };
}

/** One call of a client, with the clock moved until it ends: "ok", or the step that it failed with. */
async function ended(
	run: ReturnType<typeof stepping>,
	more: readonly string[],
	options?: CallOptions,
): Promise<string> {
	run.steps.push(...more);
	const calling = run.client.me.get(options).result();
	await vi.runAllTimersAsync();
	const result = await calling;
	if (result.ok) return "ok";
	const { status, retryAfterMs } = result.error;
	return retryAfterMs === undefined ? `${status}` : `${status} after ${retryAfterMs / 1000}`;
}

/** The tokens that are left: a client does not show them, so copies of it with one success more each are emptied. */
async function tokensAfter(vector: Vector, calls: number): Promise<number> {
	const retriesWith = async (successes: number): Promise<number> => {
		const copy = stepping(optionsOf(vector));
		for (const { steps, takesMs = 0 } of vector.calls.slice(0, calls)) {
			copy.timing.takesMs = takesMs;
			await ended(copy, steps);
		}
		copy.timing.takesMs = 0;
		for (let count = 0; count < successes; count++) await ended(copy, ["ok"]);
		copy.waits.length = 0;
		for (let before = -1; before < copy.waits.length; ) {
			before = copy.waits.length;
			copy.steps.length = 0;
			await ended(copy, Array(6).fill("500"), { retry: { attempts: 6, baseDelayMs: 1 } });
			if (copy.waits.at(-2) === undefined) break;
		}
		return copy.waits.filter((wait) => wait !== undefined).length;
	};
	const whole = await retriesWith(0);
	for (let added = 1; added < 5; added++) if ((await retriesWith(added)) > whole) return whole * 5 + 5 - added;
	return whole * 5;
}

function optionsOf({ policy, deadlineMs = 30_000 }: Vector): Partial<ClientOptions> {
	const { budget, ...retry } = policy ?? {};
	return { deadline: deadlineMs, retry: { ...retry, ...(budget !== undefined && { budget: Number(budget) }) } };
}

const titled = (vectors as readonly Vector[]).map((vector) => [vector.id, vector] as const);

test.for(titled)("#19 #38 #39 retry vector: %s", async ([, vector]) => {
	const draws = [...vector.random];
	vi.spyOn(Math, "random").mockImplementation(() => (draws.length > 1 ? draws.shift() : draws[0]) ?? 0);
	const run = stepping(optionsOf(vector));
	for (const call of vector.calls) {
		for (const list of [run.began, run.ended, run.waits]) list.length = 0;
		run.timing.takesMs = call.takesMs ?? 0;
		expect(await ended(run, call.steps)).toBe(call.end);
		expect(run.steps).toEqual([]);
		expect(run.waits.at(-1)).toBeUndefined();
		expect(run.waits.slice(0, -1)).toEqual(call.waits.map((wait) => expect.closeTo(wait, 6)));
		// The clock of the test counts whole milliseconds.
		run.began.slice(1).forEach((at, index) => {
			expect(Math.abs(at - (run.ended[index] ?? 0) - (call.waits[index] ?? 0))).toBeLessThanOrEqual(1);
		});
	}
	expect(vi.getTimerCount()).toBe(0);
});

const counted = titled.flatMap(([id, vector]) =>
	vector.calls.flatMap(({ tokens }, index) => (tokens === null ? [] : [[id, index + 1, tokens, vector] as const])),
);

test.for(counted)("#39 tokens of the vector: %s: after call %i there are %i", async ([, calls, tokens, vector]) => {
	expect(await tokensAfter(vector, calls)).toBe(tokens);
});

test("#36 an abort in the wait ends it at once, leaves no timer and makes no further attempt", async () => {
	const controller = new AbortController();
	const run = stepping();
	run.steps.push("500");
	const calling = failure(() => run.client.me.get({ signal: controller.signal }));
	await vi.advanceTimersByTimeAsync(100);
	expect(vi.getTimerCount()).toBe(1);
	controller.abort();
	expect(await calling).toMatchObject({ _tag: "PartnerAbortError", attempts: 1 });
	expect(vi.getTimerCount()).toBe(0);
});

test("#36 an abort by an observer of the failed attempt begins no wait", async () => {
	const controller = new AbortController();
	const run = stepping({ onAttempt: () => controller.abort() });
	run.steps.push("500");
	expect(await failure(() => run.client.me.get({ signal: controller.signal }))).toMatchObject({
		_tag: "PartnerAbortError",
		attempts: 1,
	});
	expect(vi.getTimerCount()).toBe(0);
});

test.for([0, 1, 5000])("#38 a wait that wakes up %i ms after the deadline makes no further attempt", async (lateMs) => {
	const run = stepping({ onAttempt: () => void vi.spyOn(performance, "now").mockReturnValue(deadlineAt + lateMs) });
	const deadlineAt = performance.now() + 30_000;
	run.steps.push("500");
	const calling = failure(() => run.client.me.get());
	await vi.runAllTimersAsync();
	const error = await calling;
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", attempts: 1, retryable: true });
	expect(error.cause).toMatchObject({ _tag: "PartnerGatewayError", status: 500 });
	expect(run.began).toHaveLength(1);
});

test("retry: false and attempts: 1 mean exactly one request; a partial retry is filled from the client's", async () => {
	for (const retry of [false, { attempts: 1 }] as const) {
		const run = stepping({ retry });
		expect([await ended(run, ["500"]), run.began.length]).toEqual(["500", 1]);
	}
	const run = stepping({ retry: { attempts: 2, baseDelayMs: 10 } });
	run.steps.push("500", "500");
	const calling = failure(() => run.client.me.get({ retry: { baseDelayMs: 1000 } }));
	await vi.runAllTimersAsync();
	await calling;
	expect(run.began).toHaveLength(2);
	expect(run.waits[0]).toBeGreaterThanOrEqual(500);
});

test("the options of a retry are copied: changing the object later changes no call", async () => {
	const retry = { attempts: 1 };
	const run = stepping({ retry });
	const own = { attempts: 1 };
	const calling = failure(() => run.client.me.get({ retry: own }));
	retry.attempts = 6;
	own.attempts = 6;
	run.steps.push("500");
	await vi.runAllTimersAsync();
	await calling;
	expect(await ended(run, ["500"])).toBe("500");
	expect(run.began).toHaveLength(2);
});

test.for([
	["0", undefined, 0],
	["1", undefined, 1000],
	["120", undefined, 120_000],
	[" 7 ", undefined, 7000],
	["9".repeat(400), undefined, Number.MAX_SAFE_INTEGER],
	["5s", undefined, undefined],
	["5, 10", undefined, undefined],
	["1e3", undefined, undefined],
	["0x10", undefined, undefined],
	["-1", undefined, undefined],
	["+1", undefined, undefined],
	["1.5", undefined, undefined],
	["", undefined, undefined],
	["Mon, 05 Jan 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", 30_000],
	["Mon, 05 Jan 2026 09:00:00 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", 0],
	["Mon, 05 Jan 2026 08:00:00 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Jan 2026 09:01:00 GMT", "no date", 60_000],
	["Mon, 05 Jan 2026 09:01:00 GMT", undefined, 60_000],
	["on Mon, 05 Jan 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Jan 2026 09:00:30 GMT (or so)", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["2026-01-05T09:00:30Z", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Xxx 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
] as const)("#33 Retry-After %j beside Date %j is %j ms", async ([after, date, expected]) => {
	vi.setSystemTime("2026-01-05T09:00:00Z");
	const headers = { "retry-after": after, ...(date && { date }) };
	const run = stepping({ retry: false, fetch: async () => jsonResponse({}, { status: 503, headers }) });
	expect((await failure(() => run.client.me.get())).retryAfterMs).toBe(expected);
});

test("#33 a date is measured against the answer's own Date, however wrong the local clock is", async () => {
	vi.setSystemTime("2031-07-01T00:00:00Z");
	const headers = { "retry-after": "Mon, 05 Jan 2026 09:00:30 GMT", date: "Mon, 05 Jan 2026 09:00:00 GMT" };
	const run = stepping({ retry: false, fetch: async () => jsonResponse({}, { status: 503, headers }) });
	expect((await failure(() => run.client.me.get())).retryAfterMs).toBe(30_000);
});

const limited = () => jsonResponse({ _tag: "TooMany", message: "Later." }, { status: 429 });
const limitedFor = (seconds: string) => {
	const headers = { "retry-after": seconds };
	return jsonResponse({ _tag: "TooMany", message: "Later." }, { status: 429, headers });
};

test.for([
	["2", 2, undefined],
	["30", 2, undefined],
	["31", 1, "PartnerGatewayError"],
	["soon", 1, "PartnerGatewayError"],
	[undefined, 1, "PartnerGatewayError"],
] as const)("#43 a 429 with Retry-After %j: %i requests, of a read and of a send", async ([seconds, requests, tag]) => {
	for (const [operation, good] of [
		["read", me],
		["send", sentNow],
	] as const) {
		let asked = 0;
		const run = stepping({
			deadline: 100_000,
			fetch: async () => {
				if (asked++ > 0) return jsonResponse(good);
				return seconds === undefined ? limited() : limitedFor(seconds);
			},
		});
		const { messages } = run.client.agency(agencyId);
		const calling =
			operation === "read" ? run.client.me.get().result() : messages.send({ to: phone, body: "Hello" }).result();
		await vi.runAllTimersAsync();
		const result = await calling;
		expect(asked).toBe(requests);
		if (result.ok) expect(tag).toBeUndefined();
		else expect(result.error).toMatchObject({ _tag: tag, status: 429, retryable: true });
		if (!result.ok && operation === "send") expect(result.error.outcome).toBe("unknown");
	}
});

test("#43 a 429 after an attempt that may have been accepted leaves the outcome unknown", async () => {
	const answers = [jsonResponse({}, { status: 500 }), limited()];
	const run = stepping({ fetch: async () => answers.shift() ?? expect.unreachable("one attempt too many") });
	const calling = failure(() => run.client.agency(agencyId).messages.send({ to: phone, body: "Hello" }));
	await vi.runAllTimersAsync();
	expect(await calling).toMatchObject({ status: 429, attempts: 2, outcome: "unknown", retryable: true });
});
