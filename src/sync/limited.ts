import { isPartnerError } from "messaging-conversations";
import { sleep } from "../shared/sleep.ts";

/** The longest single wait. Without a Retry-After the six waits add up to about a minute, the time of most rate limits. */
const longestMs = 60_000;

/** Waits for the turn of a request, and counts what was sent. Feeds that share a budget of requests have one. */
export interface Pace {
	turn: () => Promise<void>;
	/** Counts the requests of a call that has ended. */
	sent: (attempts: number) => void;
}

export interface RetryContext {
	/** The list has several pages, so that it would cost much to start over. */
	isLong: boolean;
	signal: AbortSignal;
	pace?: Pace | undefined;
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
	const { pace, signal } = source;
	const begun = pace ? pace.turn().then(request) : request();
	// Not an async function, because V8 keeps ten frames of a stack, and this one would displace one of the caller's.
	return begun.catch(async (error: unknown) => {
		if (!isPartnerError(error)) throw error;
		const { status, retryAfterMs = 0, attempts } = error;
		pace?.sent(attempts);
		const ms = Math.max(leastMs, retryAfterMs);
		if (!source.isLong || status !== 429 || ms > longestMs) throw error;
		await sleep(ms, [signal]);
		return retryLimited(source, request, leastMs * 2);
	});
}
