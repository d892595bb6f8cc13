import { reportAttempt } from "../observe/attempt-event.ts";
import { reportDrift } from "../observe/contract-drift.ts";
import { startTrace, type TraceEnd } from "../observe/trace.ts";
import type { ActiveCall, CallContext, Reply, TransportOptions } from "./active-call.ts";
import { attempt } from "./attempt.ts";
import { classify } from "./classify.ts";
import type { Endpoint } from "./endpoint.ts";
import type { AttemptFailure, Failure } from "./failure.ts";
import { createRequest, type Parameters } from "./request.ts";
import { policyFrom, retry, sleep, waitBefore } from "./retry.ts";

/** Sends a request with retries. It resolves with the checked data or with the failure, and rejects for neither. */
export type Transport = <Data, Params extends Parameters>(
	endpoint: Endpoint<Data, Params>,
	parameters: Params,
	context: CallContext<Data>,
) => Promise<Reply<Data>>;

export function createTransport(client: TransportOptions): Transport {
	return async (endpoint, parameters, context) => {
		const call = begin(client, endpoint, parameters, context);
		const endTrace =
			client.tracer && startTrace(client.tracer, { ...context, ...endpoint, ...call, baseUrl: client.baseUrl });
		const last = await retry(
			() => tryOnce(client, call),
			(reply) => settles(client, call, reply),
		);
		const reply = last.ok ? last : complete(call, last);
		endTrace?.(traceEnd(call, reply));
		return reply;
	};
}

const limits = {
	read: { timeoutMs: 15_000, deadlineMs: 30_000 },
	write: { timeoutMs: 30_000, deadlineMs: 60_000 },
} as const;

/** Fixes what stays the same in all attempts: the bytes, the limits, the signals. */
function begin<Data>(
	client: TransportOptions,
	endpoint: Endpoint<Data, Parameters>,
	parameters: Parameters,
	context: CallContext<Data>,
): ActiveCall<Data> {
	const { baseUrl, userAgent } = client;
	const { isWrite = false, isRepeatable = true, signal, abandon } = context;
	const preset = isWrite ? limits.write : limits.read;
	const deadlineMs = context.deadlineMs ?? client.deadlineMs ?? preset.deadlineMs;
	const isRead = !isWrite;
	return {
		endpoint,
		agencyId: parameters.path?.agencyId,
		context,
		request: baseUrl ? createRequest(endpoint, parameters, { baseUrl, userAgent, isRead }) : undefined,
		timeoutMs: context.timeoutMs ?? client.timeoutMs ?? preset.timeoutMs,
		deadlineMs,
		deadlineAt: context.deadlineAt ?? performance.now() + deadlineMs,
		policy: policyFrom(client.retry, isRepeatable ? context.retry : false),
		signals: [signal, abandon].filter((each) => each !== undefined),
		keys: [],
		attempts: 0,
		outcome: "not_sent",
		correlationId: undefined,
		durationMs: undefined,
		lastWaitMs: 0,
		lastFailure: undefined,
	};
}

/** Makes one attempt and classifies its end. */
async function tryOnce<Data>(client: TransportOptions, call: ActiveCall<Data>): Promise<Reply<Data>> {
	const { endpoint, context, request, timeoutMs, signals } = call;
	call.durationMs = undefined;
	if (!request) return { ...noBaseUrl, outcome: call.outcome };
	const startedAt = performance.now();
	const leftMs = call.deadlineAt - startedAt;
	if (leftMs <= 0) return expired(call);
	const end = await attempt({
		exchange: client.exchange,
		request,
		apiKey: client.apiKey,
		timeoutMs: Math.min(timeoutMs, leftMs),
		signals,
		isDeferred: context.isWrite === true,
	});
	if (end.key !== undefined) {
		call.keys.push(end.key);
		call.attempts++;
	}
	if (end.key !== undefined || end.kind === "key") call.durationMs = performance.now() - startedAt;
	const result = classify(end, { endpoint, timeoutMs, verify: context.verify, secrets: () => secretsOf(call) });
	call.correlationId = result.correlationId ?? call.correlationId;
	if (result.ok) {
		const { data, status, headers, correlationId } = result;
		return { ok: true, data, response: { status, headers, correlationId, attempts: call.attempts } };
	}
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	if (result.outcome === "sent" || call.outcome === "not_sent") call.outcome = result.outcome;
	return result.tag === "PartnerTimeoutError" && leftMs <= timeoutMs ? expired(call) : result;
}

/** Whether a reply is final. Otherwise resolves with false after the wait before the next attempt. */
function settles<Data>(
	client: TransportOptions,
	call: ActiveCall<Data>,
	reply: Reply<Data>,
): boolean | Promise<boolean> {
	if (reply.ok) {
		client.budget.refund(call.attempts > 1);
		report(client, call, reply, undefined);
		if (client.onContractDrift)
			reportDrift(client.onContractDrift, call.endpoint, reply.data, reply.response.correlationId);
		return true;
	}
	const waitMs = reply.again ? nextWait(client, call, reply) : undefined;
	report(client, call, reply, waitMs);
	if (waitMs === undefined) return true;
	call.lastFailure = complete(call, reply);
	call.lastWaitMs = waitMs;
	return sleep(waitMs, call.signals).then(() => false);
}

/** The wait before the next attempt in milliseconds, or undefined when none is left, or no time or token for it. */
function nextWait<Data>(client: TransportOptions, call: ActiveCall<Data>, failure: Failure): number | undefined {
	const { policy, deadlineMs, deadlineAt, attempts, lastWaitMs } = call;
	const waitMs = waitBefore({
		policy,
		attempt: attempts,
		lastWaitMs,
		retryAfterMs: failure.retryAfterMs,
		leftMs: deadlineAt - performance.now(),
		roomMs: Math.min(1000, deadlineMs / 10),
	});
	const isFree = waitMs === undefined || policy.budget === Number.POSITIVE_INFINITY;
	return isFree || client.budget.take() ? waitMs : undefined;
}

function report<Data>(
	client: TransportOptions,
	call: ActiveCall<Data>,
	reply: Reply<Data>,
	retryInMs: number | undefined,
): void {
	const { endpoint, agencyId, context, attempts, durationMs } = call;
	if (durationMs === undefined || !(client.logger || client.onAttempt)) return;
	const { status, correlationId } = reply.ok ? reply.response : reply;
	const facts = {
		operation: endpoint.operation,
		agencyId,
		// An attempt that got no key made no request, and is not counted in `attempts`.
		attempt: !reply.ok && reply.tag === "PartnerConfigurationError" ? attempts + 1 : attempts,
		status,
		errorTag: reply.ok ? undefined : reply.tag,
		errorCode: reply.ok ? undefined : (reply.fault?.code ?? reply.fault?.name),
		correlationId,
		operationId: context.operationId,
		durationMs,
		retryInMs,
	};
	reportAttempt(client, facts, context.abandon?.aborted === true);
}

/** A failure with the facts of its call: what its error shows. */
function complete<Data>(call: ActiveCall<Data>, failure: Failure): Failure {
	const { endpoint, agencyId, attempts, correlationId, outcome, context } = call;
	const { isWrite, operationId, isChosenId } = context;
	// The service answers 500 for ever when an id comes with another body.
	const hint = isChosenId && failure.tag === "PartnerInternalError";
	return {
		...failure,
		message: hint ? `${failure.message} (the operationId may have been used with a different body)` : failure.message,
		operation: endpoint.operation,
		agencyId,
		attempts,
		correlationId,
		operationId,
		outcome: isWrite ? outcome : undefined,
	};
}

const noBaseUrl = {
	ok: false,
	tag: "PartnerConfigurationError",
	message: "baseUrl: is required",
	field: "baseUrl",
	rule: "is required",
	retryable: false,
	again: false,
} as const;

function expired<Data>({ endpoint, deadlineMs, outcome, lastFailure }: ActiveCall<Data>): AttemptFailure {
	const message = `${endpoint.operation}: no complete answer before the deadline of ${deadlineMs} ms`;
	const tag = "PartnerTimeoutError";
	return { ok: false, tag, message, outcome, retryable: true, again: false, previous: lastFailure };
}

/** The parts of the request that a message must not repeat; of a key also its parts, without the public prefix. */
function secretsOf<Data>({ keys, context }: ActiveCall<Data>): string[] {
	const parts = keys.flatMap((key) => [key, ...key.split(".").slice(1)]);
	return [...parts, ...(context.secrets ?? [])].filter((secret) => secret !== undefined);
}

function traceEnd<Data>({ attempts, context }: ActiveCall<Data>, reply: Reply<Data>): TraceEnd {
	if (reply.ok) return { ...reply.response, errorTag: undefined, outcome: undefined };
	const { status, correlationId, tag, outcome } = reply;
	return { attempts, status, correlationId, outcome, errorTag: context.abandon?.aborted ? undefined : tag };
}
