import { getEventListeners } from "node:events";
import http, { type IncomingMessage, type RequestListener } from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Server, type Socket } from "node:net";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from "node:zlib";
import { HttpResponse, http as mock } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { createClient } from "../src/index.ts";
import { type NodeFetchOptions, nodeFetch } from "../src/node.ts";
import { wrong } from "./calls.ts";
import { certificate, privateKey } from "./certificate.ts";

interface Listening {
	url: string;
	sockets: Socket[];
	/** Connections that are open now. */
	open: () => number;
}

async function listening(server: Server, scheme = "http"): Promise<Listening> {
	const sockets: Socket[] = [];
	server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => {})));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return {
		url: `${scheme}://127.0.0.1:${port}/`,
		sockets,
		open: () => sockets.filter((each) => !each.destroyed).length,
	};
}

const serve = (listener: RequestListener) => listening(http.createServer(listener));

/** A server that answers each request with these bytes, whatever they are. */
const bare = (say: (socket: Socket, text: string) => void) =>
	listening(net.createServer((socket) => socket.on("data", (chunk) => say(socket, chunk.toString("latin1")))));

function fetching(options?: NodeFetchOptions) {
	const fetch = nodeFetch(options);
	onTestFinished(() => fetch.close());
	return fetch;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

const failure = (promise: Promise<unknown>) =>
	promise.then(
		() => expect.unreachable("it should have failed"),
		(error: unknown) => error,
	);

const big = JSON.stringify({ rows: Array.from({ length: 4000 }, (_, index) => ({ index, text: "é".repeat(20) })) });

test("a POST goes out once, whole, with its length and the headers given", async () => {
	const wire: string[] = [];
	const { url } = await bare((socket, text) => {
		wire.push(text);
		socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
	});
	const headers = { Authorization: "Bearer k", "content-type": "application/json" };
	const response = await fetching()(`${url}a/%2B32?b=c%20d`, { method: "post", headers, body: '{"é":1}' });
	expect([response.status, response.ok, response.statusText, await response.json()]).toEqual([200, true, "OK", {}]);
	expect(wire).toHaveLength(1);
	const [head = "", body] = wire[0]?.split("\r\n\r\n") ?? [];
	const [line, ...fields] = head.split("\r\n");
	expect(line).toBe("POST /a/%2B32?b=c%20d HTTP/1.1");
	expect(fields.map((field) => field.toLowerCase()).sort()).toEqual([
		"accept-encoding: gzip, br",
		"authorization: bearer k",
		"connection: keep-alive",
		"content-length: 8",
		"content-type: application/json",
		`host: ${new URL(url).host}`,
	]);
	expect(Buffer.from(body ?? "", "latin1").toString()).toBe('{"é":1}');
});

test("a read that must not be cached says so, and headers are taken in every form", async () => {
	const { url } = await serve((request, answer) => answer.end(JSON.stringify(request.headers)));
	const fetch = fetching();
	const seen = async (init: RequestInit) => (await fetch(url, init)).json();
	expect(await seen({ cache: "no-store" })).toMatchObject({ "cache-control": "no-cache" });
	expect(await seen({ headers: new Headers({ "X-A": "1" }) })).toMatchObject({ "x-a": "1" });
	const pairs: [string, string][] = [
		["X-A", "1"],
		["x-a", "2"],
	];
	expect(await seen({ headers: pairs })).toMatchObject({ "x-a": "1, 2" });
	expect(await seen({ headers: { "Accept-Encoding": "identity" } })).toMatchObject({ "accept-encoding": "identity" });
	expect(await seen({})).not.toHaveProperty("cache-control");
});

test("bodies are strings or bytes, and a Request is taken too", async () => {
	const { url } = await serve(async (request, answer) => answer.end(`${request.method} ${await bodyOf(request)}`));
	const fetch = fetching();
	const said = async (...given: Parameters<typeof fetch>) => (await fetch(...given)).text();
	expect(await said(new URL(url), { method: "PUT", body: new TextEncoder().encode("bytes") })).toBe("PUT bytes");
	expect(await said(new Request(url, { method: "POST", body: "text" }))).toBe("POST text");
	expect(await said(new Request(url))).toBe("GET ");
	expect(await said(url, { method: "POST" })).toBe("POST ");
	const stream = new ReadableStream();
	expect(await failure(fetch(url, { method: "POST", body: stream }))).toBeInstanceOf(TypeError);
});

test("a URL with a password, or of another scheme, is refused without being quoted", async () => {
	const fetch = fetching();
	for (const url of ["http://user:hunter2@127.0.0.1:9/", "data:text/plain,hunter2"]) {
		const error = await failure(fetch(url));
		expect(error).toBeInstanceOf(TypeError);
		expect(String(error)).not.toContain("hunter2");
	}
});

test("options that are no usable number are refused", () => {
	for (const options of [{ keepAliveMs: 0 }, { keepAliveMs: 2 ** 31 }, { maxSockets: 1.5 }, { maxSockets: -1 }]) {
		expect(() => nodeFetch(options)).toThrow(RangeError);
	}
});

test("options of another kind are refused, and named", () => {
	for (const options of [null, "x", 5, true, Symbol("x"), () => {}]) {
		expect(() => nodeFetch(wrong(options))).toThrow(new TypeError("nodeFetch: options must be an object"));
	}
	for (const proxy of [5, "http://proxy.example", {}, () => {}]) {
		const refusal = new TypeError("nodeFetch: proxy must be an agent of node:http or node:https");
		expect(() => nodeFetch({ proxy: wrong(proxy) })).toThrow(refusal);
	}
	for (const ca of [5, {}, [5], () => {}]) {
		expect(() => nodeFetch({ ca: wrong(ca) })).toThrow(
			new TypeError("nodeFetch: ca must be PEM: text, bytes, or a list"),
		);
	}
});

test("what is no URL is refused without being quoted", async () => {
	for (const input of ["+32470123456", "https://+32470123456:x", "", null, undefined, {}]) {
		const error = await failure(fetching()(wrong(input)));
		expect(error).toEqual(new TypeError("fetch failed: not a URL"));
		expect(inspect(error)).not.toContain("+32470123456");
	}
});

test("what a program has put on all objects is no header", async () => {
	const { url } = await serve((request, answer) => answer.end(JSON.stringify(request.headers)));
	Object.defineProperty(Object.prototype, "x-everywhere", { value: "1", enumerable: true, configurable: true });
	const answer = fetching()(url, { headers: { "x-own": "2" } });
	Reflect.deleteProperty(Object.prototype, "x-everywhere");
	const sent = await (await answer).json();
	expect(sent).toHaveProperty("x-own");
	expect(sent).not.toHaveProperty("x-everywhere");
});

test("a signal that cannot be listened to fails its call, and nothing else", async () => {
	const { url, open } = await serve((_, answer) => answer.end("{}"));
	const signal = wrong({
		aborted: false,
		addEventListener() {
			throw new Error("not today");
		},
	});
	const fetch = fetching();
	expect(await failure(fetch(url, { signal }))).toMatchObject({ message: "not today" });
	// No server is there: what becomes of the connection has to be heard by somebody.
	expect(await failure(fetch("http://127.0.0.1:1/", { signal }))).toMatchObject({ message: "not today" });
	await (await fetch(url)).text();
	fetch.close();
	await vi.waitFor(() => expect(open()).toBe(0));
});

test("a Request's own signal holds where none is given beside it", async () => {
	const { url } = await serve(() => {});
	const controller = new AbortController();
	const request = new Request(url, { signal: controller.signal });
	const call = failure(fetching()(request, wrong({ signal: undefined })));
	setTimeout(() => controller.abort(), 25);
	expect(await call).toMatchObject({ name: "AbortError" });
});

test("calls one after another share a connection, small bodies and large, read or not", async () => {
	const { url, sockets } = await serve((request, answer) => answer.end(request.url === "/big" ? big : "{}"));
	const fetch = fetching();
	for (let round = 0; round < 10; round++) {
		await (await fetch(url)).json();
		expect(await (await fetch(`${url}big`)).text()).toBe(big);
		await fetch(url);
	}
	expect(sockets).toHaveLength(1);
});

test("maxSockets bounds the connections, and a call that is aborted while it waits makes way", async () => {
	const { url, sockets } = await serve((_, answer) => void setTimeout(() => answer.end("{}"), 20));
	const fetch = fetching({ maxSockets: 2 });
	const controller = new AbortController();
	const calls = Array.from({ length: 6 }, () => fetch(url).then((response) => response.json()));
	const waiting = fetch(url, { signal: controller.signal });
	controller.abort();
	expect(await failure(waiting)).toMatchObject({ name: "AbortError" });
	expect(await Promise.all([...calls, fetch(url).then((response) => response.json())])).toEqual(Array(7).fill({}));
	expect(sockets).toHaveLength(2);
});

test("close ends idle connections, and those in use", async () => {
	const { url, open } = await serve((request, answer) => request.url === "/" && answer.end("{}"));
	const fetch = fetching();
	await fetch(url);
	const hanging = failure(fetch(`${url}hang`));
	await vi.waitFor(() => expect(open()).toBe(1));
	await fetch(url);
	expect(open()).toBe(2);
	fetch.close();
	expect(await hanging).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
	await vi.waitFor(() => expect(open()).toBe(0));
});

test("an idle connection is closed after keepAliveMs", async () => {
	const { url, open } = await serve((_, answer) => answer.end("{}"));
	await fetching({ keepAliveMs: 30 })(url);
	expect(open()).toBe(1);
	await vi.waitFor(() => expect(open()).toBe(0));
});

test("a connection that went stale is a reset, which the client retries on a new one", async () => {
	const answered = new Set<Socket>();
	const { url, sockets } = await bare((socket) => {
		if (answered.has(socket)) return socket.resetAndDestroy();
		answered.add(socket);
		const me = JSON.stringify({ integration: { id: "i", name: "n" }, agencies: [], scopes: [] });
		return socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${me.length}\r\n\r\n${me}`);
	});
	const fetch = fetching();
	await fetch(url);
	expect(await failure(fetch(url))).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
	await fetch(url);
	const client = createClient({ baseUrl: url, apiKey: "k", fetch, retry: { baseDelayMs: 1 } });
	const { response } = await client.me.get().withResponse();
	expect(response.attempts).toBe(2);
	expect(sockets).toHaveLength(3);
});

test("a redirect is handed over and not followed", async () => {
	const paths: (string | undefined)[] = [];
	const { url } = await serve((request, answer) => {
		paths.push(request.url);
		answer.writeHead(307, { location: "/landing" }).end();
	});
	const response = await fetching()(url, { method: "POST", body: "x" });
	expect([response.status, response.redirected, response.headers.get("location")]).toEqual([307, false, "/landing"]);
	expect(paths).toEqual(["/"]);
});

test("headers are read as in fetch", async () => {
	const { url } = await serve((_, answer) => {
		answer.writeHead(200, [
			["X-Twice", "a"],
			["X-Twice", "b"],
			["Retry-After", "1"],
			["Retry-After", "2"],
			["Set-Cookie", "a=1"],
			["Set-Cookie", "b=2"],
		]);
		answer.end();
	});
	const { headers } = await fetching()(url);
	expect([headers.get("x-TWICE"), headers.get("retry-after"), headers.get("absent")]).toEqual(["a, b", "1, 2", null]);
	expect([headers.has("X-Twice"), headers.has("absent")]).toEqual([true, false]);
	expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
	expect(new Headers(headers).get("x-twice")).toBe("a, b");
	expect([...headers.keys()]).toContain("x-twice");
	expect(Object.fromEntries(headers.entries())).toMatchObject({ "x-twice": "a, b" });
	expect([...headers.values()]).toContain("a, b");
	const seen: string[] = [];
	headers.forEach((value, name) => {
		seen.push(`${name}: ${value}`);
	});
	expect(seen).toContain("x-twice: a, b");
	expect(() => headers.set("a", "b")).toThrow(TypeError);
});

const packed: [string, Buffer][] = [
	["gzip", gzipSync(big)],
	["br", brotliCompressSync(big)],
	["deflate", deflateSync(big)],
	["gzip, gzip", gzipSync(gzipSync(big))],
	["identity", Buffer.from(big)],
];

test.for(packed)("a body coded as %s is decoded, as text and as a stream", async ([coding, bytes]) => {
	const { url } = await serve((_, answer) => answer.writeHead(200, { "content-encoding": coding }).end(bytes));
	const fetch = fetching();
	expect(await (await fetch(url)).text()).toBe(big);
	expect(await new Response((await fetch(url)).body).text()).toBe(big);
});

test("a packed body that is cut gives what there is of it, and one that is garbage an error", async () => {
	const { url } = await serve((request, answer) => {
		const bytes = request.url === "/cut" ? gzipSync(big).subarray(0, 2000) : Buffer.from("not gzip at all");
		answer.writeHead(200, { "content-encoding": "gzip" }).end(bytes);
	});
	const fetch = fetching();
	const text = await (await fetch(`${url}cut`)).text();
	expect([text.length < big.length, big.startsWith(text.slice(0, 100))]).toEqual([true, true]);
	for (const read of [(r: Response) => r.text(), (r: Response) => new Response(r.body).text()]) {
		expect(await failure(fetch(`${url}garbage`).then(read))).toMatchObject({
			message: "terminated",
			cause: { code: "Z_DATA_ERROR" },
		});
	}
});

test("a bomb is stopped at the client's limit, and its connection closed", async () => {
	let unpacked = 0;
	const { url, open } = await serve((_, answer) => {
		answer.writeHead(200, { "content-encoding": "gzip" });
		const gzip = createGzip();
		gzip.pipe(answer);
		const block = Buffer.alloc(1 << 20);
		const more = (): void => {
			if (answer.destroyed || unpacked > 2 ** 31) return void gzip.end();
			unpacked += block.length;
			gzip.write(block, more);
		};
		more();
	});
	const client = createClient({ baseUrl: url, apiKey: "k", fetch: fetching() });
	expect(await failure(client.me.get())).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1 });
	await vi.waitFor(() => expect(open()).toBe(0));
	expect(unpacked).toBeLessThan(2 ** 31);
});

test("a bomb is stopped at the client's limit also behind a wrapper that has looked into the answer", async () => {
	const bomb = gzipSync(Buffer.alloc(64 << 20));
	const { url } = await serve((_, answer) => answer.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
	const inner = fetching();
	let given = 0;
	const fetch: typeof inner = Object.assign(
		async (...call: Parameters<typeof inner>) => {
			const response = await inner(...call);
			response.clone();
			given++;
			return response;
		},
		{ close: () => {} },
	);
	const client = createClient({ baseUrl: url, apiKey: "k", fetch });
	expect(await failure(client.me.get())).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1 });
	expect(given).toBe(1);
});

test("an answer that comes before the request was read lets its connection go", async () => {
	const { url, sockets, open } = await bare((socket) => {
		socket.pause();
		socket.write("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\n{}");
	});
	const response = await fetching()(url, { method: "POST", body: "x".repeat(9 << 20) });
	expect([response.status, await response.text()]).toEqual([413, "{}"]);
	for (const socket of sockets) socket.removeAllListeners("data").resume();
	await vi.waitFor(() => expect(open()).toBe(0));
});

test("a body that is being read, or was, is not to be had again: it hangs nothing", async () => {
	const rows = gzipSync(big);
	const { url } = await serve((_, answer) => answer.writeHead(200, { "content-encoding": "gzip" }).end(rows));
	const response = await fetching()(url);
	const reading = response.text();
	expect(response.body?.locked).toBe(true);
	await expect(reading).resolves.toBe(big);
	await expect(response.text()).rejects.toThrow(TypeError);
	expect(response.bodyUsed).toBe(true);
});

test("a body that was read cannot be cloned any more", async () => {
	const { url } = await serve((_, answer) => answer.end("{}"));
	const response = await fetching()(url);
	await response.text();
	expect(() => response.clone()).toThrow(TypeError);
});

const truncated = {
	"by its length": "content-length: 100\r\n\r\n{}",
	"in a chunk": "transfer-encoding: chunked\r\n\r\n64\r\n{}",
	"without a last chunk": "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
};

test.for(Object.entries(truncated))("a body that is truncated %s rejects, however it is read", async ([, answer]) => {
	const { url } = await bare((socket) => socket.end(`HTTP/1.1 200 OK\r\n${answer}`));
	const fetch = fetching();
	const readings: ((response: Response) => Promise<unknown>)[] = [
		(response) => response.text(),
		(response) => response.json(),
		(response) => new Response(response.body).text(),
		(response) => new Promise((late) => setTimeout(late, 20)).then(() => response.text()),
	];
	for (const reading of readings) {
		expect(await failure(fetch(url).then(reading))).toMatchObject({ message: "terminated" });
	}
});

const noAnswers = {
	"not HTTP": "SSH-2.0-OpenSSH_9\r\n\r\n",
	"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
	"headers over 16 kB": `HTTP/1.1 200 OK\r\nX-Huge: ${"h".repeat(40_000)}\r\n\r\n`,
	"an upgrade": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
};

test.for(Object.entries(noAnswers))("what is no answer rejects as a connection fault: %s", async ([, answer]) => {
	const { url } = await bare((socket) => socket.end(answer));
	const error = await failure(fetching()(url));
	expect(error).toBeInstanceOf(TypeError);
	expect(error).toMatchObject({ message: "fetch failed", cause: { code: expect.any(String) } });
});

test("bytes after the answer do not spoil it, nor the next one", async () => {
	const { url } = await bare((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}garbage"));
	const fetch = fetching();
	for (let round = 0; round < 3; round++) expect(await (await fetch(url)).text()).toBe("{}");
});

test("what proves that nothing was sent can be told: refused, unknown host", async () => {
	const server = net.createServer();
	const { url } = await listening(server);
	await new Promise((resolve) => server.close(resolve));
	const fetch = fetching();
	expect(await failure(fetch(url))).toMatchObject({ cause: { code: "ECONNREFUSED", syscall: "connect" } });
	expect(await failure(fetch("http://nobody.invalid/"))).toMatchObject({ cause: { syscall: "getaddrinfo" } });
});

test("a certificate is trusted by `ca` alone, and otherwise not tried again", async () => {
	const server = https.createServer({ cert: certificate, key: privateKey }, (_, answer) => answer.end("{}"));
	const { url, sockets } = await listening(server, "https");
	const client = createClient({ baseUrl: url, apiKey: "k", fetch: fetching(), retry: { baseDelayMs: 1 } });
	expect(await failure(client.me.get())).toMatchObject({
		_tag: "PartnerConnectionError",
		attempts: 1,
		cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
	});
	const trusting = fetching({ ca: certificate });
	const before = sockets.length;
	for (let round = 0; round < 3; round++) expect(await (await trusting(url)).json()).toEqual({});
	expect(sockets.length - before).toBe(1);
});

test("https to a plain port is a fault of configuration, as in fetch", async () => {
	const { url } = await bare((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
	const error = await failure(fetching()(url.replace("http:", "https:")));
	expect(error).toMatchObject({ message: "fetch failed", cause: { code: "ERR_SSL_WRONG_VERSION_NUMBER" } });
});

test("a fault of TLS after the handshake is a lost connection: the request may have been read", async () => {
	const taken: string[] = [];
	const inner = https.createServer({ cert: certificate, key: privateKey }, (request) => {
		taken.push(request.url ?? "");
		// Plain text into the encrypted stream, as a broken gateway does.
		for (const socket of outside) socket.write("HTTP/1.1 502 Bad Gateway\r\n\r\n");
	});
	const { url: innerUrl } = await listening(inner);
	const outside: Socket[] = [];
	const gateway = net.createServer((socket) => {
		outside.push(socket);
		const through = net.connect(Number(new URL(innerUrl).port), "127.0.0.1").on("error", () => {});
		socket
			.on("error", () => {})
			.pipe(through)
			.pipe(socket);
	});
	const { url } = await listening(gateway, "https");
	const fetch = fetching({ ca: certificate });
	const { send } = createClient({ baseUrl: url, apiKey: "k", fetch, retry: false }).agency("agy_1").messages;
	const error = await failure(send({ to: "+32470123456", body: "Hello" }));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
	expect(taken).toHaveLength(1);
});

test("a handshake that hangs fails after ten seconds, as never sent", async () => {
	const { url, open } = await bare(() => {});
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
	const baseUrl = url.replace("http:", "https:");
	const client = createClient({ baseUrl, apiKey: "k", fetch: fetching(), retry: false });
	const send = failure(client.agency("agy_1").messages.send({ to: "+32470123456", body: "Hello" }));
	while (open() === 0) await new Promise((resolve) => setImmediate(resolve));
	vi.advanceTimersByTime(9_999);
	await new Promise((resolve) => setImmediate(resolve));
	expect(open()).toBe(1);
	vi.advanceTimersByTime(1);
	expect(await send).toMatchObject({
		_tag: "PartnerConnectionError",
		outcome: "not_sent",
		cause: { code: "ETIMEDOUT" },
	});
	while (open() > 0) await new Promise((resolve) => setImmediate(resolve));
});

const cuts = ["by its time", "by its signal"] as const;

/** A send, and what cuts it and tells how it ended. */
function cutting(how: (typeof cuts)[number], url: string, fetch = fetching()) {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
	const { send } = createClient({ baseUrl: url, apiKey: "k", fetch, retry: false }).agency("agy_1").messages;
	const controller = new AbortController();
	const call = failure(send({ to: "+32470123456", body: "Hello" }, { signal: controller.signal, timeoutMs: 1000 }));
	return async () => {
		if (how === "by its time") vi.advanceTimersByTime(1000);
		else controller.abort();
		return call;
	};
}

async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test.for(cuts)("a send that is cut %s while it waits for a connection is not sent, and never goes out", async (how) => {
	const seen: string[] = [];
	const held: (() => void)[] = [];
	const { url } = await serve((request, answer) => {
		seen.push(`${request.method} ${request.url}`);
		held.push(() => answer.end("{}"));
	});
	const fetch = fetching({ maxSockets: 1 });
	const first = fetch(`${url}first`);
	const cut = cutting(how, url, fetch);
	await until(() => held.length === 1);
	expect(await cut()).toMatchObject({ outcome: "not_sent", attempts: 1 });
	const last = fetch(`${url}last`);
	held[0]?.();
	await (await first).text();
	await until(() => held.length === 2);
	held[1]?.();
	await (await last).text();
	expect(seen).toEqual(["GET /first", "GET /last"]);
});

test("of sends that are cut at any moment, none that is said not to be sent is ever seen", async () => {
	const seen = new Set<string>();
	const { url } = await serve(async (request, answer) => {
		seen.add(JSON.parse((await bodyOf(request)).toString()).operationId);
		answer.end("{}");
	});
	const client = createClient({ baseUrl: url, apiKey: "k", fetch: fetching({ maxSockets: 2 }), retry: false });
	const { send } = client.agency("agy_1").messages;
	const ends = Array.from({ length: 300 }, async (_, index) => {
		const controller = new AbortController();
		const message = { to: "+32470123456", body: "Hello", operationId: `send-${index}` };
		const result = send(message, { signal: controller.signal }).result();
		for (let hop = index % 30; hop > 0; hop--) await new Promise((resolve) => setImmediate(resolve));
		controller.abort();
		const ended = await result;
		return { operationId: message.operationId, outcome: ended.ok ? "sent" : ended.error.outcome };
	});
	const unsent = (await Promise.all(ends)).filter(({ outcome }) => outcome === "not_sent");
	// Behind all that still waits for a connection.
	await send({ to: "+32470123456", body: "Hello", operationId: "last" }).result();
	expect(seen).toContain("last");
	expect(unsent.length).toBeGreaterThan(100);
	expect(unsent.filter(({ operationId }) => seen.has(operationId))).toEqual([]);
});

test.for(cuts)("a send that is cut %s in the handshake is not sent", async (how) => {
	const { url, open } = await bare(() => {});
	const cut = cutting(how, url.replace("http:", "https:"));
	await until(() => open() === 1);
	expect(await cut()).toMatchObject({ outcome: "not_sent", attempts: 1 });
	await until(() => open() === 0);
});

test.for(cuts)("what became of a send that is cut %s on a connection, new or kept, is unknown", async (how) => {
	const seen: string[] = [];
	const { url, sockets } = await serve((request, answer) => {
		seen.push(request.method ?? "");
		if (request.method === "GET") answer.end("{}");
	});
	const fetch = fetching();
	const first = cutting(how, url, fetch);
	await until(() => seen.length === 1);
	expect(await first()).toMatchObject({ outcome: "unknown", attempts: 1 });
	await (await fetch(url)).text();
	const second = cutting(how, url, fetch);
	await until(() => seen.length === 3);
	expect(await second()).toMatchObject({ outcome: "unknown", attempts: 1 });
	expect(seen).toEqual(["POST", "GET", "POST"]);
	expect(sockets).toHaveLength(2);
});

test.for(cuts)("what became of a send that is cut %s while a mock has it is unknown", async (how) => {
	const seen: string[] = [];
	const server = setupServer(
		mock.post("https://mocked.example/*", async ({ request }) => {
			seen.push(await request.text());
			await new Promise(() => {});
		}),
	);
	server.listen();
	onTestFinished(() => server.close());
	const cut = cutting(how, "https://mocked.example/api/v1");
	await until(() => seen.length === 1);
	expect(await cut()).toMatchObject({ outcome: "unknown", attempts: 1 });
});

test.for(cuts)(
	"what became of a send that is cut %s while a mock's own kind of request has it is unknown",
	async (how) => {
		// As the mocks of earlier years do it: a request that acts on what is written to it, and opens a connection all the same.
		const seen: string[] = [];
		class Mocked extends http.ClientRequest {
			override end(...given: unknown[]): this {
				seen.push(String(given[0]));
				return this;
			}
		}
		const { request } = http;
		onTestFinished(() => void Object.assign(http, { request }));
		const createConnection = () => Object.assign(new net.Socket(), { connecting: true });
		Object.assign(http, {
			request: (options: http.RequestOptions) => new Mocked({ ...options, agent: undefined, createConnection }),
		});
		const cut = cutting(how, "http://127.0.0.1:9/api/v1");
		await until(() => seen.length === 1);
		expect(await cut()).toMatchObject({ outcome: "unknown", attempts: 1 });
	},
);

test("a mock that thinks for longer than a connection may take is no hanging handshake", async () => {
	const thinking: (() => void)[] = [];
	const server = setupServer(
		mock.get("https://mocked.example/*", async () => {
			await new Promise<void>((resolve) => thinking.push(resolve));
			return HttpResponse.json({});
		}),
	);
	server.listen();
	onTestFinished(() => server.close());
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
	const answer = fetching()("https://mocked.example/slow");
	await until(() => thinking.length > 0);
	vi.advanceTimersByTime(20_000);
	thinking[0]?.();
	expect(await (await answer).json()).toEqual({});
});

test("a signal that has aborted makes no connection", async () => {
	const { url, sockets } = await serve((_, answer) => answer.end());
	expect(await failure(fetching()(url, { signal: AbortSignal.abort("enough") }))).toBe("enough");
	expect(sockets).toHaveLength(0);
});

test.for(["before the headers", "in the body"])(
	"an abort %s rejects with its reason and ends the connection",
	async (when) => {
		const { url, open } = await serve((_, answer) => {
			if (when === "in the body") answer.writeHead(200, { "content-length": 100 }).write("half");
		});
		for (const reason of [undefined, "enough", new Error("enough")]) {
			for (const read of [(r: Response) => r.text(), (r: Response) => new Response(r.body).text()]) {
				const controller = new AbortController();
				const { signal } = controller;
				const call = failure(fetching()(url, { signal }).then(read));
				await vi.waitFor(() => expect(open()).toBe(1));
				setTimeout(() => controller.abort(reason), 5);
				expect(await call).toBe(signal.reason);
				await vi.waitFor(() => expect(open()).toBe(0));
			}
		}
	},
);

test("a signal that is used by many calls holds one listener, and none afterwards", async () => {
	const { url } = await serve((request, answer) => (request.url === "/cut" ? answer.destroy() : answer.end(big)));
	const fetch = fetching();
	const { signal } = new AbortController();
	for (let round = 0; round < 20; round++) {
		const calls = ["", "", "cut"].map((path) => fetch(url + path, { signal }).then((response) => response.text()));
		expect(getEventListeners(signal, "abort")).toHaveLength(1);
		await Promise.allSettled(calls);
	}
	await vi.waitFor(() => expect(getEventListeners(signal, "abort")).toHaveLength(0));
});

test("a body that is cancelled unread ends its connection", async () => {
	const { url, open } = await serve((_, answer) => answer.writeHead(200, { "content-length": 1e9 }).write(big));
	const response = await fetching()(url);
	expect(open()).toBe(1);
	await response.body?.cancel();
	await vi.waitFor(() => expect(open()).toBe(0));
});

test("a body that is forgotten unread ends its connection, one that is being read does not", async () => {
	setFlagsFromString("--expose-gc");
	const collectGarbage: () => void = runInNewContext("gc");
	const { url, open } = await serve((_, answer) => answer.writeHead(200, { "content-length": 1e9 }).write(big));
	const fetch = fetching();
	const reader = (await fetch(url)).body?.getReader();
	await reader?.read();
	await fetch(url);
	expect(open()).toBe(2);
	await vi.waitFor(() => {
		collectGarbage();
		expect(open()).toBe(1);
	});
	expect((await reader?.read())?.done).toBe(false);
});

test("a body is read once, in any of its forms", async () => {
	const { url } = await serve((_, answer) => answer.writeHead(200, { "content-type": "text/x" }).end("\ufeff{}"));
	const fetch = fetching();
	const readings: [(response: Response) => Promise<unknown>, unknown][] = [
		[(response) => response.text(), "{}"],
		[(response) => response.json(), {}],
		[async (response) => (await response.arrayBuffer()).byteLength, 5],
		[async (response) => (await response.bytes()).byteLength, 5],
		[async (response) => (await response.blob()).type, "text/x"],
		[(response) => new Response(response.body).text(), "{}"],
	];
	for (const [reading, expected] of readings) {
		const response = await fetch(url);
		expect(response.bodyUsed).toBe(false);
		expect(await reading(response)).toEqual(expected);
		expect(response.bodyUsed).toBe(true);
		expect(await failure(response.text())).toBeInstanceOf(TypeError);
	}
});

test("a clone and what it was made of are both read", async () => {
	const { url } = await serve((_, answer) => answer.writeHead(201, { "x-a": "1" }).end(big));
	const response = await fetching()(url);
	const copy = response.clone();
	expect([copy.status, copy.headers.get("x-a")]).toEqual([201, "1"]);
	expect(await Promise.all([copy.text(), response.text()])).toEqual([big, big]);
});

test("a form is read", async () => {
	const headers = { "content-type": "application/x-www-form-urlencoded" };
	const { url } = await serve((_, answer) => answer.writeHead(200, headers).end("a=1"));
	expect((await (await fetching()(url)).formData()).get("a")).toBe("1");
});

test("an answer that cannot have a body has none", async () => {
	const { url } = await serve((request, answer) => answer.writeHead(Number(request.url?.slice(1)) || 200).end("x"));
	const fetch = fetching();
	for (const status of [204, 304]) expect((await fetch(url + status)).body).toBeNull();
	const head = await fetch(url, { method: "HEAD" });
	expect([head.body, await head.text()]).toEqual([null, ""]);
});

test("a proxy's agent takes all requests", async () => {
	const { url, sockets } = await serve((request, answer) => answer.end(request.headers.host));
	const proxy = new http.Agent({
		keepAlive: true,
		port: Number(new URL(url).port),
		host: "127.0.0.1",
	} as http.AgentOptions);
	const fetch = fetching({ proxy });
	expect(await (await fetch("http://service.invalid/")).text()).toBe("service.invalid");
	expect(sockets).toHaveLength(1);
});

test("a proxy's agent that takes no https is told as no connection, and the send as not sent", async () => {
	const proxy = new http.Agent();
	const fetch = fetching({ proxy });
	const { send } = createClient({ baseUrl: "https://service.invalid", apiKey: "k", fetch, retry: false }).agency(
		"a",
	).messages;
	expect(await failure(send({ to: "+32470123456", body: "Hello" }))).toMatchObject({
		_tag: "PartnerConnectionError",
		outcome: "not_sent",
		cause: { code: "ERR_INVALID_PROTOCOL" },
	});
});

test("msw answers in its place, a network error included", async () => {
	const server = setupServer(
		mock.post("https://service.invalid/echo", async ({ request }) => HttpResponse.json(await request.json())),
		mock.get("https://service.invalid/down", () => HttpResponse.error()),
	);
	server.listen({ onUnhandledRequest: "error" });
	onTestFinished(() => server.close());
	const fetch = fetching();
	const headers = { "content-type": "application/json" };
	for (let round = 0; round < 3; round++) {
		const response = await fetch("https://service.invalid/echo", { method: "POST", headers, body: '{"a":1}' });
		expect(await response.json()).toEqual({ a: 1 });
	}
	expect(await failure(fetch("https://service.invalid/down"))).toBeInstanceOf(TypeError);
});

const wrappings: [string, (inner: ReturnType<typeof nodeFetch>, seen: string[]) => ReturnType<typeof nodeFetch>][] = [
	[
		"that keeps close",
		(inner, seen) =>
			Object.assign((...given: Parameters<typeof inner>) => {
				seen.push(String(given[0]));
				return inner(...given);
			}, inner),
	],
	[
		"that is a proxy",
		(inner, seen) =>
			new Proxy(inner, {
				apply(target, _self, given: Parameters<typeof inner>) {
					seen.push(String(given[0]));
					return target(...given);
				},
			}),
	],
];

test.for(wrappings)("a wrapper round nodeFetch %s is called, and its signal cuts the connection", async ([, wrap]) => {
	const { url, open } = await serve(() => {});
	const seen: string[] = [];
	const fetch = wrap(fetching(), seen);
	const client = createClient({ baseUrl: url, apiKey: "key", fetch, timeoutMs: 100, retry: false });
	await expect(client.me.get()).rejects.toMatchObject({ _tag: "PartnerTimeoutError" });
	expect(seen).toEqual([`${url}me`]);
	await vi.waitFor(() => expect(open()).toBe(0));
});
