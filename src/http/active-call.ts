import type { Outcome } from "../errors.ts";
import type { CallOptions } from "../input/call-options.ts";
import type { KeySource } from "../input/connection.ts";
import type { Observers } from "../observe/attempt-event.ts";
import type { ContractDrift } from "../observe/contract-drift.ts";
import type { Tracer } from "../observe/trace.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Exchange, ExchangeHeaders, ExchangeRequest } from "./exchange.ts";
import type { Failure } from "./failure.ts";
import type { Parameters } from "./request.ts";
import type { Budget, RetryPolicy } from "./retry.ts";

/** What all calls of a client share. */
export interface TransportOptions extends Observers {
	baseUrl: string | undefined;
	apiKey: KeySource;
	exchange: Exchange;
	timeoutMs?: number | undefined;
	deadlineMs?: number | undefined;
	retry: RetryPolicy;
	budget: Budget;
	userAgent: string | undefined;
	tracer?: Tracer | undefined;
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
}

/** What one call adds to its endpoint and parameters. */
export interface CallContext<Data> extends CallOptions {
	/** Deadline of a larger call that this request is a part of, on the clock of `performance.now()`. */
	deadlineAt?: number | undefined;
	/** Gives up the request when an iteration does not need it any more. */
	abandon?: AbortSignal | undefined;
	/** Checks a valid response beyond its schema: the place where it breaks, or undefined. */
	verify?: ((data: Data) => string | undefined) | undefined;
	/** The parts of the request that an error message must not repeat, beside the key. */
	secrets?: readonly (string | undefined)[] | undefined;
	/** Whether the request changes something, so that its errors have an outcome. */
	isWrite?: boolean | undefined;
	/**
	 * Whether the request may be sent again.
	 * @default true
	 */
	isRepeatable?: boolean | undefined;
	/** Idempotency key of a send. */
	operationId?: string | undefined;
	/** Whether the caller chose the idempotency key. */
	isChosenId?: boolean | undefined;
}

/** What a call came to. */
export type Reply<Data> = Success<Data> | Failure;

export interface Success<Data> {
	ok: true;
	data: Data;
	response: ReplyHead;
}

/** The HTTP side of a successful call. */
export interface ReplyHead {
	status: number;
	headers: ExchangeHeaders;
	correlationId: string | undefined;
	attempts: number;
}

/** A call that is under way: what stays the same in all its attempts, and what they have come to. */
export interface ActiveCall<Data> {
	readonly endpoint: Endpoint<Data, Parameters>;
	readonly agencyId: string | undefined;
	readonly context: CallContext<Data>;
	/** Without its key. Undefined when the client has no base URL. */
	readonly request: ExchangeRequest | undefined;
	readonly timeoutMs: number;
	readonly deadlineMs: number;
	/** On the clock of `performance.now()`. */
	readonly deadlineAt: number;
	readonly policy: RetryPolicy;
	readonly signals: readonly AbortSignal[];
	/** All keys that were used, because a response can repeat one that was rotated away. */
	readonly keys: string[];
	attempts: number;
	outcome: Outcome;
	/** Of the last response that had one. */
	correlationId: string | undefined;
	/** Duration of the last attempt. Undefined when there is nothing to report about it. */
	durationMs: number | undefined;
	lastWaitMs: number;
	lastFailure: Failure | undefined;
}
