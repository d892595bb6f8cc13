/**
 * What importing the built main entry adds to a bare node, in processor time: the best of several rounds, because a busy
 * machine adds to each. Fails over its budget, a share of what node itself takes to start. A quiet machine shows 0.3, a busy
 * one up to 0.7. The budget catches a library that loads a hundred files.
 *
 *   npm run build && npx tsx scripts/import-time.ts
 */
import { execFileSync } from "node:child_process";

const budget = 1;
const entry = new URL("../dist/index.js", import.meta.url);
const script = "const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)";
const bare: number[] = [];
const loaded: number[] = [];

// In turn, because the speed of the machine drifts.
for (let round = 0; round < 15; round++) {
	bare.push(run(script));
	loaded.push(run(`await import(${JSON.stringify(entry)}); ${script}`));
}
const added = Math.min(...loaded) - Math.min(...bare);
const share = added / Math.min(...bare);
console.log(`import ${added.toFixed(1)} ms over bare node, ${share.toFixed(2)} of its own time, at most ${budget}`);
if (!(share <= budget)) process.exitCode = 1;

function run(code: string): number {
	return Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
}
