import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, type TestContext, test } from "vitest";
import { bundleCommand } from "./bundle.ts";
import { ended } from "./diagnose.ts";
import { type Live, liveKey, startLive, world } from "./live.ts";

const command = await bundleCommand();
const number = "+447700900101";

interface Tail {
	readonly child: ChildProcess;
	readonly out: () => string;
	readonly err: () => string;
	readonly live: Live;
}

/** Starts `tail` on a service of its own, and waits for its second look: what the first one lists is no news. */
async function tail(context: TestContext, args: readonly string[] = []): Promise<Tail> {
	const { expect } = context;
	const live = await startLive({ sandbox: world() });
	const { child, out, err } = started(context, ["tail", "--every", "1", ...args], live);
	const looks = () => live.sandbox.requests().filter(({ operation }) => operation === "conversations.list").length;
	await expect.poll(looks, { timeout: 20_000 }).toBeGreaterThan(1);
	return { child, out, err, live };
}

function started({ onTestFinished }: TestContext, args: readonly string[], { baseUrl, stop }: Live) {
	const [file = "", ...before] = command;
	const env = { ...process.env, MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const child = spawn(file, [...before, ...args], { env });
	onTestFinished(() => {
		child.kill("SIGKILL");
		stop();
	});
	let [out, err] = ["", ""];
	child.stdout.on("data", (chunk) => (out += chunk));
	child.stderr.on("data", (chunk) => (err += chunk));
	return { child, out: () => out, err: () => err };
}

test.concurrent("tail prints what comes from now on, with masked numbers and hidden texts", async (context) => {
	const { expect } = context;
	const { live, out } = await tail(context);
	const { sandbox } = live;
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes("Would Thursday suit you?");
	await expect.poll(out, { timeout: 20_000 }).toContain("\n");
	expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}Lakeside Homes +…0101 {2}message {2}← in +received +\(24 characters\)\n$/);
});

test.concurrent("--show shows numbers and texts", async (context) => {
	const { expect } = context;
	const { live, out } = await tail(context, ["--show"]);
	live.sandbox.clock.advance({ ms: 1000 });
	live.sandbox.agency().contact(number).writes("Would Thursday\nsuit \u001b[31myou?");
	await expect.poll(out, { timeout: 20_000 }).toContain("Would Thursday suit  [31myou?\n");
	expect(out()).toContain(number);
});

test.concurrent("--json prints a line of JSON for a message, for its status and for the state of a conversation", async (context) => {
	const { expect } = context;
	const { live, out, err } = await tail(context, ["--json"]);
	const { sandbox } = live;
	const anna = sandbox.agency().contact(number);
	const events = () =>
		out()
			.split("\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line));
	sandbox.clock.advance({ ms: 1000 });
	anna.writes("Hello?");
	await expect.poll(events, { timeout: 20_000 }).toHaveLength(1);
	const { id } = sandbox.agency().ai.replies(anna.phoneNumber, "Good morning");
	await expect.poll(events, { timeout: 20_000 }).toHaveLength(2);
	// The feed looks at a message without a final status again after 10 seconds.
	sandbox.message(id).delivered();
	await expect.poll(events, { timeout: 25_000 }).toHaveLength(3);
	const agency = { agencyId: sandbox.agency().id, agency: "Lakeside Homes", contact: "…0101" };
	expect(events()).toMatchObject([
		{ kind: "message", ...agency, direction: "inbound", status: "received", length: 6 },
		{ kind: "message", ...agency, direction: "outbound", messageId: id, length: 12 },
		{ kind: "status", ...agency, direction: "outbound", messageId: id, status: "delivered" },
	]);
	sandbox.agency().staff.setAi(anna.phoneNumber, false);
	await expect.poll(events, { timeout: 20_000 }).toHaveLength(4);
	expect(events()[3]).toMatchObject({ kind: "state", ...agency, state: { aiEnabled: false, windowOpen: true } });
	expect(out()).not.toMatch(/Hello|Good morning|447700900101/);
	expect(err()).toMatch(/^Following Lakeside Homes from now on/);
}, 90_000);

test.concurrent("a service that fails is said once, and so is its end", async (context) => {
	const { expect } = context;
	const { live, out, err } = await tail(context);
	const fault = live.sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: { status: 503 } });
	await expect.poll(err, { timeout: 25_000 }).toMatch(/! Lakeside Homes: .*503.*\(tries again\)/);
	await expect.poll(() => fault.hits, { timeout: 25_000 }).toBeGreaterThan(8);
	fault.remove();
	await expect.poll(err, { timeout: 40_000 }).toContain("! Lakeside Homes: the service answers again\n");
	expect(err().match(/503/g)).toHaveLength(1);
	expect(err()).not.toContain("    at ");
	expect(out()).toBe("");
}, 120_000);

test.concurrent("a conversation that cannot be read is said once, and is read again", async (context) => {
	const { expect } = context;
	const { live, out, err } = await tail(context);
	const { sandbox } = live;
	sandbox.faults.add({ operation: "conversations.get", times: 2, effect: "missing-field" });
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes("Hello?");
	await expect.poll(out, { timeout: 60_000 }).toContain("(6 characters)");
	sandbox.check();
	expect(err().match(/^! .*$/gm)).toEqual([
		expect.stringMatching(/^! Lakeside Homes: conversations\.get: the answer breaks the contract.*\(tries again\)$/),
	]);
}, 120_000);

test.skipIf(process.platform === "win32").concurrent("Ctrl-C stops it at once, with status 0", async (context) => {
	const { expect } = context;
	const { child } = await tail(context);
	child.kill("SIGINT");
	expect(await once(child, "close")).toEqual([0, null]);
});

test.skipIf(process.platform === "win32").concurrent(
	"Ctrl-C stops it at once while the first answer is waited for",
	async (context) => {
		const { expect } = context;
		const live = await startLive({ sandbox: world() });
		const hang = live.sandbox.faults.add({ effect: "hang" });
		const { child, err } = started(context, ["tail"], live);
		await expect.poll(() => hang.hits, { timeout: 20_000 }).toBe(1);
		child.kill("SIGINT");
		// With the deadline of the client it would end with status 1 and its message.
		expect(await once(child, "close")).toEqual([0, null]);
		expect(err()).toBe("");
	},
	60_000,
);

test.concurrent("a key that is revoked ends it, with status 1", async (context) => {
	const { expect } = context;
	const { child, live, err } = await tail(context);
	live.sandbox.keys.revoke(live.sandbox.connection.apiKey);
	expect(await once(child, "close")).toEqual([1, null]);
	expect(err()).toMatch(/! Lakeside Homes: .*401.*\(ended\)\n$/);
}, 60_000);

test.concurrent("--sandbox shows the talk of a contact and an AI", async ({ expect, onTestFinished }) => {
	const [file = "", ...before] = command;
	const child = spawn(file, [...before, "tail", "--sandbox", "--every", "1"]);
	onTestFinished(() => void child.kill("SIGKILL"));
	let out = "";
	child.stdout.on("data", (chunk) => (out += chunk));
	await expect.poll(() => out, { timeout: 25_000 }).toMatch(/← in .*\n.*→ out/);
}, 60_000);

test("what it cannot run with is said in a line, and names the doctor where that helps", async () => {
	const runs: [string[], Record<string, string>, RegExp][] = [
		[["--shw"], {}, /^Unknown option --shw\. Did you mean --show\?/],
		[["--every", "soon"], {}, /^--every must be a number of seconds/],
		[[liveKey], {}, /^tail takes options only/],
		[
			[],
			{ MESSAGING_BASE_URL: "http://127.0.0.1:9/api/v1", MESSAGING_API_KEY: "" },
			/^MESSAGING_API_KEY is empty in the environment\. The command doctor finds out why/,
		],
		[[], {}, /^MESSAGING_BASE_URL is not set in the environment\. The command doctor finds out why/],
		[
			["--env-file", "package.json"],
			{ MESSAGING_BASE_URL: "https://host.invalid/api/v1" },
			/^MESSAGING_API_KEY is not set in the environment and /,
		],
		[
			["--sandbox", "--agency", "agy_none"],
			{},
			/^The key does not reach the agency of --agency\. The command doctor lists those that it reaches\./,
		],
	];
	for (const [args, env, words] of runs) {
		const { code, out, err } = await ended([...command, "tail", ...args], env);
		expect([code, out, err], args[0]).toEqual([1, "", expect.stringMatching(words)]);
		expect(err).not.toContain(liveKey);
	}
});

test("a key that is refused is said in whole sentences, and only a wrong option is answered by the options", async () => {
	const { baseUrl, sandbox, stop } = await startLive();
	sandbox.keys.revoke(sandbox.connection.apiKey);
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const refused = await ended([...command, "tail"], env);
	const misused = await ended([...command, "tail", "--every", "soon"], env);
	stop();
	expect(refused.err).toMatch(/^me\.get: .*[^.]\. The command doctor finds out why\.\n$/);
	expect(misused.err).toMatch(/\n\nmessaging-conversations tail --help shows the options\.\n$/);
	expect([refused.code, misused.code]).toEqual([1, 1]);
});
