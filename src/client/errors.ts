import type { operations } from "../../generated/openapi.ts";

/** The operation ids of the contract, `openapi.json`. */
// Not `keyof operations`, which the declarations of a caller's library can't name.
export type OperationId = { [Id in keyof operations]: Id }[keyof operations];

/** An operation of the contract, or `request` for `client.request`. */
export type Operation = OperationId | "request";

/**
 * Whether a failed send went out.
 * - `not_sent`: nothing of this call reached the contact and nothing will. An earlier call may have been `unknown`.
 * - `unknown`: the service may have accepted it. Send the same message again with the same `operationId`.
 * - `sent`: the service accepted it, but its response is otherwise unusable. The text went out, or is held.
 */
export type Outcome = "not_sent" | "unknown" | "sent";

/** The fields of an error beside its tag and its message. */
export interface PartnerErrorFacts {
	/** Operation id of the call that failed, `request` for `client.request`, or the function that refused its input or options. */
	operation: Operation | (string & Record<never, never>);
	/** Agency of the call. */
	agencyId?: string;
	/**
	 * The input or option that was refused, such as `to` or `phoneNumbers[3]`. Of a time-out `apiKey` if the key function took too long,
	 * and `beginBy` if that moment had passed before the request could begin.
	 */
	field?: string;
	/** The rule that the field breaks. It never quotes the value. */
	rule?: string;
	/** HTTP status of the last attempt, when it had a response. */
	status?: number;
	/** `X-Correlation-Id` of the last response that had one. Quote it to support. */
	correlationId?: string;
	/** Number of requests made. */
	attempts: number;
	/**
	 * Whether the same call may succeed later without a change. True for 5xx, time-outs and connection faults that may pass,
	 * for most answers of something in front of the service, and for a key function that failed.
	 */
	retryable: boolean;
	/** How long the service asked to wait, in milliseconds. */
	retryAfterMs?: number;
	/**
	 * The underlying fault as `{ name, code, syscall }`, or the last error before a deadline. Never a request, a body or a
	 * header. If a framework interrupted a send that may have gone out, what it threw, unchanged if it repeats nothing of the request.
	 */
	cause?: unknown;
	/** Idempotency key of a send. Send the identical message again with it, and no other message. */
	operationId?: string;
	/** Whether a send went out, as far as it is known. */
	outcome?: Outcome;
	/** Whether the held text because of which a send was refused has the very words of the message. */
	sameText?: boolean;
	/** Cursor of the page that failed in an iteration; null for the first page. */
	cursor?: string | null;
	/** Number of items that the iteration had yielded before it failed. */
	itemsRead?: number;
}

/** The fields as they are passed to a constructor. Undefined fields are left out. */
export type Facts = { [Field in keyof PartnerErrorFacts]?: PartnerErrorFacts[Field] | undefined } & {
	/** Headers of the response. */
	headers?: Iterable<[name: string, value: string]> | undefined;
};

/** The parts of a fault that an error shows as its `cause`. Anything else can quote a URL, a header or a body. */
export interface FaultFacts {
	name: string;
	code?: string | undefined;
	syscall?: string | undefined;
}

/** Literal type of each error class, equal to the class name. */
export type PartnerErrorTag = RequestError["_tag"];

const brand = Symbol.for("messaging-conversations.error");

/** Beside the errors, so that neither a log nor `util.inspect` shows what a gateway has put into a header. */
const headersOf = new WeakMap<PartnerError, NonNullable<Facts["headers"]>>();

/** The fields that `toJSON` shows: no field that other code adds to an error, such as the local variables that Sentry stores there. */
const logged: ReadonlySet<string> = new Set(
	Object.keys({
		_tag: true,
		operation: true,
		agencyId: true,
		field: true,
		rule: true,
		status: true,
		correlationId: true,
		attempts: true,
		retryable: true,
		retryAfterMs: true,
		operationId: true,
		outcome: true,
		sameText: true,
		itemsRead: true,
	} satisfies Record<"_tag" | Exclude<keyof PartnerErrorFacts, "cause" | "cursor">, true>),
);

export interface PartnerError extends Readonly<Omit<PartnerErrorFacts, "cause">> {}

/**
 * Base class of all errors of this package. Switch on the literal `_tag`, or use `instanceof`, which also works between
 * the ESM and the CommonJS copy. An error never holds the key, a phone number or a message text.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor sets the fields of the interface
export abstract class PartnerError extends Error {
	/** A literal instead of the class name, because bundlers rename classes. */
	declare protected static readonly tag: PartnerErrorTag;
	/** Name of the class. */
	declare readonly _tag: PartnerErrorTag;
	constructor(message: string, facts: Facts = {}) {
		super(message);
		const { headers, ...fields } = facts;
		if (headers) headersOf.set(this, headers);
		const { tag } = new.target;
		Object.defineProperty(this, "name", { value: tag, configurable: true });
		Object.defineProperty(this, brand, { value: true });
		const known = { _tag: tag, operation: "createClient", attempts: 0, retryable: false, ...fields };
		for (const [name, value] of Object.entries(known)) {
			// `cause` and `cursor` are not enumerable, so that logs leave them out.
			const enumerable = name !== "cause" && name !== "cursor";
			if (value !== undefined) Object.defineProperty(this, name, { value, enumerable, configurable: true });
		}
		// Taken again, because the first line of the stack has the name from before it was set.
		Error.captureStackTrace?.(this, new.target);
	}

	/** Headers of the last attempt's response. Undefined if there was none. They are not enumerable and in no log. */
	get headers(): Headers | undefined {
		const headers = headersOf.get(this);
		return headers && (headers instanceof Headers ? headers : new Headers([...headers]));
	}

	/** The public fields for a JSON log, without `cause`, `cursor` and `headers`. */
	toJSON(): Record<string, unknown> {
		const fields = Object.entries(this).filter(([name]) => logged.has(name));
		return Object.fromEntries([["message", this.message], ...fields]);
	}

	/** Compares brand and tag, so that an error of the ESM copy is an instance of the CommonJS copy's class. */
	static override [Symbol.hasInstance](value: unknown): boolean {
		if (this === PartnerError) return isPartnerError(value);
		// A caller's subclass has no tag of its own.
		if (!Object.hasOwn(this, "tag")) return Function.prototype[Symbol.hasInstance].call(this, value);
		return isPartnerError(value) && value._tag === this.tag;
	}
}

/** 400: the request is invalid. The message names the failing field or rule. Change the request before you retry. */
export class PartnerBadRequest extends PartnerError {
	static override readonly tag = "PartnerBadRequest";
	declare readonly _tag: "PartnerBadRequest";
}

/** 401: the key is missing, malformed, wrong, revoked or expired. */
export class PartnerUnauthorized extends PartnerError {
	static override readonly tag = "PartnerUnauthorized";
	declare readonly _tag: "PartnerUnauthorized";
}

/** 403: the key lacks the scope, or the agency is not linked to its integration. */
export class PartnerForbidden extends PartnerError {
	static override readonly tag = "PartnerForbidden";
	declare readonly _tag: "PartnerForbidden";
}

/** 404: the conversation or the integration does not exist or is hidden. A send to the number may still be possible. */
export class PartnerNotFound extends PartnerError {
	static override readonly tag = "PartnerNotFound";
	declare readonly _tag: "PartnerNotFound";
}

/** 409: another party took over the conversation during the send. Read it, then send again with the same `operationId` and body. */
export class PartnerConflict extends PartnerError {
	static override readonly tag = "PartnerConflict";
	declare readonly _tag: "PartnerConflict";
}

/**
 * A send with `ifHeld: "refuse"` was not made, because the service holds a text for this contact, and this one would have
 * replaced it. Wait until the contact has answered, or put both into one text and send that with `ifHeld: "replace"`. If
 * `sameText` is true, the held text is most likely yours, and nothing is to be done.
 */
export class PartnerHeldText extends PartnerError {
	static override readonly tag = "PartnerHeldText";
	declare readonly _tag: "PartnerHeldText";
	/**
	 * Whether the held text has the very words of yours. It is then most likely your own: of a second click, or of an
	 * earlier call whose outcome was `unknown` and that the service accepted after all.
	 */
	declare readonly sameText: boolean;
	constructor(message: string, facts: { sameText: boolean } & Facts) {
		super(message, facts);
	}
}

/** 5xx of the service: it or the messaging provider failed, even after the retries, or an `operationId` was used with another body. */
export class PartnerInternalError extends PartnerError {
	static override readonly tag = "PartnerInternalError";
	declare readonly _tag: "PartnerInternalError";
}

/**
 * An error status (4xx, 5xx) without the service's own error body. A load balancer, a firewall or a proxy in front of the
 * service answered, or the body was cut off. It says nothing about the key, the conversation or the text: a send is
 * `unknown`. `retryable` is false if the same request would meet the same answer, as for a 400 or a 413.
 */
export class PartnerGatewayError extends PartnerError {
	static override readonly tag = "PartnerGatewayError";
	declare readonly _tag: "PartnerGatewayError";
}

/** No complete response: DNS, refused, reset, certificate, or a 2xx body that is not JSON. `retryable` is false when waiting cannot help. */
export class PartnerConnectionError extends PartnerError {
	static override readonly tag = "PartnerConnectionError";
	declare readonly _tag: "PartnerConnectionError";
}

/** An attempt took longer than `timeoutMs`, or the call longer than its `deadline`, or a send could not begin by its `beginBy`. */
export class PartnerTimeoutError extends PartnerError {
	static override readonly tag = "PartnerTimeoutError";
	declare readonly _tag: "PartnerTimeoutError";
}

/** A redirect, a status that the contract does not list for the operation, a JSON response that breaks the contract, or a body over 10 MB. */
export class PartnerUnexpectedResponse extends PartnerError {
	static override readonly tag = "PartnerUnexpectedResponse";
	declare readonly _tag: "PartnerUnexpectedResponse";
}

/** The caller's signal aborted the call. A send in flight may have been accepted: see `outcome`. */
export class PartnerAbortError extends PartnerError {
	static override readonly tag = "PartnerAbortError";
	declare readonly _tag: "PartnerAbortError";
}

abstract class Refusal extends PartnerError {
	declare readonly field: string;
	declare readonly rule: string;
	constructor(refused: { field: string; rule: string } & Facts) {
		super(`${refused.field}: ${refused.rule}`, refused);
	}
}

/** An argument of a call was refused before any request. `field` and `rule` say which and why; the value is not shown. */
export class PartnerInvalidInput extends Refusal {
	static override readonly tag = "PartnerInvalidInput";
	declare readonly _tag: "PartnerInvalidInput";
}

/** A client option is malformed or absent, a function of yours failed, such as `apiKey` (then `retryable`), or two versions of the package meet. The input of the call is not the cause. */
export class PartnerConfigurationError extends Refusal {
	static override readonly tag = "PartnerConfigurationError";
	declare readonly _tag: "PartnerConfigurationError";
}

/** The errors of a call after its input was accepted, by their tags. */
export const callErrors = {
	PartnerBadRequest,
	PartnerUnauthorized,
	PartnerForbidden,
	PartnerNotFound,
	PartnerConflict,
	PartnerInternalError,
	PartnerGatewayError,
	PartnerConnectionError,
	PartnerTimeoutError,
	PartnerUnexpectedResponse,
	PartnerAbortError,
};

/** The error of each status that the contract lists. */
interface ListedErrors {
	400: PartnerBadRequest;
	401: PartnerUnauthorized;
	403: PartnerForbidden;
	404: PartnerNotFound;
	409: PartnerConflict;
	500: PartnerInternalError;
}

export const tagOfStatus: { readonly [Status in keyof ListedErrors]: ListedErrors[Status]["_tag"] } = {
	400: "PartnerBadRequest",
	401: "PartnerUnauthorized",
	403: "PartnerForbidden",
	404: "PartnerNotFound",
	409: "PartnerConflict",
	500: "PartnerInternalError",
};

type ClientError =
	| PartnerGatewayError
	| PartnerConnectionError
	| PartnerTimeoutError
	| PartnerUnexpectedResponse
	| PartnerAbortError
	| PartnerInvalidInput
	| PartnerConfigurationError;

type ErrorsOf = {
	[Id in OperationId]:
		| ListedErrors[Extract<keyof operations[Id]["responses"], keyof ListedErrors>]
		| (Id extends "messages.send" ? PartnerHeldText : never);
};

/** The errors that an operation can end in: one for each status that the contract lists, and the client's own. */
export type OperationError<Operation extends OperationId> = ErrorsOf[Operation] | ClientError;

/** Every error of this package. No contract lists the statuses of `client.request`, so that it can end in almost any of them. */
export type RequestError = ListedErrors[keyof ListedErrors] | PartnerHeldText | ClientError;

/** The errors of a send. Each has its `operationId` and `outcome`. */
export type SendError = OperationError<"messages.send"> & {
	/** Idempotency key of the send. Send the same message again with it when the outcome is `unknown`. */
	readonly operationId: string;
	/** Whether the text was sent, as far as it is known. */
	readonly outcome: Outcome;
};

/** Whether a value is an error of this package, from its ESM or its CommonJS copy. */
export function isPartnerError(value: unknown): value is RequestError {
	return typeof value === "object" && value !== null && Reflect.get(value, brand) === true;
}

/**
 * Adds what only the larger call knows to the error that ends it, such as how far an iteration had come. The stack is taken
 * again. A page that was read ahead can fail before it is awaited, and its error would not name the caller.
 *
 * @param reader what the caller awaits
 */
export function withProgress(
	error: unknown,
	progress: Pick<Facts, "cursor" | "itemsRead" | "attempts" | "outcome">,
	reader: (...given: never) => unknown,
): unknown {
	if (!isPartnerError(error)) return error;
	for (const [name, value] of Object.entries(progress)) {
		Object.defineProperty(error, name, { value, enumerable: name !== "cursor", configurable: true });
	}
	Error.captureStackTrace?.(error, reader);
	return error;
}

/** The error of a call whose signal aborted. Its cause has the name of the reason, which distinguishes a time-out from a user's abort. */
export function abortError(facts: Facts, signal: AbortSignal | undefined): PartnerAbortError {
	const { name }: { name?: unknown } = Object(signal?.reason);
	const cause = { name: typeof name === "string" && /^[A-Za-z]\w{0,63}$/.test(name) ? name : "AbortError" };
	return new PartnerAbortError(`${facts.operation}: aborted by the caller`, { ...facts, cause });
}
