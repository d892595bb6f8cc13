import type { CallOptions, RetryPolicy } from "./call-options.ts";
import type { KeySource } from "./connection.ts";
import type { ContractDrift } from "./drift.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Outcome } from "./errors.ts";
import type { Observers } from "./events.ts";
import type { Exchange, ExchangeHeaders, ExchangeRequest } from "./exchange.ts";
import type { Failure } from "./failure.ts";
import type { Parameters } from "./http-request.ts";
import type { Tracer } from "./trace.ts";

/** The settings and the state that all calls of a client share. */
export interface ClientContext extends Observers {
	/** Empty when the client has none. `apiKey` then gives no key. */
	baseUrl: string;
	apiKey: KeySource;
	exchange: Exchange;
	timeoutMs?: number | undefined;
	deadlineMs?: number | undefined;
	retry: RetryPolicy;
	/** Retry tokens that are left, at most `retry.budget`. */
	tokens: number;
	userAgent: string | undefined;
	tracer?: Tracer | undefined;
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
}

/** The options and facts of one call, beside its endpoint and parameters. */
export interface CallContext<Data> extends CallOptions {
	/** Deadline of a larger call that this request is a part of, on the clock of `performance.now()`. */
	deadlineAt?: number | undefined;
	/** Gives up the request when an iteration does not need it any more. */
	abandon?: AbortSignal | undefined;
	/** Checks a valid response beyond its schema. Returns the path of the field that is wrong, or undefined. */
	verify?: ((data: Data) => string | undefined) | undefined;
	/** The parts of the request that an error message must not repeat, beside the key. */
	secrets?: readonly (string | undefined)[] | undefined;
	/** Whether the request changes something, so that its errors have an outcome. */
	isWrite?: boolean | undefined;
	/** Idempotency key of a send, and whether the caller chose it. */
	operationId?: string | undefined;
	isChosenId?: boolean | undefined;
}

/** A call that is under way. The fields from `attempt` on change with each attempt. */
export interface ActiveCall<Data> {
	client: ClientContext;
	endpoint: Endpoint<Data, Parameters>;
	context: CallContext<Data>;
	agencyId: string | undefined;
	/** Without the key. */
	request: ExchangeRequest;
	timeoutMs: number;
	deadlineMs: number;
	/** On the clock of `performance.now()`. */
	deadlineAt: number;
	retry: RetryPolicy;
	/** The caller's signal, and the one of an iteration that does not need its next page any more. */
	signals: readonly AbortSignal[];
	/** The last attempt, counted from 1. */
	attempt: number;
	/** Number of requests made. An attempt without a key makes none. */
	attempts: number;
	/** The wait before the last attempt, in milliseconds; 0 after the first one. */
	lastWaitMs: number;
	outcome: Outcome;
	/** From the last response that had one. */
	correlationId?: string | undefined;
	/** All keys that were used, because a response can repeat one that was rotated away. */
	keys: string[];
	/** Duration of the last attempt. Undefined when there is nothing to report about it. */
	durationMs?: number | undefined;
	lastFailure?: Failure | undefined;
}

/** The end of a call: checked data, or its failure. */
export type Reply<Data> = Success<Data> | Failure;

/** Checked data with the HTTP side of its response. */
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
