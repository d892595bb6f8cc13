// What takes long between a reading and the first byte of a send: a name that is looked up, a TLS handshake, a tunnel of a proxy.
import dns from "node:dns";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import tls from "node:tls";
import { type ClientOptions, createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Adapter, nodeTransport, over } from "../adapters.ts";
import { failure } from "../calls.ts";
import { certificate, privateKey } from "../certificate.ts";
import { listening } from "../client/listening.ts";
import { eventually } from "../eventually.ts";
import { memoryStore } from "./memory.ts";

afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

/** Lets time pass by both clocks, and fires no timer, as if the process were stopped. */
function createClocks(): (ms: number) => void {
	const date = Date.now.bind(Date);
	const steady = performance.now.bind(performance);
	let passedMs = 0;
	vi.spyOn(Date, "now").mockImplementation(() => date() + passedMs);
	vi.spyOn(performance, "now").mockImplementation(() => steady() + passedMs);
	return (ms) => void (passedMs += ms);
}

/** The service of a sandbox, which closes each connection after its answer, and how a client reaches it. */
interface Way {
	/** @param wait is called for each connection, which goes on when it resolves */
	reach(server: http.Server, adapter: Adapter, wait: () => Promise<void>): Promise<Reached>;
	readonly isTls: boolean;
	readonly adapters: readonly Adapter[];
}

interface Reached extends Pick<ClientOptions, "transport"> {
	readonly baseUrl: string;
}

const both = ["fetch", "nodeHttp"] as const;
/** Node's own fetch takes a proxy from its environment at its start alone, and not before Node 24. */
const nodeAlone = ["nodeHttp"] as const;

/** Passes the bytes on between two sockets. */
function join(one: Socket, other: Socket): void {
	one.pipe(other).pipe(one);
	for (const [socket, end] of [
		[one, other],
		[other, one],
	] as const)
		socket.on("error", () => end.destroy()).on("close", () => end.destroy());
}

/** A server whose connections lead to another one. */
async function front(accept: (socket: Socket) => void): Promise<number> {
	const { url } = await listening(net.createServer(accept));
	return Number(new URL(url).port);
}

const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;

/** A proxy that answers each CONNECT when `wait` resolves. */
async function proxyTo(server: net.Server, wait: () => Promise<void>): Promise<number> {
	// The server may have closed by the time that a connection goes on.
	const to = portOf(server);
	const proxy = http.createServer();
	proxy.on("connect", async (_request, socket: Socket) => {
		await wait();
		const upstream = net.connect(to, "127.0.0.1", () => {
			socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
			join(socket, upstream);
		});
		upstream.on("error", () => socket.destroy());
	});
	return Number(new URL((await listening(proxy)).url).port);
}

/** Opens a tunnel, as an agent of a proxy does. */
function tunnel(port: number, { host = "", port: to = 0 }: { host?: string; port?: number }): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const asked = http.request({ host: "127.0.0.1", port, method: "CONNECT", path: `${host}:${to}`, agent: false });
		asked.on("connect", (_, socket: Socket) => resolve(socket)).on("error", reject);
		asked.end();
	});
}

/** An agent whose connections go through a proxy, as that of https-proxy-agent. */
function tunnels({ Agent }: typeof http | typeof https, port: number): http.Agent {
	const createConnection = (
		given: { host?: string; port?: number; servername?: string },
		done: (error: Error | null, socket?: Socket) => void,
	): void => {
		const shake = (socket: Socket): Socket => tls.connect({ ...given, ca: certificate, socket });
		tunnel(port, given).then((socket) => done(null, Agent === https.Agent ? shake(socket) : socket), done);
	};
	return Object.assign(new Agent(), { createConnection });
}

const ways: Record<string, Way> = {
	"a name that is looked up": {
		adapters: both,
		isTls: false,
		async reach(server, adapter, wait) {
			const lookup = dns.lookup.bind(dns) as (...given: unknown[]) => void;
			vi.spyOn(dns, "lookup").mockImplementation(((...given: unknown[]) => {
				void wait().then(() => lookup(...given));
			}) as never);
			return { baseUrl: `http://localhost:${portOf(server)}`, ...over(adapter) };
		},
	},
	"a name that the agent looks up": {
		adapters: nodeAlone,
		isTls: false,
		async reach(server, _, wait) {
			const lookup: net.LookupFunction = (_name, { all }, done) =>
				void wait().then(() => (all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)));
			const transport = nodeTransport({ proxy: new http.Agent({ lookup }) });
			return { baseUrl: `http://localhost:${portOf(server)}`, transport };
		},
	},
	"a TLS handshake": {
		adapters: both,
		isTls: true,
		async reach(server, adapter, wait) {
			if (adapter === "fetch") vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
			const to = portOf(server);
			const port = await front(async (socket) => {
				socket.on("error", () => {});
				await wait();
				join(socket, net.connect(to, "127.0.0.1"));
			});
			return { baseUrl: `https://127.0.0.1:${port}`, ...over(adapter, { ca: certificate }) };
		},
	},
	"a tunnel of a proxy": {
		adapters: nodeAlone,
		isTls: false,
		async reach(server, _, wait) {
			const port = await proxyTo(server, wait);
			return {
				baseUrl: `http://127.0.0.1:${portOf(server)}`,
				transport: nodeTransport({ proxy: tunnels(http, port) }),
			};
		},
	},
	"a tunnel of a proxy, with TLS in it": {
		adapters: nodeAlone,
		isTls: true,
		async reach(server, _, wait) {
			const port = await proxyTo(server, wait);
			return {
				baseUrl: `https://127.0.0.1:${portOf(server)}`,
				transport: nodeTransport({ proxy: tunnels(https, port) }),
			};
		},
	},
	"a TLS handshake in a tunnel": {
		adapters: nodeAlone,
		isTls: true,
		async reach(server, _, wait) {
			const to = portOf(server);
			const slow = net.createServer(async (socket) => {
				socket.on("error", () => {});
				await wait();
				join(socket, net.connect(to, "127.0.0.1"));
			});
			await listening(slow);
			const port = await proxyTo(slow, async () => {});
			return {
				baseUrl: `https://127.0.0.1:${portOf(slow)}`,
				transport: nodeTransport({ proxy: tunnels(https, port) }),
			};
		},
	},
};

const everyWay = Object.entries(ways).flatMap(([name, way]) => way.adapters.map((adapter) => [name, adapter] as const));

/** A sandbox that is reached in a way. `slow` is called once for the next connection after `arm`. */
async function open(name: string, adapter: Adapter) {
	const pass = createClocks();
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const methods: string[] = [];
	let onAnswer = (_method: string): void => {};
	let slow: (() => void) | undefined;
	const listener: http.RequestListener = async (request, response) => {
		const { method = "", url = "", headers } = request;
		let body = "";
		for await (const chunk of request) body += chunk;
		methods.push(method);
		const { authorization = "" } = headers;
		const given = { method, headers: { authorization, "content-type": "application/json" }, ...(body && { body }) };
		const answer = await sandbox.fetch(`${sandbox.connection.baseUrl}${url}`, given);
		const text = await answer.text();
		onAnswer(method);
		response.setHeader("connection", "close");
		response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
	};
	const way = ways[name] ?? expect.unreachable();
	const server = way.isTls
		? https.createServer({ cert: certificate, key: privateKey }, listener)
		: http.createServer(listener);
	await listening(server);
	const connected: boolean[] = [];
	const { baseUrl, transport } = await way.reach(server, adapter, async () => {
		const happen = slow;
		slow = undefined;
		connected.push(happen !== undefined);
		// As long as whoever asks for the connection goes on, which is slow then.
		await new Promise((resolve) => setTimeout(resolve, 20));
		happen?.();
	});
	const { apiKey } = sandbox.connection;
	const client = createClient({ baseUrl, apiKey, ...(transport && { transport }) });
	const arm = (happen: () => void): void => void (slow = happen);
	/** Calls something for the connection after the first read of a conversation. */
	const armAfterRead = (happen: () => void): void => {
		onAnswer = (method) => {
			if (method !== "GET") return;
			onAnswer = () => {};
			arm(happen);
		};
	};
	return { pass, sandbox, agency, anna, client, methods, arm, armAfterRead, isSpent: () => connected.includes(true) };
}

describe.each(everyWay)("%s, over %s", (name, adapter) => {
	test("#48 a send is not written on a connection that came after its latest moment", async () => {
		const { pass, agency, anna, client, methods, arm, isSpent } = await open(name, adapter);
		const { messages } = client.agency(agency.id);
		await client.me.get();
		const send = () =>
			messages.send({ to: anna.phoneNumber, body: "Hi" }, { beginBy: new Date(Date.now() + 10_000), retry: false });
		arm(() => pass(11_000));
		expect(await failure(send)).toMatchObject({
			_tag: "PartnerTimeoutError",
			field: "beginBy",
			outcome: "not_sent",
			retryable: true,
		});
		expect([methods, isSpent()]).toEqual([["GET"], true]);
		arm(() => pass(5_000));
		await expect(send()).resolves.toMatchObject({ queued: false });
		expect(methods).toEqual(["GET", "POST"]);
	});

	test("no text of an outbox goes out after a STOP that came meanwhile", async () => {
		const { pass, agency, anna, client, methods, armAfterRead, isSpent } = await open(name, adapter);
		const outbox = createOutbox({ client, store: memoryStore() });
		// Marketing waits for the AI.
		agency.staff.setAi({ contact: anna, on: false });
		armAfterRead(() => {
			anna.writes("STOP");
			pass(11_000);
		});
		await outbox.enqueue({
			id: "offer",
			agencyId: agency.id,
			to: anna.phoneNumber,
			body: "A new flat",
			purpose: "marketing",
		});
		await eventually(async () => {
			await outbox.runOnce();
			const state = (await outbox.status("offer"))?.state;
			if (state === "waiting") pass(2_000);
			expect(state).not.toBe("waiting");
		});
		expect(await outbox.status("offer")).toMatchObject({ state: "cancelled", reason: "opted_out" });
		expect([isSpent(), methods.includes("POST")]).toEqual([true, false]);
		expect(anna.inbox()).toEqual([]);
	});

	test("and a connection that takes five seconds keeps no text back", async () => {
		const { pass, agency, anna, client, armAfterRead, isSpent } = await open(name, adapter);
		const outbox = createOutbox({ client, store: memoryStore() });
		armAfterRead(() => pass(5_000));
		await outbox.enqueue({ id: "note", agencyId: agency.id, to: anna.phoneNumber, body: "See you at two." });
		await outbox.runOnce();
		expect([isSpent(), anna.inbox().map(({ body }) => body)]).toEqual([true, ["See you at two."]]);
	});
});
