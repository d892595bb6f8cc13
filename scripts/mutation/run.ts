// Mutation testing: changes one thing at a time in a module and expects its tests to fail. By hand, as it takes minutes:
// npm run test:mutation [-- module …]. The reports stand in reports/mutation.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What is mutated, and by which tests alone it is to be held: the module's own, so that a mutant takes seconds. */
const testsOf: Readonly<Record<string, readonly string[]>> = {
	"client-options": ["test/client-options.test.ts", "test/client.test.ts", "test/input"],
	errors: ["test/errors.test.ts", "test/http"],
	"http/abort": ["test/http/abort.test.ts", "test/http/attempt.test.ts", "test/http/retry.test.ts"],
	"http/attempt": ["test/http/attempt.test.ts", "test/http/fetch-exchange.test.ts"],
	"http/classify": ["test/http"],
	"http/diagnose": ["test/http/diagnose.test.ts", "test/http/node-exchange.test.ts"],
	"http/endpoint": ["test/http/endpoint.test.ts", "test/contract.test.ts"],
	"http/failure": ["test/http/failure.test.ts", "test/http/classify.test.ts"],
	"http/fetch-exchange": ["test/http", "test/client-options.test.ts"],
	"http/node-agents": ["test/http/node-agents.test.ts", "test/http/node-exchange.test.ts"],
	"http/node-exchange": ["test/http/node-exchange.test.ts", "test/http/node-agents.test.ts"],
	"http/node-headers": ["test/http/node-headers.test.ts", "test/http/node-exchange.test.ts"],
	"http/request": ["test/http/request.test.ts", "test/operations/request.test.ts"],
	"http/retry": ["test/http/retry.test.ts"],
	"http/transport": ["test/http", "test/observe", "test/faults/rows.test.ts"],
	"input/call-options": ["test/input", "test/operations"],
	"input/connection": ["test/faults/security.test.ts", "test/input"],
	"input/operation-id": ["test/input/operation-id.test.ts", "test/operations/messages.test.ts"],
	"input/phone": ["test/input"],
	"input/phone-text": ["test/input"],
	"input/phone-plan": ["test/input"],
	"input/phone-single": ["test/input"],
	"input/recent": ["test/input/recent.test.ts"],
	"input/recipients": ["test/input", "test/client-options.test.ts", "test/operations/messages.test.ts"],
	"input/validate": ["test/input", "test/operations", "test/client.test.ts", "test/client-options.test.ts"],
	"observe/attempt-event": ["test/observe/attempt-event.test.ts"],
	"observe/contract-drift": ["test/observe/contract-drift.test.ts"],
	"observe/defined": ["test/observe/defined.test.ts", "test/observe/trace.test.ts"],
	"observe/ignore-errors": ["test/observe/ignore-errors.test.ts"],
	"observe/redact": ["test/faults/security.test.ts", "test/observe"],
	"observe/trace": ["test/observe/trace.test.ts"],
	"operations/call": ["test/operations/call.test.ts", "test/operations/lookup.test.ts"],
	"operations/conversations": ["test/operations"],
	"operations/lookup": ["test/operations", "test/input/validate.test.ts"],
	"operations/lookup-entries": ["test/operations", "test/input/validate.test.ts"],
	"operations/messages": ["test/operations", "test/http/classify.test.ts"],
	"operations/pagination": ["test/operations", "test/http/failure.test.ts"],
	"operations/request": ["test/operations/request.test.ts"],
	"operations/window": ["test/operations/window.test.ts"],
};
const leastScore = 90;

interface Report {
	files: Record<string, { mutants: { status: string }[] }>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const stryker = fileURLToPath(new URL("node_modules/.bin/stryker", import.meta.url));

const reportOf = (module: string) => module.replaceAll("/", "-");

function mutate(module: string): { caught: number; missed: number } {
	const tests = testsOf[module];
	if (tests === undefined) throw new Error(`no such module: ${module}; there are ${Object.keys(testsOf).join(", ")}`);
	const env = {
		...process.env,
		MUTATED_MODULE: module,
		MUTATION_REPORT: reportOf(module),
		MUTATION_TESTS: tests.join(" "),
	};
	const { status } = spawnSync(stryker, ["run", "scripts/mutation/stryker.config.js"], {
		cwd: root,
		env,
		stdio: "inherit",
	});
	if (status !== 0) throw new Error(`${module}: no result`);
	const report: Report = JSON.parse(readFileSync(`${root}/reports/mutation/${reportOf(module)}.json`, "utf8"));
	const ends = Object.values(report.files).flatMap(({ mutants }) => mutants.map((mutant) => mutant.status));
	const count = (...kinds: string[]) => ends.filter((end) => kinds.includes(end)).length;
	return { caught: count("Killed", "Timeout"), missed: count("Survived", "NoCoverage") };
}

const chosen = process.argv.slice(2);
const rows = (chosen.length > 0 ? chosen : Object.keys(testsOf)).map((module) => ({ module, ...mutate(module) }));
const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0);
const all = { module: "all", caught: sum(({ caught }) => caught), missed: sum(({ missed }) => missed) };
const score = ({ caught, missed }: typeof all) => (100 * caught) / (caught + missed);
console.table([...rows, all].map((row) => ({ ...row, score: score(row).toFixed(1) })));
if (score(all) < leastScore) process.exitCode = 1;
