// The commands of the README start, and say what they should.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { isLong } from "../../../test/length.ts";
import { type Server, startServer } from "../../../test/postgres.ts";
import { openAgency } from "../agency.ts";
import { hasBrowser, openInBrowser } from "../demo/browser.ts";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "example-apps-"));
let server: Server | undefined;
afterAll(async () => {
	await server?.close();
	rmSync(folder, { recursive: true, force: true });
});

/** The address of a new database on a server, which starts sooner than PGlite. */
async function serverPlace(): Promise<string> {
	server ??= await startServer(import.meta.url);
	return server.create();
}

// A key in the environment must not reach a real person, and this half is the embedded one.
const env = {
	...process.env,
	MESSAGING_BASE_URL: "",
	DATABASE_URL: "",
	PORT: "0",
};
// One folder for both: to create a database takes longer than to open it.
const place = { SYNC_DATABASE: join(folder, "mirror") };
// PGlite starts in half the time when its WebAssembly is compiled once.
const node = ["--liftoff-only", "--import", "tsx"];
const run = async (file: string) => (await promisify(execFile)(process.execPath, [...node, file], { cwd, env })).stdout;

test("the README lists every example and every command", () => {
	const readme = readFileSync(join(cwd, "../README.md"), "utf8");
	const files = readdirSync(join(cwd, "..")).filter((file) => file.endsWith(".ts"));
	const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
	const reported = [...files.map((file) => `[${file}](${file})`), ...Object.keys(scripts)];
	expect(reported.filter((name) => !readme.includes(name))).toEqual([]);
});

test("an application that knows its agency starts while the service is down", async () => {
	const { apiKey } = createSandbox().connection;
	const service = { MESSAGING_BASE_URL: "http://127.0.0.1:9/api/v1", MESSAGING_API_KEY: apiKey };
	const { agency } = await openAgency({ ...service, MESSAGING_AGENCY_ID: "agy_0a1b2c3d4e5f6071" });
	expect(agency.id).toBe("agy_0a1b2c3d4e5f6071");
});

/** Starts the demo, and resolves with what it printed once it is ready. */
async function demo(args: readonly string[], more: Record<string, string>): Promise<string> {
	const started = spawn(process.execPath, [...node, "demo/main.ts", ...args], {
		cwd,
		env: { ...env, ...more },
		stdio: ["pipe", "pipe", "inherit"],
	});
	let said = "";
	started.stdout.on("data", (text) => (said += text));
	await expect.poll(() => said).toContain("Ctrl-C ends all.");
	started.kill("SIGINT");
	expect(await once(started, "exit")).toEqual([0, null]);
	return said;
}

test.skipIf(process.platform !== "linux")(
	"npm run demo opens its window in the browser if asked, and by itself only where there is one",
	async () => {
		const opened = join(folder, "opened");
		writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\necho "$1" >> ${opened}\n`, { mode: 0o755 });
		// A pipe has no viewer.
		const PATH = `${folder}:${process.env.PATH}`;
		// A start takes seconds. In the short run the table of hasBrowser, below, covers this one.
		if (isLong) {
			const alone = await demo([], { PATH, DISPLAY: ":0", CI: "", SSH_CONNECTION: "", SSH_TTY: "" });
			expect(alone).toContain("Open the demo in a browser.");
			expect(existsSync(opened)).toBe(false);
		}
		const asked = await demo(["--open"], { PATH });
		expect(asked).toMatch(/^Starting the sandbox …\nStarting the CRM, which makes its database/);
		const [, url = "no address"] = /The demo +(http:\S+)/.exec(asked) ?? [];
		await expect.poll(() => existsSync(opened) && readFileSync(opened, "utf8")).toBe(`${url}\n`);
	},
);

test("without a program that opens addresses nothing happens", async () => {
	const { PATH } = process.env;
	process.env.PATH = join(folder, "none");
	onTestFinished(() => {
		process.env.PATH = PATH;
	});
	// An unhandled error would fail the run.
	openInBrowser("http://127.0.0.1:9/");
	await setTimeout(200);
});

test.each([
	["on a Mac", {}, true, "darwin", true],
	["on Windows", {}, true, "win32", true],
	["on a desktop of Linux", { DISPLAY: ":0" }, true, "linux", true],
	["on one with Wayland", { WAYLAND_DISPLAY: "wayland-0" }, true, "linux", true],
	["in a container or on a server", {}, true, "linux", false],
	["over SSH", { SSH_CONNECTION: "10.0.0.1 22", DISPLAY: ":10" }, true, "linux", false],
	["over SSH to a Mac", { SSH_TTY: "/dev/ttys001" }, true, "darwin", false],
	["in CI", { CI: "true", DISPLAY: ":99" }, true, "linux", false],
	["where the user wants none", { BROWSER: "none" }, true, "darwin", false],
	["in a pipe", {}, false, "darwin", false],
] as const)("the demo knows whether there is a browser %s", (_where, variables, isTerminal, platform, has) => {
	expect(hasBrowser(variables, isTerminal, platform)).toBe(has);
});

test("npm run send-queue", async () => {
	expect(await run("send-queue/demo.ts")).toBe("2 requests, 2 texts: It is! Would Friday suit you?\n");
});

test("npm run crm answers at its prompt, and ends", async () => {
	const crm = spawn(process.execPath, [...node, "crm/main.ts"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
	let said = "";
	crm.stdout.on("data", (text) => (said += text));
	await expect.poll(() => said).toMatch(/Workers: \d+, \d+\n/);
	crm.stdin.write("await outbox.health()\n");
	await expect.poll(() => said).toMatch(/oldestDueAt: null/);
	crm.stdin.end(".exit\n");
	expect(await once(crm, "exit")).toEqual([0, null]);
});

test("npm run send-queue:worker", async () => {
	const place = { DATABASE_URL: await serverPlace() };
	const worker = spawn(process.execPath, [...node, "send-queue/worker.ts"], {
		cwd,
		env: { ...env, ...place },
	});
	const [said] = await once(worker.stdout, "data");
	expect(String(said)).toBe("ready; a sandbox takes the texts, nobody is reached\n");
	worker.kill("SIGINT");
	expect(await once(worker, "exit")).toEqual([0, null]);
});

test("npm run sync:once, and npm run nightly on what it stored", async () => {
	const start = (task: string) =>
		promisify(execFile)(process.execPath, [...node, "sync/main.ts", task], {
			cwd,
			env: { ...env, ...place },
		});
	const once = await start("--once");
	expect(once.stdout).toBe("Lakeside Homes: 250 conversations stored\n");
	// The bar says how far it is, with a terminal and without one.
	expect(once.stderr).toMatch(/250\/250/);
	// Each start has a sandbox of its own, an hour or a second younger than the last one: some of its rows differ.
	expect((await start("--nightly")).stdout).toMatch(/^Lakeside Homes: \d+ conversations differed\n$/);
});

test("npm run sync:once fails, and says why, when the key reaches no agency", async () => {
	const sandbox = createSandbox();
	const server = await serve(sandbox, { port: 0 });
	sandbox.agency().unlink();
	const service = { MESSAGING_BASE_URL: server.baseUrl, MESSAGING_API_KEY: server.apiKey };
	const once = promisify(execFile)(process.execPath, [...node, "sync/main.ts", "--once"], {
		cwd,
		env: { ...env, ...place, ...service },
	});
	await expect(once).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("The key reaches no agency.") });
	await server.close();
});

test("npm run sync", async () => {
	const place = { DATABASE_URL: await serverPlace() };
	const worker = spawn(process.execPath, [...node, "sync/main.ts"], { cwd, env: { ...env, ...place } });
	const [said] = await once(worker.stdout, "data");
	expect(String(said)).toBe("ready\n");
	worker.kill("SIGINT");
	expect(await once(worker, "exit")).toEqual([0, null]);
});

test("npm run contact-page", async () => {
	const server = spawn(process.execPath, [...node, "contact-page/server.ts"], { cwd, env });
	const [said] = await once(server.stdout, "data");
	const page = await fetch(String(said).trim());
	server.kill();
	await once(server, "exit");
	expect(await page.json()).toMatchObject({ name: "Anna Peeters", forecast: "goes out at once" });
});

test("npm run contact-page ends, and says why, when its port is taken", async () => {
	const other = createServer().listen(0, "127.0.0.1");
	await once(other, "listening");
	const { port } = other.address() as AddressInfo;
	const server = spawn(process.execPath, [...node, "contact-page/server.ts"], {
		cwd,
		env: { ...env, PORT: String(port) },
	});
	const said = text(server.stderr);
	const [code] = await once(server, "exit");
	other.close();
	expect(await said).toContain("EADDRINUSE");
	expect(code).toBe(1);
});
