import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "vitest";
import { cases, furtherCases } from "./cases.ts";
import { diagnose } from "./diagnose.ts";
import { liveKey, startLive } from "./live.ts";
import { bundleCommand, processRun } from "./process.ts";

// What only a process of its own can show: signals, exit statuses, pipes, and what Node reads when it starts.
// The other tests run the commands in the process of the test.

const command = await bundleCommand();
const run = processRun(command);
/** Windows has no such signals, and no sh. */
const onUnix = test.skipIf(process.platform === "win32");
const patience = { timeout: 25_000 };

interface Started {
	readonly child: ChildProcess;
	/** What it has printed so far. */
	readonly out: () => string;
	readonly err: () => string;
}

function start(
	{ onTestFinished }: TestContext,
	args: readonly string[],
	[file = "", ...before]: readonly string[] = command,
	env: Record<string, string> = {},
): Started {
	const child = spawn(file, [...before, ...args], { env: { ...process.env, ...env } });
	onTestFinished(() => void child.kill("SIGKILL"));
	let [out, err] = ["", ""];
	child.stdout.on("data", (chunk) => (out += chunk));
	child.stderr.on("data", (chunk) => (err += chunk));
	return { child, out: () => out, err: () => err };
}

interface StartedSandbox extends Started {
	readonly baseUrl: string;
	readonly apiKey: string;
	/** Makes a request to a control route, and resolves with its answer. */
	readonly control: (method: "GET" | "POST", path: string, body?: object) => Promise<unknown>;
}

async function startSandbox(context: TestContext): Promise<StartedSandbox> {
	const started = start(context, ["sandbox", "--port", "0", "--token", "a-token-of-mine"]);
	await context.expect.poll(started.out, patience).toContain("Ctrl-C");
	const find = (name: string) => new RegExp(`${name} +(\\S+)`).exec(started.out())?.[1] ?? "";
	const controlUrl = find("Control URL");
	const headers = { "x-sandbox-token": "a-token-of-mine" };
	return {
		...started,
		baseUrl: find("Base URL"),
		apiKey: find("API key"),
		async control(method, path, body) {
			const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
			return (await fetch(`${controlUrl}/${path}`, init)).json();
		},
	};
}

// This test comes first, because it waits longest.
onUnix.concurrent(
	"tail shows the talk of a contact and an AI, until Ctrl-C stops it with status 0",
	async (context) => {
		const { expect } = context;
		const { child, out } = start(context, ["tail", "--sandbox", "--every", "1"]);
		await expect.poll(out, patience).toMatch(/← in .*\n.*→ out/);
		child.kill("SIGINT");
		expect(await once(child, "close")).toEqual([0, null]);
	},
);

test.concurrent("it prints the package's version, and refuses an unknown command with status 1", async ({ expect }) => {
	const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
	expect(await run(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
	const wrong = await run(["sandpit"]);
	expect(wrong).toEqual({ code: 1, out: "", err: expect.stringMatching(/^There is no command "sandpit"/) });
});

onUnix.concurrent("a signal stops a sandbox, which names the faults that never hit", async (context) => {
	const { expect } = context;
	const { child, out, err, control, baseUrl, apiKey } = await startSandbox(context);
	await control("POST", "faults/add", { operation: "messages.send", effect: { status: 503 } });
	// Neither an answer that is still to come nor the connection of its caller keeps the process alive.
	const slow = Object(await control("POST", "faults/add", { operation: "me.get", effect: { latencyMs: 600_000 } }));
	const answer = fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
	const failure = answer.catch((error: unknown) => error);
	await expect.poll(() => control("GET", `faults/${slow.id}`), patience).toMatchObject({ hits: 1 });
	child.kill("SIGTERM");
	expect(await once(child, "close")).toEqual([0, null]);
	expect(await failure).toBeInstanceOf(TypeError);
	expect(out()).toMatch(/\nFaults that never hit: \[\n[\s\S]*"operation": "messages\.send"/);
	expect(err()).toBe("");
});

onUnix.concurrent("a sandbox goes on when nobody reads what it prints any more", async (context) => {
	const { expect } = context;
	const { child, err, control } = await startSandbox(context);
	child.stdout?.destroy();
	for (const text of ["one", "two", "three"]) await control("POST", "contacts/+447700900101/writes", { text });
	expect(await control("GET", "contacts/+447700900101/inbox")).toEqual([]);
	expect(err()).not.toContain("EPIPE");
});

onUnix.concurrent("a sandbox that npx started ends with npx", async (context) => {
	const { expect } = context;
	// npx runs the command through a shell: npx → sh → the sandbox. Here a process stands for npx, and is killed.
	const line = `${command.join(" ")} sandbox --port 0 --json; true`;
	const code = `require("node:child_process").spawn("sh", ["-c", ${JSON.stringify(line)}], { stdio: "inherit" })`;
	const npx = start(context, ["-e", code], [process.execPath], { npm_command: "exec" });
	await expect.poll(npx.out, patience).toContain("\n");
	const { pid, baseUrl } = JSON.parse(npx.out());
	expect((await fetch(`${baseUrl}/me`)).status).toBe(401);
	npx.child.kill("SIGKILL");
	const isAlive = () => {
		try {
			return process.kill(pid, 0);
		} catch {
			return false;
		}
	};
	await expect.poll(isAlive, patience).toBe(false);
});

onUnix.concurrent("the doctor takes a reader that stops early for no failure", async ({ expect }) => {
	const shell = processRun(["sh", "-c", `${command.join(" ")} doctor --sandbox | head -1`]);
	const { out, err } = await shell([]);
	expect([out.split("\n").length, err]).toEqual([2, ""]);
});

onUnix.concurrent("Ctrl-C stops tail at once while the first answer is waited for", async (context) => {
	const { expect } = context;
	const { baseUrl, sandbox, stop } = await startLive();
	context.onTestFinished(stop);
	const hang = sandbox.faults.add({ effect: "hang" });
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const { child, err } = start(context, ["tail"], command, env);
	await expect.poll(() => hang.hits, patience).toBe(1);
	child.kill("SIGINT");
	// With the deadline of the client it would end with status 1 and its message.
	expect(await once(child, "close")).toEqual([0, null]);
	expect(err()).toBe("");
});

test.concurrent.each([...cases, ...furtherCases].filter(({ needsProcess }) => needsProcess))(
	"the doctor finds $name",
	(each) => diagnose(run, each),
);

test.concurrent("a file of variables that there is not ends the doctor", async ({ expect }) => {
	const { code, err } = await run(["doctor", "--env-file", "no-such-file"]);
	// Node 20 looks for the file of any --env-file before it runs a script, and ends with 9 itself.
	expect([code, err]).toEqual([
		expect.toSatisfy((status) => status === 2 || status === 9),
		expect.stringMatching(/no-such-file: not found|no-such-file cannot be read \(ENOENT\)/),
	]);
});
