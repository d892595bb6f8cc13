// `npm run test:long -- outbox-rules`: takes one rule after the other out of a copy of the outbox, and shows which tests notice.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A rule, and what the code is without it. */
const rules: [rule: string, file: string, code: string, without: string][] = [
	[
		"read before retry",
		"src/outbox/retry.ts",
		"return tries > 0 && doubts < quickTries && now - firstTriedAt < minuteMs && openFor(baseline, now) > marginMs;",
		"return tries > 0;",
	],
	[
		"the same id at once only while the window is surely open",
		"src/outbox/retry.ts",
		"const marginMs = 20 * minuteMs;",
		"const marginMs = Number.NEGATIVE_INFINITY;",
	],
	[
		"the settling time after a request",
		"src/outbox/retry.ts",
		"return triedAt === null || now - triedAt >= settleMs;",
		"return true;",
	],
	["a template that went out is a trace", "src/outbox/reading.ts", 'kind: isAsked ? "asked" : "none"', 'kind: "none"'],
	[
		"another text in the queue is a trace",
		"src/outbox/lane.ts",
		'return isSettled(text, rules, now) ? ended("unclear") : untilSettled(text, rules);',
		"return ifNothing(text, rules, now);",
	],
	[
		"the pauses between requests without a known end",
		"src/outbox/retry.ts",
		"if (!isWaiting || now >= until) return undefined;",
		"return undefined;",
	],
	[
		"too many requests without a known end are left to a person",
		"src/outbox/retry.ts",
		"return doubts >= mostDoubts;",
		"return doubts > 1_000;",
	],
	["no request after notAfter", "src/outbox/retry.ts", "return notAfter !== null && now > notAfter;", "return false;"],
	[
		"a text that may be held keeps its lane while it is hidden",
		"src/outbox/lane.ts",
		"if (wait === undefined && now >= heldUntil)",
		"if (wait === undefined)",
	],
	[
		"a reading older than 10 s is read again",
		"src/outbox/step.ts",
		"const freshMs = 10_000;",
		"const freshMs = Number.POSITIVE_INFINITY;",
	],
	[
		"a held text keeps the next one back",
		"src/outbox/step.ts",
		"const next = replacing(first, others, rules);",
		'if (first?.state === "held") return others.find(({ state }) => state === "waiting") ?? first;\n\tconst next = replacing(first, others, rules);',
	],
	[
		"what waits in the queue is not replaced",
		"src/outbox/lane.ts",
		'return isBehind && rules.onHeld === "wait" ? lookAgain(text, rules, now) : "send";',
		'return "send";',
	],
	[
		"the mark before the request",
		"src/outbox/step.ts",
		"const begun = await write(context, text, beginning(text, baseline, rules, now()));",
		"const begun = { ...changed(text, beginning(text, baseline, rules, now()), now()) };",
	],
	[
		"a row is stored only as it was read",
		"test/outbox/memory.ts",
		"if (rows.get(text.id)?.version !== text.version) return false;",
		"",
	],
	[
		"messages of other texts, and older ones, are not this one",
		"src/outbox/step.ts",
		"const excluded = new Set([...(await store.claimed(text)), ...(baseline?.known ?? [])]);",
		"const excluded = new Set<string>();",
	],
	[
		"a refusal does not speak for an earlier try",
		"src/outbox/lane.ts",
		"if (tries > 1) return",
		"if (tries > 99) return",
	],
	[
		"the key, 403, 429 and outages refuse no text",
		"src/outbox/trouble.ts",
		'"refused" : "turned away";',
		'"refused" : "refused";',
	],
	[
		"an answer that cannot be used was an answer",
		"src/outbox/lane.ts",
		'if (text.progress.taken) return ended("unclear");',
		"",
	],
	[
		"the window decides whether a held text is sent again",
		"src/outbox/lane.ts",
		"if (answered && rules.onReply",
		"if (rules.onReply",
	],
	["the client's own retries are off", "src/outbox/step.ts", "{ retry: false, deadlineMs }", "{ deadlineMs }"],
	[
		"the operationId is that of the text",
		"src/outbox/step.ts",
		"operationId: await operationIdOf(text),",
		"operationId: crypto.randomUUID(),",
	],
];

const folder = mkdtempSync(join(tmpdir(), "outbox-rules-"));
for (const part of [
	"src",
	"generated",
	"openapi.json",
	"package.json",
	"tsconfig.json",
	"vitest.config.ts",
	"test/length.ts",
	"test/outbox",
]) {
	cpSync(join(root, part), join(folder, part), { recursive: true, filter: (path) => !path.includes("databases") });
}
symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));

let unnoticed = 0;
for (const [rule, file, code, without] of rules) {
	const path = join(folder, file);
	const text = readFileSync(path, "utf8");
	if (!text.includes(code)) throw new Error(`${file} has changed: ${code}`);
	writeFileSync(
		path,
		text.replace(code, () => without),
	);
	const failed = await failures();
	writeFileSync(path, text);
	if (failed.length === 0) unnoticed++;
	console.log(
		`${failed.length > 0 ? "noticed" : "MISSED "}  ${rule}\n         by ${failed.length}: ${failed[0] ?? "none"}`,
	);
}
const whole = await failures();
console.log(whole.length === 0 ? "With every rule all tests pass." : `With every rule: ${whole.join("; ")}`);
rmSync(folder, { recursive: true });
process.exit(unnoticed + whole.length > 0 ? 1 : 0);

/** The names of the tests that fail; that of the random histories last. */
async function failures(): Promise<string[]> {
	const vitest = join(root, "node_modules/vitest/vitest.mjs");
	const files = ["outbox", "doubt", "fate", "histories"].map((name) => `test/outbox/${name}.test.ts`);
	const flags = ["--typecheck.enabled=false", "--reporter=json", "--outputFile=result.json", "--testTimeout=20000"];
	const child = spawn(process.execPath, [vitest, "run", ...files, ...flags], {
		cwd: folder,
		stdio: "ignore",
		detached: true,
	});
	// A lane that never rests keeps a process of the runner busy for ever: the whole group is ended.
	const patience = setTimeout(() => process.kill(-(child.pid ?? Number.NaN), "SIGKILL"), 120_000);
	await once(child, "exit");
	clearTimeout(patience);
	if (!existsSync(join(folder, "result.json"))) return ["the tests do not come to an end"];
	const { testResults } = JSON.parse(readFileSync(join(folder, "result.json"), "utf8"));
	rmSync(join(folder, "result.json"));
	return testResults
		.flatMap(({ assertionResults }: { assertionResults: { status: string; title: string }[] }) => assertionResults)
		.filter(({ status }: { status: string }) => status === "failed")
		.map(({ title }: { title: string }) => title);
}
