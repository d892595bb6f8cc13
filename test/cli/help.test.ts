// What the command says to somebody who does not know it yet: help, versions, suggestions, and errors for people and programs.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { liveKey, startLive } from "./live.ts";
import { outboxActions, run, start } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "help-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { version, homepage } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
/** The page of the docs in a help: on the docs site, once package.json names it. */
const guide = homepage === undefined ? "docs/(\\S+)\\.md of this package" : `${homepage}/(\\S+)\\.html`;
const commands = ["sandbox", "doctor", "tail", "outbox", "capture", "completion"];
/** The words of each help: that of the whole command, of a command, and of an action. */
const levels = [[], ...commands.map((name) => [name]), ...outboxActions.map((name) => ["outbox", name])];

test.for(levels)(
	"help, --help and -h show the same help, and version, --version and -v the version: %s",
	async (words) => {
		const { code, out, err } = await run([...words, "--help"]);
		expect([code, err, out]).toEqual([
			0,
			"",
			expect.stringContaining(`Usage: messaging-conversations ${words.join(" ")}`),
		]);
		const before =
			words.length === 0
				? [["help"], ["-h"], []]
				: [
						["help", ...words],
						[...words, "-h"],
						["-h", ...words],
					];
		for (const args of before) expect(await run(args), args.join(" ")).toEqual({ code: 0, out, err: "" });
		for (const asked of ["--version", "-v"])
			expect(await run([...words, asked]), asked).toEqual({ code: 0, out: `${version}\n`, err: "" });
	},
);

test("help and version may follow a command, but not where an id can be such a word", async () => {
	for (const name of [...commands, "outbox list", "outbox health"]) {
		const words = name.split(" ");
		expect((await run([...words, "help"])).out, name).toBe((await run([...words, "--help"])).out);
		expect((await run([...words, "version"])).out, name).toBe(`${version}\n`);
	}
	expect((await run(["version"])).out).toBe(`${version}\n`);
	expect((await run(["outbox", "help", "list"])).out).toBe((await run(["outbox", "list", "--help"])).out);
	expect((await run(["outbox", "explain", "help"])).err).toContain("DATABASE_URL is not set");
});

test.for(levels)(
	"a help ends with an example and with a page of the docs, in a narrow terminal too: %s",
	async (words) => {
		const helped = start([...words, "--help"], {}, fetch, { columns: 50 });
		await helped.status;
		for (const out of [(await run([...words, "--help"])).out, helped.out()]) {
			const [, example = "", page = ""] =
				new RegExp(`\nExample:\n {2}npx messaging-conversations ((?:.|\\\\\n)+)\n\nGuide: ${guide}\n$`).exec(
					out.replaceAll(/(Guide: .*)\n(?=\S)/g, "$1 "),
				) ?? [];
			expect(example.replaceAll(/\\\n +/g, "")).toMatch(new RegExp(`^${words.join(" ")}`));
			expect(existsSync(new URL(`../../docs/${page}.md`, import.meta.url)), page).toBe(true);
			expect(out.split("\n").filter((line) => line.length > 100)).toEqual([]);
		}
	},
);

test.for(levels.filter((words) => words.length > 0 && words[0] !== "completion" && words.join() !== "outbox"))(
	"each value that an option is completed with stands in its help: %s",
	async (words) => {
		const completed = async (...more: string[]) =>
			(await run(["completion", "words", "--", ...words, ...more])).out
				.split("\n")
				.map((line) => line.split("\t")[0] ?? "")
				.filter((word) => word !== "");
		const help = (await run([...words, "--help"])).out.replaceAll(/\s+/g, " ");
		for (const option of await completed("--")) {
			if (option === "--version" || option === "--help") continue;
			// Behind an option without a value, further options are completed.
			for (const value of await completed(option, "")) {
				if (value === ":files" || value.startsWith("--")) continue;
				const [name = "", of = ""] = value.split("=");
				expect(help, value).toMatch(new RegExp(of === "" ? `\\b${name}\\b` : `\\b${name}=(\\w+\\|)?${of}\\b`));
			}
		}
	},
);

test.for<[args: string, said: string]>([
	["sandbx", 'There is no command "sandbx". Did you mean sandbox?'],
	["hlep", 'There is no command "hlep". Did you mean help?'],
	["versoin", 'There is no command "versoin". Did you mean version?'],
	["nope", "There are sandbox, doctor, tail, outbox, capture, completion, help, version."],
	["help nope", "There are sandbox, doctor, tail, "],
	["help doctr", "Did you mean doctor?"],
	["help outbox lst", "Did you mean list?"],
	[
		"outbox nope",
		"There are health, list, explain, report, suspend, resume, resolve, restored, opted-out, export, import, help, version.",
	],
	["outbox SUSPEND", "Did you mean suspend?"],
	["--hepl", "Unknown option --hepl. Did you mean --help?"],
	["-V", "Unknown option -V. Did you mean -v?"],
	["--json doctor", "The options of a command follow its name."],
	["outbox --jsn", "The options of an action follow its name."],
	["outbox list --limt=3", "Unknown option --limt. Did you mean --limit?"],
	["outbox list --lmiit 3", "Unknown option --lmiit. Did you mean --limit?"],
	["outbox explain a --content", "Did you mean --show-content?"],
	["outbox explain a --showContent", "Did you mean --show-content?"],
	["outbox suspend --resaon=x", "Did you mean --reason?"],
	["outbox resolve a --as not-sent", "Did you mean not_sent?"],
	["outbox list --state Waiting", "Did you mean waiting?"],
	["outbox list --state delivrd", "Did you mean delivered?"],
	["outbox list --state nowhere", "--state must be one of waiting, sending, held, sent, "],
	["doctor -V", "Unknown option -V. Did you mean -v?"],
	["doctor -H", "Did you mean -h?"],
	["doctor -?", "Did you mean -h?"],
	["doctor -j", "Did you mean --json?"],
	["doctor -json", "Unknown option -json. Did you mean --json?"],
	["doctor -help", "Unknown option -help. Did you mean --help?"],
	["doctor json", "Did you mean --json?"],
	["doctor --JSON", "Did you mean --json?"],
	["doctor --env-file=package.json", "Did you mean --env?"],
	["doctor --no-color", "NO_COLOR=1 turns colours off"],
	["doctor --colour=never", "NO_COLOR=1 turns colours off"],
	["doctor --no-json", "--json is off unless it is given."],
	["doctor --frobnicate", "There are --env, --agency, --json, --sandbox, --version, --help."],
	["tail --evry 5", "Did you mean --every?"],
	["capture --yse", "Did you mean --yes?"],
	["capture --contcat +447700900101", "Did you mean --contact?"],
	["sandbox --allowHost=x", "Did you mean --allow-host?"],
	["sandbox --write_env x", "Did you mean --write-env?"],
	["sandbox --scenario BUSY", "Did you mean busy?"],
	["sandbox --policy retry_after_drop=resend", "Did you mean retryAfterDrop?"],
	["completion bsah", "Did you mean bash?"],
	["completion --hepl", "Did you mean --help?"],
])("%s is answered by a suggestion", async ([words, said]) => {
	const { code, out, err } = await run(words.split(" "));
	expect([code === 0, out, err.replaceAll(/\s+/g, " ")]).toEqual([false, "", expect.stringContaining(said)]);
});

test.for(["hunter2xyz", "partner_live.k7f3a9.c4ab01", "Zq3-secret", "sekretwort"])(
	"no value of an option is in what is said, in whichever way it is wrong: %s",
	async (secret) => {
		const wrong = [
			["doctor", "--kye", secret],
			["doctor", `--kye=${secret}`],
			["doctor", `--json=${secret}`],
			["doctor", "--", secret],
			["doctor", "--json", secret],
			["sandbox", "--port", secret],
			["sandbox", "--scenario", secret],
			["sandbox", "--policy", secret],
			["sandbox", "--policy", `${secret}=keep`],
			["sandbox", "--policy", `openSendWhileHeld=${secret}`],
			["sandbox", "--now", secret],
			["tail", "--every", secret],
			["outbox", "list", "--state", secret],
			["outbox", "list", "--limit", secret],
			["outbox", "resolve", "a", "--as", secret],
			["capture", "--agency", secret],
			[`--kye=${secret}`],
		];
		for (const args of [...wrong, ...wrong.map((each) => [...each, "--json"])]) {
			const { code, out, err } = await run(args);
			expect([code === 0, out], args.join(" ")).toEqual([false, ""]);
			expect(err, args.join(" ")).not.toContain(secret);
		}
	},
);

test.for<[args: readonly string[], kind: "usage" | "failure", status: number]>([
	[["nope"], "usage", 1],
	[["help", "nope"], "usage", 1],
	[["completion", "fisch"], "usage", 1],
	[["sandbox", "--prot", "1"], "usage", 1],
	[["sandbox", "--scenario", "none"], "usage", 1],
	[["sandbox", "--now", "tomorrow"], "usage", 1],
	[["sandbox", "--env", "none"], "failure", 1],
	[["sandbox", "none.json"], "usage", 1],
	[["doctor", "--agncy=x"], "usage", 2],
	[["doctor", "one"], "usage", 2],
	[["doctor", "--env", "none"], "failure", 2],
	[["tail", "--every", "0"], "usage", 1],
	[["tail"], "failure", 1],
	[["tail", "--sandbox", "--agency", "agy_none"], "failure", 1],
	[["capture"], "usage", 1],
	[["outbox"], "usage", 2],
	[["outbox", "nope"], "usage", 2],
	...outboxActions.map((name): [string[], "usage", number] => [["outbox", name, "--nope"], "usage", 2]),
	[["outbox", "health"], "failure", 2],
	[["outbox", "list"], "failure", 2],
	[["outbox", "explain", "a"], "failure", 2],
	[["outbox", "explain"], "usage", 2],
	[["outbox", "suspend"], "usage", 2],
	[["outbox", "resume"], "failure", 2],
	[["outbox", "resolve", "a"], "usage", 2],
	[["outbox", "restored", "--backup-at", "2026-01-05T03:00:00Z"], "failure", 2],
])("with --json an error is one line of JSON on stderr, with the exit status: %j", async ([args, kind, status]) => {
	const { code, out, err } = await run([...args, "--json"]);
	const lines = err.split("\n").slice(0, -1);
	expect([code, out, lines.length]).toEqual([status, "", 1]);
	const { error, ...rest } = JSON.parse(err);
	expect([error.kind, rest]).toEqual([kind, { status }]);
	// The same sentences as people read.
	const plain = await run(args);
	if (args.join() !== "outbox" && args.join() !== "capture")
		expect(plain.err.replaceAll(/\s+/g, " ")).toBe(
			`${[error.message, ...(error.help ? [error.help] : [])].join(" ")} `,
		);
	expect(plain.code).toBe(status);
});

test("with --json what tail says on its way is JSON too, and the error that ends it comes last", async () => {
	const { baseUrl, sandbox, stop } = await startLive();
	const env = { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: liveKey };
	const running = start(["tail", "--json", "--every", "1"], env);
	await expect.poll(running.err).toContain("Following");
	sandbox.keys.revoke(sandbox.connection.apiKey);
	expect(await running.status).toBe(1);
	stop();
	const said = running
		.err()
		.split("\n")
		.slice(0, -1)
		.map((line) => JSON.parse(line));
	expect(said).toEqual([
		{ notice: expect.stringContaining("Following") },
		{ notice: expect.stringMatching(/\(ended\)$/) },
		{ error: { kind: "failure", message: expect.stringContaining("refused with 401") }, status: 1 },
	]);
});
