/**
 * `npm run test:long`: every test at full length, one part after the other. It takes hours. `npm run test:long -- faults
 * sync` runs some parts. With TEST_LONG=1, which this script sets, a test plays all of what `npm test` plays a part of.
 */
import { spawnSync } from "node:child_process";

const parts: Readonly<Record<string, string>> = {
	suite: "vitest run",
	faults: "tsx test/faults/run.ts",
	sync: "tsx test/sync/run.ts",
	outbox: "tsx test/outbox/run.ts",
	"outbox-rules": "tsx test/outbox/rules.ts",
	databases: "npm run test:databases",
	examples: "npm run test:examples",
	recipes: "tsx scripts/install.ts examples/apps examples/recipes && npm --prefix examples/recipes run test:packed",
	page: "npm run test:page",
	soak: "node --expose-gc --import tsx test/faults/soak.ts",
	next: "tsx scripts/next/run.ts",
	runtimes: "tsx scripts/install.ts scripts/runtimes && tsx scripts/runtimes/run.ts",
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) throw new Error(`unknown part ${unknown.join(", ")}: use ${Object.keys(parts).join(", ")}`);

const failed: string[] = [];
for (const [name, command] of Object.entries(parts)) {
	if (asked.length > 0 && !asked.includes(name)) continue;
	console.log(`\n== ${name}: ${command}`);
	const began = performance.now();
	const { status } = spawnSync(command, { shell: true, stdio: "inherit", env: { ...process.env, TEST_LONG: "1" } });
	console.log(
		`== ${name}: ${status === 0 ? "passed" : "failed"} in ${((performance.now() - began) / 1000).toFixed(0)} s`,
	);
	if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
	console.error(`failed: ${failed.join(", ")}`);
	process.exitCode = 1;
}
