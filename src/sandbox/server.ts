import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createControlRoutes } from "./control-routes.ts";
import type { Sandbox } from "./index.ts";
import { assertValid, fields, must, optional, trueOrFalse } from "./strict.ts";
import { type Answer, isLater, targetIn } from "./wire.ts";

/** How {@link serve} listens. */
export interface ServeOptions {
	/** 0 is any free port. @default 0 */
	readonly port?: number;
	/** What control routes ask for: 8 or more letters, digits and signs. @default 32 random characters */
	readonly token?: string;
	/** Lets the sandbox's clock run with real time. @default false: it stands still */
	readonly follow?: boolean;
}

/** A sandbox that listens. */
export interface SandboxServer {
	/** `http://127.0.0.1:PORT/api/v1` */
	readonly baseUrl: string;
	/** `http://127.0.0.1:PORT/_sandbox` */
	readonly controlUrl: string;
	/** Control routes ask for it: `Authorization: Bearer TOKEN` or `X-Sandbox-Token: TOKEN`. */
	readonly token: string;
	/** The sandbox's own key. */
	readonly apiKey: string;
	/** Stops listening and drops open connections, idle and hanging ones too. */
	close(): Promise<void>;
}

const followEveryMs = 100;

/** R17: no limit is shown, and Node's own, 16 kB for URL and headers together, is not the service's. */
const maxHeaderSize = 2 ** 20;

const optionsRule = fields<ServeOptions>({
	port: optional(
		must(
			"a port from 0 to 65535",
			(port) => Number.isInteger(port) && /^\d{1,5}$/.test(String(port)) && Number(port) <= 65_535,
		),
	),
	// An empty one would open every control, keys included, to every program on the machine.
	token: optional(
		must(
			"8 or more characters that a header can carry",
			(token) => typeof token === "string" && /^[!-~]{8,}$/.test(token),
		),
	),
	follow: optional(trueOrFalse),
});

/**
 * The sandbox over HTTP, on the loopback interface only. It refuses a foreign `Host` or `Origin`, sends no CORS header
 * and opens no connection itself.
 *
 * Below `controlUrl` are the sandbox's controls, for programs in any language: `POST clock/advance {"hours": 25}`,
 * `POST contacts/+447700900101/writes {"text": "Hello"}`, each with the token; `GET` on `controlUrl` itself lists
 * them all, and docs/sandbox-server.md of the package shows what each takes and answers.
 *
 * @example
 * const server = await serve(createSandbox(), { port: 0 });
 * const client = createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey });
 * await server.close();
 */
export async function serve(sandbox: Sandbox, options: ServeOptions = {}): Promise<SandboxServer> {
	assertValid("serve", options, optionsRule);
	const { port = 0, token = randomBytes(16).toString("hex"), follow = false } = options;
	const served: Served = { sandbox, token, control: createControlRoutes(sandbox), hosts: new Set() };
	/** The newest answer on each connection. */
	const answers = new WeakMap<Duplex, ServerResponse>();
	const listener: RequestListener = (request, response) => {
		answers.set(request.socket, response);
		respond(served, request, response).catch((error: unknown) => {
			if (response.headersSent || request.destroyed) return response.destroy();
			const message = error instanceof Error ? error.message : String(error);
			json(response, 500, { _tag: "SandboxError", message });
		});
	};
	// A request without a Host is a stranger's, and one that expects something is a request like any other: Node's own
	// refusals have neither a correlation id nor a body (R3).
	// A header that comes twice counts twice, as in process: of two keys Node takes the first.
	const server = createServer({ maxHeaderSize, requireHostHeader: false, joinDuplicateHeaders: true }, listener);
	server.maxHeadersCount = 0; // R17: Node drops what comes after 2,000, the key perhaps
	server.on("checkExpectation", listener);
	// Nor does Node answer a CONNECT, which is a method like any other that the service lacks (R12).
	server.on("connect", (request) => {
		const { socket } = request;
		const response = new ServerResponse(request);
		response.shouldKeepAlive = false;
		response.assignSocket(socket);
		response.once("finish", () => socket.destroySoon());
		socket.once("error", () => socket.destroy());
		listener(request, response);
	});
	server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
		const answer = answers.get(socket);
		const isUnderWay = answer !== undefined && !answer.writableEnded;
		if (isUnderWay && answer.req.complete) answer.once("close", () => refuse(socket, error));
		else if (isUnderWay && answer.headersSent) socket.destroy();
		else refuse(socket, error);
	});
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, "127.0.0.1", resolve);
	});
	const timer = follow ? followTime(sandbox) : undefined;
	const listening = portOf(server.address()) ?? port;
	for (const name of ["127.0.0.1", "localhost", "[::1]"]) served.hosts.add(`${name}:${listening}`);
	const origin = `http://127.0.0.1:${listening}`;
	return {
		baseUrl: `${origin}/api/v1`,
		controlUrl: `${origin}/_sandbox`,
		token,
		apiKey: sandbox.connection.apiKey,
		close() {
			clearInterval(timer);
			return new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			});
		},
	};
}

const portOf = (address: string | AddressInfo | null) => (typeof address === "object" ? address?.port : undefined);

function followTime(sandbox: Sandbox): NodeJS.Timeout {
	let last = performance.now();
	return setInterval(() => {
		const ms = Math.floor(performance.now() - last);
		last += ms;
		sandbox.clock.advance({ ms });
	}, followEveryMs);
}

interface Served {
	/** The names by which this server is asked. */
	readonly hosts: Set<string>;
	readonly sandbox: Sandbox;
	readonly token: string;
	readonly control: ReturnType<typeof createControlRoutes>;
}

async function respond(served: Served, request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { sandbox, token, control } = served;
	const { method = "GET" } = request;
	const headers = headersOf(request);
	// As a proxy's client asks: a whole URL, whose host stands before the Host (RFC 9112 §3.2.2).
	const [, host = headers.host ?? "", url = "/"] = request.url?.match(/^(?:http:\/\/([^/?]+))?(.*)$/is) ?? [];
	const refusal = strangerIn(host, headers.origin, served.hosts);
	if (refusal) return json(response, 403, { _tag: "SandboxRefused", message: refusal });
	const body = await bodyOf(request);
	if (url === "/_sandbox" || url.startsWith("/_sandbox/") || url.startsWith("/_sandbox?")) {
		if (!hasToken(headers, token))
			return json(response, 401, { _tag: "SandboxRefused", message: "Control routes need the token." });
		const { status, result } = control(method, url.slice("/_sandbox".length), body);
		return json(response, status, result);
	}
	let reply = sandbox.answer({ method, target: targetIn(url), headers, body });
	while (isLater(reply)) {
		const { waitMs, resume } = reply;
		if (!(await waited(response, waitMs))) return;
		reply = resume();
	}
	write(response, reply);
}

function write(response: ServerResponse, { status, headers, body, cut }: Answer): void {
	const { socket } = response;
	if (cut === "reset") socket?.resetAndDestroy();
	if (cut === "reset" || cut === "hang") return;
	response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
	if (cut !== "body") return void response.end(body); // as text, head and body leave in one write
	// The length is announced and not kept, then the connection really ends.
	response.write(body.slice(0, Math.ceil(body.length / 2)), () => socket?.destroy());
}

/** False when the caller went away meanwhile. */
function waited(response: ServerResponse, ms: number): Promise<boolean> {
	return new Promise((resolve) => {
		const timer = setTimeout(() => resolve(!response.destroyed), ms);
		response.once("close", () => {
			clearTimeout(timer);
			resolve(false);
		});
	});
}

async function bodyOf(request: IncomingMessage): Promise<string | Uint8Array> {
	const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
	if (length === "0" && encoding === undefined) return "";
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** A page in a browser, or a name that was rebound to this address, is a stranger here. */
function strangerIn(host: string, origin: string | undefined, own: ReadonlySet<string>): string | undefined {
	if (!own.has(host.toLowerCase())) return "The sandbox answers on the loopback interface only.";
	if (origin !== undefined && !own.has(origin.toLowerCase().replace(/^http:\/\//, "")))
		return "The sandbox answers no other origin.";
	return undefined;
}

function hasToken(headers: Readonly<Record<string, string>>, token: string): boolean {
	const given = headers["x-sandbox-token"] ?? headers.authorization?.replace(/^bearer +/i, "") ?? "";
	const [a, b] = [Buffer.from(given), Buffer.from(token)];
	return a.length === b.length && timingSafeEqual(a, b);
}

function json(response: ServerResponse, status: number, value: unknown): void {
	const body = JSON.stringify(value);
	response.writeHead(status, jsonHeaders(body));
	response.end(body);
}

/** What a parser's errors are in HTTP; all others are a 400. */
const unreadable: Readonly<Record<string, number>> = {
	HPE_HEADER_OVERFLOW: 431,
	HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
	ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Refuses what could not be read as a request, and ends the connection. */
function refuse(socket: Duplex, { code = "" }: NodeJS.ErrnoException): void {
	if (!socket.writable) return void socket.destroy();
	const status = unreadable[code] ?? 400;
	const message = `The sandbox cannot read this as an HTTP request (${code}).`;
	const body = JSON.stringify({ _tag: "SandboxBadRequest", message });
	const headers = Object.entries({ ...jsonHeaders(body), connection: "close" });
	const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
	socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

const jsonHeaders = (body: string) => ({
	"content-type": "application/json",
	"content-length": Buffer.byteLength(body),
	"x-correlation-id": `sandbox-${randomBytes(4).toString("hex")}`,
});
