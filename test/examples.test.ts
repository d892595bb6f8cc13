import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { longestWaitMs } from "./patience.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What each example must print. An example that is missing here fails. */
const reported: Record<string, string> = {
	"effect.ts": "Anna\nno conversation\nnot asked: ",
	"lookup.ts": [
		"0044 7700/900.101: last wrote 2026-01-05T09:00:00.000Z",
		"+44 (0)7700 900101: last wrote 2026-01-05T09:00:00.000Z",
		"+44 7700 900199: no conversation",
		"see notes: no phone number (letters)",
		"null: no phone number (empty)",
		"",
	].join("\n"),
	"mirror.ts": "250 conversations, 545 messages\n249, 543: Anna Claes\n",
	"send.ts": "sent as ",
	"ts-pattern.ts": [
		"waits for consent",
		"sent",
		"unknown: again later, same id and text",
		"accepted, in an answer that is unusable otherwise",
		"to: not a phone number: it contains letters",
	].join("\n"),
	"window.ts": [
		"probably waits for consent: there is no conversation to read",
		"goes out at once",
		"waits for consent",
		"replaces the text that waits",
		"goes out at once, and may drop the text that waits",
		"",
	].join("\n"),
};

const examples = readdirSync(new URL("../examples", import.meta.url)).filter((file) => file.endsWith(".ts"));

test("the examples run without a key, say what they should, and end by themselves", () => {
	// One process for all, because its start costs more than an example.
	const run = examples.map((file) => `console.log("== ${file}"); await import("./examples/${file}");`).join("\n");
	const flags = ["--import", "tsx", "--input-type=module", "--eval", run];
	const { stdout, stderr, status } = spawnSync(process.execPath, flags, {
		cwd: root,
		encoding: "utf8",
		timeout: longestWaitMs,
	});
	const sections = stdout.split(/^== /m);
	for (const file of examples) {
		const said = sections.find((section) => section.startsWith(`${file}\n`)) ?? "";
		expect.soft(said, `${file}: ${stderr}`).toContain(reported[file] ?? "no expectation");
	}
	expect(status, stderr).toBe(0);
});

test.each(examples)("examples/%s is short enough to read at once", (file) => {
	const lines = readFileSync(new URL(`../examples/${file}`, import.meta.url), "utf8").split("\n");
	expect(lines.length).toBeLessThanOrEqual(41);
});
