import http, { type Agent, ClientRequest } from "node:http";
import https from "node:https";
import { Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { makeCuttable } from "./cuttable.ts";
import { IncomingResponse } from "./node-response.ts";
import { onAbort } from "./signal.ts";

/** Options of {@link nodeFetch}. */
export interface NodeFetchOptions {
	/**
	 * Connections to one host at the same time; what is beyond waits its turn.
	 * @default Infinity
	 */
	maxSockets?: number | undefined;
	/**
	 * How long an idle connection is kept, in milliseconds; less where the service says that it keeps it for less. One
	 * that outlives the service's own patience meets a reset.
	 * @default 4000
	 */
	keepAliveMs?: number | undefined;
	/**
	 * Certificates to trust, PEM, in place of the built-in ones.
	 * @default those of Node
	 */
	ca?: string | Buffer | (string | Buffer)[] | undefined;
	/** The agent of a proxy, as of `https-proxy-agent`. It takes all requests, and `maxSockets` and `keepAliveMs` are its own. */
	proxy?: Agent | undefined;
}

/** A fetch over node:http. `close()` ends its connections, those in use too. */
export type NodeFetch = ((input: string | URL | Request, init?: RequestInit) => Promise<Response>) & {
	/** Ends all connections, those in use too. */
	close: () => void;
};

/** As long as Node's own fetch waits for a connection: until then nothing of the request has gone out. */
const connectTimeoutMs = 10_000;

/**
 * A `fetch` for the client's option of this name that takes about half the time of the global one: node:http with
 * connections of its own, which mocks and instrumentation see. Answers are decoded (gzip, br, deflate) as they are read.
 * A redirect is handed over as it is, never followed. A body is a string, bytes, or absent.
 *
 * @throws RangeError when an option is no usable number, TypeError when it is of another kind
 * @example
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL,
 *   apiKey: process.env.MESSAGING_API_KEY,
 *   fetch: nodeFetch(),
 * });
 */
export function nodeFetch(options: NodeFetchOptions = {}): NodeFetch {
	check("options", "an object", typeof options === "object" && options !== null);
	const { maxSockets = Number.POSITIVE_INFINITY, keepAliveMs = 4000, ca, proxy } = options;
	if (maxSockets !== Number.POSITIVE_INFINITY) checkWhole("maxSockets", maxSockets);
	checkWhole("keepAliveMs", keepAliveMs);
	check("ca", "PEM: text, bytes, or a list", ca === undefined || [ca].flat().every(isPem));
	check("proxy", "an agent of node:http or node:https", !proxy || "addRequest" in Object(proxy));
	// One context for all connections: the agent would make one of `ca` for each, and a name of its text for each request.
	const trust = ca === undefined ? {} : { secureContext: createSecureContext({ ca }) };
	const pool = { keepAlive: true, maxSockets, timeout: keepAliveMs };
	const own = { "http:": new http.Agent(pool), "https:": new https.Agent(pool) };

	function exchange(url: URL, init: RequestInit, settle: Settle, onCut?: (cut: () => boolean) => void): void {
		const { protocol } = url;
		if (protocol !== "http:" && protocol !== "https:") throw new TypeError("fetch failed: not an http or https URL");
		if (url.username || url.password) throw new TypeError("fetch failed: the URL holds a user name or password");
		const { signal } = init;
		if (signal?.aborted) throw signal.reason;
		const method = (init.method ?? "GET").toUpperCase();
		const body = bodyOf(init.body);
		const target = {
			...trust,
			protocol,
			hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
			port: url.port,
			path: url.pathname + url.search,
			method,
			headers: headersOf(init),
			agent: proxy ?? own[protocol],
		};
		// Asked of the module at each call: mocks and instrumentation put their own functions there.
		const request = unsent(() => (protocol === "https:" ? https : http).request(target));
		let cutFor: { reason: unknown } | undefined;
		const explain = (what: string, cause: unknown): unknown =>
			cutFor ? cutFor.reason : new TypeError(what, { cause });
		// Let go with the answer: what stays with the connection must not keep a response that its caller has forgotten.
		let waiting: Settle | undefined = settle;
		// Of a mock's own kind of request nobody can tell when it goes out.
		let isConnected = Object.getPrototypeOf(request) !== ClientRequest.prototype;
		const fail = (cause: Error): void =>
			waiting?.reject(explain("fetch failed", isConnected ? lost(cause) : named(cause)));
		const interrupted = (cause: unknown): unknown => explain("terminated", cause);

		// The request goes out as its connection is there, and a request that is destroyed before gets none.
		const cut = (reason?: unknown): boolean => {
			cutFor = { reason };
			waiting?.reject(reason);
			request.destroy();
			return !isConnected;
		};
		onCut?.(cut);
		let off = (): void => {};
		request.on("socket", (socket) =>
			onConnected(request, socket, () => {
				isConnected = true;
			}),
		);
		request.on("response", (incoming) => {
			const resolve = waiting?.resolve;
			waiting = undefined;
			isConnected = true;
			// Answered before it was read: what is left of the request would hold the connection, and the process.
			if (!request.writableFinished) incoming.once("end", () => request.destroy());
			// By the next tick the bytes that came with the headers have been parsed: mostly the whole body.
			process.nextTick(() => resolve?.(new IncomingResponse(incoming, { url, method, interrupted })));
		});
		request.on("error", fail);
		request.on("close", () => {
			off();
			if (waiting) fail(Object.assign(new Error("closed without an answer"), { code: "ECONNRESET" }));
		});
		// Last, as a signal may throw: by now the connection's own end is heard.
		try {
			off = onAbort(signal ? [signal] : [], () => cut(signal?.reason));
			request.end(body);
		} catch (error) {
			cut(error);
		}
	}

	function fetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
		if (input instanceof Object && "url" in input)
			return initOf(input).then((own) => fetch(input.url, { ...own, ...definedOf(init) }));
		return new Promise((resolve, reject) => exchange(urlOf(input), init, { resolve, reject }));
	}

	makeCuttable(
		fetch,
		(url, init, onCut) => new Promise((resolve, reject) => exchange(urlOf(url), init, { resolve, reject }, onCut)),
	);
	return Object.assign(fetch, {
		close() {
			for (const agent of [...Object.values(own), proxy]) agent?.destroy();
		},
	});
}

/** How a call ends. */
interface Settle {
	resolve: (response: Response) => void;
	reject: (error: unknown) => void;
}

async function initOf(request: Request): Promise<RequestInit> {
	const { method, headers, signal, cache } = request;
	return { method, headers, signal, cache, ...(request.body && { body: await request.arrayBuffer() }) };
}

/** As in fetch, what is undefined is not given: it takes nothing away from a Request. */
function definedOf(init: RequestInit): RequestInit {
	return Object.fromEntries(Object.entries(init).filter(([, value]) => value !== undefined));
}

/** The runtime's own error has the text, and with it a phone number. */
function urlOf(input: string | URL): URL {
	try {
		return new URL(input);
	} catch {
		throw new TypeError("fetch failed: not a URL");
	}
}

/** What throws before there is a request is told as a connection that never was, and no request that may be out. */
function unsent(begin: () => ClientRequest): ClientRequest {
	try {
		return begin();
	} catch (error) {
		throw Object.assign(Object(error), { syscall: "connect" });
	}
}

function isPem(value: unknown): boolean {
	return typeof value === "string" || value instanceof Uint8Array;
}

function check(name: string, what: string, holds: boolean): void {
	if (!holds) throw new TypeError(`nodeFetch: ${name} must be ${what}`);
}

function checkWhole(name: string, value: number): void {
	if (Number.isInteger(value) && value >= 1 && value < 2 ** 31) return;
	throw new RangeError(`nodeFetch: ${name} must be a whole number from 1 to ${2 ** 31 - 1}`);
}

function bodyOf(body: RequestInit["body"]): string | Uint8Array | undefined {
	if (body === undefined || body === null) return undefined;
	if (typeof body === "string" || body instanceof Uint8Array) return body;
	if (body instanceof ArrayBuffer) return new Uint8Array(body);
	throw new TypeError("nodeFetch: the body must be a string or bytes");
}

function headersOf({ headers, cache }: RequestInit): Record<string, string> {
	const sent: Record<string, string> = { "accept-encoding": "gzip, br" };
	if (cache === "no-store") sent["cache-control"] = "no-cache";
	const given = headers && Symbol.iterator in headers ? new Headers(headers) : Object.entries(headers ?? {});
	for (const [name, value] of given) sent[name.toLowerCase()] = value;
	return sent;
}

/**
 * A connection that is not there in time fails as one that never was: the request has not gone out. Only of Node's own
 * sockets is that known: what a mock puts in their place can be connecting for as long as its answer is made.
 */
function onConnected(request: ClientRequest, socket: Socket, react: () => void): void {
	const shaking = Reflect.get(socket, "secureConnecting") === true;
	const isOwn = [Socket, TLSSocket].some(({ prototype }) => prototype === Object.getPrototypeOf(socket));
	if (!isOwn || !(socket.connecting || shaking)) {
		react();
		return;
	}
	const timer = setTimeout(() => {
		const text = "no connection in time";
		request.destroy(Object.assign(new Error(text), { code: "ETIMEDOUT", syscall: "connect" }));
	}, connectTimeoutMs);
	const stop = (): void => clearTimeout(timer);
	socket.once(shaking ? "secureConnect" : "connect", () => {
		stop();
		react();
	});
	socket.once("close", stop);
}

/** A fault of TLS after the handshake says nothing of certificates, and proves nothing of the request. */
function lost(error: Error): Error {
	const isTls = "code" in error && /^(ERR_SSL_|EPROTO$)/.test(String(error.code));
	return isTls ? Object.assign(new Error("TLS failed"), { code: "ECONNRESET" }) : error;
}

/** A failed handshake that is met by a write has its reason in its text alone; fetch names it, so that it is known not to pass. */
function named(error: Error): Error {
	const [, reason] = /:SSL routines:[^:]*:([\w ]+):/.exec(error.message) ?? [];
	if (!reason || !("code" in error) || error.code !== "EPROTO") return error;
	return Object.assign(new Error(reason), { code: `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}` });
}
