import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { createSandbox, scenarioNames } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { outboxActions, run, start, type Terminal } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a sandbox, and waits until it has printed how to reach it. */
async function started(args: readonly string[], terminal?: Terminal, env: Record<string, string> = {}) {
	const running = start(["sandbox", "--port", "0", ...args], env, fetch, terminal);
	onTestFinished(async () => {
		running.stop();
		await running.status;
	});
	await expect.poll(running.out, { interval: 5 }).toContain("\n");
	const find = (name: string) => new RegExp(`${name}\\s+(\\S+)`).exec(running.out())?.[1] ?? "";
	const [baseUrl, controlUrl, token] = [find("Base URL"), find("Control URL"), find("Control token")];
	const begun = running.out().length;
	return {
		...running,
		baseUrl,
		page: find("Page"),
		/** What it has printed after the banner. */
		lines: () => running.out().slice(begun).split("\n").slice(0, -1),
		ask: (path: string) => fetch(baseUrl + path, { headers: { authorization: `Bearer ${find("API key")}` } }),
		control: (path: string, body: object = {}) =>
			fetch(`${controlUrl}/${path}`, {
				method: "POST",
				headers: { "x-sandbox-token": token },
				body: JSON.stringify(body),
			}),
	};
}

const wide: Terminal = { columns: 200 };

test("the banner has eight lines, the link to the page first, and --examples adds lines to paste", async () => {
	const { out, page, baseUrl } = await started([], wide);
	const lines = out().split("\n").slice(0, -1);
	expect(lines).toHaveLength(8);
	expect(lines[0]).toBe(`  Page           ${page}`);
	expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_sandbox\/ui\/#token=\w+$/);
	expect(lines.map((line) => line.slice(0, 17).trim()).slice(0, 7)).toEqual([
		"Page",
		"Base URL",
		"API key",
		"Agency",
		"Control URL",
		"Control token",
		"Clock",
	]);
	expect(lines[7]).toBe("No message reaches anybody. Keys: o opens the page, q quits. --examples shows code to paste.");
	expect((await fetch(page)).status).toBe(200);
	expect(out()).not.toContain("curl");
	const reported = await started(["--examples"], wide);
	expect(reported.out()).toMatch(/TypeScript:\n\n {2}import \{ createClient \}/);
	expect(reported.out()).toContain(`curl -H "Authorization: Bearer `);
	expect(reported.out()).not.toContain(baseUrl);
});

test("o opens the page, q quits, and any other key does nothing", async () => {
	const { page, press, opened, lines, status } = await started([], wide);
	for (const key of ["x", "O", "\r", "\u001b"]) press(key);
	expect([opened, lines()]).toEqual([[], []]);
	press("o");
	expect([opened, lines()]).toEqual([[page], [`Opening ${page}`]]);
	press("q");
	expect(await status).toBe(0);
	press("o");
	expect(opened).toEqual([page]);
});

test("without a terminal no key is announced, --json reads none, and --open opens the page", async () => {
	expect((await started([])).lines()).toEqual([]);
	expect((await started([])).out()).toContain("No message reaches anybody. Ctrl-C stops it.");
	const { out, press, opened } = await started(["--json", "--open"], wide);
	press("o");
	expect(opened).toEqual([JSON.parse(out()).pageUrl]);
});

const red = "\u001b[31m";
const [on, off] = [expect.stringContaining("\u001b["), expect.not.stringContaining("\u001b[")];

test.each([
	[wide, {}, on],
	[undefined, {}, off],
	[wide, { NO_COLOR: "1" }, off],
	[wide, { NO_COLOR: "" }, on],
	[undefined, { FORCE_COLOR: "1" }, on],
	[undefined, { FORCE_COLOR: "1", NO_COLOR: "1" }, on],
	[wide, { FORCE_COLOR: "0" }, off],
	[wide, { FORCE_COLOR: "false" }, off],
	[wide, { FORCE_COLOR: "" }, on],
	[wide, { TERM: "dumb" }, off],
])("in a terminal of %j with %j the lines have their colours", async (terminal, env, colours) => {
	const { ask, out } = await started([], terminal, env);
	const before = out();
	await ask("/me");
	expect(before).toEqual(off); // the banner is for copying
	expect(out()).toEqual(colours);
	const doctor = start(["doctor", "--sandbox"], env, fetch, terminal);
	await doctor.status;
	expect(doctor.out()).toEqual(colours);
});

test("a status has the colour of its kind", async () => {
	const { ask, control, lines } = await started([], wide);
	await ask("/me");
	await ask("/agencies/agy_0/conversations");
	for (const effect of [{ status: 503 }, { status: 302 }, "reset"]) {
		await control("faults/add", { operation: "me.get", effect });
		await fetch((await ask("/me").catch(() => undefined))?.url ?? "data:,").catch(() => {});
	}
	const shown = lines().join("\n");
	expect(shown).toContain("me.get  \u001b[32m200\u001b[39m");
	expect(shown).toContain("conversations.list  \u001b[33m403\u001b[39m");
	expect(shown).toContain(`me.get  ${red}503\u001b[39m`);
	expect(shown).toContain("me.get  \u001b[36m302\u001b[39m");
	expect(shown).toContain(`me.get  ${red}no answer\u001b[39m`);
});

test("lines are broken between words at the width of the terminal, and indented below their text", async () => {
	const columns = 50;
	const { ask, control, lines } = await started([], { columns });
	await control("contacts/+447700900101", { name: "A".repeat(120) });
	await control("contacts/+447700900101/writes", { text: "Hello" });
	await ask(`/agencies/${"b".repeat(80)}/conversations`);
	const plain = lines().map(stripVTControlCharacters);
	expect(plain.filter((line) => line.length > columns)).toEqual([]);
	expect(plain.filter((line) => !/^(\d\d:\d\d:\d\d | {9}\S)/.test(line))).toEqual([]);
	expect(plain.join("").replace(/ {9}/g, "")).toContain("A".repeat(120));
	expect(plain.join(" ").replace(/ {2,}/g, " ")).toContain(
		"The sandbox has no agency with the id in the path. me.get lists the agencies of a key.",
	);
});

test("a name, a code, an id or a path in the log steers no terminal", async () => {
	const hostile = "\u001b[2J\u009b31m\u202eesrever\u0007\u001b]0;title\u001b\\\r\n\u2028FAKE";
	const { ask, control, lines } = await started([]);
	await control("contacts/+447700900101", { name: `Anna ${hostile}` });
	await control("contacts/+447700900101/writes", { text: hostile });
	await ask(`/agencies/${encodeURIComponent(hostile)}/conversations?${encodeURIComponent(hostile)}=1`);
	await ask(`/other/${encodeURIComponent(hostile)}`);
	expect(lines().join(" ")).toContain("Anna");
	expect(lines().join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
	expect(lines().filter((line) => line.startsWith("FAKE"))).toEqual([]);
});

test("without a terminal a line is as long as a reader of 100 columns bears", async () => {
	const { control, lines } = await started([]);
	await control("contacts/+447700900101", { name: "Anna ".repeat(40) });
	await control("contacts/+447700900101/writes", { text: "Hello" });
	expect(lines().length).toBeGreaterThan(1);
	expect(lines().filter((line) => line.length > 100)).toEqual([]);
});

test("a date is printed before the first line of another day of the sandbox's clock", async () => {
	const { ask, control, lines } = await started([]);
	await ask("/me");
	await control("clock/advance", { hours: 20 });
	await ask("/me");
	await ask("/me");
	await control("clock/advance", { hours: 24 });
	await control("contacts/+447700900101/writes", { text: "Hello" });
	expect(lines().map((line) => line.replace(/\d+ ms/, "1 ms"))).toEqual([
		"09:00:00  me.get  200  1 ms",
		"2026-01-06, UTC",
		"05:00:00  me.get  200  1 ms",
		"05:00:00  me.get  200  1 ms",
		"2026-01-07, UTC",
		"05:00:00 …0101 wrote",
	]);
});

test.each([
	[["--scenario", "bsy"], "--scenario must be one of fresh, busy, ", " Did you mean busy?"],
	[["--scenario", "two"], "--scenario must be one of ", " Did you mean twoLanguages?"],
	[["--scenario", "xxxxxxxxxxxxxxxxxxxxxxxxx"], "--scenario must be one of ", " oddData."],
	[["--policy", "openSendWhileHold=keep"], "--policy takes ", " Did you mean openSendWhileHeld?"],
	[
		["--policy", "openSendWhileHeld=kepe"],
		'--policy openSendWhileHeld must be "clear" or "keep".',
		" Did you mean keep?",
	],
	[["--scenaro", "busy"], "Unknown option --scenaro.", " Did you mean --scenario?"],
])("%j is answered with the nearest word", async (args, begin, end) => {
	const { code, err } = await run(["sandbox", "--port", "0", ...args]);
	const [line = ""] = err.split("\n");
	expect(code).toBe(1);
	expect(line.slice(0, begin.length)).toBe(begin);
	expect(line.slice(-end.length)).toBe(end);
});

/** The words that are completed after the given ones, without their help. */
async function completed(...words: string[]): Promise<string[]> {
	const { code, out, err } = await run(["completion", "words", "--", ...words]);
	expect([code, err]).toEqual([0, ""]);
	return out
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => line.split("\t")[0] ?? "");
}

test("completion knows commands, options that are not given yet, and the values of an option", async () => {
	const both = ["--version", "--help"];
	const commands = ["sandbox", "doctor", "tail", "outbox", "capture", "completion"];
	expect(await completed("")).toEqual([...commands, "help", "version", ...both]);
	expect(await completed("help", "")).toEqual(commands);
	expect(await completed("help", "do")).toEqual(["doctor"]);
	expect(await completed("help", "outbox", "re")).toEqual(["report", "resume", "resolve", "restored"]);
	expect(await completed("help", "doctor", "")).toEqual([]);
	expect(await completed("d")).toEqual(["doctor"]);
	expect(await completed("sandpit", "")).toEqual([]);
	expect(await completed("doctor", "")).toEqual(["--env", "--agency", "--json", "--sandbox", ...both]);
	expect(await completed("doctor", "--json", "--agency=agy_0", "--")).toEqual(["--env", "--sandbox", ...both]);
	expect(await completed("sandbox", "--policy", "x=y", "--po")).toEqual(["--port", "--policy"]);
	expect(await completed("sandbox", "--scenario", "")).toEqual([...scenarioNames]);
	expect(await completed("sandbox", "--scenario=b")).toEqual(["--scenario=busy"]);
	expect(await completed("sandbox", "--follow", "--sc")).toEqual(["--scenario"]);
	expect(await completed("sandbox", "--port", "")).toEqual([]);
	for (const option of ["--state", "--import", "--env", "--write-env"])
		expect(await completed("sandbox", option, "wor")).toEqual([":files"]);
	expect(await completed("completion", "")).toEqual(["bash", "zsh", "fish"]);
	expect(await completed("outbox", "")).toEqual([...outboxActions, "help", "version", ...both]);
	expect(await completed("outbox", "list", "--state", "u")).toEqual(["unknown"]);
	expect(await completed("outbox", "resolve", "note-1", "--as=n")).toEqual(["--as=not_sent"]);
	expect(await completed("outbox", "suspend", "--r")).toEqual(["--reason"]);
	// bash makes three words of an option with its value, and replaces the last one.
	expect(await completed("sandbox", "--scenario", "=", "b")).toEqual(["busy"]);
	expect(await completed("sandbox", "--scenario", "=")).toEqual([...scenarioNames]);
	expect(await completed("sandbox", "--policy", "retryAfterDrop", "=", "re")).toEqual(["resend", "replay"]);
});

test("each policy that is completed is one that the sandbox takes, and none is missing", async () => {
	const pairs = await completed("sandbox", "--policy", "");
	const names = new Set(pairs.map((pair) => pair.split("=")[0]));
	expect([...names]).toEqual(Object.keys(createSandbox().policy));
	for (const pair of pairs) {
		const { stop, status, err } = await started(["--policy", pair.endsWith("=") ? `${pair}12` : pair]);
		stop();
		expect([await status, err()], pair).toEqual([0, ""]);
	}
});

test.each(["bash", "zsh", "fish"])("completion prints a script that %s can read", async (shell) => {
	const { code, out } = await run(["completion", shell]);
	expect([code, out]).toEqual([0, expect.stringContaining("completion words -- ")]);
	const file = join(folder, `completion.${shell}`);
	writeFileSync(file, out);
	const { error, status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
	// A machine without this shell cannot say.
	if (error === undefined) expect([status, stderr]).toEqual([0, ""]);
});

test("completion without a shell, or with an unknown one, says which there are", async () => {
	const none = await run(["completion"]);
	expect([none.code, none.err]).toEqual([
		1,
		expect.stringMatching(/^completion needs the name of a shell: bash, zsh,/),
	]);
	const wrong = await run(["completion", "fisch"]);
	expect([wrong.code, wrong.err]).toEqual([
		1,
		expect.stringMatching(/^The shell must be one of .* Did you mean fish\?/),
	]);
	const help = await run(["completion", "--help"]);
	expect([help.code, help.out]).toEqual([0, expect.stringMatching(/^Usage: messaging-conversations completion bash/)]);
});

test("a warning says who reaches a sandbox that listens on more than loopback", async () => {
	for (const listen of ["127.0.0.2", "::1", "[::1]", "0:0:0:0:0:0:0:1", "localhost", "0.0.0.0"]) {
		const running = start(["sandbox", "--port", "0", "--json", "--listen", listen]);
		await expect.poll(() => running.out() + running.err(), { interval: 5 }).toContain("\n");
		running.stop();
		if ((await running.status) !== 0) continue; // this machine has no such address
		expect(running.err(), listen).toBe(
			listen === "0.0.0.0" ? '{"notice":"Warning: everybody who reaches 0.0.0.0 reaches this sandbox."}\n' : "",
		);
	}
});

test("a host that is allowed is given without its port", async () => {
	const { code, err } = await run(["sandbox", "--port", "0", "--allow-host", "sandbox:4010"]);
	expect([code, err]).toEqual([
		1,
		expect.stringContaining("--allow-host must be a host name without a port and without http://"),
	]);
});

test("no line shows a number or a key, in a path, a name or a button", async () => {
	const { ask, control, lines } = await started([], wide);
	for (const path of [
		"0470%2F12%2F34%2F56",
		"0470%2E12%2E34%2E56",
		"0470/12/34/56",
		"%2B32%280%29470123456",
		"a_live.b1.c2",
		"a%5Flive.b1.c2",
	])
		await ask(`/x/${path}`);
	await control("contacts/+447700900101", { name: "+32 470 12 34 56" });
	await control("contacts/+447700900101/writes", { text: "Hello" });
	await control("contacts/+447700900101/taps", { code: "0470 12 34 56" });
	await ask("/the-last");
	await expect.poll(() => lines().join("\n")).toContain("/the-last");
	const printed = stripVTControlCharacters(lines().join("\n"));
	expect(printed).not.toMatch(/0470|470.12|12.34|b1/);
	expect(printed).toContain("{phone} wrote");
	expect(printed).toContain("{phone} tapped {phone}");
	expect(printed).toContain("GET /x/{key}");
});

const narrow: Terminal = { columns: 60 };

test("at 60 columns the banner and the help fit, but for what is copied in one piece", async () => {
	const { out } = await started([], narrow);
	const long = out()
		.split("\n")
		.filter((line) => line.length > 60);
	expect(long.every((line) => /^ {4}\S+$/.test(line))).toBe(true);
	expect(long.length).toBeLessThanOrEqual(2); // the page's link, and the key
	for (const args of [[], ["sandbox"], ["doctor"], ["tail"], ["completion"]]) {
		const help = start([...args, "--help"], {}, fetch, narrow);
		await help.status;
		expect(
			help
				.out()
				.split("\n")
				.filter((line) => line.length > 60 && line.includes(" ", 8)),
			args[0],
		).toEqual([]);
	}
});

test("at 60 columns each error fits too, and keeps its paragraphs", async () => {
	const key = "partner_live.k7f3a9.c4ab01de";
	for (const args of [
		["sandbox", "--scenario", "none"],
		["sandbox", "missing.json"],
		["sandbox", "--import", folder],
		["capture", "--agency", "agy_0"],
		["doctor", "--env", join(folder, "none.env")],
		["tail", "one", "two"],
		["outbox", "nothing"],
		["unknown"],
	]) {
		const failing = start(args, { MESSAGING_API_KEY: key }, fetch, narrow);
		expect(await failing.status, args[0]).toBeGreaterThan(0);
		const lines = failing.err().split("\n");
		expect(lines.filter((line) => line.length > 60)).toEqual([]);
		expect(failing.err()).not.toContain(key);
	}
	const { err } = await run(["tail", "one"], {});
	expect(err).toContain("\n\nmessaging-conversations tail --help shows the options.");
});

test("at 60 columns the doctor and tail fit, and a sandbox's key gets advice for a sandbox", async () => {
	const examined = start(["doctor", "--sandbox"], {}, fetch, narrow);
	await examined.status;
	expect(
		stripVTControlCharacters(examined.out())
			.split("\n")
			.filter((line) => line.length > 60),
	).toEqual([]);
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.link({ name: "Wolfeschlegelsteinhausenbergerdorff and Daughters" });
	const server = await serve(sandbox, { port: 0, follow: true });
	onTestFinished(() => server.close());
	const env = { MESSAGING_BASE_URL: server.baseUrl, MESSAGING_API_KEY: server.apiKey };
	const tail = start(["tail", "--show", "--every", "1", "--agency", agency.id], env, fetch, narrow);
	onTestFinished(async () => {
		tail.stop();
		await tail.status;
	});
	await expect.poll(tail.err).toContain("Following");
	const anna = agency.contact("+447700900101");
	await expect
		.poll(() => {
			anna.writes("Is the flat in the Kerkstraat still free, and is there a lift? We have a piano.");
			return tail.out();
		})
		.toContain("piano");
	expect(
		stripVTControlCharacters(tail.out() + tail.err())
			.split("\n")
			.filter((line) => line.length > 60),
	).toEqual([]);
	sandbox.keys.revoke(server.apiKey);
	const refused = await run(["doctor"], env);
	expect(refused.out).toContain("on the sandbox's page");
	expect(refused.out).not.toContain("console");
});

test("polls are counted and told once, and a repeat of a send says that it is one", async () => {
	const { lines, ask, baseUrl, control, out } = await started([], wide);
	const [, key = ""] = /API key\s+(\S+)/.exec(out()) ?? [];
	const [, agency = ""] = /Agency\s+(\S+)/.exec(out()) ?? [];
	for (let i = 0; i < 5; i++) {
		await ask("/me");
		await ask(`/agencies/${agency}/conversations`);
	}
	expect(lines()).toHaveLength(2);
	await control("contacts/+447700900101/writes", { text: "Hello" });
	expect(lines().filter((line) => / {2}4 more$/.test(line))).toHaveLength(2);
	const send = () =>
		fetch(`${baseUrl}/agencies/${agency}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
			body: JSON.stringify({ to: "+447700900101", body: "Hi", operationId: "visit-1" }),
		});
	await send();
	expect(lines().join("\n")).not.toContain("repeat");
	await send();
	const said = lines().join(" ").replace(/ +/g, " ");
	expect(said).toContain("A repeat of an earlier send, whose text went out: nothing was sent again. (R131)");
});

test("a send after a decline says that the No opened the window, and one at a breakpoint that it waits", async () => {
	const { lines, baseUrl, control, out } = await started([], wide);
	const [, key = ""] = /API key\s+(\S+)/.exec(out()) ?? [];
	const [, agency = ""] = /Agency\s+(\S+)/.exec(out()) ?? [];
	const send = (body: string) =>
		fetch(`${baseUrl}/agencies/${agency}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
			body: JSON.stringify({ to: "+447700900101", body }),
		});
	const said = () => lines().join(" ").replace(/ +/g, " ");
	await send("Thursday?");
	expect(said()).not.toContain("(R113)");
	await control("contacts/+447700900101/declines");
	await send("Friday?");
	expect(said()).toContain("a “No” opens the window like any other message. So it was sent at once.");
	expect(said()).toContain("(R112)");
	await control("breakpoints/add", { operation: "messages.send" });
	const waiting = send("Saturday?");
	await expect.poll(said).toContain("messages.send waits at a breakpoint");
	await control("held/sandbox-00000003/resume");
	expect((await waiting).status).toBe(200);
	expect(said()).not.toMatch(/Thursday|Friday|Saturday|\+447700/);
});

test.each(["tcsh", "ksh", "powershell"])(
	"completion %s names the shells that there are, and suggests none",
	async (shell) => {
		const asked = await run(["completion", shell]);
		expect(asked.err).toContain(`There is no completion for ${shell}. There is one for bash, zsh, fish.`);
		expect(asked.err).not.toContain("Did you mean");
	},
);
