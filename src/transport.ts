import type { operations } from "../generated/openapi.ts";
import { operationTable } from "../generated/operations.ts";
import { type Answer, attempt, type Fetch } from "./attempt.ts";
import type { Answered } from "./call.ts";
import { type ContractDrift, tellDrift } from "./drift.ts";
import {
	abortError,
	type Facts,
	isPartnerError,
	type OperationId,
	type Outcome,
	PartnerConnectionError,
	type PartnerError,
	PartnerInvalidInput,
	PartnerTimeoutError,
	property,
	stamp,
} from "./errors.ts";
import type { CallOptions } from "./input.ts";
import { factsOf, judge } from "./judge.ts";
import { type Observers, observe } from "./observe.ts";
import { correlationIdOf, createRedactor, partsOfKey } from "./redact.ts";
import { type Budget, policyFrom, type RetryPolicy, retry } from "./retry.ts";
import { startTrace, type Tracer } from "./trace.ts";
import { requestInit, requestUrl } from "./wire.ts";

/** What a client gives to all its calls. */
export interface TransportOptions extends Observers {
	baseUrl: string | undefined;
	/** The key of the next attempt, checked. */
	apiKey: () => string | Promise<string>;
	fetch?: Fetch | undefined;
	timeoutMs?: number | undefined;
	deadlineMs?: number | undefined;
	retry: RetryPolicy;
	budget: Budget;
	userAgent: string | undefined;
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
	tracer?: Tracer | undefined;
}

/** The contract's good answer to an operation. */
type AnswerOf<Operation extends OperationId> = operations[Operation]["responses"][200]["content"]["application/json"];

/** An operation's parameters, as the contract names them, and its body where it has one: the bytes of every attempt. */
type RequestOf<Operation extends OperationId, Contract = operations[Operation]> = (Contract extends {
	parameters: { path: infer Path };
}
	? { path: Path }
	: { path?: undefined }) &
	(Contract extends { parameters: { query?: infer Query } }
		? { query?: { [Name in keyof Query]: Query[Name] | undefined } }
		: { query?: undefined }) &
	(Contract extends { requestBody: object } ? { body: string } : { body?: undefined });

/** What one call adds. */
export interface RequestOptions<Data> extends CallOptions {
	/** When the call ends that this request is a part of, on the clock of `performance.now()`. */
	deadlineAt?: number | undefined;
	/** Gives up the request when nobody waits for it any more. */
	abandon?: AbortSignal | undefined;
	/** What holds of a good answer beyond its schema: where it breaks, or undefined. */
	verify?: ((data: Data) => string | undefined) | undefined;
	/** What goes out in the call and must not come back in an error. */
	secrets?: readonly (string | undefined)[] | undefined;
	/** Of a send: its id, whether the caller chose it, and what claims the id as the first request goes out, or refuses. */
	send?: { operationId: string; chosen: boolean; claim: () => void } | undefined;
}

export type Transport = <Operation extends OperationId>(
	operation: Operation,
	request: RequestOf<Operation>,
	options: RequestOptions<AnswerOf<Operation>>,
) => Promise<Answered<AnswerOf<Operation>>>;

const defaults = {
	read: { timeoutMs: 15_000, deadlineMs: 30_000 },
	send: { timeoutMs: 30_000, deadlineMs: 60_000 },
} as const;

/** The way of every call: one URL, one body, attempts until one verdict stands: data, or a thrown error. */
export function createTransport(client: TransportOptions): Transport {
	return async <Operation extends OperationId>(
		operation: Operation,
		request: RequestOf<Operation>,
		options: RequestOptions<AnswerOf<Operation>>,
	): Promise<Answered<AnswerOf<Operation>>> => {
		const { send, signal, abandon } = options;
		const fetch = client.fetch ?? globalThis.fetch;
		const { method, path } = operationTable[operation];
		const { body }: { body?: string | undefined } = request;
		const wire = { method, isRead: !send, body, userAgent: client.userAgent };
		const preset = send ? defaults.send : defaults.read;
		const timeoutMs = options.timeoutMs ?? client.timeoutMs ?? preset.timeoutMs;
		const deadlineMs = options.deadlineMs ?? client.deadlineMs ?? preset.deadlineMs;
		const deadlineAt = options.deadlineAt ?? performance.now() + deadlineMs;
		const signals = [signal, abandon].filter((each) => each !== undefined);
		/** Of all attempts: a key that was rotated away is one too. */
		const keys = new Set<string>();
		const redactor = createRedactor(() => [...[...keys].flatMap(partsOfKey), ...(options.secrets ?? [])]);

		let attempts = 0;
		let outcome: Outcome = "not_sent";
		/** Of the last answer that had one. */
		let correlationId: string | undefined;
		let lastError: PartnerError | undefined;
		let durationMs = 0;
		/** Whether the request of the current attempt went out. */
		let dispatched = false;

		/** One attempt, from the key to the verdict. */
		const once = async (url: string): Promise<Answered<AnswerOf<Operation>>> => {
			const startedAt = performance.now();
			const leftMs = deadlineAt - startedAt;
			dispatched = false;
			if (leftMs <= 0) throw expired();
			const end = await attempt({
				fetch,
				url,
				init(signal) {
					const withKey = (key: string): RequestInit => {
						keys.add(key);
						return requestInit(wire, key, signal);
					};
					const key = client.apiKey();
					// A read goes out at once. A send lets the tick end, so that an abort in the same breath still stops it.
					return typeof key === "string" && !send ? withKey(key) : Promise.resolve(key).then(withKey);
				},
				timeoutMs: Math.min(timeoutMs, leftMs),
				signals,
				onDispatch() {
					if (attempts === 0) send?.claim();
					dispatched = true;
					attempts++;
				},
			});
			durationMs = performance.now() - startedAt;
			const id = end.headers && correlationIdOf(end.headers, redactor);
			correlationId = id ?? correlationId;
			// Data is asked about, and handed on, only where the operation's answer schema holds for it: its type's own source.
			const verify = (data: unknown): string | undefined => options.verify?.(data as AnswerOf<Operation>);
			const verdict = judge(end, { operation, dispatched, timeoutMs, verify, redactor });
			if (!verdict.ok) {
				// Once an attempt was ambiguous, a later one can settle it to `sent` and to nothing else.
				if (verdict.outcome === "sent" || outcome === "not_sent") outcome = verdict.outcome;
				const isLate = verdict.error._tag === "PartnerTimeoutError" && leftMs <= timeoutMs;
				throw stamp(isLate ? expired() : verdict.error, { correlationId: id, status: end.status });
			}
			const { data } = verdict as { data: AnswerOf<Operation> };
			tell(undefined, id, undefined);
			tellDrift(client.onContractDrift, operation, data, id);
			const { status, headers } = end as Answer;
			return { data, response: { status, headers, correlationId: id, attempts } };
		};

		const expired = (): PartnerError =>
			new PartnerTimeoutError(`${operation}: no complete answer before the deadline of ${deadlineMs} ms`, {
				retryable: true,
				cause: lastError,
			});

		const tell = (
			error: PartnerError | undefined,
			correlationId: string | undefined,
			retryInMs: number | undefined,
		): void =>
			observe(client, {
				operation,
				attempt: attempts,
				status: error ? error.status : 200,
				errorTag: error?._tag,
				errorCode: property(error?.cause, "code") as string | undefined,
				correlationId,
				operationId: send?.operationId,
				durationMs,
				retryInMs,
				isAbandoned: isAbandoned(),
			});

		/** Whether it ended because nobody waits for it any more: no failure, then. */
		const isAbandoned = (): boolean => abandon?.aborted === true;

		/** What the call knows that one attempt does not. */
		const facts = (): Facts => ({
			operation,
			attempts,
			...(send && { operationId: send.operationId, outcome }),
		});

		const endTrace = startTrace(client.tracer, operation, client.baseUrl);
		try {
			if (!client.baseUrl) throw new PartnerInvalidInput({ field: "baseUrl", rule: "is required" });
			if (!fetch) throw new PartnerInvalidInput({ field: "fetch", rule: "is required" });
			const url = requestUrl(client.baseUrl, path, request);
			const answered = await retry({
				run: () => once(url),
				policy: policyFrom(client.retry, options.retry),
				budget: client.budget,
				deadlineAt,
				roomMs: Math.min(1000, deadlineMs / 10),
				signals,
				onFailed(error, retryInMs) {
					lastError = stamp(error, facts());
					if (dispatched) tell(error, error.correlationId, retryInMs);
				},
				aborted: () => abortError(operation),
			});
			endTrace({ attempts, status: 200, correlationId: answered.response.correlationId, error: undefined });
			return answered;
		} catch (thrown) {
			// Anything else comes of a hostile argument or a fault in here: the caller learns what is known all the same.
			const error = isPartnerError(thrown)
				? thrown
				: new PartnerConnectionError(`${operation}: broke off`, { cause: factsOf(thrown) });
			if (error !== thrown && attempts > 0 && outcome === "not_sent") outcome = "unknown";
			stamp(error, { ...facts(), correlationId });
			if (send?.chosen && error._tag === "PartnerInternalError") {
				error.message += " (the operationId may have been used with a different body)";
			}
			endTrace({ attempts, status: error.status, correlationId, error: isAbandoned() ? undefined : error });
			throw error;
		}
	};
}
