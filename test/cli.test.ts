import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { type Running, run, start } from "./cli/run.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a sandbox, and waits until it has printed how to reach it. */
async function started(args: readonly string[], env?: Record<string, string>): Promise<Running> {
	const running = start(["sandbox", "--port", "0", ...args], env);
	onTestFinished(async () => {
		running.stop();
		await running.status;
	});
	await expect.poll(running.out, { interval: 5 }).toContain("\n");
	return running;
}

interface Report {
	readonly baseUrl: string;
	readonly apiKey: string;
	readonly agencyId: string;
	readonly controlUrl: string;
	readonly token: string;
	readonly pageUrl: string;
	readonly pid: number;
}

async function json(
	args: readonly string[],
	env?: Record<string, string>,
): Promise<{ reported: Report; running: Running }> {
	const running = await started(["--json", ...args], env);
	return { reported: JSON.parse(running.out()), running };
}

const control = async (reported: Pick<Report, "controlUrl" | "token">, method: string, path: string, body?: object) => {
	const init = { method, headers: { "x-sandbox-token": reported.token } };
	const response = await fetch(`${reported.controlUrl}/${path}`, body ? { ...init, body: JSON.stringify(body) } : init);
	return response.json();
};

test("--json prints one line with what a program needs, and the flags make the sandbox", async () => {
	const file = join(folder, "bug.json");
	const other = createSandbox({ now: "2030-05-05T00:00:00Z" });
	other.agency().contact("+447700900101", { name: "Anna" }).writes("Hello");
	writeFileSync(file, `\uFEFF${JSON.stringify(other.bug({ keepContent: true }))}`); // as editors of Windows begin a file
	const flags = ["--import", file, "--policy", "retryAfterDrop=replay", "--policy", "templateOnReplace=true"];
	const { reported, running } = await json([...flags, "--variation", "7", "--token", "a-token-of-mine"]);
	expect(running.out().trim().split("\n")).toHaveLength(1);
	expect(reported).toMatchObject({ token: "a-token-of-mine", pid: process.pid, agencyId: other.agency().id });
	expect(reported.pageUrl).toBe(`${reported.controlUrl}/ui/#token=a-token-of-mine`);
	expect(await control(reported, "GET", "policy")).toMatchObject({ retryAfterDrop: "replay", templateOnReplace: true });
	expect(await control(reported, "GET", "clock")).toEqual({ now: "2030-05-05T00:00:00.000Z" });
	expect(await control(reported, "GET", "contacts")).toEqual([{ phoneNumber: "+447700900101", name: "Anna" }]);
	const me = await fetch(`${reported.baseUrl}/me`, { headers: { authorization: `Bearer ${reported.apiKey}` } });
	expect(me.status).toBe(200);
});

test("the token comes from the environment, or from a file of variables", async () => {
	const { reported } = await json([], { MESSAGING_SANDBOX_TOKEN: "of-the-environment" });
	expect(reported.token).toBe("of-the-environment");
	const file = join(folder, "variables");
	writeFileSync(file, "MESSAGING_SANDBOX_TOKEN=of-the-file\n");
	expect((await json(["--env", file])).reported.token).toBe("of-the-file");
});

test("a file that is not in UTF-8 is refused with the reason, as variables and as an import", async () => {
	const file = join(folder, "encoded");
	const text = "MESSAGING_SANDBOX_TOKEN=of-the-file\n";
	const big = Buffer.from(`\uFEFF${text}`, "utf16le").swap16();
	for (const [bytes, reason] of [
		[Buffer.from(`\uFEFF${text}`, "utf16le"), "is in UTF-16. Save it as UTF-8."],
		[Buffer.from(text, "utf16le"), "is in UTF-16. Save it as UTF-8."],
		[big, "is in UTF-16. Save it as UTF-8."],
		[Buffer.from(`# Größe\n${text}`, "latin1"), "is not in UTF-8. Save it as UTF-8."],
	] as const) {
		writeFileSync(file, bytes);
		for (const option of ["--env", "--import"]) {
			const { code, err } = await run(["sandbox", "--port", "0", option, file]);
			expect([code, err], option).toEqual([1, expect.stringContaining(reason)]);
			expect(err, option).toContain(option);
		}
		const doctor = await run(["doctor", "--env", file]);
		expect([doctor.code, doctor.err]).toEqual([2, expect.stringContaining(reason)]);
	}
	writeFileSync(file, `\uFEFF${text}`);
	expect((await json(["--env", file])).reported.token).toBe("of-the-file");
});

test("--write-env writes what a program needs as variables, and over no file of anybody else", async () => {
	const file = join(folder, ".env.sandbox");
	const { reported } = await json(["--write-env", file]);
	const lines = readFileSync(file, "utf8").trim().split("\n").slice(1);
	expect(Object.fromEntries(lines.map((line) => line.split("=", 2)))).toEqual({
		MESSAGING_BASE_URL: reported.baseUrl,
		MESSAGING_API_KEY: reported.apiKey,
		MESSAGING_AGENCY_ID: reported.agencyId,
		MESSAGING_SANDBOX_CONTROL_URL: reported.controlUrl,
		MESSAGING_SANDBOX_TOKEN: reported.token,
	});
	const mine = join(folder, ".env");
	writeFileSync(mine, "SECRET=1\n");
	const refused = await run(["sandbox", "--port", "0", "--write-env", mine]);
	expect([refused.code, readFileSync(mine, "utf8")]).toEqual([1, "SECRET=1\n"]);
	await json(["--write-env", file, "--token", "another-token"]);
	expect(readFileSync(file, "utf8")).toContain("MESSAGING_SANDBOX_TOKEN=another-token\n");
});

test("the terminal prints one line a request and one a consequence, without key, number or text", async () => {
	const running = await started(["--token", "a-token-of-mine"]);
	const find = (pattern: RegExp) => pattern.exec(running.out())?.[1] ?? "";
	const [baseUrl, apiKey] = [find(/Base URL +(\S+)/), find(/API key +(\S+)/)];
	const [controlUrl, agencyId] = [find(/Control URL +(\S+)/), find(/Agency +(\S+)/)];
	const reported = { controlUrl, token: "a-token-of-mine" };
	const before = running.out().length;
	await control(reported, "POST", "contacts/+447700900101", { name: "Anna" });
	const send = (body: string, more: object = {}) =>
		fetch(`${baseUrl}/agencies/${agencyId}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
			body: JSON.stringify({ to: "+447700900101", body, ...more }),
		});
	await send("Would Thursday suit you?");
	await send("Would Friday suit you?");
	await control(reported, "POST", "contacts/+447700900101/accepts");
	// Her message opens the window, so that the retry sends the held text without her consent.
	const chloe = { to: "+447700900103", operationId: "chloe-1" };
	await control(reported, "POST", "contacts/+447700900103", { name: "Chloe" });
	await send("Does Monday suit you?", chloe);
	await control(reported, "POST", "contacts/+447700900103/writes", { text: "Hello" });
	await send("Does Monday suit you?", chloe);
	await fetch(`${baseUrl}/converations`);
	await fetch(`${baseUrl}/${apiKey}/+32%20470%2012%2034%2056/0470-12.34.56`);
	await control(reported, "POST", "contacts/+447700900102", { name: "\u001b[2JBram\n\u202emarB" });
	await control(reported, "POST", "contacts/+447700900102/writes", { text: "Hello" });
	const lines = () => running.out().slice(before);
	expect(lines()).toContain("marB wrote");
	expect(lines()).toContain("violation R12");
	expect(lines()).toContain("GET /{key}/{phone}  501");
	expect(lines()).toContain("09:00:00  [2JBram marB wrote\n");
	expect(lines()).toMatch(/09:00:00 {2}messages\.send {2}200 {2}\d+ ms\n +held for Anna, consent asked\n/);
	expect(lines()).toMatch(/messages\.send.*\n +replaced the text held for Anna: that one is never sent\n/);
	expect(lines()).toMatch(/09:00:00 Anna tapped consent_accept\n09:00:00 sent to Anna, after it was held\n/);
	expect(lines()).toMatch(/messages\.send.*\n +sent to Chloe, after it was held\n/);
	expect(lines()).toMatch(/GET \/converations {2}501/);
	expect(lines()).not.toContain(apiKey);
	expect(lines()).not.toContain("447700900101");
	expect(lines()).not.toContain("suit you");
});

test("a refusal is explained below its line, and a reused operationId with both texts", async () => {
	const running = await started(["--token", "a-token-of-mine"]);
	const find = (pattern: RegExp) => pattern.exec(running.out())?.[1] ?? "";
	const [baseUrl, apiKey] = [find(/Base URL +(\S+)/), find(/API key +(\S+)/)];
	const [controlUrl, agencyId] = [find(/Control URL +(\S+)/), find(/Agency +(\S+)/)];
	const reported = { controlUrl, token: "a-token-of-mine" };
	const send = (body: string) =>
		fetch(`${baseUrl}/agencies/${agencyId}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
			body: JSON.stringify({ to: "+447700900101", body, operationId: "anna-1" }),
		});
	await send("At two.");
	await send("At\nthree.");
	await control(reported, "POST", "faults/add", { times: 2, effect: { status: 503 } });
	await send("At two.");
	await fetch(`${baseUrl}/me`);
	expect(running.out()).toMatch(
		/messages\.send {2}500 {2}\d+ ms\n {9}The operationId was used before with another text\. First: "At two\."\. Now: "At\\nthree\."\.\n/,
	);
	expect(running.out()).toContain("\n         violation R134: An operationId was reused for another message.\n");
	expect(running.out()).toMatch(
		/messages\.send {2}503 {2}\d+ ms\n {9}A fault that you added: status 503, before the operation ran\. It will hit 1 more request\.\n/,
	);
	expect(running.out()).toMatch(/me\.get {2}401 {2}\d+ ms\n {9}The request has no Authorization header\.\n/);
});

test("--quiet prints no line for requests, and a clock that does not move is reported with its remedy", async () => {
	const running = await started(["--quiet"]);
	const before = running.out();
	expect(before).toMatch(
		/Clock +2026-01-05T09:00:00\.000Z, does not run: a control moves it, or --follow lets it run\n/,
	);
	const baseUrl = /Base URL +(\S+)/.exec(before)?.[1] ?? "";
	await fetch(`${baseUrl}/me`);
	running.stop();
	await running.status;
	expect(running.out()).toBe(before);
});

test("errors are explained: a port in use, a bad --now, an unknown scenario, policy and flag", async () => {
	const taken = createServer().listen(0, "127.0.0.1");
	await once(taken, "listening");
	const address = taken.address();
	const port = String(typeof address === "object" ? address?.port : 0);
	const runs: [string[], RegExp][] = [
		[["--port", port], new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is in use`)],
		[["--now", "tomorrow"], /^--now must be an instant: an ISO 8601 string with a zone/],
		[["--now", "+275760-09-13T00:00:00Z"], /^--now must be an instant from the year 1000 to/],
		[["--scenario", "quiet"], /^--scenario must be one of fresh, busy/],
		[["--policy", "openSendWhileHold=keep"], /^--policy takes .*\. Did you mean openSendWhileHeld\?/],
		[["--policy", "retryAfterDrop=bar"], /^--policy retryAfterDrop must be "resend" or "replay"/],
		[["--policy", "operationIdTtlHours=x"], /^--policy operationIdTtlHours must be a number of hours/],
		[["--policy", "keep"], /^--policy must be name=value/],
		[["--import", fileURLToPath(import.meta.url)], /^--import: bug: this is not a bug file/],
		[["--env", join(folder, "none")], /^--env .*none cannot be read \(ENOENT\)\.$/m],
		[["--token", "short"], /^--token must be 8 or more characters/],
		[["--allow-host", "http://x"], /^--allow-host must be a host name/],
		[["--listen", "http://x"], /^--listen must be an address/],
		[["--port", "70000"], /^--port must be a number from 0 to 65535/],
		[["--variation"], /^Option '--variation <value>' argument missing/],
		[["--qiet"], /qiet/],
	];
	const results = await Promise.all(runs.map(([args]) => run(["sandbox", "--port", "0", ...args])));
	for (const [index, { code, err }] of results.entries()) {
		const [[option = ""] = [], words = /x/] = runs[index] ?? [];
		const isMachine = ["--import", "--env"].includes(option) || err.includes(port);
		expect([code, err], option).toEqual([1, expect.stringMatching(words)]);
		expect(err.includes("--help"), err).toBe(!isMachine);
		expect(err).not.toContain("    at ");
	}
	taken.close();
	const { err } = await run(["sandbox", "--port", "0"], { MESSAGING_SANDBOX_TOKEN: "short" });
	expect(err).toMatch(/^MESSAGING_SANDBOX_TOKEN must be 8 or more characters/);
});

test("--version prints the package's version", async () => {
	const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
	expect((await run(["--version"])).out.trim()).toBe(version);
	expect((await run(["sandbox", "--version"])).out.trim()).toBe(version);
});

test("the lines to paste name the loopback address that it listens on", async () => {
	const running = await started(["--listen", "localhost", "--examples"]);
	expect(running.out()).toContain("TypeScript:\n");
	expect(running.out()).toContain('createClient({ baseUrl: "http://localhost:');
});

test("the lines to paste let the client use the name of a container", async () => {
	const running = await started(["--listen", "0.0.0.0", "--allow-host", "sandbox", "--examples"]);
	expect(running.out()).toMatch(
		/baseUrl: "http:\/\/sandbox:\d+\/api\/v1", apiKey: "[^"]+", allowInsecureHosts: \["sandbox"\] \}/,
	);
});

test("a client reaches a sandbox by the name of its container, if both sides allow it", async () => {
	const { reported } = await json(["--listen", "0.0.0.0", "--allow-host", "sandbox"]);
	// The machine that runs this test knows no host of that name, so its fetch goes to 127.0.0.1 with the Host header of it.
	const { port } = new URL(reported.baseUrl);
	const viaName = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
		new Promise((resolve, reject) => {
			const { pathname, search } = new URL(url instanceof Request ? url.url : url);
			const headers = { ...Object.fromEntries(new Headers(init?.headers)), host: `sandbox:${port}` };
			request({ host: "127.0.0.1", port, path: pathname + search, method: init?.method, headers }, (response) => {
				let text = "";
				response.on("data", (chunk) => (text += chunk));
				response.on("end", () => resolve(new Response(text, { status: response.statusCode ?? 0 })));
			})
				.on("error", reject)
				.end();
		});
	const options = { baseUrl: reported.baseUrl, apiKey: reported.apiKey, fetch: viaName, retry: false } as const;
	expect(() => createClient(options)).toThrow(/must be https/);
	const client = createClient({ ...options, allowInsecureHosts: ["sandbox"] });
	expect((await client.me.get()).agencies).toMatchObject([{ id: reported.agencyId }]);
});

test("--listen and --allow-host let a container's name in, with a warning, and the token is needed as ever", async () => {
	const { reported, running } = await json(["--listen", "0.0.0.0", "--allow-host", "sandbox"]);
	expect(reported.baseUrl).toMatch(/^http:\/\/sandbox:\d+\/api\/v1$/);
	const { port } = new URL(reported.baseUrl);
	const ask = (host: string, path: string) =>
		new Promise<number | undefined>((resolve, reject) => {
			request({ host: "127.0.0.1", port, path, headers: { host } }, (response) => {
				response.resume();
				resolve(response.statusCode);
			})
				.on("error", reject)
				.end();
		});
	expect(await ask(`sandbox:${port}`, "/api/v1/openapi.json")).toBe(200);
	expect(await ask("sandbox", "/api/v1/openapi.json")).toBe(200);
	expect(await ask("evil.example", "/api/v1/openapi.json")).toBe(403);
	expect(await ask("sandbox", "/_sandbox/clock")).toBe(401);
	expect(running.err()).toMatch(/everybody who reaches 0\.0\.0\.0 reaches this sandbox/);
});
