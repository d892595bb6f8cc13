import http, { type Agent, ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { Socket } from "node:net";
import { pipeline, type Readable, Transform } from "node:stream";
import { TLSSocket } from "node:tls";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { isRecord, ownFields } from "../shared/validation.ts";
import { PartnerConfigurationError } from "./errors.ts";
import { type Connections, createConnections, noteKeepAlive, twoTurns } from "./node-connections.ts";
import {
	noResponse,
	type Transport,
	type TransportAnswer,
	type TransportControl,
	TransportError,
	type TransportHead,
	type TransportHeaders,
	type TransportRequest,
} from "./transport.ts";

/** Options of {@link nodeHttp}. */
export interface NodeHttpOptions {
	/** Connections to one host at the same time; further requests wait. @default Infinity */
	maxSockets?: number | undefined;
	/**
	 * The longest that an idle connection is kept, in milliseconds. If the service announces how long it keeps a
	 * connection, it is closed one second earlier. A request on a connection that the service has closed fails with a reset.
	 * @default what the service announces by `Keep-Alive: timeout`, at most 10 minutes, otherwise 4000
	 */
	keepAliveMs?: number | undefined;
	/**
	 * The longest that a connection is used, in milliseconds, even if it is never idle. A new one asks DNS again, so that
	 * requests follow a service that moves to another address.
	 * @default 300000, which is 5 minutes
	 */
	maxAgeMs?: number | undefined;
	/** Certificates to trust in place of Node's own, as PEM. */
	ca?: Pem | Pem[] | undefined;
	/** Certificate of the client with its chain, as PEM, for a gateway that asks for one (mutual TLS). Give `key` with it. */
	cert?: Pem | Pem[] | undefined;
	/** Private key of `cert`, as PEM. */
	key?: Pem | undefined;
	/** Certificate and private key of the client as PKCS#12, in place of `cert` and `key`. */
	pfx?: Buffer | undefined;
	/** Passphrase of `key` or `pfx`. */
	passphrase?: string | undefined;
	/**
	 * Agent of a proxy, such as one of `https-proxy-agent`. It is used for all requests, with its own `maxSockets` and
	 * `keepAliveMs`. Its certificates count beside yours. The proxies of the environment, such as `HTTPS_PROXY`,
	 * are not used.
	 */
	proxy?: Agent | undefined;
}

type Pem = string | Buffer;

/** The transport over node:http. */
export type NodeHttp = Transport & {
	/** Closes all connections. Calls in flight end with PartnerConnectionError. Later calls do too, without a request. */
	close: () => void;
};

/** As long as Node's own fetch waits for a connection. */
const connectTimeoutMs = 10_000;
/** If a caller gives up after so long without a response, the connection may be dead. */
const silentMs = 1000;

/**
 * Creates a transport over node:http, for the client's option `transport`. It takes over a third less time than `fetch`,
 * keeps connections of its own, and is seen by mocks and instrumentation of node:http.
 *
 * @throws PartnerConfigurationError when an option is malformed
 * @example
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL,
 *   apiKey: process.env.MESSAGING_API_KEY,
 *   transport: nodeHttp(),
 * });
 */
export function nodeHttp(options: NodeHttpOptions = {}): NodeHttp {
	const connections = connectionsFrom(options);
	/**
	 * A function for each request in flight that ends it with an error. Undefined after `close()`. No Set, because V8 gives one
	 * a new table after a few changes, and what the old tables held stays in memory until a full garbage collection.
	 */
	let inFlight: ((error: Error) => void)[] | undefined = [];

	const transport: Transport = async (request, control) => {
		if (connections.mayBeStale()) await twoTurns();
		if (control.signal.aborted) throw new TransportError(control.signal.reason, { connected: false });
		if (!inFlight) throw new TransportError(closedError(), { connected: false });
		return await send(request, control, connections, inFlight);
	};
	const close = (): void => {
		const ends = [...(inFlight ?? [])];
		inFlight = undefined;
		for (const end of ends) end(closedError());
		connections.close();
	};
	return Object.assign(transport, { close });
}

/** Something arrived on a connection before the request was written. It cannot be the answer to it. */
function strayError(): Error {
	return Object.assign(new Error("stray answer"), { code: "ECONNRESET" });
}

function closedError(): Error {
	return Object.assign(new Error("closed"), { code: "ERR_EXCHANGE_CLOSED" });
}

/** Sends one request, and reads its response to the end. */
function send(
	{ method, url, headers, body, noStore }: TransportRequest,
	{ maxBytes, signal, check }: TransportControl,
	connections: Connections,
	inFlight: ((error: Error) => void)[],
): Promise<TransportAnswer> {
	return new Promise((resolve, reject) => {
		const { protocol, hostname, port, pathname, search } = new URL(url);
		const { secureContext } = connections;
		let connected: boolean | undefined = false;
		let head: TransportHead | undefined;
		let request: ClientRequest;
		const fail = (fault: unknown): void => reject(new TransportError(fault, { head, connected }));
		try {
			// Looked up in the module at each request, because mocks and instrumentation replace it there.
			request = (protocol === "https:" ? https : http).request({
				protocol,
				hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
				port,
				path: pathname + search,
				method,
				headers: {
					"accept-encoding": "gzip, br",
					...(noStore && { "cache-control": "no-cache" }),
					// Node itself sends no length for the body of a DELETE.
					...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
					...headers,
				},
				agent: connections.agentFor(protocol),
				...(secureContext && { secureContext }),
			});
		} catch (error) {
			// What fails before there is a request, such as an agent that takes no https, is a failed connect.
			return fail(error);
		}
		let isOver = false;
		const end = (error: Error): void => {
			isOver = true;
			request.destroy(error);
		};
		// A failover ends all connections at once. Without this, each idle one that is dead would cost an attempt.
		const dropDeadOnes = (): void => {
			if (!head && request.reusedSocket) connections.dropIdle();
		};
		let writtenAt = Number.POSITIVE_INFINITY;
		signal.addEventListener("abort", () => {
			if (signal.reason?.name === "TimeoutError" || performance.now() - writtenAt > silentMs) dropDeadOnes();
			fail(signal.reason);
			end(new Error("cut"));
		});
		const endByClose = (error: Error): void => {
			fail(error);
			end(error);
		};
		inFlight.push(endByClose);
		// A mock puts its own class in place, which does not show when its request goes out.
		const isMock = !isExactly(request, ClientRequest);
		const write = (): void => {
			check();
			if (isOver) return;
			connected = isMock ? undefined : true;
			writtenAt = performance.now();
			request.end(body);
		};
		request.on("socket", (socket) => {
			// Deno gives a request that was destroyed in its handshake another connection, and sends it.
			if (isOver) return void socket.destroy();
			// A gateway gives up an idle connection with a 408, or answers an earlier request late.
			if (request.reusedSocket && connections.hasStray(socket)) return end(strayError());
			connections.use(socket);
			// Written now and not before, because a socket sends what it was given as soon as it has its connection.
			watchConnection(socket, isMock ? () => (connected = true) : write, end);
		});
		request.on("response", (response) => {
			connected = true;
			// What a mock emits may be none.
			if (!Array.isArray(response?.rawHeaders)) return endByClose(noResponse());
			const status = response.statusCode ?? 0;
			// Not a final status, such as a 101 that names no protocol. The request closes without a response.
			if (status < 200) return void request.destroy();
			const { socket } = response;
			// A response that comes before the request was read leaves the connection unusable. On a connection that was used
			// before, it may belong to something else.
			if (!request.writableFinished && request.reusedSocket) return end(strayError());
			if (!request.writableFinished) response.once("end", () => request.destroy());
			// The response of a mock can be without a socket.
			if (socket) response.once("end", () => connections.release(socket));
			if (connections.isOld(socket)) response.once("end", () => socket.destroy());
			const received = { status, headers: new NodeHeaders(response) };
			head = received;
			noteKeepAlive(response, received.headers.get("keep-alive"));
			const bodyStream = decoded(response, received.headers.get("content-encoding"));
			bodyStream.on("error", fail);
			readText(bodyStream, maxBytes, (text) => resolve({ text, ...received }));
		});
		// Once a response has begun, the end of its body decides. The request may close before the body is decoded, and
		// bytes after the body are an error of the request.
		request.on("error", (error) => {
			if (!isOver) dropDeadOnes();
			if (!head) fail(withTlsCode(error));
		});
		// After an answer that is not a final one the request closes without an error.
		request.on("close", () => {
			const at = inFlight.indexOf(endByClose);
			if (at >= 0) inFlight.splice(at, 1);
			if (!head) fail(Object.assign(new Error("no response"), { code: "ECONNRESET" }));
		});
		if (isMock) write();
	});
}

/** Calls `connect` when there is a connection, and ends a request that gets none in time. Sockets of a mock are not watched. */
function watchConnection(socket: Socket, connect: () => void, end: (error: Error) => void): void {
	const isShaking = Reflect.get(socket, "secureConnecting") === true;
	if (!(socket.connecting || isShaking) || !isExactly(socket, Socket, TLSSocket)) return void connect();
	const timer = setTimeout(() => {
		end(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT", syscall: "connect" }));
	}, connectTimeoutMs);
	socket.once(isShaking ? "secureConnect" : "connect", () => {
		clearTimeout(timer);
		connect();
	});
	socket.once("close", () => clearTimeout(timer));
}

/** Whether a value is of one of these classes, and of none that extends them. */
function isExactly(value: object, ...classes: { prototype: object }[]): boolean {
	return classes.some(({ prototype }) => prototype === Object.getPrototypeOf(value));
}

/** Adds the code that fetch has for a failed handshake. Node has the reason in the message alone. */
function withTlsCode(error: Error): Error {
	const [, reason] = /:SSL routines:[^:]*:([\w ]+):/.exec(error.message) ?? [];
	if (!reason) return error;
	return Object.assign(new Error(reason), { code: `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}` });
}

/** Removes a byte order mark, as fetch does. */
const utf8 = new TextDecoder();

/** Reads a body to its end. Its text is undefined when it has more than `maxBytes`. */
function readText(body: Readable, maxBytes: number, done: (text: string | undefined) => void): void {
	const joined: Buffer[] = [];
	let chunks: Buffer[] = [];
	let length = 0;
	body.on("data", (chunk: Buffer) => {
		length += chunk.length;
		if (length > maxBytes) {
			done(undefined);
			// Destroy the body and not the response, because a decoder continues after all compressed bytes have come.
			body.destroy();
		} else if (chunks.push(chunk) === 1000) {
			// A chunk of one byte takes some hundred bytes of memory as long as it is kept.
			joined.push(Buffer.concat(chunks));
			chunks = [];
		}
	});
	body.on("end", () => {
		const all = [...joined, ...chunks];
		done(utf8.decode(all.length === 1 ? all[0] : Buffer.concat(all)));
	});
}

// A compressed body that ends early is decoded as far as it goes, as fetch does. It is then not JSON.
const zlib = { finishFlush: constants.Z_SYNC_FLUSH };
const decoders = new Map<string, () => Transform>([
	["gzip", () => createGunzip(zlib)],
	["x-gzip", () => createGunzip(zlib)],
	["deflate", () => new AnyInflate()],
	["br", () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })],
]);

/** Some servers send deflate without the header of zlib, which shows in the first byte. */
class AnyInflate extends Transform {
	#inflate: Transform | undefined;

	override _transform(chunk: Buffer, _encoding: string, done: () => void): void {
		this.#inflate ??= this.#start(((chunk[0] ?? 0) & 0x0f) === 8 ? createInflate(zlib) : createInflateRaw(zlib));
		this.#inflate.write(chunk, done);
	}

	override _flush(done: () => void): void {
		this.#inflate?.once("end", done).end();
		if (!this.#inflate) done();
	}

	override _destroy(error: Error | null, done: (error: Error | null) => void): void {
		this.#inflate?.destroy();
		done(error);
	}

	#start(inflate: Transform): Transform {
		inflate.on("data", (data) => this.push(data));
		inflate.on("error", (error) => this.destroy(error));
		return inflate;
	}
}

/** Undoes the content encodings. With an unknown one, or with more than five, the body stays as it is. */
function decoded(response: Readable, encoding: string | undefined): Readable {
	const names = encoding?.split(",") ?? [];
	const known = names.flatMap((name) => decoders.get(name.trim().toLowerCase()) ?? []);
	if (known.length < names.length || names.length > 5) return response;
	return known.reduceRight<Readable>((body, create) => pipeline(body, create(), () => {}), response);
}

/** @throws PartnerConfigurationError when an option is malformed */
function connectionsFrom(options: NodeHttpOptions): Connections {
	const given = ownFields<NodeHttpOptions>(Object(options), names);
	const { maxSockets = Number.POSITIVE_INFINITY, keepAliveMs, maxAgeMs = 300_000, proxy } = given;
	const { ca, cert, key, pfx, passphrase } = given;
	const unknown = Object.keys(Object(options)).filter((name) => !names.includes(name));
	const isMs = "must be a whole number of milliseconds from 1 to 2147483647";
	const isPemList = (value: unknown): boolean =>
		value === undefined || [value].flat().every((each) => isPem(each, "CERTIFICATE"));
	const rules: [field: string, rule: string, holds: boolean][] = [
		["options", "must be an object", isRecord(options)],
		["options", `takes only ${names.join(", ")}`, unknown.length === 0],
		[
			"maxSockets",
			"must be a whole number of 1 or more, or Infinity",
			maxSockets === Number.POSITIVE_INFINITY || isWhole(maxSockets),
		],
		["keepAliveMs", isMs, keepAliveMs === undefined || isWhole(keepAliveMs)],
		["maxAgeMs", isMs, isWhole(maxAgeMs)],
		["ca", "must be PEM, as text or bytes or a list of them, and not the name of a file", isPemList(ca)],
		["cert", "must be PEM, as text or bytes or a list of them, given with `key`", isPemList(cert) && !cert === !key],
		["key", "must be a private key as PEM, given with `cert`", key === undefined || isPem(key, "PRIVATE KEY")],
		["pfx", "must be the bytes of a PKCS#12 file, and not its name", pfx === undefined || ArrayBuffer.isView(pfx)],
		["pfx", "must not be given beside `cert`: it holds a certificate of its own", !pfx || !cert],
		["passphrase", "must be a string", passphrase === undefined || typeof passphrase === "string"],
		["passphrase", "must be given with the `key` or the `pfx` that it opens", !passphrase || Boolean(key || pfx)],
		[
			"proxy",
			"must be an agent, such as one of https-proxy-agent",
			proxy === undefined || "addRequest" in Object(proxy),
		],
	];
	for (const [field, rule, holds] of rules) if (!holds) throw refuse(field, rule);
	const tls = Object.fromEntries(Object.entries({ ca, cert, key, pfx, passphrase }).filter(([, value]) => value));
	try {
		return createConnections({ maxSockets, keepAliveMs, maxAgeMs, tls, proxy });
	} catch {
		// The message of Node.js can quote the passphrase.
		const field = pfx ? "pfx" : cert ? "cert" : "ca";
		throw refuse(field, "could not be read: it is damaged, `key` does not belong to `cert`, or `passphrase` is wrong");
	}
}

const names = ["maxSockets", "keepAliveMs", "maxAgeMs", "ca", "cert", "key", "pfx", "passphrase", "proxy"];

function refuse(field: string, rule: string): PartnerConfigurationError {
	return new PartnerConfigurationError({ operation: "nodeHttp", field, rule });
}

function isWhole(value: number): boolean {
	return Number.isInteger(value) && value >= 1 && value < 2 ** 31;
}

/** With an empty `ca` Node would trust the built-in certificates. */
function isPem(value: unknown, kind: "CERTIFICATE" | "PRIVATE KEY"): boolean {
	const text = ArrayBuffer.isView(value) ? utf8.decode(value) : value;
	return typeof text === "string" && new RegExp(`-----BEGIN [\\w ]*${kind}-----`).test(text);
}

/**
 * Headers of a response, from the raw names and values, because Node drops some repeated headers where fetch joins all of
 * them. A class, because an object with functions of its own takes three times as long to create.
 */
class NodeHeaders implements TransportHeaders {
	/** Names and values in turn. Values of set-cookie cannot be joined. */
	readonly #raw: readonly string[];

	constructor({ rawHeaders }: IncomingMessage) {
		this.#raw = rawHeaders;
	}

	get(wanted: string): string | undefined {
		const found = this.#raw.filter((_, index) => index % 2 === 1 && this.#nameOf(index) === wanted);
		return found.length > 0 ? found.join(", ") : undefined;
	}

	*[Symbol.iterator](): Iterator<[string, string]> {
		for (const [index, value] of this.#raw.entries()) if (index % 2 === 1) yield [this.#nameOf(index), value];
	}

	#nameOf(index: number): string {
		return this.#raw[index - 1]?.toLowerCase() ?? "";
	}
}
