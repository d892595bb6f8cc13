import * as z from "zod/mini";
import { limits } from "../generated/operations.ts";
import { type PartnerErrorFacts, PartnerInvalidInput, property, reading } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";

/** What every call takes beside its own parameters. */
export interface CallOptions {
	/** Aborts the call with `PartnerAbortError`. A send that is in flight may have been taken all the same. */
	signal?: AbortSignal | undefined;
	/**
	 * The longest that one attempt may take, headers and body, in milliseconds.
	 * @default 15000 for reads, 30000 for sends
	 */
	timeoutMs?: number | undefined;
	/**
	 * The longest that the call may take, attempts and waits together, in milliseconds; of a walk each page, of a lookup
	 * the whole of it. A lookup without one of its own gives each of its requests the client's.
	 * @default 30000 for reads, 60000 for sends
	 */
	deadlineMs?: number | undefined;
	/**
	 * How often it is tried again; `false` means exactly one request. What is left out is the client's: of a
	 * client with `retry: false`, exactly one request too.
	 */
	retry?: RetryOptions | false | undefined;
}

/** A rule in words: the value passes the test or the words go into the error. */
export function rule<T>(test: (value: unknown) => boolean, words: string): z.ZodMiniCustom<T, T> {
	return z.custom<T>(test, words);
}

function whole(min: number, max: number): z.ZodMiniCustom<number, number> {
	const test = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
	return rule<number>(test, `must be a whole number from ${min} to ${max}`);
}

/** A timer of more than 2^31 − 1 ms would fire at once. */
export const milliseconds: z.ZodMiniCustom<number, number> = whole(1, 2 ** 31 - 1);

/** Text as it can go over the wire: a lone surrogate, as cutting an emoji in two leaves it, cannot. */
export const text: z.ZodMiniCustom<string, string> = rule<string>(
	(value) => typeof value === "string" && value.trim() !== "" && isWellFormed(value),
	"must be well-formed text that is not blank",
);

export const flag: z.ZodMiniCustom<boolean, boolean> = rule<boolean>(
	(value) => typeof value === "boolean",
	"must be true or false",
);

export function callable<T>(): z.ZodMiniCustom<T, T> {
	return rule<T>((value) => typeof value === "function", "must be a function");
}

/** Whether the value has methods of these names. */
export function can(value: unknown, ...names: string[]): boolean {
	return names.every((name) => typeof property(value, name) === "function");
}

const retryBudget = rule<number>(
	(value) => typeof value === "number" && value >= 0,
	"must be a number of tokens, 0 or more, or Infinity",
);

const retryFields = z.strictObject({
	attempts: z.optional(whole(1, 6)),
	baseDelayMs: z.optional(milliseconds),
	maxDelayMs: z.optional(milliseconds),
	budget: z.optional(retryBudget),
});

/** A rule of its own rather than a union, whose kind and words are a tenth of what is taken of zod. */
export const retry: z.ZodMiniCustom<RetryOptions | false, RetryOptions | false> = z.custom<RetryOptions | false>(
	(value) => value === false || z.safeParse(retryFields, value).success,
	{ error: ({ input }) => retryRule(z.safeParse(retryFields, input).error?.issues[0]) },
);

/** The field says more than the whole: `attempts must be …`. */
function retryRule(issue: z.core.$ZodIssue | undefined): string {
	if (issue?.code === "invalid_type") return "must be false or { attempts?, baseDelayMs?, maxDelayMs?, budget? }";
	return [...(issue?.path ?? []), words(issue)].join(" ");
}

const callOptions = {
	signal: z.optional(
		rule<AbortSignal>(
			(value) => can(value, "addEventListener", "removeEventListener") && "aborted" in Object(value),
			"must be an AbortSignal",
		),
	),
	timeoutMs: z.optional(milliseconds),
	deadlineMs: z.optional(milliseconds),
	retry: z.optional(retry),
};

const pageOptions = {
	...callOptions,
	pageSize: z.optional(whole(limits.pageSize.min, limits.pageSize.max)),
	cursor: z.optional(text),
};

const walkOptions = { ...pageOptions, readAhead: z.optional(flag) };

/** The options of each operation. */
export const optionSchemas = {
	call: z.strictObject(callOptions),
	page: z.strictObject(pageOptions),
	walk: z.strictObject(walkOptions),
	list: z.strictObject({
		...walkOptions,
		search: z.optional(
			rule<string>((value) => typeof value === "string" && isWellFormed(value), "must be well-formed text"),
		),
	}),
	lookup: z.strictObject({ ...callOptions, concurrency: z.optional(whole(1, 100)) }),
	collect: z.strictObject({
		limit: z.optional(
			rule<number>(
				(value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) >= 0),
				"must be a whole number, 0 or more",
			),
		),
	}),
};

/**
 * The value as its schema has it, or `PartnerInvalidInput` naming the field and the rule, never the value.
 * @param field what the value itself is called; its fields are named as they are
 */
export function checkInput<T>(
	schema: z.ZodMiniType<T>,
	value: unknown,
	field: string,
	operation: PartnerErrorFacts["operation"],
): T {
	return reading(field, operation, () => {
		const { data, error } = z.safeParse(schema, value);
		if (!error) return data;
		const [issue] = error.issues;
		const path = (issue?.path ?? []).map(String).join(".");
		throw new PartnerInvalidInput({ field: path || field, rule: words(issue), operation });
	});
}

/** The options of a call; without any there is nothing to check. */
export function checkOptions<T extends object>(
	schema: z.ZodMiniType<T>,
	value: unknown,
	operation: PartnerErrorFacts["operation"],
): Partial<T> {
	return value === undefined ? {} : checkInput(schema, value, "options", operation);
}

function words(issue: z.core.$ZodIssue | undefined): string {
	if (issue?.code === "unrecognized_keys") return `has a field that it does not take${named(issue.keys)}`;
	if (issue?.code === "invalid_type") return "must be an object";
	return issue?.message ?? "is invalid";
}

/** Names of fields are the caller's code; what does not look like one is left unnamed. */
function named(keys: readonly string[]): string {
	const shown = keys.filter((key) => /^[A-Za-z_]\w{0,39}$/.test(key));
	return shown.length ? `: ${shown.join(", ")}` : "";
}

/** No lone surrogate. */
export function isWellFormed(value: string): boolean {
	return !/\p{Surrogate}/u.test(value);
}
