/**
 * The sandbox over HTTP.
 *
 * @module messaging-conversations/sandbox/server
 */

import { randomBytes } from "node:crypto";
import { createServer, type RequestListener, ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { isLoopback } from "../shared/hosts.ts";
import { observedBy, observerOf } from "../shared/observer.ts";
import { flag, listOf, optional, rule } from "../shared/validation.ts";
import { basePath } from "./base/call.ts";
import { assertValid, checkSandbox, fields } from "./base/input.ts";
import { withoutInJson } from "./base/unlogged.ts";
import type { Connection, Sandbox } from "./index.ts";
import { insideOf } from "./inside.ts";
import { fetchOf } from "./remote.ts";
import { createControls } from "./routes/controls.ts";
import { endLate } from "./server/body.ts";
import { createEventStreams } from "./server/events.ts";
import { hostOf, hostsOf, withoutBrackets } from "./server/hosts.ts";
import { json, refuseUnreadable } from "./server/json.ts";
import { respond, type Served } from "./server/respond.ts";
import { createUnread } from "./server/unread.ts";
import { isInstant } from "./world/instant.ts";

/** How {@link serve} listens. */
export interface ServeOptions {
	/** The port to listen on, at the address of `listen`. 0 is any free one. @default 0 */
	readonly port?: number | undefined;
	/**
	 * The token of the control routes: 8 or more letters, digits and signs. The service's routes take the sandbox's API key
	 * instead. @default 32 random characters
	 */
	readonly token?: string | undefined;
	/**
	 * Lets the sandbox's clock run with real time, and keep running after a reset. Where it starts is `now` of `createSandbox`.
	 * @default false: it does not run
	 */
	readonly follow?: boolean | undefined;
	/**
	 * The address to listen on, `0.0.0.0` or `::` for every one. On any other than loopback, everybody who reaches this
	 * machine reaches the sandbox: it is meant for containers of one CI job. The names that they ask for go into `allowHosts`.
	 * @default "127.0.0.1"
	 */
	readonly listen?: string | undefined;
	/**
	 * Further names by which requests may ask for this server (the `Host` header), such as the name of a container, with
	 * any port: write `sandbox`, not `sandbox:4010`. The first one is the host of `baseUrl`, unless only this machine can
	 * reach the server. @default none: 127.0.0.1, localhost and the address of `listen`
	 */
	readonly allowHosts?: readonly string[] | undefined;
	/**
	 * Shows the bug file that the sandbox was made with (`from` of `createSandbox`) and changes nothing: controls that change
	 * something, and requests to the service, are refused until you press "Continue from here" on the page.
	 * @default false: the file is a world to act in
	 */
	readonly readOnly?: boolean | undefined;
}

/** A sandbox that listens. Neither `console.log` nor its JSON shows token and key. */
export interface SandboxServer {
	/** `http://127.0.0.1:PORT/api/v1`, or with the host of `listen` or `allowHosts` */
	readonly baseUrl: string;
	/** `http://127.0.0.1:PORT/_sandbox` */
	readonly controlUrl: string;
	/** Control routes need it: `Authorization: Bearer TOKEN` or `X-Sandbox-Token: TOKEN`. */
	readonly token: string;
	/** The sandbox's own key, a good one. It is another one after an import: read it again. */
	readonly apiKey: string;
	/**
	 * `baseUrl`, `apiKey` and a `fetch` that makes real requests: spread it into `createClient`. Outboxes and feeds of that client
	 * show themselves on the page.
	 */
	readonly connection: Connection;
	/** The id of the sandbox's default agency. */
	readonly agencyId: string;
	/** Stops listening and drops open connections, idle and hanging ones too. */
	close(): Promise<void>;
}

const followEveryMs = 100;

/** R17: no limit is shown, and Node's own, 16 kB for URL and headers together, is not the service's. */
const maxHeaderSize = 2 ** 20;

const optionsRule = fields<ServeOptions>({
	port: optional(
		rule(
			(port) => Number.isInteger(port) && /^\d{1,5}$/.test(String(port)) && Number(port) <= 65_535,
			"must be a port from 0 to 65535",
		),
	),
	// An empty one would open every control, keys included, to every program on the machine.
	token: optional(
		rule(
			(token) => typeof token === "string" && /^[!-~]{8,}$/.test(token),
			"must be 8 or more characters that a header can carry",
		),
	),
	follow: optional(flag),
	listen: optional(
		rule((address) => typeof address === "string" && /^(\[[\w.:]+\]|[\w.:-]+)$/.test(address), "must be an address"),
	),
	allowHosts: optional(
		listOf(
			rule(
				(name) => typeof name === "string" && (/^[\w.-]+$/.test(name) || isIP(withoutBrackets(name)) === 6),
				'must be a host name without a port and without http://, such as "sandbox"',
			),
		),
	),
	readOnly: optional(flag),
});

/**
 * The sandbox over HTTP, on the loopback interface unless `listen` names another. It refuses a foreign `Host` or
 * `Origin`, sends no CORS header and opens no connection itself.
 *
 * Below `controlUrl` are the sandbox's controls, for programs in any language, such as
 * `POST clock/advance {"hours": 25}`. Each request carries the token. `GET` on `controlUrl` itself lists them all, and
 * docs/sandbox-routes.md of the package shows what each takes and answers.
 *
 * @example
 * const server = await serve(createSandbox(), { port: 0 });
 * const client = createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey });
 * const agency = client.agency(server.agencyId);
 * await server.close();
 */
export async function serve(sandbox: Sandbox, options: ServeOptions = {}): Promise<SandboxServer> {
	checkSandbox("serve", sandbox);
	assertValid("serve", options, optionsRule);
	const { port = 0, token = randomBytes(16).toString("hex"), follow = false } = options;
	const { listen = "127.0.0.1", allowHosts = [] } = options;
	let { baseUrl } = sandbox.connection;
	const { readOnly = false } = options;
	if (readOnly && !insideOf(sandbox).opened)
		throw new TypeError("serve: readOnly is for a bug file. Make the sandbox with createSandbox({ from }).");
	const controls = createControls(sandbox, () => baseUrl, readOnly);
	const unread = createUnread();
	const streamEvents = createEventStreams(sandbox, unread);
	const served: Served = { sandbox, token, controls, streamEvents, isOwnHost: () => false };
	/** The newest answer on each connection. */
	const answers = new WeakMap<Duplex, ServerResponse>();
	const listener: RequestListener = (request, response) => {
		answers.set(request.socket, response);
		response.once("finish", () => endLate(request));
		for (const end of ["finish", "close"]) response.once(end, () => unread.remove(response));
		respond(served, request, response)
			.catch((error: unknown) => {
				if (response.headersSent || request.destroyed) return response.destroy();
				const message = error instanceof Error ? error.message : String(error);
				json(response, 500, { _tag: "SandboxError", message });
			})
			// A stream notes by itself what waits.
			.finally(() => response.writableEnded && unread.add(response));
	};
	// The sandbox refuses a request without a Host itself, and answers one with `Expect` like any other. Node's own refusals
	// have neither a correlation id nor a body (R3).
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
		if (isUnderWay && answer.req.complete) answer.once("close", () => refuseUnreadable(socket, error));
		else if (isUnderWay && answer.headersSent) socket.destroy();
		else refuseUnreadable(socket, error);
	});
	await new Promise<void>((resolve, reject) => {
		server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, listen, port)));
		server.listen(port, withoutBrackets(listen), resolve);
	});
	const stopClock = follow ? followTime(sandbox) : undefined;
	const { address, port: listening } = addressOf(server.address()) ?? { address: listen, port };
	const isEvery = address === "0.0.0.0" || address === "::";
	const own = isEvery ? "127.0.0.1" : hostOf(listen);
	const host = isLoopback(hostOf(listen)) ? own : hostOf(allowHosts[0] ?? own);
	// Who listens on every IPv6 address listens on the loopback one too.
	const named = [own, host, hostOf(address), ...(address === "::" ? ["[::1]"] : [])];
	served.isOwnHost = hostsOf(listening, named, allowHosts);
	const origin = `http://${host}${listening === 80 ? "" : `:${listening}`}`;
	baseUrl = `${origin}${basePath}`;
	const fetch = observedBy(fetchOf(origin), observerOf(sandbox.fetch));
	const connection: Connection = {
		baseUrl,
		get apiKey() {
			return sandbox.connection.apiKey;
		},
		fetch,
	};
	const started: SandboxServer = {
		baseUrl,
		controlUrl: `${origin}/_sandbox`,
		get token() {
			return token;
		},
		get apiKey() {
			return sandbox.connection.apiKey;
		},
		connection: withoutInJson(connection, "apiKey"),
		get agencyId() {
			return sandbox.agency().id;
		},
		close() {
			stopClock?.();
			return new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			});
		},
	};
	return withoutInJson(started, "token", "apiKey");
}

function listenError(error: NodeJS.ErrnoException, address: string, port: number): Error {
	const reasons: Readonly<Record<string, string>> = {
		EADDRINUSE: `Port ${port} on ${address} is in use (EADDRINUSE). Port 0 takes any free one.`,
		EACCES: `Port ${port} on ${address} is not open to this user (EACCES). Port 0 takes any free one.`,
		EADDRNOTAVAIL: `This machine has no address ${address}.`,
		ENOTFOUND: `This machine has no address ${address}.`,
		EAI_AGAIN: `This machine finds no address for ${address}.`,
	};
	const reason = reasons[error.code ?? ""];
	return reason === undefined ? error : Object.assign(new Error(reason, { cause: error }), { code: error.code });
}

const addressOf = (address: string | AddressInfo | null) => (typeof address === "object" ? address : null);

/** Moves the clock with real time, until it is at its end. Returns what stops it. */
function followTime(sandbox: Sandbox): () => void {
	const move = (ms: number): boolean => {
		const isWithin = isInstant(sandbox.clock.now().getTime() + ms);
		if (isWithin) sandbox.clock.advance({ ms });
		return isWithin;
	};
	let gone = 0;
	const started = performance.now();
	const timer = setInterval(() => {
		const ms = Math.floor(performance.now() - started) - gone;
		gone += ms;
		if (!move(ms)) clearInterval(timer);
	}, followEveryMs);
	// A reset sets the clock back to where it began, which is behind real time by now.
	const unsubscribe = sandbox.subscribe(({ type }) => {
		if (type === "sandbox.reset") move(gone);
	});
	return () => {
		clearInterval(timer);
		unsubscribe();
	};
}
