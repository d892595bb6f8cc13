// `npm run test:outbox:rules`: takes one rule after the other out of the outbox, and shows that the histories notice.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A rule, and what the code is without it. */
const rules: [rule: string, file: string, code: string, without: string][] = [
	[
		"read before retry",
		"src/outbox/lane.ts",
		"return tries > 0 && tries < quickTries && now - firstTriedAt < minuteMs && openFor(baseline, now) > marginMs;",
		"return tries > 0;",
	],
	[
		"the same id at once only while the window is surely open",
		"src/outbox/lane.ts",
		"const marginMs = 20 * minuteMs;",
		"const marginMs = Number.NEGATIVE_INFINITY;",
	],
	[
		"a text that was held is read about, whatever the window",
		"src/outbox/lane.ts",
		"if (taken || refused || queueId !== null || firstTriedAt",
		"if (taken || refused || firstTriedAt",
	],
	[
		"the settling time after a request",
		"src/outbox/lane.ts",
		"return triedAt === null || now - triedAt >= settleMs;",
		"return true;",
	],
	[
		"a template that went out is a trace",
		"src/outbox/fate.ts",
		'return { kind: "asked" };',
		'return { kind: "none" };',
	],
	[
		"another text in the queue is a trace",
		"src/outbox/lane.ts",
		'return isSettled(text, rules, now) ? ended("replaced") : untilSettled(text, rules);',
		"return ifNothing(text, rules, now);",
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
		'return queue.length > 0 && rules.onHeld === "wait" ? lookAgain(text, rules, now) : "send";',
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
		"const excluded = new Set([...claimed, ...(baseline?.known ?? [])]);",
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

const runs = process.argv[2] ?? "3000";
let unnoticed = 0;
for (const [rule, file, code, without] of rules) {
	const said = await runWithout(file, code, without);
	const [, histories = "?", reason = said] = /FAIL {2}(\d+) histories.*\n(.*)/.exec(said) ?? [];
	const isNoticed = said.startsWith("FAIL");
	if (!isNoticed) unnoticed++;
	console.log(
		`${isNoticed ? "noticed" : "MISSED "}  ${rule.padEnd(62)} ${isNoticed ? `after ${histories}: ${reason.slice(0, 90)}` : ""}`,
	);
}
process.exit(unnoticed > 0 ? 1 : 0);

/** Runs the histories on a bundle in which a piece of code is another. */
async function runWithout(file: string, code: string, without: string): Promise<string> {
	const folder = mkdtempSync(join(tmpdir(), "outbox-rules-"));
	let isReplaced = false;
	const taking: Plugin = {
		name: "taking-out",
		setup({ onLoad }) {
			onLoad({ filter: /(src|test)\/outbox\/.*\.ts$/ }, async ({ path }) => {
				const { readFile } = await import("node:fs/promises");
				const text = await readFile(path, "utf8");
				if (!path.endsWith(file)) return { contents: text, loader: "ts" };
				isReplaced = text.includes(code);
				return { contents: text.replace(code, () => without), loader: "ts" };
			});
		},
	};
	const outfile = join(folder, "run.mjs");
	await build({
		absWorkingDir: root,
		entryPoints: ["test/outbox/run.ts"],
		bundle: true,
		platform: "node",
		format: "esm",
		outfile,
		tsconfig: "tsconfig.json",
		plugins: [taking],
		logLevel: "error",
	});
	if (!isReplaced) throw new Error(`${file} has changed: ${code}`);
	try {
		return execFileSync(process.execPath, [outfile, runs, "5"], {
			encoding: "utf8",
			timeout: 300_000,
			stdio: ["ignore", "pipe", "ignore"],
		});
	} catch (error) {
		return String(Reflect.get(Object(error), "stdout"));
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
