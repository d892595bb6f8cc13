import { isPartnerError } from "messaging-conversations";
import { sleep } from "../shared/sleep.ts";

/** The longest single wait. Without a Retry-After the six waits add up to about a minute, the time of most rate limits. */
const longestMs = 60_000;

export interface RetryContext {
	/** The list has several pages, so that it would cost much to start over. */
	isLong: boolean;
	signal: AbortSignal;
}

/**
 * Makes a request. If the list has several pages, a 429 is repeated after 1, 2, 4 … s, or after its Retry-After. Otherwise
 * the next poll would have to list everything again.
 */
export function retryLimited<Result>(
	source: RetryContext,
	request: () => Promise<Result>,
	leastMs = 1_000,
): Promise<Result> {
	// Not an async function, because V8 keeps ten frames of a stack, and this one would displace one of the caller's.
	return request().catch(async (error: unknown) => {
		if (!isPartnerError(error)) throw error;
		const { status, retryAfterMs = 0 } = error;
		const ms = Math.max(leastMs, retryAfterMs);
		if (!source.isLong || status !== 429 || ms > longestMs) throw error;
		await sleep(ms, [source.signal]);
		return retryLimited(source, request, leastMs * 2);
	});
}
