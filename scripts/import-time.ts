/**
 * What loading the built main entry adds to a bare node, in time of its processor: the best of several rounds, as a busy
 * machine adds to each and never takes away. Fails over its budget, a share of what bare node itself takes to start, so
 * that a slow machine fails no sooner than a fast one.
 */
import { execFileSync } from "node:child_process";

const dist = new URL("../dist/", import.meta.url).pathname;
const rounds = 21;
/** 20 ms where bare node takes 40. */
const budget = 0.5;

const ways = {
	"bare import": ["--input-type=module", ""],
	import: ["--input-type=module", `await import(${JSON.stringify(`${dist}index.js`)});`],
	"bare require": ["--input-type=commonjs", ""],
	require: ["--input-type=commonjs", `require(${JSON.stringify(`${dist}index.cjs`)});`],
};
const times = new Map<string, number[]>();

// In turn, as the machine's own pace drifts.
for (let round = 0; round < rounds; round++) {
	for (const [name, [kind = "", code = ""]] of Object.entries(ways)) {
		const script = `${code} const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)`;
		const ms = Number(execFileSync(process.execPath, [kind, "-e", script], { encoding: "utf8" }));
		times.set(name, [...(times.get(name) ?? []), ms]);
	}
}

for (const name of ["import", "require"]) {
	const bare = best(`bare ${name}`);
	const added = best(name) - bare;
	const share = added / bare;
	const shown = `${added.toFixed(1).padStart(5)} ms over bare node, ${share.toFixed(2)} of its own ${bare.toFixed(1)}`;
	console.log(`${name.padEnd(8)} ${shown}, at most ${budget}`);
	if (!(share <= budget)) process.exitCode = 1;
}

function best(name: string): number {
	return Math.min(...(times.get(name) ?? []));
}
