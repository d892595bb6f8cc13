import { type Client, createClient, type PartnerErrorTag } from "messaging-conversations";
import { expect } from "vitest";
import { failure, jsonResponse, recordingFetch } from "./calls.ts";
import { apiKey, sentNow } from "./canned.ts";

/** Values that are no time in milliseconds. */
export const notMilliseconds: readonly unknown[] = [
	0,
	-1,
	1.5,
	Number.NaN,
	Number.POSITIVE_INFINITY,
	2 ** 31,
	2 ** 32,
	"1000",
	null,
	{},
];
/** Values that are no retry options. */
export const notRetry: readonly unknown[] = [
	true,
	null,
	3,
	"no",
	[],
	{ attempts: 0 },
	{ attempts: -1 },
	{ attempts: 1.5 },
	{ attempts: Number.NaN },
	{ attempts: Number.POSITIVE_INFINITY },
	{ attempts: "4" },
	{ baseDelayMs: -1 },
	{ baseDelayMs: Number.NaN },
	{ baseDelayMs: 1.5 },
	{ baseDelayMs: 2 ** 31 },
	{ maxDelayMs: -1 },
	{ maxDelayMs: Number.NaN },
	{ maxDelayMs: "8000" },
	{ budget: -1 },
	{ budget: Number.NaN },
	{ budget: "100" },
	{ retries: 3 },
];

/** Expects that a call refuses its input: the error names `field` and a rule, shows nothing of `value`, and no request is made. */
export function expectRefusal(run: (client: Client) => unknown, field: RegExp, value?: unknown): Promise<void> {
	return expectTag("PartnerInvalidInput", run, field, value);
}

/** The same for an option of the client. */
export function expectMisconfigured(run: (client: Client) => unknown, field: RegExp, value?: unknown): Promise<void> {
	return expectTag("PartnerConfigurationError", run, field, value);
}

async function expectTag(
	tag: PartnerErrorTag,
	run: (client: Client) => unknown,
	field: RegExp,
	value: unknown,
): Promise<void> {
	const { fetch, calls } = recordingFetch(() => jsonResponse(sentNow));
	const error = await failure(() => run(createClient({ baseUrl: "https://messaging.example/api/v1", apiKey, fetch })));
	expect(error).toMatchObject({ _tag: tag, attempts: 0, retryable: false });
	expect(error.message).toMatch(field);
	expect(error.message).toBe(`${error.field}: ${error.rule}`);
	expect(error.rule).toMatch(/^(must|takes|is|are|was|its|not a phone number:) /);
	if (typeof value === "string" && value.length > 5) {
		for (const shown of [error.message, error.stack, JSON.stringify(error)]) expect(shown).not.toContain(value);
	}
	expect(calls).toEqual([]);
}
