import { createServer, type Server, type Socket } from "node:net";
import { heldForConsent, type Operation, operationOf, readAnswer, sentNow } from "./answers.ts";
import { type RawRequest, requestReader, write } from "./bytes.ts";
import type { Fault, Turn, Variant } from "./faults.ts";

/** A request with what the service made of it. */
export interface Seen extends RawRequest {
	readonly operation: Operation | undefined;
	readonly connection: number;
	readonly at: number;
	/** The parsed body of a POST; empty when there is none. */
	readonly fields: Readonly<Record<string, unknown>>;
}

export interface Planned {
	readonly fault: Fault;
	readonly variant: Variant;
}

export interface ServiceOptions {
	readonly window?: "open" | "closed";
	/** The fault for a request, or none. */
	readonly plan?: (seen: Seen) => Planned | undefined;
	/** Repeat key, path and body of each request wherever an answer has room for it. */
	readonly echo?: boolean;
	/** False forgets requests and deliveries, for long runs that measure memory. @default true */
	readonly remembers?: boolean;
}

export interface Delivery {
	readonly to: string;
	readonly text: string;
	readonly operationId: string | undefined;
}

export interface Service {
	readonly baseUrl: string;
	readonly origin: string;
	/** A loopback address where nothing listens. */
	readonly deadOrigin: string;
	readonly requests: readonly Seen[];
	/** Requests that arrived where only a followed redirect leads. */
	readonly landings: () => number;
	readonly deliveries: readonly Delivery[];
	/** Texts that wait for consent, by contact. */
	readonly held: ReadonlyMap<string, Delivery>;
	/** Times an operationId came back with another body. */
	readonly reuses: () => number;
	/** Connections with a request that has no complete answer. */
	readonly busy: () => number;
	readonly connections: () => { opened: number; open: number };
	setPlan(plan: ServiceOptions["plan"]): void;
	/** Every contact accepts: what was held is delivered. */
	accept(): void;
	close(): Promise<void>;
}

/** A fake of the service with the send rules 1 to 6 of spec §4, on bare sockets so that each byte can go wrong. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
	const { window = "open", echo = false, remembers = true } = options;
	let plan = options.plan;
	const requests: Seen[] = [];
	const deliveries: Delivery[] = [];
	const held = new Map<string, Delivery>();
	const known = new Map<string, { print: string; answer: object }>();
	const sockets = new Set<Socket>();
	const busy = new Set<Socket>();
	let opened = 0;
	let landings = 0;
	let reuses = 0;
	let counter = 0;

	function perform(seen: Seen, commit: boolean): { status: number; answer: object } {
		if (seen.operation === undefined) return { status: 404, answer: { _tag: "PartnerNotFound", message: "No route" } };
		const { to, body, operationId, phoneNumbers } = seen.fields;
		if (seen.operation !== "messages.send") {
			const asked = Array.isArray(phoneNumbers) ? phoneNumbers.filter((each) => typeof each === "string") : [];
			return { status: 200, answer: readAnswer(seen.operation, asked) };
		}
		if (typeof to !== "string" || typeof body !== "string") {
			return { status: 400, answer: { _tag: "PartnerBadRequest", message: "/to or /body is missing" } };
		}
		const id = typeof operationId === "string" ? operationId : undefined;
		const before = id === undefined ? undefined : known.get(id);
		if (before !== undefined && before.print !== seen.body) {
			reuses++;
			return { status: 500, answer: { _tag: "PartnerInternalError", message: "Internal error" } };
		}
		if (before !== undefined) return { status: 200, answer: { ...before.answer, status: null } };
		const serial = ++counter;
		const answer =
			window === "open" ? { ...sentNow, messageId: `SM${serial}` } : { ...heldForConsent, queueId: `q-${serial}` };
		if (commit && remembers) {
			const delivery = { to, text: body, operationId: id };
			if (window === "open") deliveries.push(delivery);
			else held.set(to, delivery);
			if (id !== undefined) known.set(id, { print: seen.body, answer });
		}
		return { status: 200, answer };
	}

	function answer(socket: Socket, seen: Seen, goStale: () => void, origin: string, foreign: string): void {
		const planned = plan?.(seen);
		const { status, answer: result } = perform(seen, planned?.variant !== "unprocessed");
		const repeated = echo
			? ` ${seen.headers.authorization} ${seen.path} ${decodeURIComponent(seen.path)} ${seen.body}`
			: "";
		const headers = {
			"Content-Type": "application/json",
			"X-Correlation-Id": `service-${++counter}`,
			Date: new Date().toUTCString(),
			...(echo ? { "X-Echo": encodeURI(repeated), Server: encodeURI(repeated) } : {}),
		};
		const turn: Turn = {
			socket,
			honest: JSON.stringify(result),
			headers,
			origin,
			foreign,
			echo: repeated,
			goStale,
			finish: () => busy.delete(socket),
		};
		if (planned === undefined) {
			write(socket, { status, headers, body: turn.honest });
			turn.finish();
		} else planned.fault.play(turn);
	}

	function listen(serve: (socket: Socket, request: RawRequest, goStale: () => void) => void): Promise<Server> {
		const server = createServer((socket) => {
			let stale = false;
			socket.setNoDelay(true);
			sockets.add(socket);
			opened++;
			const read = requestReader((request) => {
				busy.add(socket);
				serve(socket, request, () => {
					stale = true;
				});
			});
			socket.on("data", (chunk) => {
				if (stale) socket.resetAndDestroy();
				// A TLS handshake: a plain port answers it as any server does, in plain HTTP.
				else if (chunk[0] === 0x16) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
				else read(chunk);
			});
			socket.on("error", () => socket.destroy());
			socket.on("close", () => {
				sockets.delete(socket);
				busy.delete(socket);
			});
		});
		return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
	}

	const foreignServer = await listen((socket) => {
		landings++;
		write(socket, { status: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify(sentNow) });
		busy.delete(socket);
	});
	const foreign = originOf(foreignServer);
	const server = await listen((socket, request, goStale) => {
		if (request.path.startsWith("/landing")) {
			landings++;
			write(socket, { status: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify(sentNow) });
			busy.delete(socket);
			return;
		}
		const operation = operationOf(request.method, request.path);
		const seen: Seen = {
			...request,
			operation,
			connection: opened,
			at: performance.now(),
			fields: fieldsOf(request.body),
		};
		if (remembers) requests.push(seen);
		answer(socket, seen, goStale, origin, foreign);
	});
	const origin = originOf(server);
	// A port of the system's own range: one that was free a moment ago could be the next test's.
	const deadOrigin = "http://127.0.0.1:2";

	return {
		baseUrl: `${origin}/api/v1`,
		origin,
		deadOrigin,
		requests,
		landings: () => landings,
		deliveries,
		held,
		reuses: () => reuses,
		busy: () => busy.size,
		connections: () => ({ opened, open: sockets.size }),
		setPlan(next) {
			plan = next;
		},
		accept() {
			deliveries.push(...held.values());
			held.clear();
		},
		async close() {
			for (const socket of sockets) socket.destroy();
			await Promise.all([server, foreignServer].map((each) => new Promise((resolve) => each.close(resolve))));
		},
	};
}

function originOf(server: Server): string {
	const address = server.address();
	if (address === null || typeof address === "string") throw new Error("the service has no port");
	return `http://127.0.0.1:${address.port}`;
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
	try {
		const parsed: unknown = JSON.parse(text);
		return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
	} catch {
		return {};
	}
}
