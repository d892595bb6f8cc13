/** One HTTP request, complete and ready to send. */
export interface TransportRequest {
	/** `GET`, `POST` and so on. */
	method: string;
	/** Absolute URL. It can hold a phone number: keep it out of logs. */
	url: string;
	/** Lower-case names. The object is this request's own. `authorization` is a getter, so that no log of variables shows the key. */
	headers: Record<string, string>;
	/** JSON, or undefined for a request without a body. */
	body: string | undefined;
	/** Whether a cache between the caller and the service must not answer. True for reads. */
	noStore: boolean;
	/** Whether the request must not be repeated, not even by the runtime. True for writes without an operationId. */
	once: boolean;
}

/** Headers of a response, read by lower-case name. A `Headers` or a `Map` fits. */
export interface TransportHeaders extends Iterable<[string, string]> {
	/** The value, several values joined by `, `. */
	get: (name: string) => string | null | undefined;
}

/** Status and headers of a response. */
export interface TransportHead {
	/** 200 or higher. */
	status: number;
	/** As received. */
	headers: TransportHeaders;
}

/** One HTTP response with its whole body. */
export interface TransportAnswer extends TransportHead {
	/** The decoded body. Undefined when it has more than `maxBytes`. */
	text: string | undefined;
}

/** The limits of one request. */
export interface TransportControl {
	/** Limit of the decoded body in bytes. Past it the transport stops reading. */
	readonly maxBytes: number;
	/**
	 * Aborts on a time-out, with a reason named `TimeoutError`, or when the caller aborts. The transport then ends the request
	 * and rejects at once. The reason of a caller's `AbortSignal.timeout` has this name too.
	 */
	readonly signal: AbortSignal;
	/**
	 * Aborts `signal` if the time is up. Call it when there is a connection, right before you write the request to it: in a
	 * process that was stopped meanwhile, no timer has fired yet.
	 */
	readonly check: () => void;
}

/** What a transport knows about a request that failed. A transport can set these fields on the error that it rejects with. */
export interface TransportFault {
	/** Status and headers of a response whose body did not come to its end. A lost body must not hide the status. */
	head?: TransportHead | undefined;
	/** False if there was never a connection to the service, which proves that nothing was sent. Undefined if it cannot know. */
	connected?: boolean | undefined;
	/** The error of the runtime, if the transport has wrapped it. */
	fault?: unknown;
}

/**
 * Sends one request and reads its whole response: the only place where the client touches the network. It never follows
 * a redirect and never retries. It rejects if the response is incomplete or absent.
 */
export type Transport = (request: TransportRequest, control: TransportControl) => Promise<TransportAnswer>;

/** Of what a function returned that is no response: most often a mock. */
export const noResponseCode = "ERR_NO_RESPONSE";

export function noResponse(): TypeError {
	return Object.assign(new TypeError("no response"), { code: noResponseCode });
}

/** Of a response that somebody has read already, such as one that a mock returns for each call. */
export const usedResponseCode = "ERR_USED_RESPONSE";

export function usedResponse(): TypeError {
	return Object.assign(new TypeError("used response"), { code: usedResponseCode });
}

/** The error of the transports of this package. */
export class TransportError extends Error implements TransportFault {
	/** No field, because what a `fetch` throws may hold the key: see `Secret`. */
	readonly #fault: unknown;
	readonly head: TransportHead | undefined;
	readonly connected: boolean | undefined;

	constructor(fault: unknown, { head, connected }: Pick<TransportFault, "head" | "connected">) {
		super("no complete response");
		this.#fault = fault;
		this.head = head;
		this.connected = connected;
	}

	get fault(): unknown {
		return this.#fault;
	}
}
