import { limits } from "../../generated/operations.ts";
import type { Facts } from "./errors.ts";
import { defined } from "./events.ts";
import {
	checkInput,
	flag,
	hasMethods,
	isWellFormed,
	isWhole,
	milliseconds,
	object,
	optional,
	orFalse,
	rule,
	type Schema,
	text,
	whole,
} from "./validate.ts";

/** Retries of failed attempts: 5xx, network faults, and a 429 with a Retry-After. Other 4xx are never tried again. */
export interface RetryOptions {
	/** Requests in all, counting the first one, 1 to 6. `1` means exactly one request. @default 4 */
	attempts?: number | undefined;
	/**
	 * Upper bound of the first wait, in milliseconds. It doubles with each attempt. A wait is drawn at random from the
	 * upper half of its bound, so that waits increase and many clients do not retry at the same moment.
	 * @default 500
	 */
	baseDelayMs?: number | undefined;
	/** Upper bound of a wait, in milliseconds. A Retry-After of up to 30 s is respected beside it. @default 8000 */
	maxDelayMs?: number | undefined;
	/**
	 * Retry tokens of the client. A retry costs 5. A call that succeeds at once returns 1, one that succeeds after a retry
	 * returns 5. Without tokens nothing is retried, so that an outage does not multiply the traffic. `Infinity` turns the
	 * budget off. All calls of a client share the tokens, so that on a single call only `Infinity` has an effect.
	 * @default 100
	 */
	budget?: number | undefined;
}

/** Retry options with all values. */
export type RetryPolicy = { readonly [Option in keyof RetryOptions]-?: number };

export const defaultRetry: RetryPolicy = { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 };

/** Fills the given options from `base`. `false` means exactly one request. */
export function policyFrom(base: RetryPolicy, given: RetryOptions | false | undefined): RetryPolicy {
	if (given === undefined) return base;
	if (given === false) return { ...base, attempts: 1 };
	return { ...base, ...defined({ ...given }) };
}

/** Options of every call, beside its own parameters. */
export interface CallOptions {
	/** Aborts the call with `PartnerAbortError`. A send in flight may have been accepted all the same: see `outcome`. */
	signal?: AbortSignal | undefined;
	/** Time limit of one attempt, headers and body, in milliseconds. @default 15000 for reads, 30000 for sends */
	timeoutMs?: number | undefined;
	/**
	 * Time limit of one call, attempts and waits together, in milliseconds. It applies to each page of an iteration and to
	 * each request of a lookup. Given to an awaited lookup itself, it limits all of its requests together.
	 * @default 30000 for reads, 60000 for sends
	 */
	deadlineMs?: number | undefined;
	/** Retry options that differ from the client's; `false` means exactly one request. */
	retry?: RetryOptions | false | undefined;
}

const isTokens = (value: unknown): boolean => typeof value === "number" && value >= 0;
const isSignal = (value: unknown): boolean =>
	hasMethods(value, "addEventListener", "removeEventListener") && "aborted" in value;
const isLimit = (value: unknown): boolean => value === Number.POSITIVE_INFINITY || isWhole(value, 0);

const retryPolicy = object({
	attempts: optional(whole(1, 6)),
	baseDelayMs: optional(milliseconds),
	maxDelayMs: optional(milliseconds),
	budget: optional(rule<number>(isTokens, "must be a number of tokens, 0 or more, or Infinity")),
});

/** The options that a client and a call have in common. */
export const sharedOptions = {
	timeoutMs: optional(milliseconds),
	deadlineMs: optional(milliseconds),
	retry: optional(orFalse(retryPolicy)),
};

const callOptions = { ...sharedOptions, signal: optional(rule<AbortSignal>(isSignal, "must be an AbortSignal")) };
const pageOptions = {
	...callOptions,
	pageSize: optional(whole(limits.pageSize.min, limits.pageSize.max)),
	cursor: optional(text),
};
const walkOptions = { ...pageOptions, readAhead: optional(flag) };

/** The options of each operation. */
export const optionSchemas = {
	call: object(callOptions),
	page: object(pageOptions),
	walk: object(walkOptions),
	list: object({ ...walkOptions, search: optional(rule<string>(isWellFormed, "must be well-formed text")) }),
	lookup: object({ ...callOptions, concurrency: optional(whole(1, 100)) }),
	collect: object({ limit: optional(rule<number>(isLimit, "must be a whole number, 0 or more")) }),
};

/** Checks the options of a call, and returns a copy. Without options there is nothing to check. */
export function checkOptions<T>(schema: Schema<T>, value: unknown, facts: Facts): Partial<T> {
	return value === undefined ? {} : checkInput(schema, value, "options", facts);
}
