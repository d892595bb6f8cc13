import pRetry from "p-retry";
import { isPartnerError, type PartnerError } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { isAborted, onAbort } from "./signal.ts";

/** How often and how patiently a call is tried again: 5xx and network faults alone, never a refusal (spec §7). */
export interface RetryOptions {
	/**
	 * Requests in all, the first one counted, 1 to 6. `1` means exactly one.
	 * @default 4
	 */
	attempts?: number | undefined;
	/**
	 * The first wait in milliseconds, doubled for each further one. A wait is drawn from the upper half of its bound,
	 * so that waits increase and callers do not march in step.
	 * @default 500
	 */
	baseDelayMs?: number | undefined;
	/**
	 * The longest wait of the client's own making, in milliseconds. A Retry-After of up to 30 s is kept beside it.
	 * @default 8000
	 */
	maxDelayMs?: number | undefined;
	/**
	 * Tokens of the client: a retry costs 5, a call that succeeds at once gives 1 back, one that succeeds after a retry
	 * gives 5 back. Without tokens nothing is retried, so that an outage is not answered with four times the traffic.
	 * `Infinity` turns it off. The bucket is the client's; on a single call only `Infinity` has a meaning.
	 * @default 100
	 */
	budget?: number | undefined;
}

export type RetryPolicy = { [Option in keyof RetryOptions]-?: number };

export const defaultRetry: RetryPolicy = { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 };

/** The policy with what is given of another one in its place; `false` is exactly one request. */
export function policyFrom(base: RetryPolicy, given: RetryOptions | false | undefined): RetryPolicy {
	if (given === undefined) return base;
	if (given === false) return { ...base, attempts: 1 };
	const { attempts, baseDelayMs, maxDelayMs, budget } = given;
	return {
		attempts: attempts ?? base.attempts,
		baseDelayMs: baseDelayMs ?? base.baseDelayMs,
		maxDelayMs: maxDelayMs ?? base.maxDelayMs,
		budget: budget ?? base.budget,
	};
}

const retryCost = 5;
/** Asked to wait longer than this, the client gives the decision back to the caller. */
const longestRetryAfterMs = 30_000;

/** The retry tokens of one client. */
export interface Budget {
	/** Takes a retry's cost; false, and nothing taken, when there is not enough. */
	take: () => boolean;
	/** A call has succeeded. */
	refund: (retried: boolean) => void;
}

export function createBudget(capacity: number): Budget {
	let tokens = capacity;
	return {
		take() {
			if (tokens < retryCost) return false;
			tokens -= retryCost;
			return true;
		},
		refund(retried) {
			tokens = Math.min(capacity, tokens + (retried ? retryCost : 1));
		},
	};
}

export interface RetryRun<T> {
	/** One attempt, numbered from 1: the result, or a thrown PartnerError. */
	run: (attempt: number) => Promise<T>;
	policy: RetryPolicy;
	budget: Budget;
	/** When the call ends, on the clock of `performance.now()`. */
	deadlineAt: number;
	/** The least time that must be left after a wait. */
	roomMs: number;
	signals: readonly AbortSignal[];
	/** Told after each failed attempt: the wait before the next one, or undefined when there is none. */
	onFailed: (error: PartnerError, retryInMs: number | undefined) => void;
	/** The error for a signal that aborts during a wait. */
	aborted: () => PartnerError;
}

/**
 * Runs attempts until one succeeds or the last error stands. p-retry is the bare loop; what it would do about time-outs,
 * aborts and jitter is done here, as its own ways are not safe for sends.
 */
export async function retry<T>(options: RetryRun<T>): Promise<T> {
	const { run, policy, budget, deadlineAt, signals, onFailed, aborted } = options;
	let firstError: unknown;
	try {
		const result = await run(1);
		budget.refund(false);
		return result;
	} catch (error) {
		firstError = error;
	}
	// Called in only now: p-retry costs as much to set up as the rest of a call that succeeds at once.
	const attempt = (count: number): Promise<T> => (count === 1 ? Promise.reject(firstError) : run(count));
	let retryInMs: number | undefined;
	let lastWaitMs = 0;
	const result = await pRetry(attempt, {
		retries: policy.attempts - 1,
		minTimeout: 0,
		async onFailedAttempt({ error, attemptNumber, retriesLeft }) {
			if (!isPartnerError(error)) throw error;
			retryInMs = retriesLeft > 0 ? waitBefore(error, attemptNumber, lastWaitMs, options) : undefined;
			if (retryInMs !== undefined && policy.budget !== Number.POSITIVE_INFINITY && !budget.take())
				retryInMs = undefined;
			onFailed(error, retryInMs);
			if (retryInMs === undefined) return;
			lastWaitMs = retryInMs;
			if (!(await sleep(retryInMs, signals))) throw aborted();
			// A process that was stopped, or busy, wakes up late.
			if (performance.now() >= deadlineAt) throw error;
		},
		shouldRetry: () => retryInMs !== undefined,
	});
	budget.refund(true);
	return result;
}

/** How long to wait after this error; undefined when it is not worth it or there is no room before the deadline. */
function waitBefore(
	error: PartnerError,
	attempt: number,
	lastWaitMs: number,
	options: RetryRun<unknown>,
): number | undefined {
	const { policy, deadlineAt, roomMs } = options;
	if (!error.retryable) return undefined;
	const asked = error.retryAfterMs ?? 0;
	if (asked > longestRetryAfterMs) return undefined;
	const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
	// Equal jitter, from the upper half of the bound; the last wait is the floor, as waits increase (spec §7).
	const wait = Math.max(asked, lastWaitMs, bound / 2 + Math.random() * (bound / 2));
	return deadlineAt - performance.now() - wait < roomMs ? undefined : wait;
}

/** Resolves to false as soon as a signal aborts. The timer holds the process: it must not exit in the middle of a send. */
function sleep(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
	return new Promise((resolve) => {
		if (isAborted(signals)) return resolve(false);
		const end = (slept: boolean) => (): void => {
			clearTimeout(timer);
			resolve(slept);
			off();
		};
		const off = onAbort(signals, end(false));
		const timer = setTimeout(end(true), ms);
	});
}

/**
 * `Retry-After` in milliseconds: whole seconds or an HTTP date, nothing looser. A date is held against the answer's own
 * `Date`, as clocks differ. Undefined for a date in the past.
 */
export function retryAfterMs(headers: Headers): number | undefined {
	const value = headerOf(headers, "retry-after")?.trim() ?? "";
	if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
	const at = httpDate(value);
	if (at === undefined) return undefined;
	const wait = at - (httpDate(headerOf(headers, "date") ?? "") ?? Date.now());
	return wait > 0 ? wait : undefined;
}

function httpDate(value: string): number | undefined {
	if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
	const ms = Date.parse(value);
	return Number.isNaN(ms) ? undefined : ms;
}
