// What arrives on a kept connection before a request is written belongs to something else: row #44 of docs/faults.md.
import { once } from "node:events";
import net from "node:net";
import { setTimeout } from "node:timers/promises";
import { createClient } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { afterEach, describe, expect, test } from "vitest";

const closing: (() => unknown)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0)) await close();
});

const sent = {
	success: true,
	queued: false,
	messageId: "SM1",
	queueId: null,
	status: "queued",
	windowOpen: true,
	windowExpiresAt: "2026-01-06T09:00:00.000Z",
};
const me = { integration: { id: "7d9f3a52-6d0e-4b35-9d3a-0f6a5a6a0001", name: "CRM" }, agencies: [], scopes: [] };

const answer = (status: string, body: object | string, ...headers: string[]): string => {
	const text = typeof body === "string" ? body : JSON.stringify(body);
	return [`HTTP/1.1 ${status}`, `content-length: ${Buffer.byteLength(text)}`, ...headers, "", text].join("\r\n");
};

/** A server that answers each request, and writes something more on its first connection once it is idle. */
async function listen(stray: string, isClosing: boolean) {
	const requests: { body: string; connection: number }[] = [];
	let first: net.Socket | undefined;
	let connections = 0;
	const server = net.createServer((socket) => {
		const connection = ++connections;
		socket.on("error", () => {});
		let text = "";
		socket.on("data", (data) => {
			text += data;
			const [head = "", body = ""] = text.split("\r\n\r\n");
			const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
			if (!text.includes("\r\n\r\n") || body.length < length) return;
			text = "";
			requests.push({ body, connection });
			socket.write(answer("200 OK", head.startsWith("GET") ? me : sent, "content-type: application/json"));
			first ??= socket;
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	closing.push(() => server.close());
	const { port } = server.address() as net.AddressInfo;
	return {
		baseUrl: `http://127.0.0.1:${port}/api/v1`,
		requests,
		async writeStray() {
			await new Promise<void>((resolve) => {
				if (isClosing) first?.end(stray, resolve);
				else first?.write(stray, () => resolve());
			});
			// The client's process reads it while it waits for other things.
			await setTimeout(150);
		},
	};
}

const transports = [
	["nodeHttp", () => nodeHttp()],
	["fetch", () => undefined],
] as const;

const strays = [
	["a late 400 of a gateway", answer("400 Bad Request", "<h1>Bad Request</h1>"), false],
	["a 408 that ends an idle connection", answer("408 Request Timeout", "", "connection: close"), true],
	[
		"a late 403 with the service's own body",
		answer("403 Forbidden", { _tag: "PartnerForbidden", message: "No" }),
		false,
	],
	["a late answer to another send", answer("200 OK", { ...sent, messageId: "SM-of-another" }), false],
	["the beginning of an answer", "HTTP/1.1 2", false],
] as const;

describe.each(transports)("#44 over %s", (_, create) => {
	describe.each(strays)("%s", (_, stray, isClosing) => {
		async function open() {
			const server = await listen(stray, isClosing);
			const transport = create();
			closing.push(() => transport?.close());
			const client = createClient({
				baseUrl: server.baseUrl,
				apiKey: "sandbox_live.a.b",
				retry: { baseDelayMs: 1 },
				transport,
			});
			return { ...server, client };
		}

		test("is not the answer of the next send, which the service gets once", async () => {
			const { client, requests, writeStray } = await open();
			const send = (body: string) => client.agency("agy_1").messages.send({ to: "+447700900101", body });
			await send("one");
			await writeStray();
			expect(await send("two")).toMatchObject({ messageId: "SM1" });
			const bodies = requests.map(({ body }) => JSON.parse(body) as { body: string; operationId: string });
			expect(bodies.map(({ body }) => body).slice(0, 2)).toEqual(["one", "two"]);
			expect(new Set(bodies.slice(1).map(({ operationId }) => operationId)).size).toBe(1);
			expect(requests.at(-1)?.connection).toBe(2);
		});

		test("is not the answer of a raw write, which is made at most once", async () => {
			const { client, requests, writeStray } = await open();
			await client.me.get();
			await writeStray();
			const result = await client.request({ method: "POST", path: "/notes", body: { text: "one" } }).result();
			if (!result.ok) expect(result.error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent" });
			expect(requests.slice(1).every(({ connection }) => connection === 2)).toBe(true);
			expect(requests.length).toBe(result.ok ? 2 : 1);
		});

		test("is not the answer of the next read", async () => {
			const { client, requests, writeStray } = await open();
			await client.me.get();
			await writeStray();
			expect(await client.me.get()).toMatchObject({ integration: { name: "CRM" } });
			expect(requests.at(-1)?.connection).toBe(2);
		});
	});
});

test("#44 an answer on a kept connection before the request was written in full is not its answer", async () => {
	let requests = 0;
	let connections = 0;
	const server = net.createServer((socket) => {
		const isFirst = ++connections === 1;
		let length = 0;
		socket.on("error", () => {});
		socket.on("data", (data) => {
			const isBegin = String(data).startsWith("GET") || String(data).startsWith("POST");
			if (isBegin) requests++;
			length += data.length;
			if (requests === 2 && isFirst) {
				// The rest of the request is never read.
				socket.pause();
				socket.write(answer("400 Bad Request", "<h1>Bad Request</h1>"));
			} else if (length > 8_000_000) socket.write(answer("200 OK", sent, "content-type: application/json"));
			else if (requests === 1) socket.write(answer("200 OK", me, "content-type: application/json"));
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const transport = nodeHttp();
	closing.push(
		() => server.close(),
		() => transport.close(),
	);
	const baseUrl = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/api/v1`;
	const client = createClient({ baseUrl, apiKey: "sandbox_live.a.b", retry: { baseDelayMs: 1 }, transport });
	await client.me.get();
	const body = "x".repeat(8_000_000);
	expect(await client.agency("agy_1").messages.send({ to: "+447700900101", body })).toMatchObject({ messageId: "SM1" });
	expect([requests, connections]).toEqual([3, 2]);
});
