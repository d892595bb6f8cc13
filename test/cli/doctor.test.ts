import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { cases, furtherCases } from "./cases.ts";
import { diagnose } from "./diagnose.ts";
import { liveKey, startLive, world } from "./live.ts";
import { run, start } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "doctor-"));
afterAll(() => rmSync(folder, { recursive: true }));

const inProcess = [...cases, ...furtherCases].filter(({ needsProcess }) => !needsProcess);

test.concurrent.each(inProcess)("the doctor finds $name", (each) => diagnose(run, each));

test("--sandbox needs no settings, and every check is well there", async () => {
	const { code, out } = await run(["doctor", "--sandbox"]);
	expect(out).toContain("Every check is well.");
	expect(code).toBe(0);
});

test("behind a firewall that refuses sends alone, it says that it only reads, and not that all is well", async () => {
	const server = await serve(createSandbox({ scenario: "closed" }));
	onTestFinished(server.close);
	const env = { MESSAGING_BASE_URL: server.baseUrl, MESSAGING_API_KEY: server.apiKey };
	const firewall: typeof fetch = async (input, init) =>
		new Request(input, init).method === "GET" ? fetch(input, init) : new Response("<h1>Blocked", { status: 403 });
	const running = start(["doctor"], env, firewall);
	expect(await running.status).toBe(0);
	const words = running.out().replace(/\s+/g, " ");
	expect(words).toContain(
		"They only read, so they cannot tell whether something in front of the service refuses sends.",
	);
	expect(words).not.toContain("All is well");
});

test("the page of the checks has a row for each check", async () => {
	const { out } = await run(["doctor", "--sandbox", "--json"]);
	const ids = JSON.parse(out).checks.map(({ id }: { id: string }) => id.split(" ")[0]);
	const guide = readFileSync(new URL("../../docs/command-line.md", import.meta.url), "utf8");
	const [table = ""] = guide.split("| check |").slice(1);
	const rows = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| `([\w-]+)` \|/gm)].map(([, id]) => id);
	expect(rows).toEqual(ids);
});

test("the time of a page that answers in place of the service says nothing about the clock", async () => {
	const page = createServer((_, response) => response.end("<html>Log in</html>")).listen(0, "127.0.0.1");
	await once(page, "listening");
	const { port } = page.address() as AddressInfo;
	const env = { MESSAGING_BASE_URL: `http://127.0.0.1:${port}/api/v1`, MESSAGING_API_KEY: liveKey };
	const { out } = await run(["doctor", "--json"], env);
	page.close();
	const clock = JSON.parse(out).checks.find(({ id }: { id: string }) => id === "clock");
	expect(clock).toMatchObject({ state: "skipped" });
});

test("a file of variables may begin with the mark of an editor of Windows", async () => {
	const file = join(folder, "marked.env");
	writeFileSync(file, "\uFEFFMESSAGING_BASE_URL=http://127.0.0.1:9/api/v1\nMESSAGING_API_KEY=a\n");
	const { out } = await run(["doctor", "--json", "--env", file]);
	expect(JSON.parse(out).checks[0]).toMatchObject({ id: "base-url", state: "ok" });
});

test("settings come from a file, and the environment wins", async () => {
	const { baseUrl, stop } = await startLive();
	const file = join(folder, ".env");
	writeFileSync(file, `MESSAGING_BASE_URL=${baseUrl}\nMESSAGING_API_KEY="${liveKey}"\n`);
	const { code, out } = await run(["doctor", "--env", file]);
	expect(out.replace(/\s+/g, " ")).toContain(`${baseUrl}, from ${file}`);
	expect(code).toBe(0);
	const overridden = await run(["doctor", "--env", file], {
		MESSAGING_API_KEY: "partner_live.other.key",
	});
	expect(overridden.out.replace(/\s+/g, " ")).toContain(`from the environment, not from ${file}.`);
	expect(overridden.code).toBe(2);
	stop();
});

test.each([
	[1, /^10 reads: median \d+ ms, slowest \d+ ms, 1 failed/],
	[Number.POSITIVE_INFINITY, /^3 reads: .*, 3 failed/],
])("reads that fail %d times are reported by their number, and three end them", async (times, words) => {
	const { baseUrl, sandbox, stop } = await startLive();
	sandbox.faults.add({ operation: "me.get", skip: 1, times, effect: { status: 503 } });
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const { code, out } = await run(["doctor", "--json"], env);
	const latency = JSON.parse(out).checks.find(({ id }: { id: string }) => id === "latency");
	expect([code, latency]).toMatchObject([1, { state: "warn", what: expect.stringMatching(words) }]);
	stop();
});

test("a single 404 of a gateway, as during a deploy, is no gateway that replaces all errors", async () => {
	let pages = 0;
	const { baseUrl, stop } = await startLive({
		edit(answer) {
			if (answer.status !== 404 || pages++ > 0) return;
			answer.body = "default backend - 404";
		},
	});
	const { out } = await run(["doctor", "--json"], { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey });
	const errors = JSON.parse(out).checks.find(({ id }: { id: string }) => id === "errors");
	expect([pages, errors]).toMatchObject([2, { state: "ok" }]);
	stop();
});

test("the words of a gateway are whole, also where they have a colon", async () => {
	const server = await serve(createSandbox({ scenario: "closed" }));
	onTestFinished(server.close);
	const env = { MESSAGING_BASE_URL: server.baseUrl, MESSAGING_API_KEY: server.apiKey };
	const gateway: typeof fetch = async (input, init) => {
		const { pathname } = new URL(new Request(input).url);
		const headers = { server: "cloudflare", via: "1.1 proxy: west" };
		return /conversations\/./.test(pathname) ? new Response("<h1>No", { status: 404, headers }) : fetch(input, init);
	};
	const running = start(["doctor", "--json"], env, gateway);
	await running.status;
	const { checks } = JSON.parse(running.out());
	expect(checks.find(({ id }: { id: string }) => id.startsWith("window")).what).toMatch(
		/^What answers is not the service: 404 from something in front of the service \(server: cloudflare/,
	);
});

test("--agency examines one agency alone, and says when the key does not reach it", async () => {
	const sandbox = world();
	const second = sandbox.link({ name: "Second" });
	const { baseUrl, stop } = await startLive({ sandbox });
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const one = await run(["doctor", "--agency", second.id], env);
	expect(one.out).toContain("Second");
	expect(one.out).not.toContain(sandbox.agency().id);
	const none = await run(["doctor", "--agency", "agy_none"], env);
	expect(none.out).toContain("does not reach the agency of --agency");
	expect(none.out.replace(/\s+/g, " ")).toContain("Without --agency the doctor lists the agencies of the key.");
	expect([one.code, none.code]).toEqual([0, 2]);
	stop();
});

test("what the service says reaches no terminal with a control character", async () => {
	const hostile = "\u001b[31mred\u009b2J\u202edlrow\u2028end";
	const { baseUrl, stop } = await startLive({
		edit(answer, { path }) {
			if (path !== "/me") return;
			const me = JSON.parse(answer.body);
			me.integration = { id: `${me.integration.id}${hostile}`, name: hostile };
			for (const agency of me.agencies) agency.name = hostile;
			answer.body = JSON.stringify(me);
		},
	});
	for (const args of [["doctor"], ["doctor", "--json"]]) {
		const { out } = await run(args, { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey, NO_COLOR: "1" });
		expect(out).toContain("red");
		expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
	}
	stop();
});

test("it never sends: each of its requests is a GET", async () => {
	const { baseUrl, sandbox, stop } = await startLive();
	await run(["doctor"], { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey });
	const requests = sandbox.requests();
	expect(requests.length).toBeGreaterThan(12);
	expect(requests.filter(({ method }) => method !== "GET")).toEqual([]);
	expect(sandbox.violations()).toEqual([]);
	stop();
});

test("what it cannot run with is said in a line, with exit status 2 and without a value that can be a key", async () => {
	const runs: [string[], RegExp][] = [
		[["--jsn"], /^Unknown option --jsn\. Did you mean --json\?/],
		[["--key", liveKey], /^Unknown option --key\./],
		[[liveKey], /^doctor takes options only/],
	];
	for (const [args, words] of runs) {
		const { code, out, err } = await run(["doctor", ...args]);
		expect([code, out, err], args[0]).toEqual([2, "", expect.stringMatching(words)]);
		expect(err).not.toContain(liveKey);
	}
});

test("a file of variables that there is not ends it", async () => {
	const { code, err } = await run(["doctor", "--env", join(folder, "none")]);
	expect([code, err]).toEqual([2, expect.stringMatching(/none cannot be read \(ENOENT\)/)]);
});

test.each(["doctor", "tail"])("%s has help of its own, with each of its options", async (name) => {
	const { code, out } = await run([name, "--help"]);
	expect(code).toBe(0);
	expect(out).toMatch(new RegExp(`^Usage: messaging-conversations ${name}`));
	for (const option of ["--agency", "--json", "--env", "--sandbox", "--help"]) expect(out).toContain(`  ${option}`);
	expect(out.split("\n").filter((line) => line.length > 100)).toEqual([]);
});
