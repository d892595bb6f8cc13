// The doctor on a machine from which only a proxy reaches the service.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { request as requestTls } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { certificate } from "../certificate.ts";
import { liveKey, startLive } from "./live.ts";
import { bundleCommand, processRun } from "./process.ts";
import { start } from "./run.ts";

/** A service, and a proxy that connects its callers to it, wherever they want to go. With a status other than 200 it refuses. */
async function startProxy(status = 200) {
	const live = await startLive({ certificate });
	const { port: servicePort } = new URL(live.baseUrl);
	const wanted = new Set<string>();
	const sockets = new Set<Socket>();
	const proxy = createServer().on("connect", (asked, socket: Socket) => {
		wanted.add(asked.url ?? "");
		sockets.add(socket.on("error", () => {}));
		if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
		const onward = connect(Number(servicePort), "127.0.0.1", () => {
			socket.write("HTTP/1.1 200 OK\r\n\r\n");
			socket.pipe(onward).pipe(socket);
		});
		sockets.add(onward.on("error", () => {}));
	});
	proxy.listen(0, "127.0.0.1");
	await once(proxy, "listening");
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		proxy.close();
		live.stop();
	});
	const address = proxy.address();
	return { port: typeof address === "object" ? (address?.port ?? 0) : 0, wanted };
}

/** A fetch that goes through a proxy, as that of Node 24 does with NODE_USE_ENV_PROXY=1. */
const fetchThrough =
	(port: number): typeof fetch =>
	async (input, init) => {
		const { url, method, headers } = new Request(input, init);
		const { hostname, port: own, pathname, search } = new URL(url);
		const asked = request({ port, method: "CONNECT", path: `${hostname}:${own || 443}`, agent: false }).end();
		const socket = await new Promise<Socket>((resolve, reject) => {
			asked.on("error", reject);
			asked.on("connect", ({ statusCode }, made) => {
				if (statusCode === 200) resolve(made);
				else reject(new TypeError("fetch failed"));
			});
		});
		const options = { path: `${pathname}${search}`, method, headers: Object.fromEntries(headers) };
		const secure = connectTls({ socket, servername: hostname, ca: certificate, checkServerIdentity: () => undefined });
		const sent = requestTls({ ...options, host: hostname, createConnection: () => secure }).end();
		const [response] = await once(sent, "response");
		let text = "";
		for await (const chunk of response) text += chunk;
		return new Response(text, { status: response.statusCode, headers: response.headers });
	};

interface Found {
	readonly id: string;
	readonly state: string;
	readonly what: string;
}

const statesOf = (out: string): Record<string, string> =>
	Object.fromEntries(JSON.parse(out).checks.map(({ id, state }: Found) => [id.split(" ")[0], state]));

test.for([
	["https://localhost:4/api/v1", "HTTPS_PROXY", "connection", "localhost:4"],
	["https://localhost:4/api/v1", "https_proxy", "connection", "localhost:4"],
	["https://localhost:4/api/v1", "HTTP_PROXY", "connection", "localhost:4"],
	["https://api.messaging.invalid/api/v1", "HTTPS_PROXY", "dns", "api.messaging.invalid:443"],
] as const)("%s, which only the proxy of %s reaches, is a warning", async ([baseUrl, variable, id, place]) => {
	const { port, wanted } = await startProxy();
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey, [variable]: `http://127.0.0.1:${port}` };
	const running = start(["doctor", "--json"], env, fetchThrough(port));
	expect(await running.status).toBe(1);
	const states = statesOf(running.out());
	expect(states).toMatchObject({
		[id]: "warn",
		tls: "skipped",
		key: "ok",
		agency: "ok",
		latency: "ok",
		contract: "ok",
	});
	expect([...wanted]).toEqual([place]);
	const found = JSON.parse(running.out()).checks.find((each: Found) => each.id === id);
	expect(found.what).toContain(`fetch gets an answer through the proxy of ${variable}.`);
	expect(found.remedy).toContain("nodeHttp needs its option proxy");
});

test("a proxy that refuses, and one that fetch does not use, leave it a failure", async () => {
	const { port } = await startProxy(407);
	const env = { MESSAGING_BASE_URL: "https://localhost:4/api/v1", MESSAGING_API_KEY: liveKey };
	const proxied = { ...env, HTTPS_PROXY: `http://127.0.0.1:${port}` };
	for (const used of [fetchThrough(port), fetch]) {
		const running = start(["doctor", "--json"], proxied, used);
		expect(await running.status).toBe(2);
		expect(statesOf(running.out())).toMatchObject({ connection: "fail", key: "skipped", contract: "skipped" });
	}
});

const command = await bundleCommand();

test("Node itself goes through the proxy with NODE_USE_ENV_PROXY=1, where it can, and not without", async () => {
	const { port, wanted } = await startProxy();
	const folder = mkdtempSync(join(tmpdir(), "proxy-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	const ca = join(folder, "ca.pem");
	writeFileSync(ca, certificate);
	const env = {
		MESSAGING_BASE_URL: "https://localhost:4/api/v1",
		MESSAGING_API_KEY: liveKey,
		HTTPS_PROXY: `http://127.0.0.1:${port}`,
		NODE_EXTRA_CA_CERTS: ca,
	};
	const run = processRun(command);
	const without = await run(["doctor", "--json"], env);
	expect([without.code, [...wanted]]).toEqual([2, []]);
	const through = await run(["doctor", "--json"], { ...env, NODE_USE_ENV_PROXY: "1" });
	// Node 20 and early 22 go past the proxy, whatever the variable says.
	const goesThrough = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
	const states = goesThrough
		? { connection: "warn", key: "ok", agency: "ok", contract: "ok" }
		: { connection: "fail", key: "skipped", agency: "skipped", contract: "skipped" };
	expect(statesOf(through.out)).toMatchObject(states);
	expect([through.code, [...wanted]]).toEqual(goesThrough ? [1, ["localhost:4"]] : [2, []]);
});
