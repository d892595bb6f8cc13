import type { operations } from "../generated/openapi.ts";

/** The operations of the contract, by their operation id (spec §4). */
export type OperationId = keyof operations;

/**
 * What is known of a send that ended in an error.
 * - `not_sent`: no message reached the contact and none will; sending again is safe.
 * - `unknown`: the service may have taken it; send the same message again with the same `operationId` to settle it.
 * - `sent`: the service said that it took it, in an answer that is otherwise unusable.
 */
export type Outcome = "not_sent" | "unknown" | "sent";

/** The functions of `messaging-conversations/outbox` that refuse bad input. */
type OutboxVerb =
	| "createOutbox"
	| "enqueue"
	| "work"
	| "drain"
	| "status"
	| "cancel"
	| "purge"
	| "fateOf"
	| "sqliteStore"
	| "postgresStore"
	| "pgBossEngine";

/** What an error says beyond its tag and message. */
export interface PartnerErrorFacts {
	/** The operation that failed, or the function that refused its input. */
	operation: OperationId | "createClient" | "agency" | "toE164" | "operationIdFrom" | "isWindowOpen" | OutboxVerb;
	/** HTTP status of the last answer. */
	status?: number;
	/** `X-Correlation-Id` of the last answer that had one: quote it to support. */
	correlationId?: string;
	/** Requests made. */
	attempts: number;
	/** Whether the same call may succeed later unchanged. */
	retryable: boolean;
	/** How long the service asked to wait, in milliseconds. */
	retryAfterMs?: number;
	/** The underlying fault as `{ name, code, syscall }`, or the last error before a deadline. Never a request, a body or a header. */
	cause?: unknown;
	/** The idempotency id of a send. The same message with it again is never sent twice. */
	operationId?: string;
	/** What is known of a send. */
	outcome?: Outcome;
	/** Where the failed page of a walk began; null for the first page. */
	cursor?: string | null;
	/** Items that the walk had handed over before it failed. */
	itemsRead?: number;
}

/** Some of the facts; what is undefined is left out. */
export type Facts = { [Fact in keyof PartnerErrorFacts]?: PartnerErrorFacts[Fact] | undefined };

/** The literal by which errors are told apart; also the name of the class. */
export type PartnerErrorTag =
	| "PartnerBadRequest"
	| "PartnerUnauthorized"
	| "PartnerForbidden"
	| "PartnerNotFound"
	| "PartnerConflict"
	| "PartnerInternalError"
	| "PartnerConnectionError"
	| "PartnerTimeoutError"
	| "PartnerUnexpectedResponse"
	| "PartnerAbortError"
	| "PartnerInvalidInput";

const brand = Symbol.for("messaging-conversations.error");

/**
 * The base of every error of this package. Told apart by the literal `_tag`; `instanceof` works across its ESM and
 * CommonJS copies. Holds no key, no phone number and no message text.
 */
export abstract class PartnerError extends Error implements PartnerErrorFacts {
	/** A literal of each class, and not the class's name: bundlers rename classes. */
	declare protected static readonly tag: PartnerErrorTag;
	/** The name of its class, also when a bundler has renamed that. */
	declare readonly _tag: PartnerErrorTag;
	declare readonly operation: PartnerErrorFacts["operation"];
	declare readonly status?: number;
	declare readonly correlationId?: string;
	declare readonly attempts: number;
	declare readonly retryable: boolean;
	declare readonly retryAfterMs?: number;
	declare readonly operationId?: string;
	declare readonly outcome?: Outcome;
	declare readonly cursor?: string | null;
	declare readonly itemsRead?: number;
	/** The underlying fault as `{ name, code, syscall }`, or the last error before a deadline. Never a request, a body or a header. */
	declare readonly cause?: unknown;

	constructor(message: string, facts: Facts) {
		super(message);
		const { tag } = new.target;
		this._tag = tag;
		Object.defineProperty(this, "name", { value: tag, configurable: true });
		Object.defineProperty(this, brand, { value: true });
		stamp(this, { operation: "createClient", attempts: 0, retryable: false, ...facts });
	}

	/** What a JSON log may show: the public fields without the cause and the cursor. */
	toJSON(): Record<string, unknown> {
		return Object.fromEntries([["message", this.message], ...Object.entries(this)]);
	}

	/** By brand and tag: an error of the ESM copy is an instance of the CommonJS copy's class. */
	static override [Symbol.hasInstance](value: unknown): boolean {
		const tag: unknown = Object.hasOwn(this, "tag") && Reflect.get(this, "tag");
		if (this === PartnerError) return isPartnerError(value);
		if (!tag) return Function.prototype[Symbol.hasInstance].call(this, value);
		return isPartnerError(value) && value._tag === tag;
	}
}

/** 400: the request is invalid; the message names the failing field or rule (spec §7). Change the request. */
export class PartnerBadRequest extends PartnerError {
	static override readonly tag = "PartnerBadRequest";
	declare readonly _tag: "PartnerBadRequest";
}

/** 401: the key is missing, malformed, wrong, revoked or expired (spec §5). */
export class PartnerUnauthorized extends PartnerError {
	static override readonly tag = "PartnerUnauthorized";
	declare readonly _tag: "PartnerUnauthorized";
}

/** 403: the key lacks the scope, or the agency is not one of its agencies (spec §5). */
export class PartnerForbidden extends PartnerError {
	static override readonly tag = "PartnerForbidden";
	declare readonly _tag: "PartnerForbidden";
}

/** 404: the conversation or the integration does not exist or is hidden (spec §7). A send may succeed all the same. */
export class PartnerNotFound extends PartnerError {
	static override readonly tag = "PartnerNotFound";
	declare readonly _tag: "PartnerNotFound";
}

/** 409: another party took over the conversation during the send (spec §4). Read it, then send again with the same `operationId` and body. */
export class PartnerConflict extends PartnerError {
	static override readonly tag = "PartnerConflict";
	declare readonly _tag: "PartnerConflict";
}

/** Any 5xx, tagged or not, after the retries (spec §7). Also an `operationId` that the service knows with another body. */
export class PartnerInternalError extends PartnerError {
	static override readonly tag = "PartnerInternalError";
	declare readonly _tag: "PartnerInternalError";
}

/** No answer, or one that was cut off or cannot be read: DNS, refused, reset, certificate, not JSON. */
export class PartnerConnectionError extends PartnerError {
	static override readonly tag = "PartnerConnectionError";
	declare readonly _tag: "PartnerConnectionError";
}

/** An attempt outlived `timeoutMs`, or the call its `deadlineMs`. */
export class PartnerTimeoutError extends PartnerError {
	static override readonly tag = "PartnerTimeoutError";
	declare readonly _tag: "PartnerTimeoutError";
}

/** A status outside the contract (3xx, 429, …), a readable answer that breaks it, or a body over the size limit. */
export class PartnerUnexpectedResponse extends PartnerError {
	static override readonly tag = "PartnerUnexpectedResponse";
	declare readonly _tag: "PartnerUnexpectedResponse";
}

/** The caller's signal. A send that was in flight may have been taken: see `outcome`. */
export class PartnerAbortError extends PartnerError {
	static override readonly tag = "PartnerAbortError";
	declare readonly _tag: "PartnerAbortError";
}

/** Refused here, before any request. It names the field and the rule, never the value. */
export class PartnerInvalidInput extends PartnerError {
	static override readonly tag = "PartnerInvalidInput";
	declare readonly _tag: "PartnerInvalidInput";
	/** What was refused, as `to` or `phoneNumbers[3]`. */
	declare readonly field: string;
	/** What it must be, or what is wrong with it. */
	declare readonly rule: string;
	constructor({ field, rule, ...facts }: { field: string; rule: string } & Facts) {
		super(`${field}: ${rule}`, facts);
		Object.defineProperties(this, { field: { value: field }, rule: { value: rule } });
	}
}

/** The class of each refusal that the contract lists. A 5xx is always `PartnerInternalError`. */
export const refusals = {
	400: PartnerBadRequest,
	401: PartnerUnauthorized,
	403: PartnerForbidden,
	404: PartnerNotFound,
	409: PartnerConflict,
} as const;

type Refusals = { [Status in keyof typeof refusals]: InstanceType<(typeof refusals)[Status]> } & {
	500: PartnerInternalError;
};

type ClientError =
	| PartnerConnectionError
	| PartnerTimeoutError
	| PartnerUnexpectedResponse
	| PartnerAbortError
	| PartnerInvalidInput;

/** Exactly the errors that an operation can end in: the statuses that the contract lists for it, and the client's own. */
export type OperationError<Operation extends OperationId> =
	| Refusals[Extract<keyof operations[Operation]["responses"], keyof Refusals>]
	| ClientError;

/** The errors of a send: each says what is known of it, and carries the id with which to settle it. */
export type SendError = OperationError<"messages.send"> & {
	/** The id of the send: send the same message again with it when the outcome is unknown. */
	readonly operationId: string;
	/** Whether the text went out, as far as it is known. */
	readonly outcome: Outcome;
};

/** True for an error of this package, from whichever copy of it. */
export function isPartnerError(value: unknown): value is PartnerError {
	return property(value, brand) === true;
}

/** Of what anybody can have thrown or handed over: looking at it can throw too. */
export function property(value: unknown, name: PropertyKey): unknown {
	try {
		return Reflect.get(Object(value), name);
	} catch {
		return undefined;
	}
}

/** Reads what the caller handed over: that it throws is a fault of the input, and what it throws can quote anything. */
export function reading<T>(field: string, operation: PartnerErrorFacts["operation"], read: () => T): T {
	try {
		return read();
	} catch (error) {
		throw isPartnerError(error) ? error : new PartnerInvalidInput({ field, rule: "cannot be read", operation });
	}
}

/** The caller's signal has ended the call. */
export function abortError(operation: OperationId): PartnerAbortError {
	return new PartnerAbortError(`${operation}: aborted by the caller`, {});
}

/** Adds what only the end of a call knows. `cause` and `cursor` stay out of enumeration: a logged error shows neither rows' positions nor twice the same fault. */
export function stamp<E extends PartnerError>(error: E, facts: Facts): E {
	for (const [field, value] of Object.entries(facts)) {
		if (value === undefined) continue;
		const enumerable = field !== "cause" && field !== "cursor";
		Object.defineProperty(error, field, { value, enumerable, configurable: true });
	}
	return error;
}
