/*
 * Who answered. Load balancers, ingress controllers, firewalls and proxies answer too, and what they say proves nothing
 * about contacts, conversations, keys or texts.
 */
import { tagOfStatus } from "./errors.ts";

/** The statuses that have an error class of their own. */
export function isListed(status: number): status is keyof typeof tagOfStatus {
	return Object.hasOwn(tagOfStatus, status);
}

/**
 * Whether an error status is the service's own word: its body is JSON with the `_tag` of that status, and a `message`. The service
 * may add fields. A correlation id is no proof, because gateways copy headers.
 */
export function isOfService(status: number, body: unknown): boolean {
	const { _tag, message }: { _tag?: unknown; message?: unknown } = Object(body);
	if (typeof message !== "string") return false;
	// The service may use other 5xx than 500 for the same error.
	const tag = isServerError(status) ? "PartnerInternalError" : isListed(status) ? tagOfStatus[status] : undefined;
	return tag !== undefined && _tag === tag;
}

export function isServerError(status: number): boolean {
	return status >= 500 && status < 600;
}

/** Statuses by which a gateway says that it did not get an answer, so that the same request may get one at once. */
const passing = new Set([404, 408, 410, 421, 425, 499]);
/** Statuses by which a gateway rejects the bytes themselves. */
const permanent = new Set([400, 405, 411, 413, 414, 415, 426, 431]);

/**
 * When a request may be repeated that something in front of the service answered:
 * - `now`: within the call, like a network fault
 * - `when_asked`: within the call, if the answer has a Retry-After
 * - `later`: by another call
 * - `never`: the same bytes meet the same answer
 */
export function repeatAfterGateway(status: number): "now" | "when_asked" | "later" | "never" {
	if (passing.has(status) || isServerError(status)) return "now";
	if (status === 429) return "when_asked";
	return permanent.has(status) ? "never" : "later";
}
