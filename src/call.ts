import { blame, type Caller } from "./caller.ts";
import { isPartnerError, type PartnerError } from "./errors.ts";

/** What is known of the HTTP side of a call. */
export interface CallResponse {
	/** HTTP status of the answer. */
	status: number;
	/** The answer's own headers. */
	headers: Headers;
	/** `X-Correlation-Id`: quote it to support. Absent when a gateway dropped it. */
	correlationId: string | undefined;
	/** Requests made. */
	attempts: number;
}

/** Data with the HTTP side of the call that brought it. */
export interface Answered<Data> {
	/** What the operation returns, checked against the contract. */
	data: Data;
	/** The HTTP side of it: status, headers, correlation id, number of attempts. */
	response: CallResponse;
}

/** What `.result()` resolves to: `ok` tells the branches apart. */
export type Result<Data, Failure extends PartnerError> =
	| {
			/** The call succeeded. */
			ok: true;
			/** What the operation returns. */
			data: Data;
			/** `X-Correlation-Id`: quote it to support. Absent when a gateway dropped it. */
			correlationId: string | undefined;
	  }
	| {
			/** The call failed. */
			ok: false;
			/** One of the errors that the operation can end in, told apart by `_tag`. */
			error: Failure;
	  };

/** A call that is under way: a real Promise of its data. */
export interface Call<Data, Failure extends PartnerError> extends Promise<Data> {
	/** The data with status, headers, correlation id and number of attempts. */
	withResponse: () => Promise<Answered<Data>>;
	/** Never rejects for a PartnerError: a `switch` over `error._tag` is exhaustive. */
	result: () => Promise<Result<Data, Failure>>;
}

/** The Promise that calls return, of work that has begun. An error shows the caller's own frames. */
export function createCall<Data, Failure extends PartnerError>(
	work: Promise<Answered<Data>>,
	caller: Caller,
): Call<Data, Failure> {
	let response: CallResponse;
	const run = async (): Promise<Data> => {
		try {
			const answered = await work;
			response = answered.response;
			return answered.data;
		} catch (error) {
			throw isPartnerError(error) ? blame(error, caller) : error;
		}
	};
	const call = run();
	return Object.assign(call, {
		withResponse: () => call.then((data) => ({ data, response })),
		result: () =>
			call.then(
				(data): Result<Data, Failure> => ({ ok: true, data, correlationId: response.correlationId }),
				(error: unknown): Result<Data, Failure> => {
					// The transport throws what the operation's union lists, and nothing else of this package's.
					if (isPartnerError(error)) return { ok: false, error: error as Failure };
					throw error;
				},
			),
	});
}
