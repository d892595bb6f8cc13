/**
 * `npm run test:long -- runtimes`: the package as users get it, in each runtime, compiler and bundler that it is meant for.
 * Prints a table, ends with 1 if something failed, and leaves nothing behind. `npx tsx scripts/runtimes/run.ts bun gc`
 * tries some of them: node, bun, deno, workerd, typescript, bundlers, msw, gc and chromium. Install their packages first:
 * `npx tsx scripts/install.ts scripts/runtimes`. With `--short`, which `.ci/run` uses, Bun, Deno and workerd run one form
 * each of the package as it was built. For Linux on x64, whose runtimes npm brings.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleTrials } from "./bundle.ts";
import { chromiumTrials } from "./chromium.ts";
import { compilerTrials } from "./compilers.ts";
import { buildAndPack, createConsumer, packAsBuilt, startService } from "./consumer.ts";
import { engineTrials } from "./engines.ts";
import { gcTrials } from "./gc.ts";
import { type Row, rowOf } from "./row.ts";
import { stackTrials } from "./stacks.ts";
import { workerdTrials } from "./workerd.ts";

const isShort = process.argv.includes("--short");
const asked = process.argv
	.slice(2)
	.filter((word) => word !== "--short")
	.map((word) => word.toLowerCase());
const work = mkdtempSync(join(tmpdir(), "runtimes-"));
const rows: Row[] = [];
let stop = () => {};
process.once("exit", () => {
	stop();
	rmSync(work, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const tarball = await (isShort ? packAsBuilt(work) : buildAndPack(work));
const consumer = await createConsumer(work, tarball, [
	"msw",
	"@types/node",
	"@cloudflare/workers-types",
	"@electric-sql/pglite",
]);
const service = await startService(consumer);
stop = service.close;
const trials = [
	...engineTrials(consumer, service),
	...stackTrials(consumer),
	...workerdTrials(consumer, service),
	...compilerTrials(consumer),
	...bundleTrials(consumer, service),
	...gcTrials(consumer),
	...chromiumTrials(consumer),
];
for (const trial of trials) {
	if (isShort && !trial.short) continue;
	const names = [trial.group, trial.runtime.toLowerCase()];
	if (asked.length > 0 && !asked.some((word) => names.some((name) => name.startsWith(word)))) continue;
	const row = await rowOf(trial);
	rows.push(row);
	console.log(`${row.runtime.padEnd(28)} ${row.form.padEnd(44)} ${row.result}`);
	if (row.result !== "ok") console.log(row.note.replace(/^/gm, "    "));
}
stop();

// In CI, what was not tried counts as failed.
const failed = rows.filter(({ result }) => result === "failed" || (process.env.CI && result === "not run"));
console.log(`\n| runtime | form | result |\n| --- | --- | --- |`);
for (const { runtime, form, result } of rows) console.log(`| ${runtime} | ${form} | ${result} |`);
console.log(`\n${rows.length - failed.length} of ${rows.length} without a failure`);
if (rows.length === 0 || failed.length > 0) process.exitCode = 1;
