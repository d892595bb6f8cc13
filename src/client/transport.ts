import { attempt } from "./attempt.ts";
import type { ActiveCall, CallContext, ClientContext, Reply } from "./call-context.ts";
import { reportDrift } from "./drift.ts";
import type { Endpoint } from "./endpoint.ts";
import { reportAttempt } from "./events.ts";
import { createFailure, type Failure } from "./failure.ts";
import { createRequest, type Parameters } from "./http-request.ts";
import { classify } from "./response.ts";
import { policyFrom, refund, repeat, roomMs, sleep, waitBefore } from "./retry.ts";
import { startTrace } from "./trace.ts";

/** Sends a request with retries. It resolves with the checked data or with the failure. */
export type Transport = <Data, Params extends Parameters>(
	endpoint: Endpoint<Data, Params>,
	parameters: Params,
	context: CallContext<Data>,
) => Promise<Reply<Data>>;

export function createTransport(client: ClientContext): Transport {
	return async (endpoint, parameters, context) => {
		const call = begin(client, endpoint, parameters, context);
		const { agencyId } = call;
		const { operationId } = context;
		const endTrace =
			client.tracer && startTrace(client.tracer, { ...endpoint, agencyId, operationId, baseUrl: client.baseUrl });
		let reply = await tryOnce(call);
		let wait = waitAfter(call, reply);
		if (wait) {
			await repeat(async () => {
				await wait;
				reply = await tryOnce(call);
				wait = waitAfter(call, reply);
				return wait !== undefined;
			});
		}
		if (!reply.ok) reply = complete(call, reply);
		endTrace?.(reply.ok ? reply.response : reply, context.abandon?.aborted === true);
		return reply;
	};
}

const limits = {
	read: { timeoutMs: 15_000, deadlineMs: 30_000 },
	write: { timeoutMs: 30_000, deadlineMs: 60_000 },
};

function begin<Data>(
	client: ClientContext,
	endpoint: Endpoint<Data, Parameters>,
	parameters: Parameters,
	context: CallContext<Data>,
): ActiveCall<Data> {
	const preset = context.isWrite ? limits.write : limits.read;
	const deadlineMs = context.deadlineMs ?? client.deadlineMs ?? preset.deadlineMs;
	return {
		client,
		endpoint,
		context,
		agencyId: parameters.path?.agencyId,
		request: createRequest(client, endpoint, parameters, !context.isWrite),
		timeoutMs: context.timeoutMs ?? client.timeoutMs ?? preset.timeoutMs,
		deadlineMs,
		deadlineAt: context.deadlineAt ?? performance.now() + deadlineMs,
		retry: policyFrom(client.retry, context.retry),
		signals: [context.signal, context.abandon].filter((signal) => signal !== undefined),
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
	if (end.key !== undefined || end.how.kind !== "abort") call.durationMs = performance.now() - startedAt;
	const reply = classify(end, call);
	if (reply.ok) return reply;
	call.correlationId = reply.correlationId ?? call.correlationId;
	const { outcome = "unknown" } = reply;
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	if (outcome === "sent" || call.outcome === "not_sent") call.outcome = outcome;
	return reply.tag === "PartnerTimeoutError" && leftMs <= call.timeoutMs ? expired(call, reply) : reply;
}

/** Reports an attempt. Returns the wait before the next one, or undefined when its reply is final. */
function waitAfter<Data>(call: ActiveCall<Data>, reply: Reply<Data>): Promise<void> | undefined {
	if (reply.ok) {
		const { endpoint, client } = call;
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
	const { client, endpoint, context, agencyId, attempt, durationMs } = call;
	if (durationMs === undefined || !(client.logger || client.onAttempt)) return;
	const { operation } = endpoint;
	const { operationId, isWrite, abandon } = context;
	const { status, correlationId } = reply.ok ? reply.response : reply;
	const { tag: errorTag, fault } = reply.ok ? {} : reply;
	const errorCode = fault?.code ?? (errorTag === "PartnerConfigurationError" ? fault?.name : undefined);
	// Nobody waits for an abandoned call, and a 404 of a read is an answer.
	const isAnswer = errorTag === "PartnerNotFound" && !isWrite;
	const level = abandon?.aborted ? "debug" : isAnswer ? "info" : undefined;
	const failed = { status, errorTag, errorCode, correlationId };
	reportAttempt(client, { operation, agencyId, attempt, ...failed, operationId, durationMs, retryInMs }, level);
}

/** Adds the facts of the call to a failure. */
function complete<Data>(call: ActiveCall<Data>, failure: Failure): Failure {
	const { agencyId, attempts, correlationId } = call;
	const { operation } = call.endpoint;
	const { operationId, isWrite, isChosenId } = call.context;
	// The service answers 500 to every retry of an id that was used with another body.
	const hint = isChosenId && failure.tag === "PartnerInternalError";
	const message = failure.message + (hint ? " (the operationId may have been used with a different body)" : "");
	const outcome = isWrite ? call.outcome : undefined;
	return { ...failure, message, operation, agencyId, attempts, correlationId, operationId, outcome };
}

/** @param seen the time-out of the attempt that the deadline cut off */
function expired<Data>(call: ActiveCall<Data>, seen?: Failure): Failure {
	const { endpoint, deadlineMs, lastFailure: previous } = call;
	const missing = seen && call.attempts < call.attempt ? "key" : "complete answer";
	const message = `${endpoint.operation}: no ${missing} before the deadline of ${deadlineMs} ms`;
	return createFailure("PartnerTimeoutError", message, { ...seen, retryable: true, again: false, previous });
}
