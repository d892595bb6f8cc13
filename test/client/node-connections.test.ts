import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import http, { type RequestListener } from "node:http";
import https, { type ServerOptions } from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import { deflateRawSync } from "node:zlib";
import { type ClientOptions, PartnerConnectionError } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { adapters, controlOf, nodeTransport, over } from "../adapters.ts";
import { clientOf, failure } from "../calls.ts";
import { agencyId, me, phone, sentNow } from "../canned.ts";
import { certificate, privateKey } from "../certificate.ts";
import { listening } from "./listening.ts";

const clientAt = (baseUrl: string, options: Partial<ClientOptions>) => clientOf({ baseUrl }, options);
const serve = (listener: RequestListener) => listening(http.createServer(listener));
const json = { "content-type": "application/json" };
const answerMe: RequestListener = (_, answer) => answer.writeHead(200, json).end(JSON.stringify(me));
const ask = (url: string, transport = nodeTransport()) =>
	transport({ method: "GET", url, headers: {}, body: undefined, noStore: false, once: false }, controlOf(1_000_000));

/** A service whose connections can be made to reset, or to stay silent, at their next request. */
async function failingOver(fail: (socket: Socket) => void) {
	const dead = new WeakSet<Socket>();
	const open = new Set<Socket>();
	let requests = 0;
	const server = http.createServer((request, answer) => {
		requests++;
		if (dead.has(request.socket)) return fail(request.socket);
		// Late, so that calls side by side each get a connection.
		setTimeout(() => {
			const body = request.method === "POST" ? sentNow : me;
			answer.writeHead(200, json).end(JSON.stringify(body));
		}, 20);
	});
	server.on("connection", (socket) => open.add(socket));
	server.keepAliveTimeout = 0;
	const { url } = await listening(server);
	return {
		url,
		failover() {
			for (const socket of open) dead.add(socket);
			requests = 0;
		},
		requests: () => requests,
	};
}

test.each([
	["reset", (socket: Socket): void => void socket.resetAndDestroy()],
	["end", (socket: Socket): void => void socket.end()],
	["stay silent", (): void => {}],
] as const)("one request finds out that 12 idle connections %s, and the next is on a fresh one", async (_, fail) => {
	const service = await failingOver(fail);
	const client = clientAt(service.url, { transport: nodeTransport() });
	await Promise.all(Array.from({ length: 12 }, () => client.me.get()));
	service.failover();
	const { messages } = client.agency(agencyId);
	const { response } = await messages.send({ to: phone, body: "Hi" }, { timeoutMs: 1_500 }).withResponse();
	const { attempts } = response;
	expect([attempts, service.requests()]).toEqual([2, 2]);
});

const afterASecond = (): AbortSignal => {
	const controller = new AbortController();
	setTimeout(() => controller.abort(), 1050);
	return controller.signal;
};

test.each([
	["AbortSignal.timeout", () => AbortSignal.timeout(50)],
	["AbortSignal.any with one", () => AbortSignal.any([new AbortController().signal, AbortSignal.timeout(50)])],
	["a signal that aborts after a second", afterASecond],
])("one call that %s ends finds out that idle connections are silent", async (_, signal) => {
	const service = await failingOver(() => {});
	const client = clientAt(service.url, { transport: nodeTransport() });
	await Promise.all(Array.from({ length: 6 }, () => client.me.get()));
	service.failover();
	expect(await failure(() => client.me.get({ signal: signal() }))).toMatchObject({ _tag: "PartnerAbortError" });
	await client.me.get({ retry: false });
	expect(service.requests()).toBe(2);
});

test("idle connections that are healthy survive a caller's abort", async () => {
	const service = await failingOver(() => {});
	const client = clientAt(service.url, { transport: nodeTransport() });
	await Promise.all([client.me.get(), client.me.get()]);
	const controller = new AbortController();
	const aborted = failure(() => client.me.get({ signal: controller.signal }));
	setTimeout(() => controller.abort(), 5);
	expect(await aborted).toMatchObject({ _tag: "PartnerAbortError" });
	service.failover();
	// The one that is left is used, and only now is it found out to be dead.
	expect(await failure(() => client.me.get({ timeoutMs: 200, retry: false }))).toMatchObject({
		_tag: "PartnerTimeoutError",
	});
});

test.each(["resetAndDestroy", "destroy"])(
	"sends after a freeze avoid the connections that were closed in it, by %s",
	async (way) => {
		const { Worker } = await import("node:worker_threads");
		const code = `
		const http = require("node:http");
		const { parentPort } = require("node:worker_threads");
		const sockets = new Set();
		const server = http.createServer((_, answer) => setTimeout(() => answer.writeHead(200, { "content-type": "application/json" }).end(${JSON.stringify(JSON.stringify(sentNow))}), 20));
		server.keepAliveTimeout = 0;
		server.on("connection", (socket) => sockets.add(socket).add(socket));
		server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
		parentPort.on("message", (flag) => {
			for (const socket of sockets) socket.${way}();
			setTimeout(() => { Atomics.store(flag, 0, 1); Atomics.notify(flag, 0); }, 100);
		});`;
		const worker = new Worker(code, { eval: true });
		onTestFinished(async () => void (await worker.terminate()));
		const port: number = await new Promise((resolve) => worker.once("message", resolve));
		const { messages } = clientAt(`http://127.0.0.1:${port}`, { transport: nodeTransport(), retry: false }).agency(
			agencyId,
		);
		const send = (index: number) => messages.send({ to: phone, body: `Text ${index}` }).result();
		await Promise.all(Array.from({ length: 20 }, (_, index) => send(index)));
		const flag = new Int32Array(new SharedArrayBuffer(4));
		worker.postMessage(flag);
		// Nothing of this thread runs while the connections are reset.
		Atomics.wait(flag, 0, 0);
		const results = await Promise.all(Array.from({ length: 20 }, (_, index) => send(20 + index)));
		expect(results.filter(({ ok }) => !ok)).toEqual([]);
	},
);

test("a connection is not used beyond its age, even if it is never idle", async () => {
	const used = new Set<Socket>();
	const { url } = await serve((request, answer) => {
		used.add(request.socket);
		setTimeout(() => answer.end("{}"), 10);
	});
	const transport = nodeTransport({ maxSockets: 1, maxAgeMs: 1 });
	// All ten are queued before the first has its answer, so that the agent has no idle moment.
	await Promise.all(Array.from({ length: 10 }, () => ask(url, transport)));
	expect(used.size).toBe(10);
	const young = nodeTransport({ maxSockets: 1 });
	used.clear();
	await Promise.all(Array.from({ length: 10 }, () => ask(url, young)));
	expect(used.size).toBe(1);
});

describe("after close()", () => {
	test("a call in flight ends, a queued one is not sent, and a later one is refused", async () => {
		let requests = 0;
		const { url } = await serve(() => requests++);
		const transport = nodeHttp({ maxSockets: 1 });
		const { messages } = clientAt(url, { transport }).agency(agencyId);
		const send = () => failure(() => messages.send({ to: phone, body: "Hi" }));
		const calls = [send(), send()];
		await expect.poll(() => requests).toBe(1);
		transport.close();
		const errors = await Promise.all([...calls, send()]);
		expect(errors).toMatchObject([
			{ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 1, retryable: false },
			{ _tag: "PartnerConnectionError", outcome: "not_sent", attempts: 1, retryable: false },
			{ _tag: "PartnerConnectionError", outcome: "not_sent", attempts: 1, retryable: false },
		]);
		expect(errors[2]).toMatchObject({
			cause: { code: "ERR_EXCHANGE_CLOSED" },
			message: "messages.send: its connections were closed by close() (ERR_EXCHANGE_CLOSED)",
		});
		expect(requests).toBe(1);
	});

	test("a response whose body is still on its way ends, and its status counts", async () => {
		const { url } = await serve((_, answer) => void answer.writeHead(200, json).write("{"));
		const transport = nodeHttp();
		const headed = { code: "ERR_EXCHANGE_CLOSED" };
		const close = () => setImmediate(transport.close);
		subscribe("http.client.response.finish", close);
		const reading = ask(url, transport).catch((error: unknown) => error);
		expect(await reading.finally(() => unsubscribe("http.client.response.finish", close))).toMatchObject({
			fault: headed,
			head: { status: 200 },
			connected: true,
		});
	});

	test("a call that waits for its retry makes no request any more", async () => {
		let requests = 0;
		const { url } = await serve((_, answer) => {
			requests++;
			answer.writeHead(500, json).end("{}");
		});
		const transport = nodeHttp();
		// Called when the wait begins.
		const onAttempt = () => transport.close();
		const { messages } = clientAt(url, { transport, onAttempt }).agency(agencyId);
		const error = await failure(() => messages.send({ to: phone, body: "Hi" }));
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", attempts: 2 });
		expect(requests).toBe(1);
	});

	test("closing twice is closing once", () => {
		const transport = nodeHttp();
		transport.close();
		transport.close();
	});
});

describe("mutual TLS", () => {
	const mutual = async (options: ServerOptions) => {
		const server = https.createServer({ cert: certificate, key: privateKey, requestCert: true, ...options }, answerMe);
		server.on("tlsClientError", () => {});
		const { url } = await listening(server);
		return url.replace("http:", "https:");
	};

	test("a client certificate is shown", async () => {
		const url = await mutual({ ca: certificate });
		const client = clientAt(url, { transport: nodeTransport({ ca: certificate, cert: certificate, key: privateKey }) });
		expect(await client.me.get()).toEqual(me);
	});

	test.each(["TLSv1.2", "TLSv1.3"] as const)("one that is refused is permanent and not sent, %s", async (version) => {
		const url = await mutual({ ca: certificate, rejectUnauthorized: true, maxVersion: version });
		const { messages } = clientAt(url, { transport: nodeTransport({ ca: certificate }) }).agency(agencyId);
		const error = await failure(() => messages.send({ to: phone, body: "Hi" }));
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent" });
		// Under 1.2 the server cuts the handshake without the certificate's alert.
		if (version === "TLSv1.3") expect(error).toMatchObject({ attempts: 1, retryable: false });
	});

	test("certificates beside those of a proxy's agent count together", async () => {
		const url = await mutual({ ca: certificate, rejectUnauthorized: true });
		const proxy = new https.Agent({ cert: certificate, key: privateKey });
		const client = clientAt(url, { transport: nodeTransport({ proxy, ca: certificate }) });
		expect(await client.me.get()).toEqual(me);
		const other = new https.Agent({ ca: certificate });
		const reversed = clientAt(url, { transport: nodeTransport({ proxy: other, cert: certificate, key: privateKey }) });
		expect(await reversed.me.get()).toEqual(me);
	});
});

/** A TLS record with a fatal alert. */
const alert = (description: number) => Buffer.from([21, 3, 3, 0, 2, 2, description]);

describe.each(adapters)("a send whose handshake ends early is not sent, over %s", (adapter) => {
	test.each([
		["a FIN", (socket: Socket): void => void socket.end()],
		["a reset", (socket: Socket): void => void socket.resetAndDestroy()],
		["alert 40", (socket: Socket): void => void socket.end(alert(40))],
		["alert 70", (socket: Socket): void => void socket.end(alert(70))],
		["alert 80", (socket: Socket): void => void socket.end(alert(80))],
		["alert 112", (socket: Socket): void => void socket.end(alert(112))],
	] as const)("by %s", async (_, cut) => {
		const { url } = await listening(net.createServer((socket) => socket.once("data", () => cut(socket))));
		const client = clientAt(url.replace("http:", "https:"), { ...over(adapter), retry: false });
		const error = await failure(() => client.agency(agencyId).messages.send({ to: phone, body: "Hi" }));
		expect(error).toBeInstanceOf(PartnerConnectionError);
		expect(error).toMatchObject({ outcome: "not_sent" });
	});
});

test("a reset after the handshake proves nothing", async () => {
	const server = https.createServer({ cert: certificate, key: privateKey }, ({ socket }) => socket.destroy());
	const { url } = await listening(server);
	const secure = url.replace("http:", "https:");
	const client = clientAt(secure, { transport: nodeTransport({ ca: certificate }), retry: false });
	const error = await failure(() => client.agency(agencyId).messages.send({ to: phone, body: "Hi" }));
	expect(error).toMatchObject({ outcome: "unknown" });
});

test("a proxy that refuses the tunnel of fetch is not sent, by what undici says of the connection", async () => {
	// As undici's ProxyAgent does it, which Node 20 has no way to switch on.
	const refused = Object.assign(new Error("Proxy response (403) !== 200 when HTTP Tunneling"), { name: "AbortError" });
	const thrown = new TypeError("fetch failed", { cause: new Error("Request was cancelled.", { cause: refused }) });
	const { messages } = clientAt("http://127.0.0.1:9", { fetch: () => Promise.reject(thrown), retry: false }).agency(
		agencyId,
	);
	const send = () => failure(() => messages.send({ to: phone, body: "Hi" }));
	expect(await send()).toMatchObject({ outcome: "unknown" });
	channel("undici:client:connectError").publish({ error: refused });
	expect(await send()).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: true });
});

test("a proxy that refuses, and one that cannot be reached, are not sent over nodeHttp", async () => {
	for (const error of [
		new Error("Socks5 proxy rejected connection"),
		Object.assign(new Error("x"), { code: "ECONNRESET" }),
	]) {
		const proxy = new http.Agent();
		proxy.createConnection = () => {
			throw error;
		};
		const { messages } = clientAt("http://127.0.0.1:9", { transport: nodeTransport({ proxy }), retry: false }).agency(
			agencyId,
		);
		expect(await failure(() => messages.send({ to: phone, body: "Hi" }))).toMatchObject({ outcome: "not_sent" });
	}
});

test("raw deflate is read, as fetch reads it", async () => {
	const text = JSON.stringify({ text: "é".repeat(50_000) });
	const { url } = await serve((_, answer) => {
		answer.writeHead(200, { "content-encoding": "deflate" }).end(deflateRawSync(text));
	});
	expect((await ask(url)).text).toBe(text);
	const { port } = new URL(url);
	expect((await fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())) === text).toBe(true);
});

test.each(["ECONNREFUSED", "ENOTFOUND"])("a mock's %s is not sent", async (code) => {
	const refuse = () => Promise.reject(Object.assign(new Error("mocked"), { code, connected: true }));
	const { messages } = clientAt("http://127.0.0.1:9", { transport: refuse, retry: false }).agency(agencyId);
	expect(await failure(() => messages.send({ to: phone, body: "Hi" }))).toMatchObject({ outcome: "not_sent" });
});

test("a send to a closed port is not sent", async () => {
	const server = net.createServer().listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	const { messages } = clientAt(`http://127.0.0.1:${port}`, { transport: nodeTransport(), retry: false }).agency(
		agencyId,
	);
	expect(await failure(() => messages.send({ to: phone, body: "Hi" }))).toMatchObject({ outcome: "not_sent" });
});
