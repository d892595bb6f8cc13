import { expect, onTestFinished, test, vi } from "vitest";
import { liveKey, startLive, world } from "./live.ts";
import { run, start } from "./run.ts";

const number = "+447700900101";
const seconds = 1_000;

/** Lets time pass, at most two minutes of it, until the assertion holds. */
async function eventually(assertion: () => void): Promise<void> {
	const end = Date.now() + 120 * seconds;
	for (;;) {
		try {
			return assertion();
		} catch (error) {
			if (Date.now() > end) throw error;
		}
		await vi.advanceTimersByTimeAsync(100);
	}
}

/** Starts `tail` on a sandbox of its own, and waits for its second poll, because the first one prints nothing. */
async function tail(args: readonly string[] = []) {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const sandbox = world();
	const { baseUrl, apiKey } = sandbox.connection;
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: apiKey };
	const running = start(["tail", "--every", "1", ...args], env, sandbox.fetch);
	onTestFinished(running.stop);
	const looks = () => sandbox.requests().filter(({ operation }) => operation === "conversations.list").length;
	await eventually(() => expect(looks()).toBeGreaterThan(1));
	return { sandbox, ...running };
}

test("tail prints what comes from now on, with masked numbers and hidden texts", async () => {
	const { sandbox, out } = await tail();
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes("Would Thursday suit you?");
	await eventually(() => expect(out()).toContain("\n"));
	expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}Lakeside Homes +…0101 {2}message {2}← in +received +\(24 characters\)\n$/);
});

test("--show shows numbers and texts", async () => {
	const { sandbox, out } = await tail(["--show"]);
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes("Would Thursday\nsuit \u001b[31myou?");
	await eventually(() => expect(out()).toContain("Would Thursday suit  [31myou?\n"));
	expect(out()).toContain(number);
});

test("--json --show prints no character that could steer a terminal, and loses none", async () => {
	const { sandbox, out } = await tail(["--json", "--show"]);
	const text = "Red \u001b[31m, C1 \u009b31m, reversed \u202e, line \u2028, joined \u{e0041}.";
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes(text);
	await eventually(() => expect(out()).toContain("\n"));
	expect(out().trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
	expect(JSON.parse(out()).text).toBe(text);
});

test("--json prints a line of JSON for a message, for its status and for the state of a conversation", async () => {
	const { sandbox, out, err } = await tail(["--json"]);
	const anna = sandbox.agency().contact(number);
	const events = () =>
		out()
			.split("\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line));
	sandbox.clock.advance({ ms: 1000 });
	anna.writes("Hello?");
	await eventually(() => expect(events()).toHaveLength(1));
	const { id } = sandbox.agency().ai.replies({ contact: anna.phoneNumber, text: "Good morning" });
	await eventually(() => expect(events()).toHaveLength(2));
	sandbox.message(id).delivered();
	await eventually(() => expect(events()).toHaveLength(3));
	const agency = { agencyId: sandbox.agency().id, agency: "Lakeside Homes", contact: "…0101" };
	expect(events()).toMatchObject([
		{ kind: "message", ...agency, direction: "inbound", status: "received", length: 6 },
		{
			kind: "message",
			...agency,
			direction: "outbound",
			messageId: id,
			messageSid: expect.stringMatching(/^SM/),
			length: 12,
		},
		{ kind: "status", ...agency, direction: "outbound", messageId: id, status: "delivered" },
	]);
	sandbox.agency().staff.setAi({ contact: anna.phoneNumber, on: false });
	await eventually(() => expect(events()).toHaveLength(4));
	expect(events()[3]).toMatchObject({ kind: "state", ...agency, state: { aiEnabled: false, windowOpen: true } });
	expect(out()).not.toMatch(/Hello|Good morning|447700900101/);
	expect(JSON.parse(err())).toEqual({ notice: "Following Lakeside Homes from now on. Ctrl-C stops it." });
});

test("a service that fails is said once, and so is its end", async () => {
	const { sandbox, out, err } = await tail();
	const fault = sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: { status: 503 } });
	await eventually(() => expect(err()).toMatch(/! Lakeside Homes: .*503.*\(tries again\)/));
	await eventually(() => expect(fault.hits).toBeGreaterThan(8));
	fault.remove();
	await eventually(() => expect(err()).toContain("! Lakeside Homes: the service answers again\n"));
	expect(err().match(/503/g)).toHaveLength(1);
	expect(err()).not.toContain("    at ");
	expect(out()).toBe("");
});

test("a conversation that cannot be read is said once, and is read again", async () => {
	const { sandbox, out, err } = await tail();
	sandbox.faults.add({ operation: "conversations.get", times: 2, effect: "missing-field" });
	sandbox.clock.advance({ ms: 1000 });
	sandbox.agency().contact(number).writes("Hello?");
	await eventually(() => expect(out()).toContain("(6 characters)"));
	sandbox.check();
	expect(err().match(/^! .*$/gm)).toEqual([
		expect.stringMatching(/^! Lakeside Homes: conversations\.get: the answer breaks the contract.*\(tries again\)$/),
	]);
});

test("Ctrl-C stops it in a pause at once, with status 0", async () => {
	const { stop, status } = await tail();
	stop();
	// No time passes here any more, so that only an end at once comes to this line.
	expect(await status).toBe(0);
	expect(vi.getTimerCount()).toBe(0);
});

test("Ctrl-C stops it while an answer is waited for", async () => {
	const { sandbox, stop, status, err } = await tail();
	const hang = sandbox.faults.add({ effect: "hang" });
	await eventually(() => expect(hang.hits).toBe(1));
	stop();
	expect(await status).toBe(0);
	expect(err()).not.toMatch(/^!/m);
	expect(vi.getTimerCount()).toBe(0);
});

test("it ends with status 0 when no caller reads what it prints any more", async () => {
	const { closeOutput, status } = await tail();
	closeOutput();
	expect(await status).toBe(0);
});

test("a key that is revoked ends it, with status 1", async () => {
	const { sandbox, status, err } = await tail();
	sandbox.keys.revoke(sandbox.connection.apiKey);
	await eventually(() => expect(err()).toMatch(/! Lakeside Homes: .*401.*\(ended\)\n$/));
	expect(await status).toBe(1);
});

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
			["--env", "package.json"],
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
		const { code, out, err } = await run(["tail", ...args], env);
		expect([code, out, err], args[0]).toEqual([1, "", expect.stringMatching(words)]);
		expect(err).not.toContain(liveKey);
	}
});

test("a key that is refused is said in whole sentences, and only a wrong option is answered by the options", async () => {
	const { baseUrl, sandbox, stop } = await startLive();
	sandbox.keys.revoke(sandbox.connection.apiKey);
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const refused = await run(["tail"], env);
	const misused = await run(["tail", "--every", "soon"], env);
	stop();
	expect(refused.err).toMatch(/^me\.get: .*[^.]\. The command doctor finds out why\.\n$/);
	expect(misused.err).toMatch(/\n\nmessaging-conversations tail --help shows the options\.\n$/);
	expect([refused.code, misused.code]).toEqual([1, 1]);
});
