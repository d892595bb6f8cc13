import pRetry from "p-retry";
import type { RetryOptions } from "../input/call-options.ts";
import { onAbort } from "./abort.ts";
import type { ExchangeHeaders } from "./exchange.ts";

/** Retry options with all values. */
export type RetryPolicy = { readonly [Option in keyof RetryOptions]-?: number };

export const defaultRetry: RetryPolicy = { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 };

/** Fills the given options from `base`. `false` means exactly one request. */
export function policyFrom(base: RetryPolicy, given: RetryOptions | false | undefined): RetryPolicy {
	if (given === undefined) return base;
	if (given === false) return { ...base, attempts: 1 };
	return {
		attempts: given.attempts ?? base.attempts,
		baseDelayMs: given.baseDelayMs ?? base.baseDelayMs,
		maxDelayMs: given.maxDelayMs ?? base.maxDelayMs,
		budget: given.budget ?? base.budget,
	};
}

const retryCost = 5;
/** A longer Retry-After ends the call, and the caller decides: see `retryAfterMs` on the error. */
const longestRetryAfterMs = 30_000;

/** The retry tokens of one client. */
export interface Budget {
	/** Takes the cost of a retry. Returns false, and takes nothing, when there are not enough tokens. */
	take: () => boolean;
	/** Returns tokens after a call that succeeded. */
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

const again = new Error("again");

/**
 * Repeats `run` until there is no wait after its result. p-retry is the loop alone: its own delays, time-outs and aborts
 * are not safe for sends. The first attempt is made without it, because it costs as much as the rest of a successful call.
 */
export async function retry<T>(
	firstWait: Promise<void>,
	run: () => Promise<T>,
	waitAfter: (result: T) => Promise<void> | undefined,
): Promise<T> {
	await firstWait;
	const repeat = async (): Promise<T> => {
		const result = await run();
		const wait = waitAfter(result);
		if (!wait) return result;
		await wait;
		throw again;
	};
	const shouldRetry = ({ error }: { error: Error }): boolean => error === again;
	return pRetry(repeat, { retries: Number.POSITIVE_INFINITY, minTimeout: 0, maxTimeout: 0, shouldRetry });
}

/** The part of a call that its waits depend on. */
export interface RetryProgress {
	readonly policy: RetryPolicy;
	/** Attempts made. */
	readonly attempts: number;
	/** The wait before the last attempt, in milliseconds; 0 after the first one. */
	readonly lastWaitMs: number;
}

/**
 * The wait before the next attempt in milliseconds, or undefined when there is no attempt or no time left for one.
 *
 * @param longestMs time for the wait
 * @param retryAfterMs the wait that the response asks for
 */
export function waitBefore(
	{ policy, attempts, lastWaitMs }: RetryProgress,
	longestMs: number,
	retryAfterMs = 0,
): number | undefined {
	if (attempts >= policy.attempts || retryAfterMs > longestRetryAfterMs) return undefined;
	const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempts - 1));
	// Equal jitter. No wait is shorter than the one before, because the service asks for increasing waits.
	const wait = Math.max(retryAfterMs, lastWaitMs, bound / 2 + Math.random() * (bound / 2));
	return wait > longestMs ? undefined : wait;
}

/** Waits; returns early when a signal aborts. The timer keeps the process alive, because a send must end before it exits. */
export function sleep(ms: number, signals: readonly AbortSignal[]): Promise<void> {
	return new Promise((resolve) => {
		const wake = (): void => {
			clearTimeout(timer);
			for (const remove of removers) remove();
			resolve();
		};
		const removers = signals.map((signal) => onAbort(signal, wake));
		const timer = setTimeout(wake, ms);
		if (signals.some(({ aborted }) => aborted)) wake();
	});
}

/**
 * The wait that a response asks for by Retry-After, in milliseconds: whole seconds, or an HTTP date measured against the
 * response's own Date, because the local clock can be wrong. Undefined for anything else.
 */
export function retryAfterMs(headers: ExchangeHeaders): number | undefined {
	const value = headers.get("retry-after")?.trim() ?? "";
	if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
	const at = httpDate(value);
	if (at === undefined) return undefined;
	const wait = at - (httpDate(headers.get("date") ?? "") ?? Date.now());
	return wait >= 0 ? wait : undefined;
}

function httpDate(value: string): number | undefined {
	if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
	const ms = Date.parse(value);
	return Number.isNaN(ms) ? undefined : ms;
}
