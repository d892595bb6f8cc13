/** One HTTP request, complete and ready to send. */
export interface ExchangeRequest {
	/** `GET`, `POST` and so on. */
	method: string;
	/** Absolute URL. It can hold a phone number: keep it out of logs. */
	url: string;
	/** Lower-case names. */
	headers: Readonly<Record<string, string>>;
	/** JSON, or undefined for a request without a body. */
	body: string | undefined;
	/** Whether a cache between the caller and the service must not answer. True for reads. */
	noStore: boolean;
}

/** Headers of a response, read by lower-case name. A `Headers` or a `Map` fits. */
export interface ExchangeHeaders extends Iterable<[string, string]> {
	/** The value, several values joined by `, `. */
	get: (name: string) => string | null | undefined;
}

/** Status and headers of a response. */
export interface ExchangeHead {
	/** 200 or higher. */
	status: number;
	/** As received. */
	headers: ExchangeHeaders;
}

/** One HTTP response with its whole body. */
export interface ExchangeAnswer extends ExchangeHead {
	/** The decoded body. Undefined when it has more than `maxBytes`. */
	text: string | undefined;
}

/** Shared by the client and its exchange while a request is under way. The exchange assigns the optional fields. */
export interface ExchangeControl {
	/** Limit of the decoded body in bytes. Past it the exchange stops reading. */
	readonly maxBytes: number;
	/** Ends the request at once. Assigned before the request goes out; the client calls it on a time-out or an abort. */
	cut?: (() => void) | undefined;
	/** Status and headers, assigned before the body is read. A body that breaks off must not hide the status. */
	head?: ExchangeHead | undefined;
	/** False until there is a connection to the service, so that nothing can have been sent; undefined when the exchange cannot know. */
	connected?: boolean | undefined;
}

/**
 * Sends one request and reads its whole response: the only place where the client touches the network. It never follows
 * a redirect and never retries. It rejects when there is no complete response.
 */
export type Exchange = (request: ExchangeRequest, control: ExchangeControl) => Promise<ExchangeAnswer>;
