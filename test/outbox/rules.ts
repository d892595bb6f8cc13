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
		"src/outbox/requests.ts",
		"return age >= 0 && age < minuteMs && openFor(baseline, now) > marginMs;",
		"return true;",
	],
	[
		"the same id at once only while the window is surely open",
		"src/outbox/requests.ts",
		"const marginMs = 20 * minuteMs;",
		"const marginMs = Number.NEGATIVE_INFINITY;",
	],
	[
		"the settling time after a request",
		"src/outbox/requests.ts",
		"return at === undefined || now - at >= settleMs;",
		"return true;",
	],
	["a template that went out is a sign", "src/outbox/match.ts", 'kind: isAsked ? "asked" : "none"', 'kind: "none"'],
	[
		"another text in the queue is a sign",
		"src/outbox/decide.ts",
		'if (match.kind === "none" || wasSurelyOpen(text)) return ifNothing(text, true, rules, now);',
		"if (Number(1) === 1) return ifNothing(text, true, rules, now);",
	],
	[
		"too many requests without a known result are left to a person",
		"src/outbox/requests.ts",
		"return lostOf(text).length >= mostLost || isBlocked(text);",
		"return lostOf(text).length > 1_000;",
	],
	[
		"no request after notAfter or defaultMaxAgeMs",
		"src/outbox/requests.ts",
		"return notAfter ?? Math.max(createdAt, notBefore ?? 0) + defaultMaxAgeMs;",
		"return Number.POSITIVE_INFINITY;",
	],
	[
		"a text that may be held keeps its queue while it is hidden",
		"src/outbox/decide.ts",
		"if (wait === undefined && now >= heldUntil)",
		"if (wait === undefined)",
	],
	[
		"a reading older than 10 s is read again",
		"src/outbox/work/send.ts",
		"freshMs + 1 - ageMs",
		"Number.POSITIVE_INFINITY",
	],
	[
		"the attempt record before the request",
		"src/outbox/work/send.ts",
		'return write(context, text, begun, { unlessStopped: text.state === "waiting", isBegin: true });',
		"return changed(text, begun, now());",
	],
	[
		"a row is stored only as it was read",
		"test/outbox/memory.ts",
		"if (rows.get(text.id)?.version !== text.version) return false;",
		"",
	],
	[
		"messages of other texts, and older ones, are not this one",
		"src/outbox/match.ts",
		"!claimed.has(storableId(messageSid))",
		"true",
	],
	[
		"a refusal does not speak for an earlier try",
		"src/outbox/work/send.ts",
		"if (pendingOf(text).length > 1)\n\t\treturn { nextAt: now(), progress:",
		"if (pendingOf(text).length > 99)\n\t\treturn { nextAt: now(), progress:",
	],
	[
		"the key, 403, 429 and outages refuse no text",
		"src/outbox/work/send.ts",
		'const isRefused = error._tag === "PartnerBadRequest" || error._tag === "PartnerInvalidInput";',
		"const isRefused = true;",
	],
	[
		"an answer that cannot be used was an answer",
		"src/outbox/decide.ts",
		'if (pending.some(({ end }) => end === "accepted")) return ended("unknown", "ambiguous");',
		"",
	],
	[
		"an answer of the contact decides whether a held text is sent again",
		"src/outbox/decide.ts",
		"if (!isAnswered(match, rules.settleMs, ...serviceNow(match.reading, text, now))) return false;",
		"",
	],
	["the client's own retries are off", "src/outbox/work/send.ts", "{ retry: false, deadline,", "{ deadline,"],
	[
		"the operationId is that of the text",
		"src/outbox/work/send.ts",
		"operationId: await operationIdOf(text, outboxId),",
		"operationId: crypto.randomUUID(),",
	],
	[
		"declined means stop",
		"src/outbox/work/write.ts",
		"const facts = isNewState ? factsFrom(next, now()) : undefined;",
		"const facts = undefined;",
	],
	[
		"a decline counts although it is not known which text it was",
		"src/outbox/decide.ts",
		"const declinedAt = declinedSince(match, undefined, now);",
		"const declinedAt = undefined;",
	],
	[
		"cancelAll covers what is not committed yet",
		"src/outbox/cancel.ts",
		'await store.stop(whose, marks.erase ? "erase" : "cancelAll");',
		"",
	],
	[
		"a stop counts at the attempt record too",
		"src/outbox/work/send.ts",
		'{ unlessStopped: text.state === "waiting", isBegin: true }',
		"{ isBegin: true }",
	],
	[
		"a cancelled text is never sent again",
		"src/outbox/decide.ts",
		"if (wasAnswered || cancelRequested || isGivenUp(text)) return false;",
		"if (wasAnswered || isGivenUp(text)) return false;",
	],
	[
		"settings of the agency refuse no text",
		"src/outbox/work/send.ts",
		"if (!isSameSettings(grounds.settings, fresh) || (fresh && !canAsk(fresh, language))) {",
		"if (false) {",
	],
	["no time left means no request", "src/outbox/work/send.ts", "leftMs < 1 ||", ""],
];

/** The rules of the gate. Without one, the gate passes it by. */
for (const table of ["waiting", "sending", "held", "requested", "shared"]) {
	const file = `src/outbox/gate/${table}.ts`;
	for (const part of readFileSync(join(root, file), "utf8").split(/(?=\n\t+name: ")/)) {
		const [name, rule] = [/name: "(\w+)"/, /^\n\t+name: [\s\S]*?\n\t+concerns: /].map((each) =>
			each.exec(part)?.at(-1),
		);
		if (rule) rules.push([`gate, ${table}: ${name}`, file, rule, `${rule}() => false,\n\t\tasked: `]);
	}
}

const folder = mkdtempSync(join(tmpdir(), "outbox-rules-"));
for (const part of [
	"src",
	"generated",
	"openapi.json",
	"package.json",
	"tsconfig.json",
	"vitest.config.ts",
	"test/length.ts",
	"test/patience.ts",
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
	const files = ["rules", "rules-requested", "outbox", "doubt", "delivery", "safe-defaults", "histories"].map(
		(name) => `test/outbox/${name}.test.ts`,
	);
	const flags = ["--typecheck.enabled=false", "--reporter=json", "--outputFile=result.json", "--testTimeout=20000"];
	const child = spawn(process.execPath, [vitest, "run", ...files, ...flags], {
		cwd: folder,
		stdio: "ignore",
		detached: true,
	});
	// A queue that never rests would keep a process of the runner busy for ever, so the whole group is ended.
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
