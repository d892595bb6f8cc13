import createApi, { type Client as Api } from "openapi-fetch";
import pRetry, { type Options as RetryLoop } from "p-retry";
import type { paths } from "../../generated/openapi.ts";
import { onAbort } from "../shared/signals.ts";
import { sleep } from "../shared/sleep.ts";
import { type CallPlan, type CallState, type ClientState, leftMs, startCall } from "./call-state.ts";
import { Interruption, isControlFlow } from "./control-flow.ts";
import { reportDrift } from "./drift.ts";
import {
	abortError,
	type FaultFacts,
	isPartnerError,
	type Outcome,
	PartnerConfigurationError,
	PartnerConnectionError,
	type PartnerError,
	PartnerTimeoutError,
} from "./errors.ts";
import { reportAttempt } from "./events.ts";
import type { ExchangeFault, ExchangeHead, ExchangeHeaders } from "./exchange.ts";
import { type ApiKey, type CallOptions, keyProblem, type RetryPolicy } from "./options.ts";
import { correlationIdOf } from "./redact.ts";
import { factsOf, judge, lostConnection, oversized, type Parsed, unreadable, word } from "./response.ts";
import { refund, roomMs, waitBefore } from "./retry.ts";
import { keyAfterRefusal } from "./shared-key.ts";
import { type EndTrace, inTrace } from "./trace.ts";

/** Data with the HTTP side of its response. */
export interface Reply<Data> {
	data: Data;
	response: ReplyHead;
}

/** The HTTP side of a successful call. */
export interface ReplyHead {
	status: number;
	headers: ExchangeHeaders;
	attempts: number;
	/** Checked against the parts of the request when somebody asks for it, because that takes long. */
	correlationId: () => string | undefined;
}

/** What openapi-fetch takes for one attempt. */
type Init = {
	fetch: (request: Request) => Promise<Response>;
	method: string;
};

export interface Transport {
	/** The retry options of the client. */
	retry: RetryPolicy;
	/** The requests of the contract, typed by it. */
	api: Api<paths>;
	/** Runs a request of `api` until its response is final. */
	run: <Data>(
		plan: CallPlan<Data>,
		options: CallOptions,
		request: (init: Init) => Promise<Parsed>,
	) => Promise<Reply<Data>>;
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

/** What a plan may leave out. With these fields of its own, a plan has none that a library has added to `Object.prototype`. */
const nothing = {
	route: undefined,
	agencyId: undefined,
	operationId: undefined,
	isChosenId: undefined,
	isWrite: undefined,
	secrets: undefined,
	verify: undefined,
	deadlineAt: undefined,
	abandon: undefined,
};

export function createTransport(client: ClientState): Transport {
	const { baseUrl } = client;
	const api = createApi<paths>({
		baseUrl,
		querySerializer,
		Request: PlainRequest as unknown as typeof Request,
	});
	return {
		api,
		retry: client.retry,
		run: (plan, options, request) => run(startCall(client, { ...nothing, ...plan }, options), request),
	};
}

/** In place of openapi-fetch's own, which does not encode names and takes in what is added to `Object.prototype`. */
export function querySerializer(query: object): string {
	const given = Object.entries(query).filter(([, value]) => value !== undefined);
	return given.map((pair) => pair.map((part) => encodeURIComponent(String(part))).join("=")).join("&");
}

/** Runs a request until its response is final, in a span if the client has a tracer. */
function run<Data>(call: CallState<Data>, request: (init: Init) => Promise<Parsed>): Promise<Reply<Data>> {
	const { client, plan, route } = call;
	const { tracer, baseUrl } = client;
	if (!tracer) return runAttempts(call, request);
	const { operation, agencyId, operationId } = plan;
	const { method, path } = route;
	const start = { operation, method, path, agencyId, operationId, baseUrl };
	return inTrace(tracer, start, (endTrace) => runAttempts(call, request, endTrace));
}

/** Makes attempts until one is final. p-retry owns the loop. The waits are ours, because of Retry-After and the deadline. */
async function runAttempts<Data>(
	call: CallState<Data>,
	request: (init: Init) => Promise<Parsed>,
	endTrace?: EndTrace,
): Promise<Reply<Data>> {
	const { client, plan } = call;
	const isAbandoned = (): boolean => plan.abandon?.aborted === true;
	try {
		const data = await pRetry(
			() => attempt(call, request),
			untilFinal((error) => waitToRetry(call, error)),
		);
		const { status, headers } = call.head ?? noHead;
		const { attempts } = call;
		const correlationId = () => correlationIdOf(call);
		refund(call);
		report(call, undefined, undefined);
		if (client.onContractDrift) reportDrift(client.onContractDrift, plan.operation, data, correlationId());
		endTrace?.({ status, attempts, correlationId: correlationId() }, isAbandoned());
		return { data, response: { status, headers, attempts, correlationId } };
	} catch (ended) {
		const error = ended instanceof Interruption ? ended.thrown : ended;
		endTrace?.(isPartnerError(error) ? error : { attempts: call.attempts }, isAbandoned());
		throw error;
	}
}

/** All options of p-retry. It adds each one that is missing, which takes longer than the rest of its work. */
function untilFinal(shouldRetry: (error: Error) => Promise<boolean>): RetryLoop {
	return {
		retries: Number.POSITIVE_INFINITY,
		factor: 1,
		minTimeout: 0,
		maxTimeout: Number.POSITIVE_INFINITY,
		maxRetryTime: Number.POSITIVE_INFINITY,
		randomize: false,
		signal: undefined,
		unref: false,
		onFailedAttempt: () => {},
		shouldRetry: ({ error }) => shouldRetry(error),
		shouldConsumeRetry: () => true,
	};
}

const noHead: ExchangeHead = { status: 200, headers: new Map() };

/** Waits before the next attempt. False if the error is final. */
async function waitToRetry<Data>(call: CallState<Data>, error: Error): Promise<boolean> {
	if (error instanceof Interruption && isPartnerError(error.thrown)) report(call, error.thrown, undefined);
	if (!isPartnerError(error)) return false;
	const waitMs = (await hasNewKey(call, error)) ? 0 : waitBefore(call, error);
	report(call, error, waitMs);
	if (waitMs === undefined) return false;
	call.lastError = error;
	call.lastWaitMs = waitMs;
	// An abort ends the wait. The next attempt reports it.
	if (waitMs > 0) await sleep(waitMs, call.signals);
	return true;
}

/** Whether a 401 is worth one more attempt: the key may have been rotated while the request was on its way. */
async function hasNewKey<Data>(call: CallState<Data>, error: PartnerError): Promise<boolean> {
	const { _tag, status, outcome } = error;
	const { apiKey } = call.client;
	// A gateway can check keys too.
	const isRefusedKey = _tag === "PartnerUnauthorized" || (_tag === "PartnerGatewayError" && status === 401);
	const isPossible = call.attempts < call.retry.attempts && leftMs(call) > roomMs(call);
	if (!isRefusedKey || typeof apiKey !== "function" || call.newKey !== undefined || !isPossible) return false;
	// The id of a send in doubt may not be known under another key.
	if (outcome === "unknown") return false;
	const limit = new Limit(call);
	try {
		const key = checkedKey(call, await limit.race(Promise.resolve(keyAfterRefusal(apiKey))));
		if (key === call.keys.at(-1)) return false;
		call.newKey = key;
		return true;
	} catch (thrown) {
		if (isControlFlow(thrown)) {
			report(call, error, undefined);
			throw new Interruption(thrown);
		}
		// Without another key the 401 is final.
		return false;
	} finally {
		limit.end();
	}
}

/** Makes one attempt: its data, or its error, complete with what all attempts have shown. */
async function attempt<Data>(call: CallState<Data>, request: (init: Init) => Promise<Parsed>): Promise<Data> {
	call.head = undefined;
	call.durationMs = undefined;
	call.attempt = call.attempts + 1;
	// A blocked event loop can stretch the wait before a retry. Send nothing that has no time left for a response.
	if (leftMs(call) <= (call.lastError ? roomMs(call) / 2 : 0))
		throw timedOut(call, "not_sent", "complete answer", true);
	const init: Init = {
		fetch: (plain) => sendOnce(call, plain as unknown as PlainRequest),
		// Here only for speed: openapi-fetch copies this object and sets it. In Node 20 a copy that gains a field is slow.
		method: call.route.method,
	};
	let parsed: Parsed;
	try {
		parsed = await request(init);
	} catch (error) {
		// openapi-fetch quotes a body that is not JSON.
		throw isPartnerError(error) || error instanceof Interruption ? error : unreadable(call);
	}
	return judge(parsed, call);
}

/** Limit of a decoded body. A compressed body of a few hundred bytes can unpack to 300 MB. */
const maxBytes = 10 * 1024 * 1024;

/** Sends one request with its key and reads the whole response, so that the time limit covers all of it. */
async function sendOnce<Data>(call: CallState<Data>, { url, method, body }: PlainRequest): Promise<Response> {
	const { client, plan } = call;
	const startedAt = performance.now();
	const limit = new Limit(call);
	let isSent = false;
	try {
		limit.check(0);
		limit.signal.throwIfAborted();
		const reading = readKey(call);
		// A send waits for the end of the current tick, so that an abort right after the call stops it.
		const key = typeof reading === "string" && !plan.isWrite ? reading : await limit.race(Promise.resolve(reading));
		// The key can have taken long, or the process can have been stopped meanwhile. No timer has fired for that yet.
		limit.check(0);
		limit.signal.throwIfAborted();
		isSent = true;
		call.attempts++;
		call.keys.push(key);
		// Merged here and not by openapi-fetch, whose `Headers` would have to be read again.
		const headers = {
			...call.headers,
			...(body !== undefined && { "content-type": "application/json" }),
			authorization: `Bearer ${key}`,
		};
		const noStore = !plan.isWrite;
		const request = { method, url, headers, body, noStore, once: !noStore && plan.operationId === undefined };
		const control = { maxBytes, signal: limit.signal, check: () => limit.check(longestGraceMs) };
		const { status, headers: received, text } = await limit.race(Promise.resolve(client.exchange(request, control)));
		call.head = { status, headers: received };
		if (text === undefined && status < 300) throw oversized(call);
		return bufferedResponse(status, text);
	} catch (error) {
		const { head, connected }: ExchangeFault = Object(error);
		// An exchange that wraps what it caught may have caught undefined.
		const fault = Object.hasOwn(Object(error), "fault") ? Object(error).fault : error;
		call.head ??= head;
		// Without its body, an error status is not the service's word. It still says more than a lost connection.
		if (head && head.status >= 300 && limit.cutBy !== "abort") return bufferedResponse(head.status, "");
		if (isPartnerError(error) || error instanceof Interruption) throw error;
		const proven = isSent && connected !== false ? "unknown" : "not_sent";
		if (limit.cutBy === "abort")
			throw abortError(
				factsOf(call, proven),
				call.signals.find((signal) => signal.aborted),
			);
		if (limit.cutBy === "timeout") throw timedOut(call, proven, isSent ? "complete answer" : "key", limit.isDeadline);
		if (!call.head && isControlFlow(fault)) {
			const facts = factsOf(call, proven);
			// If a send may have gone out, its outcome and its id must not be lost.
			if (facts.outcome !== "unknown") throw new Interruption(fault);
			const words = `${plan.operation}: interrupted by what fetch or http threw`;
			throw new Interruption(new PartnerConnectionError(words, { ...facts, retryable: true, cause: fault }));
		}
		throw lostConnection(fault, connected, call);
	} finally {
		limit.end();
		// An attempt that was aborted before its request is none.
		if (isSent || limit.cutBy !== "abort") call.durationMs = performance.now() - startedAt;
	}
}

/** A response as openapi-fetch reads it: by `text`, because it has no length. */
function bufferedResponse(status: number, text = ""): Response {
	const response = { status, ok: status < 300, headers: noHead.headers, text: async () => text };
	return response as unknown as Response;
}

/** The key of this attempt. A function is asked each time, so that a rotated key is used at once, except for a send in doubt. */
function readKey<Data>(call: CallState<Data>): string | Promise<string> {
	const { apiKey, baseUrl } = call.client;
	if (baseUrl === "") {
		const rule = "is required. Pass the URL of the service; is its environment variable set?";
		throw noKey(call, "baseUrl", rule);
	}
	// The service may not know the id of a send in doubt under another key, and the contact would get the text twice.
	const used = call.keys.at(-1);
	if (used !== undefined && call.lastError?.outcome === "unknown") return used;
	if (call.newKey !== undefined && !call.keys.includes(call.newKey)) return call.newKey;
	if (typeof apiKey === "function") return askForKey(call, apiKey);
	// `createClient` has checked a key that is there.
	return apiKey || checkedKey(call, apiKey);
}

async function askForKey<Data>(call: CallState<Data>, ask: Extract<ApiKey, () => unknown>): Promise<string> {
	let key: unknown;
	try {
		key = await ask();
	} catch (thrown) {
		if (isControlFlow(thrown)) throw new Interruption(thrown);
		const name = word(Object(thrown).name) ?? "Error";
		throw noKey(call, "apiKey", `its function failed (${name})`, { name });
	}
	return checkedKey(call, key);
}

function checkedKey<Data>(call: CallState<Data>, key: unknown): string {
	const rule = keyProblem(key, call.client.baseUrl);
	if (typeof key !== "string" || rule !== undefined) throw noKey(call, "apiKey", rule ?? "must be a string");
	return key;
}

/** @param cause what the key function threw, so that a later call may succeed */
function noKey<Data>(call: CallState<Data>, field: string, rule: string, cause?: FaultFacts): PartnerError {
	const retryable = cause !== undefined;
	return new PartnerConfigurationError({ ...factsOf(call, "not_sent"), field, rule, retryable, cause });
}

function timedOut<Data>(call: CallState<Data>, outcome: Outcome, missing: string, isDeadline: boolean): PartnerError {
	const { plan, timeoutMs, deadlineMs, lastError } = call;
	const limit = isDeadline ? `before the deadline of ${deadlineMs} ms` : `within ${timeoutMs} ms`;
	const facts = { ...factsOf(call, outcome), retryable: true, cause: isDeadline ? lastError : undefined };
	return new PartnerTimeoutError(`${plan.operation}: no ${missing} ${limit}`, facts);
}

/** Reports an attempt, unless it has not begun. */
function report<Data>(call: CallState<Data>, error: PartnerError | undefined, retryInMs: number | undefined): void {
	const { client, plan, durationMs } = call;
	if (durationMs === undefined || !(client.logger || client.onAttempt)) return;
	const { operation, agencyId, operationId, isWrite, abandon } = plan;
	const { code, name }: { code?: unknown; name?: unknown } = Object(error?.cause);
	// An abandoned call has no reader, and a 404 of a read is an answer.
	const isAnswer = error?._tag === "PartnerNotFound" && !isWrite;
	const level = abandon?.aborted ? "debug" : isAnswer ? "info" : undefined;
	const event = {
		operation,
		agencyId,
		attempt: call.attempt,
		status: call.head?.status,
		errorTag: error?._tag,
		errorCode:
			error?._tag === "PartnerConfigurationError"
				? word(name)
				: error?._tag === "PartnerConnectionError"
					? word(code)
					: undefined,
		correlationId: correlationIdOf(call),
		operationId,
		durationMs,
		retryInMs,
	};
	reportAttempt(client, event, level);
}

/** The longest that a time-out is put off for a response that may have arrived while the event loop was blocked. */
const longestGraceMs = 100;

type Timed = Pick<CallState<unknown>, "deadlineAt" | "deadlineDate" | "timeoutMs" | "signals">;

/** Cuts an attempt off when its time is up, or when a signal aborts. */
class Limit {
	cutBy: "timeout" | "abort" | undefined;
	/** Whether the time is that of the whole call. */
	isDeadline: boolean;
	readonly #controller = new AbortController();
	readonly #call: Timed;
	readonly #removers: (() => void)[];
	readonly #dueAt: number;
	#timer: ReturnType<typeof setTimeout>;
	#giveUp: (error: Error) => void = () => {};

	constructor(call: Timed) {
		const { deadlineAt, timeoutMs, signals } = call;
		const now = performance.now();
		this.isDeadline = deadlineAt - now <= timeoutMs;
		this.#dueAt = this.isDeadline ? deadlineAt : now + timeoutMs;
		this.#call = call;
		this.#removers = signals.map((signal) => onAbort(signal, () => this.#cut("abort")));
		this.#timer = setTimeout(() => {
			const lateMs = performance.now() - this.#dueAt;
			// After a blocked event loop the timer runs before the socket is read. Let a response that has arrived win.
			if (lateMs > 1) this.#timer = setTimeout(() => this.#cut("timeout"), Math.min(lateMs, longestGraceMs));
			else this.#cut("timeout");
		}, this.#dueAt - now);
	}

	/** Aborts when the attempt is cut off. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	/**
	 * Aborts `signal` if the time is up or a signal has aborted: an earlier listener can keep an abort event to itself.
	 *
	 * @param graceMs how long after the limit of the attempt a request may still go out; none does after the deadline
	 */
	check(graceMs: number): void {
		const isLate = leftMs(this.#call) <= 0;
		this.isDeadline ||= isLate;
		if (this.#call.signals.some(({ aborted }) => aborted)) this.#cut("abort");
		else if (isLate || performance.now() >= this.#dueAt + graceMs) this.#cut("timeout");
	}

	/** Settles with the work, or rejects when it is cut off and does not end by itself in the next turn of the event loop. */
	race<T>(work: Promise<T>): Promise<T> {
		return new Promise((resolve, reject) => {
			this.#giveUp = reject;
			work.then(resolve, reject);
		});
	}

	end(): void {
		clearTimeout(this.#timer);
		for (const remove of this.#removers) remove();
	}

	#cut(by: "timeout" | "abort"): void {
		if (this.cutBy) return;
		this.end();
		this.cutBy = by;
		// By the reason an exchange knows whether the service was silent or the caller gave up. A caller can set a time too.
		const isSilent = by === "timeout" || this.#call.signals.some(({ reason }) => reason?.name === "TimeoutError");
		this.#controller.abort(isSilent ? new DOMException("no answer in time", "TimeoutError") : undefined);
		// An exchange that listens rejects now, and says whether it had a connection and a status.
		this.#timer = setTimeout(() => this.#giveUp(new Error("cut")));
	}
}
