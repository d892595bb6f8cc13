import { reportAttempt } from "../observe/attempt-event.ts";
import { reportDrift } from "../observe/contract-drift.ts";
import { startTrace } from "../observe/trace.ts";
import { attempt } from "./attempt.ts";
import type { ActiveCall, CallContext, ClientContext, Reply } from "./call-context.ts";
import { classify } from "./classify.ts";
import type { Endpoint } from "./endpoint.ts";
import { createFailure, type Failure } from "./failure.ts";
import { createRequest, type Parameters } from "./request.ts";
import { policyFrom, refund, retry, roomMs, sleep, waitBefore } from "./retry.ts";

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
		attempt: 0,
		attempts: 0,
		lastWaitMs: 0,
		outcome: "not_sent",
		keys: [],
	};
}

/** Makes one attempt and classifies its end. */
async function tryOnce<Data>(call: ActiveCall<Data>): Promise<Reply<Data>> {
	call.durationMs = undefined;
	call.attempt = call.attempts + 1;
	const startedAt = performance.now();
	const leftMs = call.deadlineAt - startedAt;
	// A blocked event loop can stretch the wait before a retry. Send nothing that has no time left for a response.
	if (leftMs <= (call.lastFailure ? roomMs(call) / 2 : 0)) return expired(call);
	const end = await attempt(call, Math.min(call.timeoutMs, leftMs));
	if (end.key !== undefined) {
		call.keys.push(end.key);
		call.attempts++;
	}
	if (end.key !== undefined || end.kind !== "abort") call.durationMs = performance.now() - startedAt;
	const result = classify(end, call);
	if (result.ok) return result;
	call.correlationId = result.correlationId ?? call.correlationId;
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	if (result.outcome === "sent" || call.outcome === "not_sent") call.outcome = result.outcome;
	return result.tag === "PartnerTimeoutError" && leftMs <= call.timeoutMs ? expired(call, result) : result;
}

/** Reports an attempt. Returns the wait before the next one, or undefined when its reply is final. */
function waitAfter<Data>(call: ActiveCall<Data>, reply: Reply<Data>): Promise<void> | undefined {
	if (reply.ok) {
		const { client, endpoint } = call;
		refund(call);
		report(call, reply, undefined);
		if (client.onContractDrift) reportDrift(client.onContractDrift, endpoint, reply.data, reply.response.correlationId);
		return undefined;
	}
	const waitMs = reply.again ? waitBefore(call, reply.retryAfterMs) : undefined;
	report(call, reply, waitMs);
	if (waitMs === undefined) return undefined;
	call.lastFailure = complete(call, reply);
	call.lastWaitMs = waitMs;
	return sleep(waitMs, call.signals);
}

function report<Data>(call: ActiveCall<Data>, reply: Reply<Data>, retryInMs: number | undefined): void {
	const { client, endpoint, agencyId, context, attempt, durationMs } = call;
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
		attempt,
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

/** @param seen the time-out of the attempt that the deadline cut off */
function expired<Data>(call: ActiveCall<Data>, seen?: Failure): Failure {
	const { endpoint, deadlineMs, lastFailure: previous } = call;
	const missing = seen && call.attempts < call.attempt ? "key" : "complete answer";
	const message = `${endpoint.operation}: no ${missing} before the deadline of ${deadlineMs} ms`;
	return createFailure("PartnerTimeoutError", message, { ...seen, retryable: true, again: false, previous });
}
