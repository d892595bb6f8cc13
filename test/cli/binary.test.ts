import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, type TestContext, test } from "vitest";
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
const folder = mkdtempSync(join(tmpdir(), "binary-"));
afterAll(() => rmSync(folder, { recursive: true }));
const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

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
	await context.expect.poll(started.out).toContain("Ctrl-C");
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
		await expect.poll(out).toMatch(/← in .*\n.*→ out/);
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
	await expect.poll(() => control("GET", `faults/${slow.id}`)).toMatchObject({ hits: 1 });
	child.kill("SIGTERM");
	expect(await once(child, "close")).toEqual([0, null]);
	expect(await failure).toBeInstanceOf(TypeError);
	expect(out()).toMatch(/\nFaults that never hit: \[\n[\s\S]*"operation": "messages\.send"/);
	expect(err()).toBe("");
});

onUnix.concurrent("a world of --state survives kill -9 at any moment", async (context) => {
	const { expect } = context;
	const file = join(folder, "world.json");
	/** Contacts that were named, and a moment later surely stored. */
	const named: string[] = [];
	for (const aliveMs of [100, 700]) {
		const running = start(context, ["sandbox", "--port", "0", "--json", "--scenario", "busy", "--state", file]);
		await expect.poll(running.out).toContain("\n");
		const { controlUrl, token, pid } = JSON.parse(running.out());
		const second = await run(["sandbox", "--port", "0", "--json", "--state", file]);
		expect([second.code, second.err]).toEqual([1, expect.stringContaining(`(process ${pid} on `)]);
		const control = async (path: string, init?: RequestInit) =>
			(await fetch(`${controlUrl}/${path}`, { ...init, headers: { "x-sandbox-token": token } })).json();
		const contacts: { name: string | null }[] = await control("contacts");
		expect(contacts.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
		expect(contacts.length).toBeGreaterThanOrEqual(250);
		const name = `Stored ${named.length}`;
		await control(`contacts/+4477009009${named.length}9`, { method: "POST", body: JSON.stringify({ name }) });
		await expect.poll(() => readFileSync(file, "utf8")).toContain(name);
		named.push(name);
		// The kill comes while it writes, again and again.
		const writing = new AbortController();
		const writer = (async () => {
			for (let text = 0; !writing.signal.aborted; text += 1)
				await control("contacts/+447700900101/writes", { method: "POST", body: JSON.stringify({ text: `${text}` }) });
		})().catch(() => undefined);
		await setTimeout(aliveMs);
		running.child.kill("SIGKILL");
		await once(running.child, "close");
		writing.abort();
		await writer;
		const sandbox = createSandbox();
		sandbox.restore({ ...sandbox.snapshot(), world: JSON.parse(readFileSync(file, "utf8")) });
	}
});

const inTerminal = test.skipIf(!has("script"));

inTerminal.concurrent("q quits a sandbox in a terminal, which reads lines again afterwards", async (context) => {
	const { expect } = context;
	// script runs a command in a terminal of its own, whose keys are its standard input.
	const line = `${command.join(" ")} sandbox --port 0; stty -a`;
	const { child, out } = start(context, ["-qec", line, "/dev/null"], ["script"]);
	const closed = once(child, "close");
	await expect.poll(out).toContain("Keys: o opens the page, q quits.");
	child.stdin?.write("q");
	expect(await closed).toEqual([0, null]);
	expect(out()).toMatch(/ icanon /);
});

onUnix.concurrent("bash completes by its script, and so does fish", async ({ expect }) => {
	const program = join(folder, "messaging-conversations");
	writeFileSync(program, `#!/bin/sh\nexec ${command.join(" ")} "$@"\n`, { mode: 0o755 });
	const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
	const words = "messaging-conversations sandbox --scenario = b";
	const bash = `source <(messaging-conversations completion bash)
COMP_WORDS=(${words}) COMP_CWORD=4
_messaging_conversations messaging-conversations b =
echo "$(IFS=,; echo "\${COMPREPLY[*]}")"`;
	const reported = (shell: string, code: string) => spawnSync(shell, ["-c", code], { env, encoding: "utf8" }).stdout;
	expect(reported("bash", bash)).toBe("busy\n");
	const fish = `messaging-conversations completion fish | source; complete -C "${words.replaceAll(" = ", "=")}"`;
	if (has("fish")) expect(reported("fish", fish)).toBe("--scenario=busy\n");
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
	await expect.poll(npx.out).toContain("\n");
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
	await expect.poll(isAlive).toBe(false);
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
	await expect.poll(() => hang.hits).toBe(1);
	child.kill("SIGINT");
	// With the deadline of the client it would end with status 1 and its message.
	expect(await once(child, "close")).toEqual([0, null]);
	expect(err()).toBe("");
});

test.concurrent.each([...cases, ...furtherCases].filter(({ needsProcess }) => needsProcess))(
	"the doctor finds $name",
	(each) => diagnose(run, each),
);

/** The example at the end of a help, as it is written there. */
const exampleOf = (help: string): string => /\nExample:\n((?: .*\n)+)/.exec(help)?.[1]?.trim() ?? "";

// test/outbox/databases/command.test.ts runs those of the command outbox.
onUnix.concurrent.for(["", "sandbox", "doctor", "tail", "capture", "completion"])(
	"the example of each help works as it is written: %s",
	async (name, { expect, onTestFinished }) => {
		const { out: help } = await run([...(name === "" ? [] : [name]), "--help"]);
		const cwd = mkdtempSync(join(folder, "example-"));
		// The shell runs the example itself. npx would look for the package in a registry.
		const line = `npx() { shift; exec ${command.join(" ")} "$@"; }\n${exampleOf(help)}`;
		expect(line).toContain("npx messaging-conversations ");
		const child = spawn("sh", ["-c", line], { cwd });
		onTestFinished(() => void child.kill("SIGKILL"));
		let [out, err] = ["", ""];
		child.stdout.on("data", (chunk) => (out += chunk));
		child.stderr.on("data", (chunk) => (err += chunk));
		const closed = once(child, "close");
		if (name === "tail") await expect.poll(() => out).toMatch(/← in .*Is the flat still free\?/);
		if (name === "sandbox" || name === "") await expect.poll(() => out).toContain("No message reaches anybody");
		if (["tail", "sandbox", ""].includes(name)) child.kill("SIGINT");
		expect(await closed, err).toEqual([0, null]);
		if (name === "capture") expect(readdirSync(cwd)).toEqual(["bug.json"]);
		if (name === "doctor") expect(out).toMatch(/contract +The service publishes/);
		if (name === "completion") expect(out).toContain("complete -F _messaging_conversations");
	},
);

// Node reads --env-file itself, wherever it stands in a command line. So the command's own option has another name.
test.concurrent.for(["doctor", "tail", "capture --agency agy_1 --contact +447700900101", "sandbox", "outbox health"])(
	"the command itself says that a file of variables is not there: %s",
	async (words, { expect }) => {
		for (const given of [["--env", "no-such-file"], ["--env=no-such-file"]]) {
			const { code, err } = await run([...words.split(" "), ...given]);
			expect([code, err]).toEqual([
				/doctor|outbox/.test(words) ? 2 : 1,
				expect.stringMatching(/^--env no-such-file cannot be read \(ENOENT\)\./),
			]);
		}
	},
);

test.concurrent("what a file of variables has for Node changes nothing of the command", async ({ expect }) => {
	const file = join(folder, "for-node.env");
	writeFileSync(file, "NODE_OPTIONS=--no-such-option\nMESSAGING_BASE_URL=http://127.0.0.1:9/api/v1\n");
	const { code, out } = await run(["doctor", "--json", "--env", file]);
	expect([code, JSON.parse(out).checks[0]]).toMatchObject([2, { id: "base-url", state: "ok" }]);
});
