import { operationTable } from "../../generated/operations.ts";
import type { Answers } from "../shared/copies.ts";
import { type Moment, thisMoment } from "../shared/freshness.ts";
import type { Secret } from "../shared/secret.ts";
import type { Observers } from "./attempt-event.ts";
import { type ApiKey, type CallOptions, policyFrom, type RetryPolicy, sentHeaders } from "./client-options.ts";
import type { ContractDrift } from "./drift.ts";
import type { Operation, OperationId, PartnerError } from "./errors.ts";
import type { Tracer } from "./trace.ts";
import type { Transport, TransportHead } from "./transport.ts";

/** The settings and the state that all calls of a client share. */
export interface ClientState extends Observers {
	/** Empty if the client has none. */
	baseUrl: string;
	apiKey: Secret<ApiKey> | undefined;
	transport: Transport;
	timeoutMs?: number | undefined;
	deadline?: number | Date | undefined;
	retry: RetryPolicy;
	/** Retry tokens that are left, at most `max`. */
	tokens: { left: number; max: number };
	/** Headers of every request, by their names in lower case. */
	headers: Readonly<Record<string, string>>;
	/** The option of that name. */
	errorBodies?: "service" | "any" | undefined;
	/** What the client has seen of the service. */
	answers: Answers;
	/** `hasAnswered` once a response has kept the contract, which proves that the base URL is right. */
	service: { hasAnswered: boolean };
	tracer?: Tracer | undefined;
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
}

export interface Route {
	method: string;
	/** Path template, such as `/agencies/{agencyId}/messages`. */
	path: string;
}

/** What an operation says about a call, beside the options of the caller. */
export interface CallPlan<Data> {
	operation: Operation;
	/** Method and path of a `client.request`. The contract has them for an operation. */
	route?: Route | undefined;
	agencyId?: string | undefined;
	/** Idempotency key of a send, and whether the caller chose it. */
	operationId?: string | undefined;
	isChosenId?: boolean | undefined;
	/** Whether the request changes something, so that its errors have an outcome. */
	isWrite?: boolean | undefined;
	/** The parts of the request that an error must not repeat, beside the key. */
	secrets?: readonly (string | undefined)[] | undefined;
	/** Checks a valid response beyond its schema. Returns the path of the field that is wrong, or undefined. */
	verify?: ((data: Data) => string | undefined) | undefined;
	/** When the larger call began that this request is a part of. The deadline counts from then. */
	begun?: Moment | undefined;
	/** After this moment no request of a send begins. */
	beginBy?: Moment | undefined;
	/**
	 * Reads again what the send relies on, before a retry that would come too late, and makes a later moment of `beginBy`.
	 *
	 * @param deadlineMs the deadline of the call, counted from `begun`
	 * @param before the error of the attempt before
	 */
	renew?: ((deadlineMs: number, before: PartnerError) => Promise<Moment>) | undefined;
	/** Gives up the request when an iteration does not need it any more. */
	abandon?: AbortSignal | undefined;
}

/** What the attempts of one call share. The fields from `attempt` on change with each attempt. */
export interface CallState<Data> {
	client: ClientState;
	plan: CallPlan<Data>;
	route: Route;
	timeoutMs: number;
	deadlineMs: number;
	/** On the clock of `performance.now()`. */
	deadlineAt: number;
	/** By the system clock, for a write and for a moment that a caller gave. The other clock can stand still while a machine sleeps. */
	deadlineDate: number;
	/** The latest moment at which a request may begin, by the same two clocks. */
	beginAt: number;
	beginDate: number;
	retry: RetryPolicy;
	/** The caller's signal, and the one of an iteration that does not need its next page any more. */
	signals: readonly AbortSignal[];
	/** Headers of each request of the call, beside the key and the type of the body. */
	headers: Readonly<Record<string, string>>;
	/** The option of that name. */
	keyScope: object | undefined;
	/** The current attempt, counted from 1. */
	attempt: number;
	/** Number of requests made. An attempt without a key makes none. */
	attempts: number;
	/** The key that a 401 was asked for, which the next attempt uses. */
	newKey: Secret<string> | undefined;
	/** All keys that were used, because a response can repeat one that was rotated away. */
	keys: Secret<string>[];
	/** Status and headers of the current attempt's response. */
	head: TransportHead | undefined;
	/** Whether that response is proven to be a copy of an earlier one. */
	isCopy: boolean;
	/** Duration of the current attempt. Undefined while there is nothing to report about it. */
	durationMs: number | undefined;
	/** The wait before the current attempt, in milliseconds. */
	lastWaitMs: number;
	/** The error of the attempt before. Its outcome covers all attempts so far. */
	lastError: PartnerError | undefined;
}

const limits = {
	read: { timeoutMs: 15_000, deadlineMs: 30_000 },
	write: { timeoutMs: 30_000, deadlineMs: 60_000 },
};

export function startCall<Data>(client: ClientState, plan: CallPlan<Data>, options: CallOptions): CallState<Data> {
	const preset = plan.isWrite ? limits.write : limits.read;
	const begun = plan.begun ?? thisMoment();
	const deadline = options.deadline ?? client.deadline ?? preset.deadlineMs;
	const isDuration = typeof deadline === "number";
	const deadlineMs = isDuration ? deadline : Math.max(0, deadline.getTime() - begun.date);
	const lastDate = isDuration && !plan.isWrite ? Number.POSITIVE_INFINITY : begun.date + deadlineMs;
	return {
		client,
		plan,
		route: plan.route ?? operationTable[plan.operation as OperationId],
		timeoutMs: options.timeoutMs ?? client.timeoutMs ?? preset.timeoutMs,
		deadlineMs,
		deadlineAt: begun.at + deadlineMs,
		deadlineDate: lastDate,
		beginAt: plan.beginBy?.at ?? Number.POSITIVE_INFINITY,
		beginDate: plan.beginBy?.date ?? Number.POSITIVE_INFINITY,
		retry: policyFrom(client.retry, options.retry),
		signals: [options.signal, plan.abandon].filter((signal) => signal !== undefined),
		headers: options.headers ? { ...client.headers, ...sentHeaders(options.headers) } : client.headers,
		keyScope: options.keyScope,
		attempt: 0,
		attempts: 0,
		newKey: undefined,
		keys: [],
		head: undefined,
		isCopy: false,
		durationMs: undefined,
		lastWaitMs: 0,
		lastError: undefined,
	};
}

/** The time until the deadline, which passes when it has passed by either clock. */
export function leftMs({ deadlineAt, deadlineDate }: Pick<CallState<unknown>, "deadlineAt" | "deadlineDate">): number {
	return Math.min(deadlineAt - performance.now(), deadlineDate - Date.now());
}

/** The time until a request may no longer begin, in the same way. */
export function beginLeftMs({ beginAt, beginDate }: Pick<CallState<unknown>, "beginAt" | "beginDate">): number {
	return Math.min(beginAt - performance.now(), beginDate - Date.now());
}
