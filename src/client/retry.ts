import pRetry from "p-retry";
import { onAbort } from "./abort.ts";
import type { ActiveCall } from "./call-context.ts";
import type { RetryOptions, RetryPolicy } from "./call-options.ts";
import { defined } from "./defined.ts";
import type { ExchangeHeaders } from "./exchange.ts";

export const defaultRetry: RetryPolicy = { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 };

/** Fills the given options from `base`. `false` means exactly one request. */
export function policyFrom(base: RetryPolicy, given: RetryOptions | false | undefined): RetryPolicy {
	if (given === undefined) return base;
	if (given === false) return { ...base, attempts: 1 };
	return { ...base, ...defined({ ...given }) };
}

const retryCost = 5;
/** A longer Retry-After ends the call, and the caller decides: see `retryAfterMs` on the error. */
const longestRetryAfterMs = 30_000;

const again = new Error("again");

/**
 * Runs `run` until it resolves with false. p-retry is the loop alone: its own delays, time-outs and aborts are not safe for
 * sends. The transport makes the first attempt without p-retry, which takes as long as the rest of a successful call.
 */
export async function repeat(run: () => Promise<boolean>): Promise<void> {
	const step = async (): Promise<void> => {
		if (await run()) throw again;
	};
	const shouldRetry = ({ error }: { error: Error }): boolean => error === again;
	await pRetry(step, { retries: Number.POSITIVE_INFINITY, minTimeout: 0, maxTimeout: 0, shouldRetry });
}

/**
 * Returns the wait before the next attempt in milliseconds, and takes the retry tokens of that attempt. Undefined when no
 * attempt, no time or too few tokens are left.
 *
 * @param retryAfterMs the wait that the response asks for
 */
export function waitBefore<Data>(call: ActiveCall<Data>, retryAfterMs = 0): number | undefined {
	const { client, retry, attempts, lastWaitMs, deadlineAt } = call;
	if (attempts >= retry.attempts || retryAfterMs > longestRetryAfterMs) return undefined;
	const bound = Math.min(retry.maxDelayMs, retry.baseDelayMs * 2 ** (attempts - 1));
	// Equal jitter. No wait is shorter than the one before, because the service asks for increasing waits.
	const wait = Math.max(retryAfterMs, lastWaitMs, bound / 2 + Math.random() * (bound / 2));
	if (wait > deadlineAt - performance.now() - roomMs(call)) return undefined;
	if (retry.budget === Number.POSITIVE_INFINITY) return wait;
	if (client.tokens < retryCost) return undefined;
	client.tokens -= retryCost;
	return wait;
}

/** Returns retry tokens after a call that succeeded. */
export function refund<Data>({ client, attempts }: ActiveCall<Data>): void {
	client.tokens = Math.min(client.retry.budget, client.tokens + (attempts > 1 ? retryCost : 1));
}

/** Time that an attempt needs at least. */
export function roomMs<Data>({ deadlineMs }: ActiveCall<Data>): number {
	return Math.min(1000, deadlineMs / 10);
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
