// Exact waits and the bucket after each step, on a clock that stands still: vectors.json, in the manner of the AWS SDKs.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	isPartnerError,
	PartnerAbortError,
	PartnerBadRequest,
	type PartnerError,
	PartnerInternalError,
} from "../../src/errors.ts";
import { type Budget, createBudget, defaultRetry, type RetryRun, retry, retryAfterMs } from "../../src/retry.ts";
import vectors from "./vectors.json" with { type: "json" };

interface Vector {
	readonly id: string;
	/** What Math.random gives, in turn; the last one stands for all further ones. */
	readonly random: readonly number[];
	readonly policy?: { attempts?: number; baseDelayMs?: number; maxDelayMs?: number; budget?: number | string };
	/** @default 30000 */
	readonly deadlineMs?: number;
	/** Calls of one client, one after the other. */
	readonly calls: readonly {
		/** How each attempt ends: "ok", a status, a status with the Retry-After in milliseconds. */
		readonly steps: readonly string[];
		readonly takesMs?: number;
		readonly waits: readonly number[];
		/** The bucket after each attempt. */
		readonly tokens: readonly number[] | null;
		readonly end: string;
	}[];
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

type Movement = "take" | boolean;

/** What is in a bucket that has seen these movements: it tells nobody, so a copy of it is emptied and counted. */
function tokensAfter(capacity: number, movements: readonly Movement[]): number {
	if (capacity === Number.POSITIVE_INFINITY) return capacity;
	const copy = createBudget(capacity);
	for (const movement of movements) movement === "take" ? copy.take() : copy.refund(movement);
	let tokens = 0;
	while (copy.take()) tokens += 5;
	for (let added = 0; added < 5; added++) {
		if (copy.take()) return tokens + 5 - added;
		copy.refund(false);
	}
	return tokens;
}

function errorFor(step: string): PartnerError {
	const [status, , after] = step.split(" ");
	if (Number(status) < 500) return new PartnerBadRequest(step, {});
	return new PartnerInternalError(step, { retryable: true, ...(after && { retryAfterMs: Number(after) }) });
}

const titled = (vectors as readonly Vector[]).map((vector) => [vector.id, vector] as const);

test.for(titled)(
	"#19 #38 #39 retry vector: %s",
	async ([, { random, policy: given = {}, deadlineMs = 30_000, calls }]) => {
		const draws = [...random];
		vi.spyOn(Math, "random").mockImplementation(() => (draws.length > 1 ? draws.shift() : draws[0]) ?? 0);
		const capacity = Number(given.budget ?? defaultRetry.budget);
		const policy = { ...defaultRetry, ...given, budget: capacity };
		const inner = createBudget(capacity);
		const movements: Movement[] = [];
		const budget: Budget = {
			take: () => movements.push("take") > 0 && inner.take(),
			refund: (retried) => {
				movements.push(retried);
				inner.refund(retried);
			},
		};
		for (const call of calls) {
			const began: number[] = [];
			const ended: number[] = [];
			const waits: (number | undefined)[] = [];
			const tokens: number[] = [];
			const settling = retry({
				async run(attempt) {
					began.push(performance.now());
					if (call.takesMs !== undefined) await new Promise((resolve) => setTimeout(resolve, call.takesMs));
					ended.push(performance.now());
					const step = call.steps[attempt - 1] ?? expect.unreachable(`attempt ${attempt} is one too many`);
					if (step !== "ok") throw errorFor(step);
					return step;
				},
				policy,
				budget,
				deadlineAt: performance.now() + deadlineMs,
				roomMs: Math.min(1000, deadlineMs / 10),
				signals: [],
				onFailed: (_, retryInMs) => {
					waits.push(retryInMs);
					tokens.push(tokensAfter(capacity, movements));
				},
				aborted: () => new PartnerAbortError("aborted", {}),
			}).catch((error: unknown) => (isPartnerError(error) ? error.message : expect.unreachable(String(error))));
			await vi.runAllTimersAsync();
			expect(await settling).toBe(call.end);
			if (call.end === "ok") tokens.push(tokensAfter(capacity, movements));

			expect(began).toHaveLength(call.steps.length);
			const announced = call.end === "ok" ? waits : waits.slice(0, -1);
			if (call.end !== "ok") expect(waits.at(-1)).toBeUndefined();
			expect(announced).toEqual(call.waits.map((wait) => expect.closeTo(wait, 6)));
			// The clock of the test counts whole milliseconds.
			began.slice(1).forEach((at, index) => {
				expect(Math.abs(at - (ended[index] ?? 0) - (call.waits[index] ?? 0))).toBeLessThanOrEqual(1);
			});
			if (call.tokens !== null) expect(tokens).toEqual(call.tokens);
		}
		expect(vi.getTimerCount()).toBe(0);
	},
);

/** A call of one client whose every attempt ends with 500, unless it is told otherwise. */
function failing(options: Partial<RetryRun<string>> = {}) {
	const run = vi.fn(async (_attempt: number): Promise<string> => {
		throw errorFor("500");
	});
	const onFailed = vi.fn();
	const settling = retry({
		run,
		policy: defaultRetry,
		budget: createBudget(100),
		deadlineAt: performance.now() + 30_000,
		roomMs: 1000,
		signals: [],
		onFailed,
		aborted: () => new PartnerAbortError("aborted", {}),
		...options,
	}).catch((error: unknown) => error);
	return { settling, run, onFailed };
}

test("#36 an abort in the wait ends it at once, leaves no timer and makes no further attempt", async () => {
	const controller = new AbortController();
	const { settling, run } = failing({ signals: [controller.signal] });
	await vi.advanceTimersByTimeAsync(100);
	expect(vi.getTimerCount()).toBe(1);
	controller.abort();
	expect(await settling).toMatchObject({ _tag: "PartnerAbortError" });
	expect(vi.getTimerCount()).toBe(0);
	expect(run).toHaveBeenCalledTimes(1);
});

test("#36 an abort before the wait, as by an observer of the failed attempt, begins none", async () => {
	const controller = new AbortController();
	const onFailed = vi.fn(() => controller.abort());
	const { settling, run } = failing({ signals: [new AbortController().signal, controller.signal], onFailed });
	expect(await settling).toMatchObject({ _tag: "PartnerAbortError" });
	expect(vi.getTimerCount()).toBe(0);
	expect(run).toHaveBeenCalledTimes(1);
});

test("#38 who wakes up at the deadline or after it makes no further attempt: the last error stands", async () => {
	for (const lateMs of [0, 1, 5000]) {
		const deadlineAt = performance.now() + 30_000;
		const onFailed = vi.fn(() => void vi.spyOn(performance, "now").mockReturnValue(deadlineAt + lateMs));
		const { settling, run } = failing({ deadlineAt, onFailed });
		await vi.runAllTimersAsync();
		expect(await settling).toMatchObject({ _tag: "PartnerInternalError" });
		expect(run).toHaveBeenCalledTimes(1);
		expect(onFailed).toHaveBeenCalledExactlyOnceWith(expect.anything(), expect.any(Number));
		vi.restoreAllMocks();
	}
});

test("#39 a call without a budget is retried also where its client has no tokens left", async () => {
	const policy = { ...defaultRetry, budget: Number.POSITIVE_INFINITY };
	const { settling, run } = failing({ policy, budget: createBudget(0) });
	await vi.runAllTimersAsync();
	expect(await settling).toMatchObject({ _tag: "PartnerInternalError" });
	expect(run).toHaveBeenCalledTimes(4);
});

test("what is none of the package's errors is thrown as it is: not retried, and told to no observer", async () => {
	const bug = new Error("a bug");
	const { settling, onFailed } = failing({ run: () => Promise.reject(bug) });
	expect(await settling).toBe(bug);
	expect(onFailed).not.toHaveBeenCalled();
});

test.for([
	["0", undefined, 0],
	["1", undefined, 1000],
	["120", undefined, 120_000],
	[" 7 ", undefined, 7000],
	["5s", undefined, undefined],
	["5, 10", undefined, undefined],
	["1e3", undefined, undefined],
	["0x10", undefined, undefined],
	["-1", undefined, undefined],
	["+1", undefined, undefined],
	["1.5", undefined, undefined],
	["", undefined, undefined],
	["Mon, 05 Jan 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", 30_000],
	["Mon, 05 Jan 2026 09:00:00 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Jan 2026 08:00:00 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Jan 2026 09:01:00 GMT", "no date", 60_000],
	["Mon, 05 Jan 2026 09:01:00 GMT", undefined, 60_000],
	["on Mon, 05 Jan 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Jan 2026 09:00:30 GMT (or so)", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["2026-01-05T09:00:30Z", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
	["Mon, 05 Xxx 2026 09:00:30 GMT", "Mon, 05 Jan 2026 09:00:00 GMT", undefined],
] as const)("#33 Retry-After %j beside Date %j is %j ms", ([after, date, expected]) => {
	vi.setSystemTime("2026-01-05T09:00:00Z");
	expect(retryAfterMs(new Headers({ "retry-after": after, ...(date && { date }) }))).toBe(expected);
});

test("#33 the answer's own Date is what a date is held against, however wrong our clock is", () => {
	vi.setSystemTime("2031-07-01T00:00:00Z");
	const headers = new Headers({
		"retry-after": "Mon, 05 Jan 2026 09:00:30 GMT",
		date: "Mon, 05 Jan 2026 09:00:00 GMT",
	});
	expect(retryAfterMs(headers)).toBe(30_000);
});

test("#33 the spaces that Node's fetch leaves at the end of a header do no harm", () => {
	const headers = Object.assign(new Headers(), { get: () => "7 " });
	expect(retryAfterMs(headers)).toBe(7000);
});
