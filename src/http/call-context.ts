import type { CallOptions } from "../input/call-options.ts";
import type { KeySource } from "../input/connection.ts";
import type { Observers } from "../observe/attempt-event.ts";
import type { ContractDrift } from "../observe/contract-drift.ts";
import type { Tracer } from "../observe/trace.ts";
import type { Exchange, ExchangeHeaders } from "./exchange.ts";
import type { Failure } from "./failure.ts";
import type { Budget, RetryPolicy } from "./retry.ts";

/** The settings and the state that all calls of a client share. */
export interface ClientContext extends Observers {
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
