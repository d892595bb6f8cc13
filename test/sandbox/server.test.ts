import http from "node:http";
import net from "node:net";
import os from "node:os";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { createSandbox } from "../../src/sandbox/index.ts";
import { hostsOf } from "../../src/sandbox/server/hosts.ts";
import { serve } from "../../src/sandbox/server.ts";
import { ANNA, NOW } from "./entry-points.ts";

type Served = Awaited<ReturnType<typeof serve>>;

const running: Served[] = [];

afterEach(async () => {
	for (const server of running.splice(0)) await server.close();
});

async function started() {
	const sandbox = createSandbox({ now: NOW });
	const server = await serve(sandbox, { port: 0 });
	running.push(server);
	const { hostname, port } = new URL(server.baseUrl);
	const { apiKey } = sandbox.connection;
	return { sandbox, server, hostname, port: Number(port), apiKey, agency: sandbox.agency() };
}

interface Raw {
	readonly status: number;
	readonly headers: http.IncomingHttpHeaders;
	readonly text: string;
}

/** A raw request: fetch would not let a test set Host or Origin. */
function raw(url: string, options: http.RequestOptions = {}, body = ""): Promise<Raw> {
	return new Promise((resolve, reject) => {
		const request = http.request(url, { agent: false, ...options }, (response) => {
			let text = "";
			response.setEncoding("utf8");
			response.on("data", (chunk: string) => {
				text += chunk;
			});
			response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
			response.on("error", reject);
		});
		request.on("error", reject);
		request.end(body);
	});
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test("server listens on 127.0.0.1 and on no other address", async () => {
	const { hostname, port, server } = await started();
	expect(hostname).toBe("127.0.0.1");
	expect(new URL(server.controlUrl).hostname).toBe("127.0.0.1");
	const outside = Object.values(os.networkInterfaces())
		.flatMap((each) => each ?? [])
		.filter((each) => !each.internal && each.family === "IPv4")
		.map((each) => each.address);
	// 127.0.0.2 answers as well wherever a server listens on all addresses of the machine.
	for (const host of [...outside, ...(process.platform === "linux" ? ["127.0.0.2"] : [])]) {
		const connected = await new Promise<boolean>((resolve) => {
			const socket = net.connect({ host, port, timeout: 500 });
			socket.on("connect", () => resolve(true));
			for (const event of ["error", "timeout"]) socket.on(event, () => resolve(false));
			socket.on("close", () => socket.destroy());
		});
		expect(connected, host).toBe(false);
	}
});

test("server refuses a foreign Host, whatever the key", async () => {
	const { server, port, apiKey, sandbox } = await started();
	const hosts = [
		"evil.example",
		`evil.example:${port}`,
		`127.0.0.1.evil.example:${port}`,
		"169.254.169.254",
		"0.0.0.0",
	];
	for (const host of hosts) {
		const { status, text } = await raw(`${server.baseUrl}/me`, { headers: { ...bearer(apiKey), host } });
		expect(status, JSON.stringify(host)).toBeGreaterThanOrEqual(400);
		expect(status, host).toBeLessThan(500);
		expect(text).not.toContain(sandbox.agency().id);
	}
	for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
		expect((await raw(`${server.baseUrl}/me`, { headers: { ...bearer(apiKey), host } })).status, host).toBe(200);
	}
});

test("server refuses a request that names no host", async () => {
	const { hostname, port, apiKey, agency } = await started();
	for (const host of ["Host:\r\n", "Host: \r\n", ""]) {
		const received = await new Promise<string>((resolve) => {
			const socket = net.connect(port, hostname);
			let bytes = "";
			socket.on("data", (chunk) => {
				bytes += chunk.toString();
			});
			socket.on("error", () => {});
			socket.on("close", () => resolve(bytes));
			socket.write(`GET /api/v1/me HTTP/1.1\r\n${host}Connection: close\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`);
		});
		expect(received, JSON.stringify(host)).toMatch(/^HTTP\/1\.1 4\d\d /);
		expect(received).not.toContain(agency.id);
	}
});

test("server refuses a foreign Origin before anything happens", async () => {
	const { server, port, apiKey, agency, sandbox } = await started();
	const anna = agency.contact(ANNA);
	anna.writes("Hello");
	const url = `${server.baseUrl}/agencies/${agency.id}/messages`;
	const body = JSON.stringify({ to: ANNA, body: "From a page" });
	for (const origin of [
		"https://evil.example",
		"http://localhost.evil.example",
		"null",
		`http://127.0.0.1:${port + 1}`,
	]) {
		const headers = { ...bearer(apiKey), origin, "content-type": "application/json" };
		const { status } = await raw(url, { method: "POST", headers }, body);
		expect(status, origin).toBeGreaterThanOrEqual(400);
		expect(status, origin).toBeLessThan(500);
	}
	expect(anna.inbox()).toEqual([]);
	expect(sandbox.requests().filter((each) => each.status === 200)).toEqual([]);
});

test("server sends no CORS header, not to a preflight either", async () => {
	const { server, apiKey, port } = await started();
	const origins = [undefined, `http://127.0.0.1:${port}`, "https://evil.example"];
	for (const method of ["GET", "OPTIONS"]) {
		for (const origin of origins) {
			const headers = {
				...bearer(apiKey),
				...(origin
					? { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
					: {}),
			};
			for (const path of [`${server.baseUrl}/me`, `${server.controlUrl}/requests`]) {
				const answer = await raw(path, { method, headers });
				const cors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));
				expect(cors, `${method} ${origin}`).toEqual([]);
				if (method === "OPTIONS") expect(answer.status).toBeGreaterThanOrEqual(400);
			}
		}
	}
});

test("server keeps its controls behind a token of its own", async () => {
	const { server, apiKey, sandbox, agency } = await started();
	agency.contact(ANNA).writes("Hello");
	const url = `${server.controlUrl}/reset`;
	expect(url).toContain("/_sandbox/");
	expect(server.token.length).toBeGreaterThanOrEqual(20);
	expect(server.token).not.toBe((await started()).server.token);
	const wrong = [
		{},
		bearer(apiKey),
		bearer("wrong"),
		bearer(`${server.token}x`),
		bearer(server.token.slice(0, -1)),
		bearer(""),
	];
	for (const headers of wrong) {
		const { status, text } = await raw(url, { method: "POST", headers });
		expect([401, 403]).toContain(status);
		expect(text).not.toContain(server.token);
		expect((await raw(`${server.controlUrl}/snapshot`, { headers })).status).toBe(status);
	}
	expect(agency.contact(ANNA).inbox()).toEqual([]);
	const rows = JSON.stringify(sandbox.snapshot().world);
	expect(rows).toContain(ANNA);
	const { status } = await raw(url, { method: "POST", headers: bearer(server.token) });
	expect(status).toBeGreaterThanOrEqual(200);
	expect(status).toBeLessThan(300);
	expect(JSON.stringify(sandbox.snapshot().world)).not.toContain(ANNA);
});

test("server does not take the token of the controls for a key, nor answer controls under the base URL", async () => {
	const { server } = await started();
	expect((await raw(`${server.baseUrl}/me`, { headers: bearer(server.token) })).status).toBe(401);
	const below = await raw(`${server.baseUrl}/_sandbox/reset`, { method: "POST", headers: bearer(server.token) });
	expect(below.status).toBeGreaterThanOrEqual(400);
});

test("server refuses a foreign Host and Origin on its controls, even with the token", async () => {
	const { server, sandbox, agency } = await started();
	agency.contact(ANNA).writes("Hello");
	for (const foreign of [{ host: "evil.example" }, { origin: "https://evil.example" }]) {
		const headers = { ...bearer(server.token), ...foreign };
		expect((await raw(`${server.controlUrl}/reset`, { method: "POST", headers })).status).toBeGreaterThanOrEqual(400);
	}
	expect(JSON.stringify(sandbox.snapshot().world)).toContain(ANNA);
});

test("server really cuts the socket on a reset", async () => {
	const { server, port, hostname, apiKey, sandbox } = await started();
	sandbox.faults.add({ operation: "me.get", effect: "reset" });
	const { pathname } = new URL(`${server.baseUrl}/me`);
	const received = await new Promise<string>((resolve) => {
		const socket = net.connect(port, hostname);
		let bytes = "";
		socket.on("data", (chunk) => {
			bytes += chunk.toString();
		});
		socket.on("error", () => {});
		socket.on("close", () => resolve(bytes));
		socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`);
	});
	expect(received).toBe("");
	expect((await raw(`${server.baseUrl}/me`, { headers: bearer(apiKey) })).status).toBe(200);
});

test("server closes at once, with requests hanging and sockets idle", async () => {
	const { server, apiKey, sandbox } = await started();
	const fault = sandbox.faults.add({ effect: "hang" });
	const hanging = fetch(`${server.baseUrl}/me`, { headers: bearer(apiKey) }).then(
		() => "answered",
		() => "cut",
	);
	await expect.poll(() => fault.hits).toBe(1);
	await server.close();
	expect(await hanging).toBe("cut");
	await server.close();
	await expect(raw(`${server.baseUrl}/me`)).rejects.toThrow();
});

test("server takes the port it is given, and refuses one that is taken", async () => {
	const { port } = await started();
	await expect(serve(createSandbox(), { port })).rejects.toThrow(/EADDRINUSE/);
	await running.splice(0)[0]?.close();
	const again = await serve(createSandbox(), { port });
	running.push(again);
	expect(new URL(again.baseUrl).port).toBe(String(port));
});

test("server takes the token it is given, in either header", async () => {
	const server = await serve(createSandbox(), { token: "a-token-of-my-own" });
	running.push(server);
	expect(server.token).toBe("a-token-of-my-own");
	for (const headers of [bearer(server.token), { "x-sandbox-token": server.token }]) {
		expect((await raw(`${server.controlUrl}/clock`, { headers })).status).toBe(200);
	}
	expect((await raw(`${server.controlUrl}/clock`, { headers: { "x-sandbox-token": "another" } })).status).toBe(401);
});

test("server refuses options that it does not know, and a token that protects nothing", async () => {
	for (const [options, named] of [
		[{ token: "" }, /token must be 8 or more/],
		[{ token: "short" }, /token/],
		[{ token: "with a space" }, /token/],
		[{ token: 12345678 }, /token/],
		[{ port: "x" }, /port must be a port from 0 to 65535/],
		[{ port: 65_536 }, /port/],
		[{ port: 1.5 }, /port/],
		[{ host: "0.0.0.0" }, /does not take: host/],
		[{ follow: 1 }, /follow must be true or false/],
	] as const) {
		const serving: Promise<Served> = Reflect.apply(serve, undefined, [createSandbox(), options]);
		await expect(serving, JSON.stringify(options)).rejects.toThrow(named);
		await expect(serving).rejects.toBeInstanceOf(TypeError);
	}
});

test("server lets the clock follow real time only if asked", async () => {
	const [still, moving] = [createSandbox({ now: NOW }), createSandbox({ now: NOW })];
	running.push(await serve(still), await serve(moving, { follow: true }));
	await expect.poll(() => moving.clock.now().getTime()).toBeGreaterThan(Date.parse(NOW));
	expect(still.clock.now().toISOString()).toBe(NOW);
	await Promise.all(running.splice(0).map((server) => server.close()));
	const stopped = moving.clock.now().getTime();
	await new Promise((resolve) => setTimeout(resolve, 250));
	expect(moving.clock.now().getTime()).toBe(stopped);
});

test("a reset does not set a clock that follows real time back", async () => {
	const sandbox = createSandbox({ now: NOW });
	running.push(await serve(sandbox, { follow: true }));
	await expect.poll(() => sandbox.clock.now().getTime()).toBeGreaterThan(Date.parse(NOW) + 150);
	const before = sandbox.clock.now().getTime();
	sandbox.reset();
	expect(sandbox.clock.now().getTime()).toBe(before);
	sandbox.clock.advance({ hours: 2 });
	sandbox.reset();
	expect(sandbox.clock.now().getTime()).toBe(before);
});

test("server survives malformed bytes", async () => {
	const { server, hostname, port, apiKey } = await started();
	for (const bytes of [
		"\x00\x01\x02\r\n\r\n",
		"GET\r\n\r\n",
		"POST /api/v1/me HTTP/1.1\r\nContent-Length: 99\r\n\r\nshort",
	]) {
		await new Promise<void>((resolve) => {
			const socket = net.connect(port, hostname, () => socket.end(bytes));
			socket.on("error", () => {});
			socket.on("close", () => resolve());
			socket.resume();
		});
	}
	expect((await raw(`${server.baseUrl}/me`, { headers: bearer(apiKey) })).status).toBe(200);
});

test("server answers each of its controls as the control in process does", async () => {
	const { server, sandbox, apiKey } = await started();
	await raw(`${server.baseUrl}/me`, { headers: bearer(apiKey) });
	const requests = await raw(`${server.controlUrl}/requests`, { headers: bearer(server.token) });
	expect(requests.status).toBe(200);
	expect(JSON.parse(requests.text)).toEqual(sandbox.requests());
});

/** What comes back for bytes that no client library would send, until the server closes. */
function wired(hostname: string, port: number, bytes: string): Promise<string> {
	return new Promise((resolve) => {
		const socket = net.connect(port, hostname, () => socket.write(bytes));
		let received = "";
		socket.on("data", (chunk) => {
			received += chunk.toString();
		});
		socket.on("error", () => {});
		socket.on("close", () => resolve(received));
	});
}

/** A refusal as the sandbox writes it, from bytes on the wire: correlation id, a JSON body of two fields, its length. */
function refusalIn(received: string): { status: number; tag: string; correlationId: string | undefined } {
	const [head = "", body = ""] = received.split("\r\n\r\n");
	expect(head).toMatch(/\r\ncontent-type: application\/json(\r\n|$)/i);
	expect(Number(head.match(/\r\ncontent-length: (\d+)/i)?.[1])).toBe(Buffer.byteLength(body));
	const { _tag, message, ...rest } = JSON.parse(body);
	expect([typeof message, rest]).toEqual(["string", {}]);
	return { status: Number(head.slice(9, 12)), tag: _tag, correlationId: head.match(/x-correlation-id: (\S+)/i)?.[1] };
}

test("R17 server takes a URL and a header of any usual length", async () => {
	const { server, apiKey, agency, sandbox } = await started();
	agency.contact(ANNA, { name: "Anna" }).writes("Hello");
	const list = `${server.baseUrl}/agencies/${agency.id}/conversations`;
	const long = await raw(`${list}?search=${"anna".repeat(50_000)}`, { headers: bearer(apiKey) });
	expect([long.status, JSON.parse(long.text).conversations]).toEqual([200, []]);
	const headers = { ...bearer(apiKey), "x-note": "n".repeat(200_000) };
	expect((await raw(list, { headers })).status).toBe(200);
	expect(sandbox.requests()).toHaveLength(2);
});

test("R3 server answers what is not an HTTP request, or too much of one, with a refusal of its own", async () => {
	const { hostname, port, sandbox } = await started();
	const host = `Host: ${hostname}:${port}\r\n`;
	const refused = [
		["GET\r\n\r\n", 400],
		["GET /api/v1/me HTTP/1.1\r\nno colon\r\n\r\n", 400],
		[`POST /api/v1/me HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nnot a length\r\n`, 400],
		[`GET /api/v1/me HTTP/1.1\r\n${host}X-Note: ${"n".repeat(2_000_000)}\r\n\r\n`, 431],
	] as const;
	const ids = new Set<string | undefined>();
	for (const [bytes, status] of refused) {
		const refusal = refusalIn(await wired(hostname, port, bytes));
		expect(refusal).toMatchObject({ status, tag: "SandboxBadRequest" });
		ids.add(refusal.correlationId);
	}
	expect(ids).not.toContain(undefined);
	expect(ids.size).toBe(refused.length);
	const nameless = refusalIn(await wired(hostname, port, "GET /api/v1/me HTTP/1.1\r\nConnection: close\r\n\r\n"));
	expect(nameless).toMatchObject({ status: 403, tag: "SandboxRefused" });
	expect(sandbox.requests().filter((each) => each.path === "/me" && each.status !== null && each.status < 400)).toEqual(
		[],
	);
});

test("R3 server takes a request that expects something for a request like any other", async () => {
	const { server, apiKey, agency } = await started();
	const send = { method: "POST", headers: { ...bearer(apiKey), "content-type": "application/json", expect: "foo" } };
	const url = `${server.baseUrl}/agencies/${agency.id}/messages`;
	const { status, headers, text } = await raw(url, send, JSON.stringify({ to: ANNA, body: "Hi" }));
	expect([status, JSON.parse(text).queued]).toEqual([200, true]);
	expect(headers["x-correlation-id"]).toMatch(/^sandbox-/);
	const unknown = await raw(`${server.baseUrl}/me`, { headers: { expect: "200-ok" } });
	expect([unknown.status, JSON.parse(unknown.text)._tag]).toEqual([401, "PartnerUnauthorized"]);
});

test("R3 server answers what came before nonsense, then refuses the nonsense", async () => {
	const { hostname, port, apiKey, sandbox } = await started();
	sandbox.faults.add({ operation: "me.get", effect: { latencyMs: 20 } });
	const one = `GET /api/v1/me HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`;
	for (const good of [one, one, one + one]) {
		const received = await wired(hostname, port, `${good}nonsense\r\n\r\n`);
		const expected = [...good.matchAll(/GET/g)].map(() => "200");
		expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([...expected, "400"]);
		refusalIn(received.slice(received.lastIndexOf("HTTP/1.1")));
	}
});

test("R17 server keeps every header, however many there are", async () => {
	const { hostname, port, apiKey } = await started();
	const many = Array.from({ length: 2_500 }, (_, index) => `X-${index}: 1\r\n`).join("");
	const head = `GET /api/v1/me HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${many}`;
	const received = await wired(hostname, port, `${head}Authorization: Bearer ${apiKey}\r\nConnection: close\r\n\r\n`);
	expect(received).toMatch(/^HTTP\/1\.1 200 /);
});

test("R20 server takes a key that is given twice for a malformed one", async () => {
	const { hostname, port, apiKey } = await started();
	const key = `Authorization: Bearer ${apiKey}\r\n`;
	const head = `GET /api/v1/me HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n`;
	expect(refusalIn(await wired(hostname, port, `${head}${key}${key}\r\n`)).status).toBe(401);
});

test("R12 server refuses CONNECT as a method that the service lacks, and records it", async () => {
	const { server, hostname, port, sandbox } = await started();
	const head = `CONNECT example.com:443 HTTP/1.1\r\nHost: ${hostname}:${port}\r\n`;
	for (const [index, rest] of ["\r\n", "Content-Length: 5\r\n\r\nhello", "Connection: keep-alive\r\n\r\n"].entries()) {
		const refusal = refusalIn(await wired(hostname, port, head + rest));
		expect(refusal).toMatchObject({ status: 501, tag: "SandboxUnsupported", correlationId: expect.any(String) });
		expect(sandbox.violations()).toHaveLength(index + 1);
	}
	const foreign = refusalIn(
		await wired(hostname, port, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
	);
	expect(foreign).toMatchObject({ status: 403, tag: "SandboxRefused" });
	await server.close();
});

test("server takes a whole URL for the path and the host in it", async () => {
	const { server, hostname, port, apiKey, sandbox } = await started();
	const asked = (url: string, host: string, rest: string) =>
		wired(hostname, port, `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${rest}\r\n`);
	const key = `Authorization: Bearer ${apiKey}\r\n`;
	expect(await asked(`${server.baseUrl}/me?a=1`, "proxied.example", key)).toMatch(/^HTTP\/1\.1 200 /);
	expect(sandbox.requests()).toMatchObject([{ path: "/me", query: "a=1" }]);
	const token = `X-Sandbox-Token: ${server.token}\r\n`;
	expect(await asked(`${server.controlUrl}/clock`, "proxied.example", token)).toMatch(/^HTTP\/1\.1 200 /);
	expect(refusalIn(await asked(`${server.controlUrl}/clock`, "proxied.example", "")).status).toBe(401);
	const foreign = await asked("http://evil.example/api/v1/me", `${hostname}:${port}`, key);
	expect(refusalIn(foreign)).toMatchObject({ status: 403, tag: "SandboxRefused" });
});

const hasIpv6 = Object.values(os.networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"));

test("server answers at the base URL that it names, on each loopback address of the machine", async () => {
	const addresses = Object.values(os.networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
	const loopback = addresses.filter((address) => address === "127.0.0.1" || address === "::1");
	const spellings = hasIpv6 ? ["0:0:0:0:0:0:0:1", "[::1]"] : [];
	for (const listen of [
		"localhost",
		...loopback,
		...spellings,
		...(process.platform === "linux" ? ["127.0.0.2"] : []),
	]) {
		const server = await serve(createSandbox(), { listen });
		running.push(server);
		const { integration } = await createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey }).me.get();
		expect(integration.name, listen).toBe("Sandbox CRM");
		const clock = await raw(`${server.controlUrl}/clock`, { headers: { "X-Sandbox-Token": server.token } });
		expect(clock.status, listen).toBe(200);
	}
});

test("server that listens on an address of the machine, or on its name, names it and answers to it", async () => {
	const outside = Object.values(os.networkInterfaces())
		.flatMap((each) => each ?? [])
		.filter(({ internal, scopeid }) => !internal && !scopeid) // the address of one link needs its zone in the URL
		.map(({ address }) => address);
	for (const listen of [...outside, os.hostname(), "0.0.0.0", ...(hasIpv6 ? ["::"] : [])]) {
		const server = await serve(createSandbox(), { listen });
		running.push(server);
		const isEvery = listen === "0.0.0.0" || listen === "::";
		const { host, hostname, port } = new URL(server.baseUrl);
		const address = net.isIPv6(listen) ? `[${listen}]` : listen;
		expect(hostname, listen).toBe(isEvery ? "127.0.0.1" : address.toLowerCase());
		for (const asked of [host, `${address}:${port}`]) {
			const headers = { ...bearer(server.apiKey), host: asked };
			expect((await raw(`${server.baseUrl}/me`, { headers })).status, asked).toBe(200);
		}
		const headers = { ...bearer(server.apiKey), host: "evil.example" };
		expect((await raw(`${server.baseUrl}/me`, { headers })).text).toContain("--allow-host");
	}
});

test("server answers to allowed hosts with any port, and explains that they are given without one", async () => {
	const allowHosts = ["Sandbox", "10.0.0.3", "FE80:0::1", "[fe80::2]"];
	const server = await serve(createSandbox(), { listen: "0.0.0.0", allowHosts });
	running.push(server);
	const { port } = new URL(server.baseUrl);
	expect(server.baseUrl).toBe(`http://Sandbox:${port}/api/v1`);
	const asked = async (host: string) =>
		(await raw(`http://127.0.0.1:${port}/api/v1/me`, { headers: { ...bearer(server.apiKey), host } })).status;
	for (const host of ["sandbox", "sandbox:4010", "SANDBOX:80", "10.0.0.3:1", "[fe80::1]:5", "[fe80:0::1]", "[fe80::2]"])
		expect(await asked(host), host).toBe(200);
	for (const host of ["sandbox.evil.example", "[fe80::3]", "fe80::1", "[fe80::1].evil.example"])
		expect(await asked(host), host).toBe(403);
	for (const wrong of ["sandbox:4010", "http://sandbox", "*", "", "[sandbox]"])
		await expect(serve(createSandbox(), { allowHosts: [wrong] }), wrong).rejects.toThrow(
			/^serve: allowHosts\[0\] must be a host name without a port/,
		);
});

test("server refuses the Host [::1], on which it does not listen", async () => {
	const { server, port, apiKey } = await started();
	const headers = { ...bearer(apiKey), host: `[::1]:${port}` };
	expect((await raw(`${server.baseUrl}/me`, { headers })).status).toBe(403);
});

test.skipIf(!hasIpv6)("server that listens on every IPv6 address answers to [::1] too", async () => {
	for (const listen of ["::", "0:0:0:0:0:0:0:0"]) {
		const server = await serve(createSandbox(), { listen });
		running.push(server);
		const { port } = new URL(server.baseUrl);
		const { integration } = await createClient({
			baseUrl: `http://[::1]:${port}/api/v1`,
			apiKey: server.apiKey,
		}).me.get();
		expect(integration.name).toBe("Sandbox CRM");
		expect((await raw(`http://[::1]:${port}/api/v1/me`, { headers: { host: "evil.example" } })).status).toBe(403);
	}
});

test("server leads a browser to its page, and notes no visit", async () => {
	const { server, sandbox } = await started();
	const { origin } = new URL(server.baseUrl);
	const html = { headers: { accept: "text/html,*/*" } };
	const visit = await raw(`${origin}/`, html);
	expect([visit.status, visit.headers.location]).toEqual([302, "/_sandbox/ui/"]);
	expect((await raw(`${origin}/_sandbox/ui`, html)).headers.location).toBe("/_sandbox/ui/");
	expect((await raw(`${origin}/favicon.ico`)).status).toBe(204);
	const plain = await raw(`${origin}/`);
	expect([plain.status, JSON.parse(plain.text).message]).toEqual([404, expect.stringContaining("/api/v1")]);
	expect((await raw(`${origin}/_sandbox/ui/nothing.js`)).status).toBe(404);
	expect(sandbox.requests()).toEqual([]);
	expect(sandbox.violations()).toEqual([]);
	expect(sandbox.events()).toEqual([]);
	const missed = await raw(`${origin}/me`);
	expect([missed.status, JSON.parse(missed.text).message]).toEqual([
		501,
		expect.stringMatching(/\/api\/v1.*\/_sandbox/),
	]);
});

test("server refuses a page of another site before anything is noted", async () => {
	const { server, sandbox, apiKey } = await started();
	for (const site of ["cross-site", "same-site"]) {
		const headers = { ...bearer(apiKey), "sec-fetch-site": site };
		expect((await raw(`${server.baseUrl}/me`, { headers })).status, site).toBe(403);
		expect((await raw(`${server.baseUrl}/nowhere`, { headers })).status, site).toBe(403);
	}
	expect([sandbox.requests(), sandbox.events()]).toEqual([[], []]);
	for (const site of ["same-origin", "none"]) {
		const headers = { ...bearer(apiKey), "sec-fetch-site": site };
		expect((await raw(`${server.baseUrl}/me`, { headers })).status, site).toBe(200);
	}
});

// Port 80 is not open to every user, so this asks what decides on the Host header.
test("server on port 80 answers to its bare name, and on another port only to name and port", () => {
	const isOwn = (port: number, host: string) => hostsOf(port, ["127.0.0.1"], [])(host);
	expect(["127.0.0.1", "localhost", "LOCALHOST", "127.0.0.1:80"].map((host) => isOwn(80, host))).not.toContain(false);
	expect(["127.0.0.1", "localhost", "evil.example"].map((host) => isOwn(81, host))).not.toContain(true);
	expect(isOwn(80, "evil.example")).toBe(false);
});

test("server keeps no body of a request without a good key, and only so much of all others", async () => {
	const { server, sandbox, apiKey, agency } = await started();
	const url = `${server.baseUrl}/agencies/${agency.id}/messages`;
	const headers = { "content-type": "application/json" };
	const megabyte = JSON.stringify({ to: ANNA, body: "x".repeat(900_000) });
	const kept = () => JSON.stringify(sandbox.snapshot().journal).length;
	for (let index = 0; index < 3; index += 1) await raw(url, { method: "POST", headers }, megabyte);
	expect(sandbox.requests().map(({ status }) => status)).toEqual(Array(3).fill(401));
	expect(kept()).toBeLessThan(100_000);
	const wrong = { ...headers, ...bearer(apiKey), "content-type": "text/plain" };
	for (let index = 0; index < 40; index += 1) await raw(url, { method: "POST", headers: wrong }, megabyte);
	expect(kept()).toBeLessThan(35_000_000);
	expect(JSON.stringify(sandbox.events()).length).toBeLessThan(35_000_000);
	expect(sandbox.requests().at(-1)?.body).toEqual(JSON.parse(megabyte));
});

test("server that follows real time stops at the end of the clock", async () => {
	const sandbox = createSandbox({ now: "9989-12-31T23:59:59.900Z" });
	running.push(await serve(sandbox, { follow: true }));
	await new Promise((resolve) => setTimeout(resolve, 400));
	expect(sandbox.clock.now().toISOString()).toMatch(/^9989-12-31T23:59:59\.9/);
});
