import { onAbort, untilAborted } from "../shared/signals.ts";
import { ignoreErrors } from "./attempt-event.ts";
import {
	noResponse,
	type Transport,
	type TransportControl,
	TransportError,
	type TransportHead,
	type TransportHeaders,
	usedResponse,
} from "./transport.ts";

/** What a `fetch` is called with. */
export interface FetchInit {
	/** `GET`, `POST` and so on. */
	method: string;
	/** Lower-case names. */
	headers: Record<string, string>;
	/** JSON. */
	body?: string;
	/** A redirect is not followed: it would lose a send, or carry it to another host. */
	redirect: "manual";
	/** Set for reads, where the runtime knows the option. */
	cache?: "no-store";
	/** Aborts on a time-out, or when the caller aborts. */
	signal: AbortSignal;
}

/** What is used of the response of a `fetch`. */
export interface FetchResponse {
	/** HTTP status. */
	readonly status: number;
	/** Iterable too, like every `Headers`. */
	readonly headers: {
		/** The value of a header, several values joined by `, `. */
		get: (name: string) => string | null;
	};
	/** A web stream is read up to the size limit. Anything else is read by `text`. */
	readonly body: unknown;
	/** Reads the whole body. */
	text: () => Promise<string>;
}

/** A `fetch` function of the runtime, undici or node-fetch, or your own around one of them. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** The limits of one request, and what the client tells this transport about them. */
interface FetchControl extends TransportControl {
	/** Whether the request has a latest moment to begin, which holds however long a `fetch` of the caller's waits. */
	readonly hasBeginBy?: true;
}

/**
 * The transport over `fetch`.
 *
 * @param given looked up as `globalThis.fetch` at each request when undefined, so that mocks and instrumentation that
 * are installed later work
 */
export function createFetchTransport(given: Fetch | undefined): Transport {
	watchConnections();
	// Checked at the first read, because touching `Request` loads all of Node's fetch.
	let canSkipCache: boolean | undefined;
	return async ({ method, url, headers, body, noStore, once }, control: FetchControl) => {
		const { maxBytes, signal } = control;
		const init: FetchInit = { method, headers, redirect: "manual", signal };
		if (body !== undefined) init.body = body;
		if (noStore && (canSkipCache ??= supportsCache())) init.cache = "no-store";
		// A `fetch` of the caller's may not know that option.
		if (noStore) init.headers["cache-control"] ??= "no-cache";
		const connection = once && !given ? freshConnection() : undefined;
		const fetch: Fetch | undefined = given ?? globalThis.fetch;
		let head: TransportHead | undefined;
		let failure: TransportError;
		const send: Send = { method, url, control, mayRepeat: given !== undefined, isWritten: false, isStopped: false };
		try {
			// The test environments of jsdom have none.
			if (!fetch) throw Object.assign(new TypeError("no fetch"), { code: "ERR_NO_FETCH" });
			const call = () => fetch(url, Object.assign(init, connection));
			// A read that goes out late does no harm.
			const response = await (noStore ? call() : carry(send, call));
			const isGiven = isResponse(response);
			// A status below 200 is not a final one. A `fetch` that ignores its signal comes back after the abort.
			if (!isGiven || response.status < 200 || signal.aborted) {
				discard(Object(response));
				throw isGiven ? new TypeError("no usable response") : noResponse();
			}
			// Mocks often return one Response for each call.
			if (Object(response).bodyUsed === true || Object(response.body).locked === true) throw usedResponse();
			const { status } = response;
			const received = response.headers as TransportHeaders;
			head = { status, headers: received };
			// The body of a redirect says nothing.
			if (status >= 300 && status < 400) {
				discard(response);
				return { ...head, text: "" };
			}
			return { status, headers: received, text: await read(response, { maxBytes, signal }) };
		} catch (fault) {
			const isUnsent = send.isStopped || isFailedConnect(fault);
			// A `fetch` of the caller's may have repeated a request that was written.
			const connected = send.isWritten ? true : isUnsent ? false : undefined;
			failure = new TransportError(fault, { head, connected });
		} finally {
			waiting.delete(send);
			// A connection keeps the context in which it was made.
			send.control = undefined;
			connection?.client?.close();
		}
		throw failure;
	};
}

/**
 * Options of the runtime's own fetch that give a request a new connection. Bun and Deno repeat a request by themselves if
 * it was sent on a connection that they had kept, and the service closes that. Bun takes `keepalive`, which is false by
 * default elsewhere, and Deno takes `client`.
 */
function freshConnection(): { keepalive: false; client?: { close: () => void } | undefined } {
	const { Deno } = globalThis as unknown as {
		Deno?: { createHttpClient?: (options: object) => { close: () => void } };
	};
	return { keepalive: false, client: Deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 }) };
}

/** The errors of connections that undici, which is Node's own fetch, did not get. */
let failedConnects: WeakSet<object> | undefined;

/** A send on its way to the network. */
interface Send {
	readonly method: string;
	readonly url: string;
	/** Undefined when there is nothing more to check. */
	control: FetchControl | undefined;
	/** Whether the `fetch` is the caller's own, which may make the request again. */
	readonly mayRepeat: boolean;
	/** Whether a request of it was written. */
	isWritten: boolean;
	/** Whether its time was up before a request could be written. */
	isStopped: boolean;
}

/** What is used of a request of undici. */
interface UndiciRequest {
	readonly method?: unknown;
	readonly origin?: unknown;
	readonly path?: unknown;
}

/** The send whose `fetch` is being called. Most often undici makes the request before that call returns. */
let starting: Send | undefined;

/** What is used of Node's `AsyncLocalStorage`. Runtimes without it have no such type. */
interface Contexts {
	run: <Result>(send: Send, call: () => Result) => Result;
	getStore: () => Send | undefined;
}

/** The sends of the contexts in which undici makes its requests. Undefined until the first send that must begin in time. */
let contexts: Contexts | undefined;

/** Undefined in runtimes that have no such thing. */
let createContexts: (() => Contexts) | undefined;

/** The sends that undici has made no request of so far, in the order of their calls. */
const waiting = new Set<Send>();

/** Calls `fetch` so that the requests which undici makes for it are known to belong to the send. */
function carry<Result>(send: Send, call: () => Result): Result {
	// Not before it is needed, because in Node 20 and 22 it slows down every promise of the process.
	if (send.control?.hasBeginBy) contexts ??= createContexts?.();
	const before = starting;
	starting = send;
	waiting.add(send);
	try {
		return contexts ? contexts.run(send, call) : call();
	} finally {
		starting = before;
	}
}

/**
 * Learns from Node which errors concern connections, because most of them do not show it: cut handshakes, proxies
 * that refuse. It also learns when undici has a connection and is about to write a send to it, and checks the time.
 */
function watchConnections(): void {
	if (failedConnects) return;
	const failed = new WeakSet();
	failedConnects = failed;
	const { process } = globalThis;
	// The edge runtime of Next.js has the functions of `process` too, and each of them throws.
	if (!process?.versions?.node) return;
	const hooks = process.getBuiltinModule?.("node:async_hooks");
	if (hooks?.AsyncLocalStorage) createContexts = () => new hooks.AsyncLocalStorage();
	const diagnostics = process.getBuiltinModule?.("node:diagnostics_channel");
	diagnostics?.subscribe("undici:client:connectError", (message) => {
		const { error }: { error?: unknown } = Object(message);
		if (typeof error === "object" && error !== null) failed.add(error);
	});
	const sends = new WeakMap<object, Send>();
	diagnostics?.subscribe("undici:request:create", (message) => {
		const { request } = message as { request: UndiciRequest };
		const send = starting ?? contexts?.getStore();
		if (!send?.control || !isRequestOf(send, request)) return;
		// The context can belong to a connection that another send has made: see `sendHeaders`.
		if (!waiting.delete(send) && !send.mayRepeat) return;
		sends.set(request, send);
	});
	diagnostics?.subscribe("undici:client:sendHeaders", (message) => {
		const { request, socket } = message as {
			request: UndiciRequest;
			socket?: { destroyed: boolean; destroy: () => void };
		};
		const send = sends.get(request) ?? firstQueued(request);
		if (!send?.control) return;
		const { check, signal } = send.control;
		sends.set(request, send);
		check();
		if (!signal.aborted || !socket) {
			send.isWritten = true;
			return;
		}
		// The abort destroys a connection of HTTP/1. Over HTTP/2, which Node 26 prefers, undici would write the request all the same.
		if (!socket.destroyed) socket.destroy();
		send.isStopped = true;
	});
	diagnostics?.subscribe("undici:request:headers", (message) => {
		const { request, response } = message as { request: object; response: { statusCode: number } };
		const send = sends.get(request);
		// What its context brings after that is another request, such as another send on the same connection.
		if (send && response.statusCode >= 200 && response.statusCode < 300) send.control = undefined;
	});
}

/**
 * Whether a request belongs to a send, and isn't one that the caller's `fetch` makes beside it, for a token or a log. The
 * host and the beginning of the path may be a gateway's.
 */
function isRequestOf({ method, url }: Send, request: UndiciRequest): boolean {
	return request.method === method && endOf(request.path) === endOf(url);
}

/** The last two segments of a path. */
const endOf = (path: unknown): string => String(path).split("?", 1).join("").split("/").slice(-2).join("/");

/**
 * The send of a request that undici makes in the context of a connection: with a limit of connections it makes the request when
 * one is free, in the order of the calls.
 */
function firstQueued({ method, origin, path }: UndiciRequest): Send | undefined {
	for (const send of waiting) {
		// A request that was aborted in the queue is never written.
		if (send.method !== method || send.url !== `${origin}${path}` || send.control?.signal.aborted) continue;
		waiting.delete(send);
		return send;
	}
	return undefined;
}

/** Whether a `fetch` gave what is used of a response. A mock may not. */
function isResponse(given: unknown): given is FetchResponse {
	const { status, headers, text, body }: Partial<FetchResponse> = Object(given);
	const isReadable = typeof text === "function" || typeof Object(body).getReader === "function";
	return typeof status === "number" && !Number.isNaN(status) && typeof headers?.get === "function" && isReadable;
}

/** Whether a request failed before it had a connection, so that nothing was sent. */
function isFailedConnect(fault: unknown): boolean {
	// Fetch wraps the error of a connection. If a proxy refuses a tunnel, it wraps it twice.
	let error = fault;
	for (let depth = 0; depth < 3 && typeof error === "object" && error !== null; depth++) {
		const { message, cause }: { message?: unknown; cause?: unknown } = error;
		if (failedConnects?.has(error) || String(message).includes(cutHandshake)) return true;
		error = cause;
	}
	return false;
}

/** Node's message for a connection that ends in its TLS handshake. node-fetch has it in its error. */
const cutHandshake = "Client network socket disconnected before secure TLS connection was established";

/** Some workers reject the option `cache`. */
function supportsCache(): boolean {
	return typeof globalThis.Request === "function" && "cache" in globalThis.Request.prototype;
}

/** Reads the whole body; resolves with undefined when it exceeds the limit. */
async function read(
	response: FetchResponse,
	control: Pick<TransportControl, "maxBytes" | "signal">,
): Promise<string | undefined> {
	const { maxBytes, signal } = control;
	const { headers } = response;
	const body = response.body as Partial<ReadableStream<Uint8Array>> | null | undefined;
	const length = Number(headers.get("content-length") ?? Number.NaN);
	if (length > maxBytes) {
		discard(response);
		return undefined;
	}
	// `content-length` counts compressed bytes: only without an encoding does it bound what `text()` reads.
	const isBounded = length >= 0 && !headers.get("content-encoding");
	if (isBounded || typeof body?.getReader !== "function") {
		const text: unknown = await untilAborted(response.text(), signal);
		if (typeof text !== "string") throw noResponse();
		return text.length > maxBytes ? undefined : text;
	}
	const reader = body.getReader();
	const cancel = (): void => ignoreErrors(() => reader.cancel());
	// Deferred, because a cloned body rejects unhandled when the abort and the cancellation come at once.
	const remove = onAbort(signal, () => setTimeout(cancel));
	try {
		// The body of a `fetch` that ignores its signal may never end.
		return await untilAborted(readAll(reader, maxBytes, cancel), signal);
	} finally {
		remove();
	}
}

async function readAll(
	reader: ReadableStreamDefaultReader<Uint8Array>,
	maxBytes: number,
	cancel: () => void,
): Promise<string | undefined> {
	const decoder = new TextDecoder();
	let text = "";
	let bytes = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text + decoder.decode();
		// An empty chunk counts too, because an endless stream of them must end.
		bytes += value.byteLength || 1000;
		if (bytes > maxBytes) {
			cancel();
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}

/** Cancels an unread body, because it holds its connection. */
function discard({ body }: FetchResponse): void {
	ignoreErrors(() => (body as Partial<ReadableStream> | null | undefined)?.cancel?.());
}
