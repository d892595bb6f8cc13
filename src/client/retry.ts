import { beginLeftMs, type CallState, leftMs } from "./call-state.ts";
import type { RetryPolicy } from "./client-options.ts";
import type { PartnerError } from "./errors.ts";
import { repeatAfterGateway } from "./gateway.ts";
import type { TransportHeaders } from "./transport.ts";

const retryCost = 5;
/** A longer Retry-After ends the call, and the caller decides: see `retryAfterMs` on the error. */
const longestRetryAfterMs = 30_000;

/**
 * Returns the wait before the next attempt in milliseconds, and takes the retry tokens of that attempt. Undefined if the
 * error is final, or if no time or too few tokens are left. p-retry counts the attempts.
 */
export function waitBefore<Data>(call: CallState<Data>, error: PartnerError): number | undefined {
	const { client, retry, attempts, lastError, lastWaitMs } = call;
	const { retryAfterMs = 0 } = error;
	// Without a request, as for a key that did not come, the number of attempts would never end the retries.
	if (error.attempts === (lastError?.attempts ?? 0)) return undefined;
	if (!isTransient(error) || retryAfterMs > longestRetryAfterMs) return undefined;
	// Equal jitter. No wait is shorter than the one before, because the service asks for increasing waits.
	const wait = Math.max(retryAfterMs, lastWaitMs, backoffMs(retry, attempts));
	const longestMs = leftMs(call) - roomMs(call);
	if (wait > longestMs || (wait > beginLeftMs(call) && !call.plan.renew)) return undefined;
	if (retry.budget === Number.POSITIVE_INFINITY) return wait;
	if (client.tokens.left < retryCost) return undefined;
	client.tokens.left -= retryCost;
	return wait;
}

/** The errors that the client itself retries. `retryable` is wider, because it says what may pass later. */
function isTransient({ _tag, status = 0, retryable, retryAfterMs }: PartnerError): boolean {
	if (_tag !== "PartnerGatewayError") return retryable;
	const repeat = repeatAfterGateway(status);
	return repeat === "now" || (repeat === "when_asked" && retryAfterMs !== undefined);
}

/** A random wait in the upper half of a bound that doubles with each attempt. */
export function backoffMs({ baseDelayMs, maxDelayMs }: RetryPolicy, attempts: number): number {
	const bound = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1));
	return bound / 2 + Math.random() * (bound / 2);
}

/** Returns retry tokens after a call that succeeded. */
export function refund<Data>({ client: { tokens }, attempts }: CallState<Data>): void {
	tokens.left = Math.min(tokens.max, tokens.left + (attempts > 1 ? retryCost : 1));
}

/** Time that an attempt needs at least. */
export function roomMs<Data>({ deadlineMs }: CallState<Data>): number {
	return Math.min(1000, deadlineMs / 10);
}

/**
 * The wait that a response asks for by Retry-After, in milliseconds. The header has whole seconds or an HTTP date, which
 * is compared with the response's own Date, because the local clock can be wrong. Undefined for anything else.
 */
export function retryAfterMs(headers: TransportHeaders): number | undefined {
	const value = headers.get("retry-after")?.trim() ?? "";
	if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
	const at = httpDate(value);
	if (at === undefined) return undefined;
	const wait = at - (httpDate(headers.get("date") ?? "") ?? Date.now());
	return wait >= 0 ? wait : undefined;
}

export function httpDate(value: string): number | undefined {
	if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
	const ms = Date.parse(value);
	return Number.isNaN(ms) ? undefined : ms;
}
