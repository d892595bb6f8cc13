import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What each example must print. An example that is missing here fails. */
const told: Record<string, string> = {
	"effect.ts": "Anna\nno conversation\nnot asked: ",
	"lookup.ts": [
		"0470/12.34.56: last wrote 2026-01-05T09:00:00.000Z",
		"+32 (0)470 12 34 56: last wrote 2026-01-05T09:00:00.000Z",
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
		"to: must be one phone number",
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

test.each(examples)(
	"examples/%s runs without a key, and says what it should",
	(file) => {
		const said = execFileSync(process.execPath, ["--import", "tsx", `examples/${file}`], {
			cwd: root,
			encoding: "utf8",
			timeout: 60_000,
		});
		expect(said).toContain(told[file] ?? "no expectation");
	},
	90_000,
);

test.each(examples)("examples/%s is short enough to read at once", (file) => {
	const lines = readFileSync(new URL(`../examples/${file}`, import.meta.url), "utf8").split("\n");
	expect(lines.length).toBeLessThanOrEqual(41);
});
