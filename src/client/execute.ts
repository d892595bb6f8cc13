import createFetchClient, { type Client as Api, type RequestOptions } from "openapi-fetch";
import pRetry, { type Options as RetryLoop } from "p-retry";
import type { paths } from "../../generated/openapi.ts";
import { isAged } from "../shared/copies.ts";
import { Secret } from "../shared/secret.ts";
import { sleep } from "../shared/sleep.ts";
import { beginLeftMs, type CallPlan, type CallState, type ClientState, leftMs, startCall } from "./call-state.ts";
import type { CallOptions, RetryPolicy } from "./client-options.ts";
import { Interruption, isControlFlow } from "./control-flow.ts";
import { reportDrift } from "./drift.ts";
import {
	abortError,
	isPartnerError,
	type Outcome,
	PartnerConnectionError,
	type PartnerError,
	PartnerTimeoutError,
} from "./errors.ts";
import { factsOf } from "./facts.ts";
import { isOfService } from "./gateway.ts";
import { authorizationOf, hasNewKey, readKey } from "./key.ts";
import { Limit, longestGraceMs } from "./limit.ts";
import { lostConnection, shownFacts } from "./network-fault.ts";
import { correlationIdOf, repeatsRequest } from "./redact.ts";
import { reportAttempt } from "./report-attempt.ts";
import { judge, oversized, unreadable } from "./response.ts";
import { refund, roomMs, waitBefore } from "./retry.ts";
import { type EndTrace, inTrace } from "./trace.ts";
import { noResponse, type TransportAnswer, type TransportFault, type TransportHead } from "./transport.ts";

/** The data of a call that succeeded, with the HTTP side of its last response. */
export interface Reply<Data> {
	data: Data;
	head: TransportHead;
	/** Number of requests made. */
	attempts: number;
	/** Checked against the parts of the request only when it is read, because that takes long. */
	correlationId: () => string | undefined;
}

/** What openapi-fetch takes for one attempt. A request begins with a copy of it. */
type Init = {
	fetch: (request: Request) => Promise<Response>;
	method: string;
};

/**
 * The rest of what openapi-fetch reads. With all of it in place, it finds nothing that a library has added to
 * `Object.prototype`, and a copy gains no field, which would be slow in Node 20.
 */
type WholeInit = Init & { params: object } & Record<
		Exclude<keyof RequestOptions<unknown> | "Request", keyof Init | "params">,
		undefined
	>;

/** The parameters of a request, each of them in place for the same reason. */
export function parameters<Path>(path: Path): { path: Path };
export function parameters<Path, Query>(path: Path, query: Query): { path: Path; query: Query };
export function parameters(path: unknown, query?: unknown): object {
	return { path, query, header: undefined };
}

const noParameters = parameters(undefined);

/** Makes one request of `api`. Only the status says whether it succeeded: `error` is falsy for an empty 500. */
export type RequestOnce = (init: Init) => Promise<{ data?: unknown; error?: unknown }>;

export interface Executor {
	/** What the client has seen of the service. */
	answers: ClientState["answers"];
	/** The retry options of the client. */
	retry: RetryPolicy;
	/** The requests of the contract, typed by it. */
	api: Api<paths>;
	/** Runs a request of `api` until its response is final. */
	run: <Data>(plan: CallPlan<Data>, options: CallOptions, request: RequestOnce) => Promise<Reply<Data>>;
}

/** A request as openapi-fetch builds it: a plain object, because a WHATWG `Request` takes longer than the rest of a call. */
class PlainRequest {
	declare readonly method: string;
	declare readonly body: string | undefined;
	constructor(
		readonly url: string,
		init: object,
	) {
		Object.assign(this, init);
	}
}

/**
 * What a plan may leave out. With these fields of its own, a plan has none that a library has added to `Object.prototype`.
 * A new literal for each call, because on Node 20 a copy of a constant is slow to fill and to read.
 */
const emptyPlan = (): Record<Exclude<keyof CallPlan<unknown>, "operation">, undefined> => ({
	route: undefined,
	agencyId: undefined,
	operationId: undefined,
	isChosenId: undefined,
	isWrite: undefined,
	secrets: undefined,
	verify: undefined,
	begun: undefined,
	beginBy: undefined,
	renew: undefined,
	abandon: undefined,
});

function createApi(baseUrl: string): Api<paths> {
	const fixed = { baseUrl, querySerializer, Request: PlainRequest };
	const options: object = {
		headers: undefined,
		bodySerializer: undefined,
		pathSerializer: undefined,
		fetch: undefined,
		requestInitExt: undefined,
		...fixed,
	};
	return createFetchClient<paths>(options);
}

export function createExecutor(client: ClientState): Executor {
	return {
		answers: client.answers,
		api: createApi(client.baseUrl),
		retry: client.retry,
		run: (plan, options, request) => run(startCall(client, Object.assign(emptyPlan(), plan), options), request),
	};
}

/** In place of openapi-fetch's own, which does not encode names and takes in what is added to `Object.prototype`. */
export function querySerializer(query: object): string {
	const given = Object.entries(query).filter(([, value]) => value !== undefined);
	return given.map((pair) => pair.map((part) => encodeURIComponent(String(part))).join("=")).join("&");
}

/** Runs a request until its response is final, in a span if the client has a tracer. */
function run<Data>(call: CallState<Data>, request: RequestOnce): Promise<Reply<Data>> {
	const { client, plan, route } = call;
	const { tracer, baseUrl } = client;
	if (!tracer) return runAttempts(call, request);
	const { operation, agencyId, operationId } = plan;
	const { method, path } = route;
	const start = { operation, method, path, agencyId, operationId, baseUrl };
	return inTrace(tracer, start, (endTrace) => runAttempts(call, request, endTrace));
}

/** Makes attempts until one is final. p-retry owns the loop and counts them. */
async function runAttempts<Data>(
	call: CallState<Data>,
	request: RequestOnce,
	endTrace?: EndTrace,
): Promise<Reply<Data>> {
	const { client, plan } = call;
	const isAbandoned = (): boolean => plan.abandon?.aborted === true;
	try {
		const data = await pRetry((number) => attempt(call, number, request), loopOf(call));
		const { head = noHead, attempts } = call;
		const correlationId = () => correlationIdOf(call);
		refund(call);
		reportAttempt(call, undefined, undefined);
		if (client.onContractDrift) reportDrift(client.onContractDrift, plan.operation, data, correlationId());
		endTrace?.({ status: head.status, attempts, correlationId: correlationId() }, isAbandoned());
		return { data, head, attempts, correlationId };
	} catch (ended) {
		const error = ended instanceof Interruption ? ended.thrown : ended;
		const failure = ended instanceof Interruption ? ended.failure : ended;
		if (isPartnerError(failure)) reportAttempt(call, failure, undefined);
		endTrace?.(isPartnerError(error) ? error : { attempts: call.attempts }, isAbandoned());
		throw error;
	}
}

const noHead: TransportHead = { status: 200, headers: new Map() };

/** The options of p-retry, all of them: it reads each, and a library can have added to `Object.prototype`. */
function loopOf<Data>(call: CallState<Data>): RetryLoop {
	return {
		retries: call.retry.attempts - 1,
		shouldRetry: ({ error }) => waitToRetry(call, error),
		// `waitToRetry` waits, because of Retry-After and the deadline.
		minTimeout: 0,
		maxTimeout: 0,
		factor: 1,
		randomize: false,
		maxRetryTime: Number.POSITIVE_INFINITY,
		signal: undefined,
		unref: false,
		onFailedAttempt: () => {},
		shouldConsumeRetry: () => true,
	};
}

/** Waits before the next attempt. False if the error is final. */
async function waitToRetry<Data>(call: CallState<Data>, error: Error): Promise<boolean> {
	if (!isPartnerError(error)) return false;
	const waitMs = (await hasNewKey(call, error)) ? 0 : waitBefore(call, error);
	if (waitMs === undefined) return false;
	reportAttempt(call, error, waitMs);
	call.lastError = error;
	call.lastWaitMs = waitMs;
	// An abort ends the wait. The next attempt reports it.
	if (waitMs > 0) await sleep(waitMs, call.signals);
	return true;
}

/** Makes one attempt: its data, or its error, complete with what all attempts have shown. */
async function attempt<Data>(call: CallState<Data>, number: number, request: RequestOnce): Promise<Data> {
	call.head = undefined;
	call.isCopy = false;
	call.durationMs = undefined;
	call.attempt = number;
	// A blocked event loop can stretch the wait before a retry. Send nothing that has no time left for a response.
	if (leftMs(call) <= (call.lastError ? roomMs(call) / 2 : 0))
		throw timedOut(call, "not_sent", "complete answer", true);
	const { lastError } = call;
	const { renew } = call.plan;
	if (renew && lastError && beginLeftMs(call) < roomMs(call)) {
		// Without a reading there is no retry.
		const begin = await renew(call.deadlineMs, lastError).catch((error: unknown) =>
			Promise.reject(new Interruption(error)),
		);
		call.beginAt = begin.at;
		call.beginDate = begin.date;
	}
	const init: WholeInit = {
		fetch: (plain) => sendOnce(call, plain as unknown as PlainRequest),
		method: call.route.method,
		headers: undefined,
		bodySerializer: undefined,
		pathSerializer: undefined,
		baseUrl: undefined,
		querySerializer: undefined,
		Request: undefined,
		parseAs: undefined,
		middleware: undefined,
		body: undefined,
		params: noParameters,
	};
	const answer = await request(init).then(
		(read) => new Secret(read),
		// openapi-fetch quotes a body that is not JSON.
		(thrown: unknown) => (isPartnerError(thrown) || thrown instanceof Interruption ? thrown : unreadable(call)),
	);
	if (!(answer instanceof Secret)) throw answer;
	const { head, client } = call as CallState<Data>;
	// It is the service that has answered, so that the base URL is right.
	if (isOfService(head?.status ?? 0, answer.reveal().error)) client.service.hasAnswered = true;
	const judged = judge(call, answer);
	client.service.hasAnswered = true;
	return judged;
}

/** Limit of a decoded body. A compressed body of a few hundred bytes can unpack to 300 MB. */
const maxBytes = 10 * 1024 * 1024;

/** Sends one request with its key and reads the whole response, so that the time limit covers all of it. */
async function sendOnce<Data>(call: CallState<Data>, { url, method, body }: PlainRequest): Promise<Response> {
	const { client, plan } = call;
	const startedAt = performance.now();
	const limit = new Limit(call);
	let isSent = false;
	let ended: Response | Error;
	let isAsking = false;
	try {
		// A send waits for the end of the current tick, so that an abort right after the call stops it.
		if (plan.isWrite) await undefined;
		limit.check(0);
		limit.signal.throwIfAborted();
		const reading = readKey(call);
		isAsking = !(reading instanceof Secret);
		const key = reading instanceof Secret ? reading : await limit.race(reading);
		isAsking = false;
		// The key can have taken long, or the process can have been stopped meanwhile. No timer has fired for that yet.
		limit.check(0);
		limit.signal.throwIfAborted();
		isSent = true;
		call.attempts++;
		call.keys.push(key);
		// Merged here and not by openapi-fetch, whose `Headers` would have to be read again.
		const headers = { ...call.headers, ...(body !== undefined && { "content-type": "application/json" }) };
		Object.defineProperty(headers, "authorization", authorizationOf(key));
		const noStore = !plan.isWrite;
		const request = { method, url, headers, body, noStore, once: !noStore && plan.operationId === undefined };
		const check = () => limit.check(longestGraceMs);
		const control = { maxBytes, signal: limit.signal, check, ...(plan.beginBy && { hasBeginBy: true }) };
		const answer = await limit.race(Promise.resolve(client.transport(request, control)));
		if (!isAnswer(answer)) throw noResponse();
		const { status, headers: received, text } = answer;
		call.head = { status, headers: received };
		const isRepeat = client.answers.note(received.get("x-correlation-id"), url.split("?", 1)[0] ?? url);
		call.isCopy = isRepeat || isAged(received);
		ended = bufferedResponse(call, status, status < 300 ? text : (text ?? ""));
	} catch (error) {
		ended = endOf(call, error, limit, { isSent, isAsking });
	} finally {
		limit.end();
		// An attempt that was aborted before its request is none.
		if (isSent || limit.cutBy !== "abort") call.durationMs = performance.now() - startedAt;
	}
	// Outside of `catch`, because what was thrown may hold the key.
	if (ended instanceof Error) throw ended;
	return ended;
}

/** Whether a transport has wrapped what it caught. Not by `instanceof`: `nodeHttp` is in a bundle of its own. */
const isWrapped = (error: unknown): error is { fault: unknown } =>
	Object.hasOwn(Object(error), "fault") ||
	(error instanceof Error && Object.hasOwn(Object.getPrototypeOf(error), "fault"));

/** How a request without a complete response ends: by its error, or by its status alone. */
function endOf<Data>(
	call: CallState<Data>,
	error: unknown,
	limit: Limit,
	{ isSent, isAsking }: { isSent: boolean; isAsking: boolean },
): Response | Error {
	const { plan } = call;
	const { head, connected }: TransportFault = Object(error);
	// A transport that wraps what it caught may have caught undefined.
	const fault = isWrapped(error) ? error.fault : error;
	call.head ??= head;
	// Of the key. One that a transport rejects with belongs to another call.
	if (!isSent && (isPartnerError(error) || error instanceof Interruption)) return error;
	const isSteered = !call.head && limit.cutBy === undefined && isControlFlow(fault);
	// Without its body, an error status is not the service's word. It still says more than a lost connection.
	if (head && head.status >= 300 && limit.cutBy !== "abort") return bufferedResponse(call, head.status, "");
	const proven = isSent && connected !== false ? "unknown" : "not_sent";
	if (limit.cutBy === "abort")
		return abortError(
			factsOf(call, proven),
			call.signals.find((signal) => signal.aborted),
		);
	// It may have waited for a connection until its time was up.
	const isLate = limit.cutBy === "timeout" && proven === "not_sent" && beginLeftMs(call) <= 0;
	if (limit.cutBy === "late" || isLate) return tooLate(call, proven);
	if (limit.cutBy === "timeout")
		return timedOut(call, proven, isSent ? "complete answer" : "key", limit.isDeadline, isAsking);
	if (isSteered) {
		const cause = repeatsRequest(call, fault) ? shownFacts(call, fault) : fault;
		const facts = { ...factsOf(call, proven), retryable: true, cause };
		const failure = new PartnerConnectionError(
			`${plan.operation}: interrupted by what fetch or transport threw`,
			facts,
		);
		// If a send may have gone out, its outcome and its id must not be lost.
		return new Interruption(failure.outcome === "unknown" ? failure : fault, failure);
	}
	return lostConnection(fault, connected, call);
}

/** Whether a transport of the caller gave what it should. */
function isAnswer(given: unknown): given is TransportAnswer {
	const { status, headers, text }: Partial<TransportAnswer> = Object(given);
	const isText = text === undefined || typeof text === "string";
	return typeof status === "number" && typeof headers?.get === "function" && isText;
}

/** A response as openapi-fetch reads it: by `text`, because it has no length. Without a text it is too large. */
function bufferedResponse<Data>(call: CallState<Data>, status: number, text: string | undefined): Response {
	const read = async (): Promise<string> => {
		if (text === undefined) throw oversized(call);
		return text;
	};
	return { status, ok: status < 300, headers: noHead.headers, text: read } as unknown as Response;
}

/** The error of a request that was not written, because its latest moment to begin had passed. */
function tooLate<Data>(call: CallState<Data>, outcome: Outcome): PartnerError {
	const { plan, lastError } = call;
	const facts = { ...factsOf(call, outcome), field: "beginBy", retryable: true, cause: lastError };
	// An attempt before, or a request that the caller's `fetch` made before, may have been written.
	const end = facts.outcome === "not_sent" ? "not sent" : "stopped";
	return new PartnerTimeoutError(`${plan.operation}: ${end}, because it could not begin in time`, facts);
}

function timedOut<Data>(
	call: CallState<Data>,
	outcome: Outcome,
	missing: string,
	isDeadline: boolean,
	isAsking = false,
): PartnerError {
	const { plan, timeoutMs, deadlineMs, lastError } = call;
	const limit = isDeadline ? `before the deadline of ${deadlineMs} ms` : `within ${timeoutMs} ms`;
	const field = isAsking ? "apiKey" : undefined;
	const facts = { ...factsOf(call, outcome), field, retryable: true, cause: isDeadline ? lastError : undefined };
	return new PartnerTimeoutError(`${plan.operation}: no ${missing} ${limit}`, facts);
}
