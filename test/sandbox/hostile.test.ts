import net from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import { expect, onTestFinished, test } from "vitest";
import { insideOf } from "../../src/sandbox/inside.ts";
import { start } from "../cli/run.ts";
import { isLong } from "../length.ts";
import { ANNA, NOW } from "./entry-points.ts";

// Requests of an attacker. A server that keeps what they send, or works on it for long, fails here by the
// time limit of the runner.

const token = "a-token-of-mine";

async function started() {
	const sandbox = createSandbox({ now: NOW });
	const server = await serve(sandbox, { token });
	onTestFinished(() => server.close());
	return { sandbox, server };
}

/** A connection on which a test writes what it likes. */
function connected({ baseUrl }: SandboxServer, bytes: string) {
	const { hostname, port } = new URL(baseUrl);
	const socket = net.connect(Number(port), hostname);
	onTestFinished(() => void socket.destroy());
	let received = "";
	const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
	socket.on("data", (chunk) => (received += chunk.toString("latin1")));
	socket.on("error", () => {});
	socket.write(bytes.replace("HOST", `${hostname}:${port}`));
	return { socket, closed, received: () => received };
}

const post = (path: string, headers: readonly string[]) =>
	[`POST ${path} HTTP/1.1`, "Host: HOST", "Content-Type: application/json", ...headers, "", ""].join("\r\n");
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const tokenHeader = `X-Sandbox-Token: ${token}`;

test("a body without a good key is answered after its first megabyte, and one that is announced longer at once", async () => {
	const { server, sandbox } = await started();
	const path = `/api/v1/agencies/${sandbox.agency().id}/messages`;
	for (const key of [[], ["Authorization: Bearer sandbox_live.a.b"]]) {
		const endless = connected(server, post(path, [...key, "Transfer-Encoding: chunked"]));
		for (let sent = 0; sent < 15; sent += 1) endless.socket.write(chunk("x".repeat(100_000)));
		await expect.poll(endless.received).toMatch(/^HTTP\/1\.1 401 [\s\S]*PartnerUnauthorized/);
		const announced = connected(server, post(path, [...key, "Content-Length: 5000000"]));
		await expect.poll(announced.received).toMatch(/^HTTP\/1\.1 401 /);
		// The rest of the body would be read for ever.
		await Promise.all([endless.closed, announced.closed]);
	}
	const control = connected(server, post("/_sandbox/reset", ["Content-Length: 5000000"]));
	await expect.poll(control.received).toMatch(/^HTTP\/1\.1 401 /);
	const stranger = connected(server, post(path, ["Content-Length: 5000000"]).replace("HOST", "evil.example"));
	await expect.poll(stranger.received).toMatch(/^HTTP\/1\.1 403 /);
	await Promise.all([control.closed, stranger.closed]);
});

test("a body with a good key or token may have 10 MB, and an import more", async () => {
	const { server, sandbox } = await started();
	const path = `/api/v1/agencies/${sandbox.agency().id}/messages`;
	const key = `Authorization: Bearer ${server.apiKey}`;
	for (const [url, header] of [
		[path, key],
		["/_sandbox/clock/advance", tokenHeader],
	] as const) {
		const announced = connected(server, post(url, [header, "Content-Length: 10000001"]));
		await expect.poll(announced.received).toMatch(/^HTTP\/1\.1 413 [\s\S]*at most 10 MB/);
		const endless = connected(server, post(url, [header, "Transfer-Encoding: chunked"]));
		for (let sent = 0; sent < 11; sent += 1) endless.socket.write(chunk("x".repeat(1_000_000)));
		await expect.poll(endless.received).toMatch(/^HTTP\/1\.1 413 /);
	}
	expect(sandbox.requests()).toEqual([]);
	const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
	const text = "x".repeat(9_900_000);
	const sent = await fetch(`${new URL(server.baseUrl).origin}${path}`, {
		method: "POST",
		headers,
		body: JSON.stringify({ to: ANNA, body: text }),
	});
	expect(sent.status).toBe(200);
	const file = `${" ".repeat(11_000_000)}${JSON.stringify(createSandbox({ now: "2030-01-01T00:00:00Z" }).bug())}`;
	const init = { method: "POST", headers: { "x-sandbox-token": token }, body: file };
	expect((await fetch(`${server.controlUrl}/import`, init)).status).toBe(200);
	expect(sandbox.clock.now().toISOString()).toBe("2030-01-01T00:00:00.000Z");
});

test("a body in chunks of any size arrives as it was sent", async () => {
	const { server, sandbox } = await started();
	sandbox.agency().contact(ANNA).writes("Hello");
	const body = `Größe ${"0123456789".repeat(500)}`;
	const bytes = Buffer.from(JSON.stringify({ to: ANNA, body }));
	const headers = [`Authorization: Bearer ${server.apiKey}`, "Transfer-Encoding: chunked"];
	const one = connected(server, post(`/api/v1/agencies/${sandbox.agency().id}/messages`, headers));
	for (let at = 0, size = 1; at < bytes.length; at += size, size = size < 50 ? size : size + 7)
		one.socket.write(
			Buffer.concat([
				Buffer.from(`${Math.min(size, bytes.length - at).toString(16)}\r\n`),
				bytes.subarray(at, at + size),
				Buffer.from("\r\n"),
			]),
		);
	one.socket.write("0\r\n\r\n");
	await expect.poll(one.received).toMatch(/^HTTP\/1\.1 200 /);
	expect(sandbox.agency().contact(ANNA).inbox()).toMatchObject([{ body }]);
});

test("readers of events that do not read are cut off once they keep 64 MB together, the slowest first", async () => {
	const { server, sandbox } = await started();
	const asks = `GET /_sandbox/events HTTP/1.1\r\nHost: HOST\r\nAccept: text/event-stream\r\n${tokenHeader}\r\n\r\n`;
	const readers = Array.from({ length: 20 }, () => connected(server, asks));
	await Promise.all(readers.map(({ received }) => expect.poll(received).toContain(": events of the sandbox")));
	for (const { socket } of readers) socket.pause();
	const prompt = connected(server, asks);
	await expect.poll(prompt.received).toContain(": events of the sandbox");
	sandbox.agency().contact(ANNA).writes("x".repeat(5_000_000));
	sandbox.agency().contact(ANNA).writes("the last");
	for (const { socket } of readers) socket.resume();
	const states = await Promise.all(
		[...readers, prompt].map(async ({ received, closed }) => {
			let isCut = false;
			closed.then(() => {
				isCut = true;
			});
			await expect.poll(() => isCut || received().includes("the last")).toBe(true);
			return isCut ? "cut" : "read";
		}),
	);
	const cut = states.filter((state) => state === "cut");
	expect(cut.length).toBeGreaterThanOrEqual(7);
	expect(cut.length).toBeLessThan(15);
	expect(states.slice(0, cut.length)).toEqual(cut);
	expect(states.at(-1)).not.toBe("cut");
});

test("answers that nobody reads are cut off once they keep 64 MB together, the slowest first", async () => {
	const { server, sandbox } = await started();
	const { hostname, port } = new URL(server.baseUrl);
	const anna = sandbox.agency().contact(ANNA);
	for (let written = 0; written < 100; written += 1) anna.writes("x".repeat(100_000));
	const path = `/api/v1/agencies/${sandbox.agency().id}/conversations/%2B447700900101/messages?pageSize=100`;
	const head = `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${server.apiKey}\r\n`;
	const readers: { socket: net.Socket; read: Promise<number> }[] = [];
	for (let opened = 0; opened < 9; opened += 1) {
		const socket = net.connect(Number(port), hostname);
		onTestFinished(() => void socket.destroy());
		let bytes = 0;
		socket.on("data", (data) => (bytes += data.length));
		socket.on("error", () => {});
		const read = new Promise<number>((resolve) => socket.on("close", () => resolve(bytes)));
		socket.pause();
		socket.write(`${head}Connection: close\r\n\r\n`);
		readers.push({ socket, read });
		await expect.poll(() => sandbox.requests().length).toBe(opened + 1);
	}
	for (const { socket } of readers) socket.resume();
	const whole = (await Promise.all(readers.map(({ read }) => read))).map((bytes) => bytes > 10_000_000);
	const cut = whole.filter((isWhole) => !isWhole).length;
	expect(cut).toBeGreaterThanOrEqual(2);
	expect(cut).toBeLessThan(6);
	expect(whole.slice(0, cut)).not.toContain(true);
	// What was read does not count, and an answer that is longer than the limit is not cut for its own sake.
	for (let written = 0; written < 600; written += 1) anna.writes("x".repeat(100_000));
	const state = await fetch(`${server.controlUrl}/contacts/${ANNA}`, { headers: { "x-sandbox-token": token } });
	expect((await state.arrayBuffer()).byteLength).toBeGreaterThan(64 * 2 ** 20);
});

test("long headers are kept of requests with a good key alone, by the journal alone, and their names weigh too", async () => {
	setFlagsFromString("--expose-gc");
	const collect: () => void = runInNewContext("gc");
	const { sandbox } = await started();
	const { apiKey } = sandbox.connection;
	let made = 0;
	const ask = (authorization: string) => {
		const headers: Record<string, string> = { authorization };
		for (let name = 0; name < 10_000; name += 1) headers[`${"x".repeat(90)}${made}-${name}`] = "";
		made += 1;
		insideOf(sandbox).answer({ method: "GET", target: "/me", headers, body: "" });
		return new WeakRef(headers);
	};
	const strangers = Array.from({ length: 3 }, () => ask("Bearer sandbox_live.a.b"));
	expect(sandbox.requests().map(({ headers }) => headers)).toEqual([{}, {}, {}]);
	const known = Array.from({ length: 40 }, () => ask(`Bearer ${apiKey}`));
	await new Promise((resolve) => setImmediate(resolve)); // a WeakRef holds its object until then
	collect();
	const kept = (all: readonly WeakRef<object>[]) => all.filter((each) => each.deref() !== undefined).length;
	// The journal has copies, without the key, and no more of them than it may.
	expect(kept([...strangers, ...known])).toBe(0);
	expect(sandbox.requests().length).toBeLessThan(35);
	expect(sandbox.events()).toHaveLength(43);
	expect(JSON.stringify(sandbox.events()).length).toBeLessThan(100_000);
});

test("a body of any depth is refused, and kept as text, so that events and requests can be read", async () => {
	const { server, sandbox } = await started();
	const heard: unknown[] = [];
	sandbox.subscribe((event) => heard.push(JSON.stringify(event)));
	const asks = `GET /_sandbox/events HTTP/1.1\r\nHost: HOST\r\nAccept: text/event-stream\r\n${tokenHeader}\r\n\r\n`;
	const reader = connected(server, asks);
	const bodies = [101, 2_000, 6_000, 100_000].flatMap((depth) => [
		`${"[".repeat(depth)}${"]".repeat(depth)}`,
		`{"to":"${ANNA}","body":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
	]);
	const [path, key] = [`agencies/${sandbox.agency().id}/messages`, { authorization: `Bearer ${server.apiKey}` }];
	for (const body of bodies) {
		const sent = await fetch(`${server.baseUrl}/${path}`, { method: "POST", headers: key, body });
		expect(sent.status).toBe(400);
		const control = { method: "POST", headers: { "x-sandbox-token": token }, body };
		for (const place of ["import", "contacts/+447700900101/writes", "faults/add"])
			expect((await fetch(`${server.controlUrl}/${place}`, control)).status).toBe(400);
	}
	const nested = `${"[".repeat(100)}${"]".repeat(100)}`;
	await fetch(`${server.baseUrl}/${path}`, { method: "POST", headers: key, body: nested });
	const all = [...bodies, JSON.parse(nested)];
	expect(sandbox.requests().map(({ body }) => body)).toEqual(all);
	expect(heard).toHaveLength(all.length);
	for (const place of ["events", "requests"]) {
		const response = await fetch(`${server.controlUrl}/${place}`, { headers: { "x-sandbox-token": token } });
		expect((await response.json()).map(({ body }: { body: unknown }) => body)).toEqual(all);
	}
	await expect.poll(() => reader.received().match(/^id: /gm)?.length).toBe(all.length);
});

test("a reader that begins late builds each event once, however slowly it reads", async () => {
	const { server, sandbox } = await started();
	sandbox.agency().contact(ANNA).writes("x".repeat(20_000));
	const url = `${sandbox.connection.baseUrl}/agencies/${sandbox.agency().id}/conversations/${encodeURIComponent(ANNA)}`;
	const headers = { authorization: `Bearer ${sandbox.connection.apiKey}` };
	for (let asked = 0; asked < 300; asked += 1) await sandbox.fetch(url, { headers });
	const events = sandbox.events().length;
	const clone = globalThis.structuredClone; // what building the event of a request takes
	let built = 0;
	globalThis.structuredClone = (...args) => {
		built += 1;
		return clone(...args);
	};
	onTestFinished(() => {
		globalThis.structuredClone = clone;
	});
	const get = (path: string) => fetch(`${server.controlUrl}/${path}`, { headers: { "x-sandbox-token": token } });
	await (await get("events?limit=1")).text();
	expect(built).toBe(1);
	const asks = `GET /_sandbox/events HTTP/1.1\r\nHost: HOST\r\nAccept: text/event-stream\r\n${tokenHeader}\r\n\r\n`;
	const reader = connected(server, asks);
	await expect.poll(() => reader.received().match(/^id: /gm)?.length).toBe(events);
	expect(built).toBe(1 + 1 + 300); // the newest one was read twice, to compare its number
});

/** Texts over which a pattern with two ways to read them would take a minute: in the short run one or two of each part. */
const shapes = [
	"a",
	"1",
	".",
	" ",
	"-",
	"%20",
	"%2B",
	"+",
	"/",
	"_live",
	"a.",
	"1.",
	"1 ",
	"é",
	"(",
	"0)",
	"\n",
	"x\u0000",
]
	.flatMap((part) => {
		const long = part.repeat(Math.ceil(100_000 / part.length));
		return [long, `a${long}b`, `1${long}\u0001`, `${long}\u0001`];
	})
	.filter((_, index) => isLong || index % 3 === 0);

test("a text of any shape is answered at once, as a search, a path, a number, an id, a header and a body", async () => {
	const { server, sandbox } = await started();
	const { fetch } = sandbox;
	const { baseUrl, apiKey } = sandbox.connection;
	const agency = `${baseUrl}/agencies/${sandbox.agency().id}`;
	sandbox.agency().contact(ANNA, { name: "Anna" }).writes("Hello");
	const client = createClient({ ...sandbox.connection, retry: false });
	const authorization = `Bearer ${apiKey}`;
	for (const shape of shapes) {
		const inUrl = encodeURIComponent(shape);
		const asked = (url: string, init: RequestInit = {}) => fetch(url, { headers: { authorization }, ...init });
		for (const url of [
			`${agency}/conversations?search=${inUrl}`,
			`${agency}/conversations?cursor=${inUrl}`,
			`${agency}/conversations?pageSize=${inUrl}`,
			`${agency}/conversations/${inUrl}`,
			`${baseUrl}/agencies/${inUrl}/conversations`,
			`${baseUrl}/${inUrl}`,
		])
			expect((await asked(url)).status).toBeLessThan(502);
		const plain = shape.replace(/[^ -~]/g, "");
		expect((await asked(`${baseUrl}/me`, { headers: { authorization: plain } })).status).toBe(401);
		const body = JSON.stringify({ to: shape, body: shape, operationId: shape, [shape]: 1 });
		const headers = { authorization, "content-type": plain };
		expect((await asked(`${agency}/messages`, { method: "POST", headers, body })).status).toBe(400);
		const control = { method: "POST", headers: { "x-sandbox-token": token }, body: JSON.stringify({ text: shape }) };
		await globalThis.fetch(`${server.controlUrl}/contacts/${inUrl.slice(0, 100_000)}/writes`, control);
		await client
			.agency(sandbox.agency().id)
			.messages.send({ to: shape, body: "Hello" })
			.catch(() => {});
		await client
			.agency(sandbox.agency().id)
			.conversations.get(shape)
			.catch(() => {});
	}
});

test("the terminal prints a long path shortened, and at once", async () => {
	const running = start(["sandbox", "--port", "0", "--token", token]);
	onTestFinished(async () => {
		running.stop();
		await running.status;
	});
	await expect.poll(running.out).toContain("Base URL");
	const baseUrl = /Base URL +(\S+)/.exec(running.out())?.[1] ?? "";
	for (const shape of shapes) await fetch(`${baseUrl}/${encodeURIComponent(shape)}`);
	await fetch(`${baseUrl}/the-last`);
	await expect.poll(running.out).toContain("/the-last");
	expect(
		Math.max(
			...running
				.out()
				.split("\n")
				.map((line) => line.length),
		),
	).toBeLessThan(500);
});
