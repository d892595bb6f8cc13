// Mutation testing: changes one thing at a time in a module and expects its tests to fail. By hand, as it takes minutes:
// npm run test:mutation [-- module …]. The reports are in reports/mutation.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What is mutated, and by which tests alone it is to be held: the module's own, so that a mutant takes seconds. */
const testsOf: Readonly<Record<string, readonly string[]>> = {
	"client/client-options": [
		"test/client/options.test.ts",
		"test/client/call-options.test.ts",
		"test/client/connection.test.ts",
		"test/client/features.test.ts",
		"test/client/validate.test.ts",
		"test/client/client.test.ts",
	],
	"shared/validation": [
		"test/client/options.test.ts",
		"test/client/call-options.test.ts",
		"test/client/validate.test.ts",
		"test/client/request.test.ts",
		"test/client/messages.test.ts",
		"test/client/connection.test.ts",
		"test/outbox/store-checks.test.ts",
		"test/outbox/pauses.test.ts",
		"test/sync/input.test.ts",
		"test/sync/storable.test.ts",
		"test/positional.test.ts",
		"test/sandbox/controls.test.ts",
		"test/sandbox/control-routes.test.ts",
		"test/sandbox/policy.test.ts",
		"test/sandbox/contacts.test.ts",
		"test/sandbox/state.test.ts",
	],
	"client/errors": ["test/client"],
	"shared/signals": ["test/client/abort.test.ts"],
	"client/response": [
		"test/client/response.test.ts",
		"test/client/redact.test.ts",
		"test/client/outcome.test.ts",
		"test/client/diagnose.test.ts",
		"test/client/failure.test.ts",
		"test/client/endpoint.test.ts",
		"test/client/features.test.ts",
		"test/client/messages.test.ts",
		"test/client/options.test.ts",
		"test/client/node-connections.test.ts",
	],
	"client/network-fault": [
		"test/client/failure.test.ts",
		"test/client/outcome.test.ts",
		"test/client/connection.test.ts",
		"test/client/node-connections.test.ts",
	],
	"client/key": [
		"test/client/connection.test.ts",
		"test/client/control-flow.test.ts",
		"test/client/cached-key.test.ts",
	],
	"client/limit": ["test/client/attempt.test.ts", "test/client/abort.test.ts", "test/client/stopped.test.ts"],
	"client/report-attempt": ["test/client/events.test.ts", "test/client/execute.test.ts"],
	"client/facts": ["test/client/outcome.test.ts", "test/client/redact.test.ts"],
	"client/redact": ["test/client/redact.test.ts"],
	"client/call-state": [
		"test/client/outcome.test.ts",
		"test/client/events.test.ts",
		"test/client/features.test.ts",
		"test/client/retry-after.test.ts",
		"test/client/stopped.test.ts",
	],
	"client/endable": ["test/client"],
	"client/fetch-transport": [
		"test/client/fetch-transport.test.ts",
		"test/client/http-request.test.ts",
		"test/client/attempt.test.ts",
		"test/client/abort.test.ts",
		"test/client/stopped.test.ts",
		"test/client/outcome.test.ts",
		"test/client/features.test.ts",
		"test/client/diagnose.test.ts",
		"test/client/node-connections.test.ts",
		"test/client/options.test.ts",
		"test/client/connection.test.ts",
	],
	"client/node-transport": [
		"test/client/node-transport.test.ts",
		"test/client/node-agents.test.ts",
		"test/client/node-headers.test.ts",
		"test/client/node-connections.test.ts",
		"test/client/attempt.test.ts",
		"test/client/stopped.test.ts",
		"test/client/outcome.test.ts",
	],
	"client/retry": [
		"test/client/retry.test.ts",
		"test/client/retry-after.test.ts",
		"test/client/attempt.test.ts",
		"test/client/options.test.ts",
	],
	"client/execute": [
		"test/client/execute.test.ts",
		"test/client/attempt.test.ts",
		"test/client/outcome.test.ts",
		"test/client/retry.test.ts",
		"test/client/retry-after.test.ts",
		"test/client/events.test.ts",
		"test/client/stopped.test.ts",
		"test/client/trace.test.ts",
		"test/client/call.test.ts",
		"test/client/abort.test.ts",
		"test/client/features.test.ts",
		"test/client/cached-key.test.ts",
		"test/client/connection.test.ts",
		"test/client/redact.test.ts",
		"test/client/failure.test.ts",
		"test/client/pagination.test.ts",
		"test/client/node-connections.test.ts",
		"test/client/drift.test.ts",
		"test/client/request.test.ts",
		"test/client/http-request.test.ts",
		"test/client/conversations.test.ts",
		"test/client/response.test.ts",
	],
	"client/operation-id": ["test/client/operation-id.test.ts", "test/client/messages.test.ts"],
	"phone/phone": ["test/phone"],
	"phone/number": ["test/phone"],
	"phone/spelling": ["test/phone"],
	"phone/plan": ["test/phone"],
	"phone/two-numbers": ["test/phone"],
	"client/me": ["test/client/me.test.ts", "test/client/validate.test.ts"],
	"client/cached-key": ["test/client/cached-key.test.ts"],
	"client/recent": ["test/client/recent.test.ts"],
	"client/recipients": ["test/client/recipients.test.ts", "test/client/options.test.ts"],
	"client/attempt-event": ["test/client/events.test.ts"],
	"client/drift": ["test/client/drift.test.ts"],
	"client/trace": ["test/client/trace.test.ts"],
	"client/call": [
		"test/client/call.test.ts",
		"test/client/lookup.test.ts",
		"test/client/execute.test.ts",
		"test/client/features.test.ts",
		"test/stacks.test.ts",
	],
	"client/conversations": [
		"test/client/conversations.test.ts",
		"test/client/pagination.test.ts",
		"test/client/lookup.test.ts",
		"test/client/redact.test.ts",
		"test/client/validate.test.ts",
		"test/client/features.test.ts",
	],
	"client/lookup": ["test/client"],
	"client/messages": ["test/client/messages.test.ts", "test/client/response.test.ts", "test/client/redact.test.ts"],
	"client/pagination": ["test/client/pagination.test.ts", "test/client/features.test.ts", "test/client/redact.test.ts"],
	"client/request": ["test/client/request.test.ts"],
	"client/is-window-open": ["test/client/is-window-open.test.ts"],
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
