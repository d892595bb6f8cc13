import { isPartnerError, type PartnerError } from "./errors.ts";
import type { Reply } from "./execute.ts";

/** The HTTP side of a successful call. */
export interface CallResponse {
	/** HTTP status. */
	status: number;
	/** Headers of the response. */
	headers: Headers;
	/** `X-Correlation-Id`. Quote it to support. Absent when a gateway dropped it. */
	correlationId: string | undefined;
	/** Number of requests made. */
	attempts: number;
}

/** Data with the HTTP side of the call that returned it. */
export interface Answered<Data> {
	/** The data of the operation, checked against the contract. */
	data: Data;
	/** Status, headers, correlation id and number of attempts. */
	response: CallResponse;
}

/** The value of `.result()`. Check `ok` to tell the branches apart. */
export type Result<Data, Failure extends PartnerError> =
	| {
			/** The call succeeded. */
			ok: true;
			/** The data of the operation, checked against the contract. */
			data: Data;
			/** `X-Correlation-Id`. Quote it to support. Absent when a gateway dropped it. */
			correlationId: string | undefined;
	  }
	| {
			/** The call failed. */
			ok: false;
			/** One of the errors that the operation can end in. Switch on its `_tag`. */
			error: Failure;
	  };

/** A call that is under way: a Promise of its data. */
export interface Call<Data, Failure extends PartnerError> extends Promise<Data> {
	/** Resolves with the data and with status, headers, correlation id and number of attempts. */
	withResponse: () => Promise<Answered<Data>>;
	/**
	 * Resolves with the data or with the error, and never rejects for a PartnerError. It rejects with what steers your
	 * framework, such as a redirect that the key function throws. A `switch` over `error._tag` is
	 * exhaustive. Call it at once, as in `ids.map((id) => get(id).result())`: Node.js ends a process if a call fails before
	 * anybody handles its error.
	 */
	result: () => Promise<Result<Data, Failure>>;
}

/** Starts a call. What `work` throws for invalid input rejects like any other failure. */
export function createCall<Data, Failure extends PartnerError>(work: () => Promise<Reply<Data>>): Call<Data, Failure> {
	let reply: Omit<Reply<Data>, "data"> = noReply;
	const run = async (): Promise<Data> => {
		try {
			const settled = await work();
			reply = settled;
			return settled.data;
		} catch (error) {
			// V8 keeps ten frames. Taken here, the stack has one of this package, and the rest are the caller's.
			if (isPartnerError(error)) Error.captureStackTrace?.(error);
			throw error;
		}
	};
	const call = run();
	return Object.assign(call, {
		// Async functions, because JavaScriptCore names a caller in the stack only where it follows an `await`.
		withResponse: async () => ({ data: await call, response: responseOf(reply) }),
		result: async (): Promise<Result<Data, Failure>> => {
			try {
				return { ok: true, data: await call, correlationId: reply.correlationId() };
			} catch (error) {
				// The errors of this package that a call throws are those that its operation lists.
				if (isPartnerError(error)) return { ok: false, error: error as Failure };
				throw error;
			}
		},
	});
}

/**
 * A call that starts when it is first used: awaited, or asked for its result. A Promise for every tool, and a class, because its
 * methods can be defined even where `Promise.prototype` is frozen.
 */
export class LazyCall<Data, Failure extends PartnerError> extends Promise<Data> implements Call<Data, Failure> {
	/** What `then` and `finally` return is an ordinary Promise. */
	static override get [Symbol.species](): PromiseConstructor {
		return Promise;
	}

	readonly #start: () => Call<Data, Failure>;

	constructor(work: () => Promise<Reply<Data>>) {
		let settle: [resolve: (data: Data) => void, reject: (error: unknown) => void] | undefined;
		super((resolve, reject) => {
			settle = [resolve, reject];
		});
		const [resolve, reject] = settle ?? [];
		// It has the state of the call, for tools that read it. Settled in here, because V8 follows a promise to the caller
		// only if no other call waits for it.
		const settling = async (): Promise<Reply<Data>> => {
			try {
				const reply = await work();
				resolve?.(reply.data);
				return reply;
			} catch (error) {
				// Who uses the call handles its error.
				super.then(undefined, () => {});
				reject?.(error);
				throw error;
			}
		};
		let started: Call<Data, Failure> | undefined;
		this.#start = () => {
			started ??= createCall(settling);
			return started;
		};
	}

	// biome-ignore lint/suspicious/noThenProperty: `await` calls it, and it is what starts the call
	override then<Done = Data, Failed = never>(
		onDone?: ((data: Data) => Done | PromiseLike<Done>) | null,
		onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
	): Promise<Done | Failed> {
		return this.#start().then(onDone, onFailed);
	}

	// These two call `then`. In zone.js they don't.
	override catch<Failed = never>(
		onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
	): Promise<Data | Failed> {
		return this.then(undefined, onFailed);
	}

	override finally(onEnd?: (() => void) | null): Promise<Data> {
		return this.#start().finally(onEnd);
	}

	readonly withResponse = (): Promise<Answered<Data>> => this.#start().withResponse();
	readonly result = (): Promise<Result<Data, Failure>> => this.#start().result();
}

/** The reply of a call that needed no request. */
export const noReply: Omit<Reply<never>, "data"> = {
	head: { status: 200, headers: new Map() },
	attempts: 0,
	correlationId: () => undefined,
};

function responseOf({ head: { status, headers }, attempts, correlationId }: Omit<Reply<never>, "data">): CallResponse {
	const all = headers instanceof Headers ? headers : new Headers([...headers]);
	return { status, headers: all, correlationId: correlationId(), attempts };
}

/**
 * Checks options at once, because the caller may change its object later. A bad option is thrown when the result is used,
 * so that it rejects like any other failure.
 */
export function orThrowLater<T>(check: () => T): () => T {
	try {
		const value = check();
		return () => value;
	} catch (error) {
		return () => {
			throw error;
		};
	}
}
