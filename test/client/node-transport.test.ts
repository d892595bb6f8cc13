import { EventEmitter } from "node:events";
import http, { type IncomingMessage, type RequestListener } from "node:http";
import https from "node:https";
import net, { type AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from "node:zlib";
import type {
	Transport,
	TransportAnswer,
	TransportControl,
	TransportFault,
	TransportRequest,
} from "messaging-conversations";
import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { HttpResponse, http as mock } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { controlOf, nodeTransport } from "../adapters.ts";
import { clientOf, failure, wrong } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { certificate, privateKey } from "../certificate.ts";
import { eventually } from "../eventually.ts";
import { listening } from "./listening.ts";

const serve = (listener: RequestListener) => listening(http.createServer(listener));

/** A server that answers each request with these bytes, whatever they are. */
const bare = (say: (socket: Socket, text: string) => void) =>
	listening(net.createServer((socket) => socket.on("data", (chunk) => say(socket, chunk.toString("latin1")))));

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

/** One transport, without a client round it. */
function transportd(
	transport: Transport,
	url: string,
	request: Partial<TransportRequest> = {},
	control: TransportControl = controlOf(10 * 1024 * 1024),
): Promise<TransportAnswer> {
	return transport(
		{ method: "GET", url, headers: {}, body: undefined, noStore: false, once: false, ...request },
		control,
	);
}

const textOf = async (...given: Parameters<typeof transportd>) => (await transportd(...given)).text;

/** What a transport rejects with: the fault, and what it knows. */
const rejection = (...given: Parameters<typeof transportd>): Promise<TransportFault> =>
	transportd(...given).then(
		() => expect.unreachable("it should have failed"),
		(error: TransportFault) => error,
	);

const fault = async (...given: Parameters<typeof transportd>) => (await rejection(...given)).fault;

const clientAt = (url: string, transport: Transport, options = {}) =>
	clientOf({ baseUrl: url }, { transport, retry: false, ...options });

const hello = { to: phone, body: text };

const big = JSON.stringify({ rows: Array.from({ length: 4000 }, (_, index) => ({ index, text: "é".repeat(20) })) });

test("a send goes out once, whole, with its length and the headers given", async () => {
	const wire: string[] = [];
	const { url } = await bare((socket, chunk) => {
		wire.push(chunk);
		const json = JSON.stringify(sentNow);
		socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`);
	});
	const { send } = clientAt(`${url}/api/v1`, nodeTransport()).agency(agencyId).messages;
	await send({ to: phone, body: "é", operationId: "one" });
	expect(wire).toHaveLength(1);
	const [head = "", body = ""] = wire[0]?.split("\r\n\r\n") ?? [];
	const [line, ...fields] = head.split("\r\n");
	expect(line).toBe(`POST /api/v1/agencies/${agencyId}/messages HTTP/1.1`);
	expect(fields.map((field) => field.replace(/^[\w-]+/, (name) => name.toLowerCase())).sort()).toEqual([
		"accept-encoding: gzip, br",
		"accept: application/json",
		`authorization: Bearer ${apiKey}`,
		"connection: keep-alive",
		`content-length: ${body.length}`,
		"content-type: application/json",
		`host: ${new URL(url).host}`,
		expect.stringMatching(/^user-agent: messaging-conversations\//),
	]);
	expect(JSON.parse(Buffer.from(body, "latin1").toString())).toEqual({ to: phone, body: "é", operationId: "one" });
});

test("a number in a path and a query stay escaped, and IPv6 is reached", async () => {
	const server = http.createServer((request, answer) => answer.end(request.url));
	await new Promise<void>((resolve) => server.listen(0, "::1", resolve));
	onTestFinished(() => void server.close().closeAllConnections());
	const { port } = server.address() as AddressInfo;
	expect(await textOf(nodeTransport(), `http://[::1]:${port}/a/%2B32?b=c%20d`)).toBe("/a/%2B32?b=c%20d");
});

test("a read that no cache may answer says so, and a given header replaces a default", async () => {
	const { url } = await serve((request, answer) => answer.end(JSON.stringify(request.headers)));
	const transport = nodeTransport();
	const seen = async (request: Partial<TransportRequest>) => JSON.parse(String(await textOf(transport, url, request)));
	expect(await seen({ noStore: true })).toMatchObject({ "cache-control": "no-cache" });
	expect(await seen({ noStore: false, once: false })).not.toHaveProperty("cache-control");
	const headers = { "accept-encoding": "identity" };
	expect(await seen({ headers })).toMatchObject(headers);
});

test("options that are malformed are refused, and named", () => {
	const unreadable = "could not be read: it is damaged, `key` does not belong to `cert`, or `passphrase` is wrong";
	const refused: [string, unknown][] = [
		["options: must be an object", null],
		["options: must be an object", "x"],
		["options: must be an object", () => {}],
		["options: takes only maxSockets, keepAliveMs, maxAgeMs, ca, cert, key, pfx, passphrase, proxy", { maxSocket: 5 }],
		["keepAliveMs: must be a whole number of milliseconds from 1 to 2147483647", { keepAliveMs: 0 }],
		["keepAliveMs: must be a whole number of milliseconds from 1 to 2147483647", { keepAliveMs: 2 ** 31 }],
		["maxSockets: must be a whole number of 1 or more, or Infinity", { maxSockets: 1.5 }],
		["maxSockets: must be a whole number of 1 or more, or Infinity", { maxSockets: -1 }],
		["proxy: must be an agent, such as one of https-proxy-agent", { proxy: "http://proxy.example" }],
		["proxy: must be an agent, such as one of https-proxy-agent", { proxy: {} }],
		["ca: must be PEM, as text or bytes or a list of them, and not the name of a file", { ca: 5 }],
		["ca: must be PEM, as text or bytes or a list of them, and not the name of a file", { ca: [certificate, 5] }],
		["ca: must be PEM, as text or bytes or a list of them, and not the name of a file", { ca: "" }],
		["ca: must be PEM, as text or bytes or a list of them, and not the name of a file", { ca: [certificate, ""] }],
		["ca: must be PEM, as text or bytes or a list of them, and not the name of a file", { ca: "/etc/ssl/root.pem" }],
		[
			"ca: must be PEM, as text or bytes or a list of them, and not the name of a file",
			{ ca: Buffer.from(privateKey) },
		],
		["maxAgeMs: must be a whole number of milliseconds from 1 to 2147483647", { maxAgeMs: 0 }],
		["cert: must be PEM, as text or bytes or a list of them, given with `key`", { cert: certificate }],
		["cert: must be PEM, as text or bytes or a list of them, given with `key`", { key: privateKey }],
		["key: must be a private key as PEM, given with `cert`", { cert: certificate, key: certificate }],
		["pfx: must be the bytes of a PKCS#12 file, and not its name", { pfx: "client.p12" }],
		[
			"pfx: must not be given beside `cert`: it holds a certificate of its own",
			{ cert: certificate, key: privateKey, pfx: Buffer.from("client.p12") },
		],
		["passphrase: must be given with the `key` or the `pfx` that it opens", { passphrase: "secret" }],
		["passphrase: must be a string", { cert: certificate, key: privateKey, passphrase: 5 }],
		[`pfx: ${unreadable}`, { pfx: Buffer.from("client.p12") }],
		[`cert: ${unreadable}`, { cert: certificate, key: privateKey.replace("MIGH", "MIGX") }],
	];
	for (const [message, options] of refused) {
		expect(() => nodeHttp(wrong(options))).toThrow(PartnerConfigurationError);
		expect(() => nodeHttp(wrong(options))).toThrow(expect.objectContaining({ message, operation: "nodeHttp" }));
	}
	const bytes = Buffer.from(`\ufeff# comment\r\n${certificate}`);
	for (const options of [{ maxSockets: Number.POSITIVE_INFINITY }, { ca: [certificate, bytes] }]) {
		nodeHttp(options).close();
	}
});

test("calls one after another share a connection, small bodies and large, read or too large", async () => {
	const { url, sockets } = await serve((request, answer) => answer.end(request.url === "/big" ? big : "{}"));
	const transport = nodeTransport();
	for (let round = 0; round < 10; round++) {
		expect(await textOf(transport, url)).toBe("{}");
		expect(await textOf(transport, `${url}/big`)).toBe(big);
	}
	expect(sockets).toHaveLength(1);
	expect(await textOf(transport, `${url}/big`, {}, controlOf(1000))).toBeUndefined();
	expect(await textOf(transport, url)).toBe("{}");
	expect(sockets).toHaveLength(2);
});

test("maxSockets bounds the connections, and a call that is aborted while it waits makes way", async () => {
	const { url, sockets } = await serve((_, answer) => void setTimeout(() => answer.end(JSON.stringify(me)), 20));
	const client = clientAt(url, nodeTransport({ maxSockets: 2 }));
	const controller = new AbortController();
	const calls = Array.from({ length: 6 }, () => client.me.get());
	const waiting = failure(() => client.me.get({ signal: controller.signal }));
	controller.abort();
	expect(await waiting).toMatchObject({ _tag: "PartnerAbortError" });
	expect(await Promise.all([...calls, client.me.get()])).toEqual(Array(7).fill(me));
	expect(sockets).toHaveLength(2);
});

test("close ends idle connections, and those in use", async () => {
	const { url, open } = await serve((request, answer) => request.url === "/" && answer.end("{}"));
	const transport = nodeTransport();
	await transportd(transport, url);
	const hanging = fault(transport, `${url}/hang`);
	await eventually(() => expect(open()).toBe(1));
	await transportd(transport, url);
	expect(open()).toBe(2);
	transport.close();
	expect(await hanging).toMatchObject({ code: "ERR_EXCHANGE_CLOSED" });
	await eventually(() => expect(open()).toBe(0));
});

test("a connection that went stale is a reset, which the client retries on a new one", async () => {
	const answered = new Set<Socket>();
	const { url, sockets } = await bare((socket) => {
		if (answered.has(socket)) return socket.resetAndDestroy();
		answered.add(socket);
		const json = JSON.stringify(me);
		return socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`);
	});
	const transport = nodeTransport();
	await transportd(transport, url);
	expect(await fault(transport, url)).toMatchObject({ code: "ECONNRESET" });
	await transportd(transport, url);
	const { response } = await clientAt(url, transport, { retry: { baseDelayMs: 1 } })
		.me.get()
		.withResponse();
	expect(response.attempts).toBe(2);
	expect(sockets).toHaveLength(3);
});

test("a redirect is returned and not followed", async () => {
	const paths: (string | undefined)[] = [];
	const { url } = await serve((request, answer) => {
		paths.push(request.url);
		answer.writeHead(307, { location: "/landing" }).end();
	});
	const { status, headers } = await transportd(nodeTransport(), url, { method: "POST", body: "x" });
	expect([status, headers.get("location")]).toEqual([307, "/landing"]);
	expect(paths).toEqual(["/"]);
});

const packed: [string, Buffer][] = [
	["gzip", gzipSync(big)],
	["x-gzip", gzipSync(big)],
	["br", brotliCompressSync(big)],
	["deflate", deflateSync(big)],
	["GZIP, gzip", gzipSync(gzipSync(big))],
	["gzip, br", brotliCompressSync(gzipSync(big))],
	[
		Array(5).fill("gzip").join(),
		Array(5)
			.fill(0)
			.reduce<Buffer>((bytes) => gzipSync(bytes), Buffer.from(big)),
	],
];

test.for(packed)("a body coded as %s is decoded", async ([coding, bytes]) => {
	const { url, sockets } = await serve((_, answer) => answer.writeHead(200, { "content-encoding": coding }).end(bytes));
	const transport = nodeTransport();
	for (let round = 0; round < 3; round++) expect(await textOf(transport, url)).toBe(big);
	expect(sockets).toHaveLength(1);
});

test.for(["identity", "zstd", "gzip, zstd", Array(6).fill("gzip").join(", ")])(
	"a body coded as %s is not decoded",
	async (coding) => {
		const { url } = await serve((_, answer) => answer.writeHead(200, { "content-encoding": coding }).end("as it is"));
		expect(await textOf(nodeTransport(), url)).toBe("as it is");
	},
);

test("a compressed body that is cut gives what there is of it, and one that is garbage a fault", async () => {
	const { url } = await serve((request, answer) => {
		const bytes = request.url === "/cut" ? gzipSync(big).subarray(0, 2000) : Buffer.from("not gzip at all");
		answer.writeHead(200, { "content-encoding": "gzip" }).end(bytes);
	});
	const transport = nodeTransport();
	const cut = String(await textOf(transport, `${url}/cut`));
	expect([cut.length < big.length, big.startsWith(cut.slice(0, 100))]).toEqual([true, true]);
	expect(await fault(transport, `${url}/garbage`)).toMatchObject({ code: "Z_DATA_ERROR" });
});

test("a letter that two chunks share, and a byte order mark, are read as in fetch", async () => {
	const bytes = Buffer.from('\ufeff"é😀"');
	const { url } = await serve((_, answer) => {
		answer.write(bytes.subarray(0, 5));
		setTimeout(() => answer.end(bytes.subarray(5)), 20);
	});
	expect(await textOf(nodeTransport(), url)).toBe('"é😀"');
});

test.for([
	[204, undefined],
	[205, undefined],
	[304, undefined],
	[200, ""],
])("an answer of %i without a body has an empty text", async ([status]) => {
	const { url, sockets } = await serve((_, answer) =>
		answer.writeHead(Number(status), { "content-encoding": "gzip" }).end(),
	);
	const transport = nodeTransport();
	for (let round = 0; round < 2; round++) {
		expect(await transportd(transport, url)).toMatchObject({ status, text: "" });
	}
	expect(sockets).toHaveLength(1);
});

test("a bomb is stopped at the limit, and its connection closed", async () => {
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
	const error = await failure(() => clientAt(url, nodeTransport()).me.get());
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1, status: 200 });
	await eventually(() => expect(open()).toBe(0));
	expect(unpacked).toBeLessThan(2 ** 31);
});

test("an answer that comes before the request was read is that answer, and lets its connection go", async () => {
	const { url, sockets, open } = await bare((socket) => {
		socket.pause();
		socket.write("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\n{}");
	});
	const answer = await transportd(nodeTransport(), url, { method: "POST", body: "x".repeat(9 << 20) });
	expect(answer).toMatchObject({ status: 413, text: "{}" });
	for (const socket of sockets) socket.removeAllListeners("data").resume();
	await eventually(() => expect(open()).toBe(0));
});

const truncated = {
	"by its length": "content-length: 100\r\n\r\n{}",
	"in a chunk": "transfer-encoding: chunked\r\n\r\n64\r\n{}",
	"without a last chunk": "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
};

test.for(Object.entries(truncated))(
	"a body that is truncated %s rejects, with its status known",
	async ([, answer]) => {
		const { url } = await bare((socket) => socket.end(`HTTP/1.1 200 OK\r\n${answer}`));
		const error = await rejection(nodeTransport(), url);
		expect(error).toBeInstanceOf(Error);
		expect(error).toMatchObject({ connected: true, head: { status: 200 } });
	},
);

const noAnswers = {
	"not HTTP": "SSH-2.0-OpenSSH_9\r\n\r\n",
	"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
	"headers over 16 kB": `HTTP/1.1 200 OK\r\nX-Huge: ${"h".repeat(40_000)}\r\n\r\n`,
	"an upgrade": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
	"an upgrade to nothing": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"a status below 100": "HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\n{}",
};

test.for(Object.entries(noAnswers))(
	"what is not an answer is a lost connection, never not_sent: %s",
	async ([, answer]) => {
		const { url } = await bare((socket) => socket.end(answer));
		const client = clientAt(url, nodeTransport());
		const error = await failure(() => client.agency(agencyId).messages.send(hello));
		expect(error).toMatchObject({
			_tag: "PartnerConnectionError",
			outcome: "unknown",
			cause: { code: expect.any(String) },
		});
		// No contract lists the statuses of such a request.
		const unlisted = await failure(() => client.request({ method: "DELETE", path: "/notes" }));
		expect(unlisted).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown" });
	},
);

test("bytes after the answer do not spoil it, nor the next one", async () => {
	const { url } = await bare((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}garbage"));
	const transport = nodeTransport();
	for (let round = 0; round < 3; round++) expect(await textOf(transport, url)).toBe("{}");
});

test.for(["http://127.0.0.1:2", "https://nobody.invalid"])("a send to %s is not sent, and retried", async (url) => {
	const { send } = clientAt(url, nodeTransport(), { retry: { attempts: 2, baseDelayMs: 1 } }).agency(agencyId).messages;
	const error = await failure(() => send(hello));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", attempts: 2 });
	expect(error.cause).toMatchObject({ syscall: expect.stringMatching(/^(connect|getaddrinfo)$/) });
});

test("a certificate is trusted by `ca` alone, and otherwise not retried", async () => {
	const server = https.createServer({ cert: certificate, key: privateKey }, (_, answer) =>
		answer.end(JSON.stringify(me)),
	);
	const { url, sockets } = await listening(server, { scheme: "https" });
	const distrusting = clientAt(url, nodeTransport(), { retry: { baseDelayMs: 1 } }).agency(agencyId).messages;
	expect(await failure(() => distrusting.send(hello))).toMatchObject({
		_tag: "PartnerConnectionError",
		attempts: 1,
		outcome: "not_sent",
		retryable: false,
		cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
	});
	const before = sockets.length;
	const client = clientAt(url, nodeTransport({ ca: certificate }));
	for (let round = 0; round < 3; round++) expect(await client.me.get()).toEqual(me);
	expect(sockets.length - before).toBe(1);
});

test("https to a plain port is a fault of configuration, as in fetch", async () => {
	const { url } = await bare((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
	const { send } = clientAt(url.replace("http:", "https:"), nodeTransport()).agency(agencyId).messages;
	expect(await failure(() => send(hello))).toMatchObject({
		outcome: "not_sent",
		retryable: false,
		cause: { code: "ERR_SSL_WRONG_VERSION_NUMBER" },
	});
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
	const { url } = await listening(gateway, { scheme: "https" });
	const { send } = clientAt(url, nodeTransport({ ca: certificate })).agency(agencyId).messages;
	const error = await failure(() => send(hello));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
	expect(taken).toHaveLength(1);
});

test("#3 a handshake that hangs fails after ten seconds, as never sent", async () => {
	const { url, open } = await bare(() => {});
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
	const baseUrl = url.replace("http:", "https:");
	const send = failure(() => clientAt(baseUrl, nodeTransport()).agency(agencyId).messages.send(hello));
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

/** A send, and what cuts it and returns how it ended. */
function cutting(how: (typeof cuts)[number], url: string, transport: Transport = nodeTransport()) {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	onTestFinished(() => void vi.useRealTimers());
	const { send } = clientAt(url, transport).agency(agencyId).messages;
	const controller = new AbortController();
	const call = failure(() => send(hello, { signal: controller.signal, timeoutMs: 1000 }));
	return async () => {
		// The timer, and the look for an answer that a timer that fires late takes.
		if (how === "by its time") await vi.advanceTimersByTimeAsync(1200);
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
	const transport = nodeTransport({ maxSockets: 1 });
	const first = transportd(transport, `${url}/first`);
	const cut = cutting(how, url, transport);
	await until(() => held.length === 1);
	expect(await cut()).toMatchObject({ outcome: "not_sent", attempts: 1 });
	const last = transportd(transport, `${url}/last`);
	held[0]?.();
	await first;
	await until(() => held.length === 2);
	held[1]?.();
	await last;
	expect(seen).toEqual(["GET /first", "GET /last"]);
});

test("no send that is cut at any moment and reported as not sent is ever seen", async () => {
	const seen = new Set<string>();
	const { url } = await serve(async (request, answer) => {
		seen.add(JSON.parse((await bodyOf(request)).toString()).operationId);
		answer.end("{}");
	});
	const { send } = clientAt(url, nodeTransport({ maxSockets: 2 })).agency(agencyId).messages;
	const ends = Array.from({ length: 300 }, async (_, index) => {
		const controller = new AbortController();
		const message = { ...hello, operationId: `send-${index}` };
		const result = send(message, { signal: controller.signal }).result();
		for (let hop = index % 30; hop > 0; hop--) await new Promise((resolve) => setImmediate(resolve));
		controller.abort();
		const ended = await result;
		return { operationId: message.operationId, outcome: ended.ok ? "sent" : ended.error.outcome };
	});
	const unsent = (await Promise.all(ends)).filter(({ outcome }) => outcome === "not_sent");
	// Behind all that still waits for a connection.
	await send({ ...hello, operationId: "last" }).result();
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

test.for(cuts)("a send that is cut %s on a connection, new or kept, is unknown", async (how) => {
	const seen: string[] = [];
	const { url, sockets } = await serve((request, answer) => {
		seen.push(request.method ?? "");
		if (request.method === "GET") answer.end("{}");
	});
	const transport = nodeTransport();
	const first = cutting(how, url, transport);
	await until(() => seen.length === 1);
	expect(await first()).toMatchObject({ outcome: "unknown", attempts: 1 });
	await transportd(transport, url);
	const second = cutting(how, url, transport);
	await until(() => seen.length === 3);
	expect(await second()).toMatchObject({ outcome: "unknown", attempts: 1 });
	expect(seen).toEqual(["POST", "GET", "POST"]);
	expect(sockets).toHaveLength(2);
});

test.for(cuts)("a send that is cut %s while a mock has it is unknown", async (how) => {
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

test.for(cuts)("a send that is cut %s while a mock's own kind of request has it is unknown", async (how) => {
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
});

test("a mock that thinks for longer than a connection may take is not a hanging handshake", async () => {
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
	const answer = transportd(nodeTransport(), "https://mocked.example/slow");
	await until(() => thinking.length > 0);
	vi.advanceTimersByTime(20_000);
	thinking[0]?.();
	expect((await answer).text).toBe("{}");
});

test("a response of a mock needs no socket", async () => {
	const answer = Object.assign(Readable.from([Buffer.from("{}")]), {
		rawHeaders: ["Keep-Alive", "timeout=5"],
		statusCode: 200,
	});
	const request = Object.assign(new EventEmitter(), { end: () => request.emit("response", answer), destroy() {} });
	const original = http.request;
	onTestFinished(() => void Object.assign(http, { request: original }));
	Object.assign(http, { request: () => request });
	expect((await transportd(nodeTransport(), "http://mocked.example/")).text).toBe("{}");
});

test("a request that is over takes no further connection, as Deno gives one that was cut in its handshake", async () => {
	const request = Object.assign(new EventEmitter(), { end() {}, destroy: vi.fn() });
	const original = http.request;
	onTestFinished(() => void Object.assign(http, { request: original }));
	Object.assign(http, { request: () => request });
	const controller = new AbortController();
	const error = rejection(
		nodeTransport(),
		"http://mocked.example/",
		{},
		{ ...controlOf(1), signal: controller.signal },
	);
	const [first, second] = [new Socket(), new Socket()];
	request.emit("socket", first);
	expect(first.destroyed).toBe(false);
	controller.abort();
	expect(await error).toMatchObject({ fault: controller.signal.reason });
	request.emit("socket", second);
	expect([request.destroy.mock.calls.length, second.destroyed]).toEqual([1, true]);
});

test("a body of one-byte chunks is not held as that many buffers", async () => {
	const answer = Object.assign(new EventEmitter(), { rawHeaders: [], statusCode: 200 });
	const request = Object.assign(new EventEmitter(), { end: () => request.emit("response", answer), destroy() {} });
	const original = http.request;
	onTestFinished(() => void Object.assign(http, { request: original }));
	Object.assign(http, { request: () => request });
	setFlagsFromString("--expose-gc");
	const collect: () => void = runInNewContext("gc");
	const text = textOf(nodeTransport(), "http://mocked.example/");
	collect();
	const before = process.memoryUsage().heapUsed;
	const length = 300_500;
	for (let sent = 0; sent < length; sent++) answer.emit("data", Buffer.from([0x30 + (sent % 10)]));
	collect();
	expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
	answer.emit("end");
	expect(await text).toBe("0123456789".repeat(length / 10));
});

test("a proxy's agent takes all requests", async () => {
	const { url, sockets } = await serve((request, answer) => answer.end(request.headers.host));
	const proxy = new http.Agent({
		keepAlive: true,
		port: Number(new URL(url).port),
		host: "127.0.0.1",
	} as http.AgentOptions);
	expect(await textOf(nodeTransport({ proxy }), "http://service.invalid/")).toBe("service.invalid");
	expect(sockets).toHaveLength(1);
});

test("a proxy's agent that takes no https is not a connection, and the send not sent", async () => {
	const proxy = new http.Agent();
	const { send } = clientAt("https://service.invalid", nodeTransport({ proxy })).agency(agencyId).messages;
	expect(await failure(() => send(hello))).toMatchObject({
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
	const transport = nodeTransport();
	const headers = { "content-type": "application/json" };
	for (let round = 0; round < 3; round++) {
		const request = { method: "POST", headers, body: '{"a":1}' };
		expect(await textOf(transport, "https://service.invalid/echo", request)).toBe('{"a":1}');
	}
	expect(await fault(transport, "https://service.invalid/down")).toBeInstanceOf(Error);
});

test("createClient takes a transport that somebody has wrapped", async () => {
	const { url, open } = await serve(() => {});
	const inner = nodeTransport();
	const seen: string[] = [];
	const wrapped: Transport = (request, control) => {
		seen.push(request.url);
		return inner(request, control);
	};
	const client = createClient({ baseUrl: url, apiKey, transport: wrapped, timeoutMs: 100, retry: false });
	expect(await failure(() => client.me.get())).toMatchObject({ _tag: "PartnerTimeoutError" });
	expect(seen).toEqual([`${url}/me`]);
	await eventually(() => expect(open()).toBe(0));
});

test("an abort ends the connection, before the headers and in the body", async () => {
	for (const when of ["before the headers", "in the body"]) {
		const { url, open } = await serve((_, answer) => {
			if (when === "in the body") answer.writeHead(200, { "content-length": 100 }).write("half");
		});
		const controller = new AbortController();
		const calling = failure(() => clientAt(url, nodeTransport()).me.get({ signal: controller.signal }));
		await eventually(() => expect(open()).toBe(1));
		setTimeout(() => controller.abort(), 20);
		expect(await calling).toMatchObject({ _tag: "PartnerAbortError" });
		await eventually(() => expect(open()).toBe(0));
	}
});

test.for(["POST", "PUT", "PATCH", "DELETE"])(
	"the body of a %s has its length, and the next request is whole",
	async (method) => {
		const { url, sockets } = await serve((request, answer) => {
			const chunks: Buffer[] = [];
			request.on("data", (chunk: Buffer) => chunks.push(chunk));
			request.on("end", () =>
				answer.end(`${request.method} ${request.headers["content-length"]} ${Buffer.concat(chunks)}`),
			);
		});
		const transport = nodeTransport();
		const send = (given: string, body: string | undefined) =>
			transport({ method: given, url, headers: {}, body, noStore: false, once: false }, controlOf(1000));
		expect((await send(method, "é1")).text).toBe(`${method} 3 é1`);
		expect((await send("GET", undefined)).text).toBe("GET undefined ");
		expect(sockets).toHaveLength(1);
	},
);
