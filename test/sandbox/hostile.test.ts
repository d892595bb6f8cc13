import net from "node:net";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import { expect, onTestFinished, test } from "vitest";
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
	const archive = `${" ".repeat(11_000_000)}${JSON.stringify(createSandbox({ now: "2030-01-01T00:00:00Z" }).export())}`;
	const init = { method: "POST", headers: { "x-sandbox-token": token }, body: archive };
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
			await expect.poll(() => isCut || received().includes("the last"), { timeout: 20_000 }).toBe(true);
			return isCut ? "cut" : "read";
		}),
	);
	const cut = states.filter((state) => state === "cut");
	expect(cut.length).toBeGreaterThanOrEqual(7);
	expect(cut.length).toBeLessThan(15);
	expect(states.slice(0, cut.length)).toEqual(cut);
	expect(states.at(-1)).not.toBe("cut");
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
