import type { Outcome } from "../errors.ts";
import { reportAttempt } from "../observe/attempt-event.ts";
import { reportDrift } from "../observe/contract-drift.ts";
import { startTrace } from "../observe/trace.ts";
import { attempt } from "./attempt.ts";
import type { CallContext, ClientContext, Reply } from "./call-context.ts";
import { classify } from "./classify.ts";
import type { Endpoint } from "./endpoint.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { createFailure, type Failure } from "./failure.ts";
import { createRequest, type Parameters } from "./request.ts";
import { policyFrom, type RetryProgress, retry, sleep, waitBefore } from "./retry.ts";

/** Sends a request with retries. It resolves with the checked data or with the failure. */
export type Transport = <Data, Params extends Parameters>(
	endpoint: Endpoint<Data, Params>,
	parameters: Params,
	context: CallContext<Data>,
) => Promise<Reply<Data>>;

export function createTransport(client: ClientContext): Transport {
	return async (endpoint, parameters, context) => {
		const call = begin(client, endpoint, parameters, context);
		const endTrace =
			client.tracer && startTrace(client.tracer, { ...context, ...endpoint, ...call, baseUrl: client.baseUrl });
		const first = await tryOnce(call);
		const wait = waitAfter(call, first);
		const last = wait
			? await retry(
					wait,
					() => tryOnce(call),
					(reply) => waitAfter(call, reply),
				)
			: first;
		const reply = last.ok ? last : complete(call, last);
		endTrace?.(reply.ok ? reply.response : reply, context.abandon?.aborted === true);
		return reply;
	};
}

const limits = {
	read: { timeoutMs: 15_000, deadlineMs: 30_000 },
	write: { timeoutMs: 30_000, deadlineMs: 60_000 },
} as const;

const noSignals: readonly AbortSignal[] = [];

/** A call that is under way. The fields from `attempts` on change with each attempt. */
interface ActiveCall<Data> extends RetryProgress {
	readonly client: ClientContext;
	readonly endpoint: Endpoint<Data, Parameters>;
	readonly context: CallContext<Data>;
	readonly agencyId: string | undefined;
	/** Undefined when the client has no base URL. */
	readonly request: ExchangeRequest | undefined;
	readonly timeoutMs: number;
	readonly deadlineMs: number;
	/** On the clock of `performance.now()`. */
	readonly deadlineAt: number;
	readonly signals: readonly AbortSignal[];
	attempts: number;
	lastWaitMs: number;
	outcome: Outcome;
	/** From the last response that had one. */
	correlationId?: string | undefined;
	/** All keys that were used, because a response can repeat one that was rotated away. */
	readonly keys: string[];
	/** Duration of the last attempt. Undefined when there is nothing to report about it. */
	durationMs?: number | undefined;
	lastFailure?: Failure | undefined;
}

function begin<Data>(
	client: ClientContext,
	endpoint: Endpoint<Data, Parameters>,
	parameters: Parameters,
	context: CallContext<Data>,
): ActiveCall<Data> {
	const { isWrite = false, signal, abandon } = context;
	const preset = isWrite ? limits.write : limits.read;
	const deadlineMs = context.deadlineMs ?? client.deadlineMs ?? preset.deadlineMs;
	return {
		client,
		endpoint,
		context,
		agencyId: parameters.path?.agencyId,
		request: createRequest(client, endpoint, parameters, !isWrite),
		timeoutMs: context.timeoutMs ?? client.timeoutMs ?? preset.timeoutMs,
		deadlineMs,
		deadlineAt: context.deadlineAt ?? performance.now() + deadlineMs,
		policy: policyFrom(client.retry, context.retry),
		signals: signal || abandon ? [signal, abandon].filter((each) => each !== undefined) : noSignals,
		attempts: 0,
		outcome: "not_sent",
		keys: [],
		lastWaitMs: 0,
	};
}

/** Makes one attempt and classifies its end. */
async function tryOnce<Data>(call: ActiveCall<Data>): Promise<Reply<Data>> {
	const { client, endpoint, context, request, timeoutMs, signals } = call;
	call.durationMs = undefined;
	if (!request) return noBaseUrl;
	const startedAt = performance.now();
	const leftMs = call.deadlineAt - startedAt;
	// A blocked event loop can stretch the wait before a retry. Send nothing that has no time left for a response.
	if (leftMs <= (call.lastFailure ? roomMs(call) / 2 : 0)) return expired(call);
	const { exchange, apiKey } = client;
	const limitMs = Math.min(timeoutMs, leftMs);
	const isDeferred = context.isWrite === true;
	const end = await attempt({ exchange, request, apiKey, timeoutMs: limitMs, signals, isDeferred });
	if (end.key !== undefined) {
		call.keys.push(end.key);
		call.attempts++;
	}
	if (end.key !== undefined || end.kind === "key") call.durationMs = performance.now() - startedAt;
	const { attempts } = call;
	const { verify } = context;
	const result = classify(end, { endpoint, attempts, timeoutMs, verify, secrets: () => secretsOf(call) });
	if (result.ok) return result;
	call.correlationId = result.correlationId ?? call.correlationId;
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	if (result.outcome === "sent" || call.outcome === "not_sent") call.outcome = result.outcome;
	return result.tag === "PartnerTimeoutError" && leftMs <= timeoutMs ? expired(call, result) : result;
}

/** Reports an attempt. Returns the wait before the next one, or undefined when its reply is final. */
function waitAfter<Data>(call: ActiveCall<Data>, reply: Reply<Data>): Promise<void> | undefined {
	const { client, endpoint, attempts, signals } = call;
	if (reply.ok) {
		client.budget.refund(attempts > 1);
		report(call, reply, undefined);
		if (client.onContractDrift) reportDrift(client.onContractDrift, endpoint, reply.data, reply.response.correlationId);
		return undefined;
	}
	const waitMs = reply.again ? nextWait(call, reply.retryAfterMs) : undefined;
	report(call, reply, waitMs);
	if (waitMs === undefined) return undefined;
	call.lastFailure = complete(call, reply);
	call.lastWaitMs = waitMs;
	return sleep(waitMs, signals);
}

/** The wait before the next attempt in milliseconds, or undefined when no attempt, time or token is left. */
function nextWait<Data>(call: ActiveCall<Data>, retryAfterMs: number | undefined): number | undefined {
	const longestMs = call.deadlineAt - performance.now() - roomMs(call);
	const waitMs = waitBefore(call, longestMs, retryAfterMs);
	if (waitMs === undefined || call.policy.budget === Number.POSITIVE_INFINITY) return waitMs;
	return call.client.budget.take() ? waitMs : undefined;
}

/** Time that an attempt needs at least. */
function roomMs<Data>({ deadlineMs }: ActiveCall<Data>): number {
	return Math.min(1000, deadlineMs / 10);
}

function report<Data>(call: ActiveCall<Data>, reply: Reply<Data>, retryInMs: number | undefined): void {
	const { client, endpoint, agencyId, context, attempts, durationMs } = call;
	if (durationMs === undefined || !(client.logger || client.onAttempt)) return;
	const { status, correlationId } = reply.ok ? reply.response : reply;
	const { tag, fault } = reply.ok ? {} : reply;
	const isKeyProblem = tag === "PartnerConfigurationError";
	// Nobody waits for an abandoned call, and a 404 of a read is an answer.
	const isAnswer = tag === "PartnerNotFound" && !context.isWrite;
	const level = context.abandon?.aborted ? "debug" : isAnswer ? "info" : undefined;
	const facts = {
		operation: endpoint.operation,
		agencyId,
		// An attempt without a key made no request, and is not counted in `attempts`.
		attempt: isKeyProblem ? attempts + 1 : attempts,
		status,
		errorTag: tag,
		errorCode: fault?.code ?? (isKeyProblem ? fault?.name : undefined),
		correlationId,
		operationId: context.operationId,
		durationMs,
		retryInMs,
	};
	reportAttempt(client, facts, level);
}

/** Adds the facts of the call to a failure. */
function complete<Data>(call: ActiveCall<Data>, failure: Failure): Failure {
	const { endpoint, agencyId, attempts, correlationId, outcome, context } = call;
	const { isWrite, operationId, isChosenId } = context;
	// The service answers 500 to every retry of an id that was used with another body.
	const hint = isChosenId && failure.tag === "PartnerInternalError";
	const message = failure.message + (hint ? " (the operationId may have been used with a different body)" : "");
	const { operation } = endpoint;
	const facts = { operation, agencyId, attempts, correlationId, operationId, outcome: isWrite ? outcome : undefined };
	return { ...failure, ...facts, message };
}

const noBaseUrl = createFailure("PartnerConfigurationError", "baseUrl: is required", {
	field: "baseUrl",
	rule: "is required",
});

/** @param seen the time-out of the attempt that the deadline cut off */
function expired<Data>({ endpoint, deadlineMs, lastFailure }: ActiveCall<Data>, seen?: Failure): Failure {
	const message = `${endpoint.operation}: no complete answer before the deadline of ${deadlineMs} ms`;
	return createFailure("PartnerTimeoutError", message, {
		...seen,
		retryable: true,
		again: false,
		previous: lastFailure,
	});
}

/** The parts of the request that a message must not repeat. A key counts whole, and by its parts after the public prefix. */
function secretsOf<Data>({ keys, context }: ActiveCall<Data>): string[] {
	const parts = keys.flatMap((key) => [key, ...key.split(".").slice(1)]);
	return [...parts, ...(context.secrets ?? [])].filter((secret) => secret !== undefined);
}
