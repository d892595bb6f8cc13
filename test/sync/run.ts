// `npm run test:long -- sync`: random histories at length. Exits with 1 on any fault.
// `npx tsx test/sync/run.ts 40 7` plays 40 histories of each kind, from seed 7 on.
import { crms, faultsIn, kinds, playHistory } from "./histories.ts";

const [count = "100", first = "1"] = process.argv.slice(2);
let played = 0;
let faulty = 0;
const limits: Record<string, number> = {};
for (const [name, kind] of Object.entries(kinds)) {
	const began = performance.now();
	let largest = 0;
	const found: string[] = [];
	for (const crm of crms) {
		for (let i = 0; i < Number(count); i++) {
			const seed = Number(first) + i * crms.length + crms.indexOf(crm);
			const findings = await playHistory({ kind, seed, crm });
			largest = Math.max(largest, findings.largest);
			for (const [limit, count] of Object.entries(findings.limits)) limits[limit] = (limits[limit] ?? 0) + count;
			const faults = faultsIn(findings);
			if (Object.keys(faults).length > 0) found.push(`seed ${seed}, ${crm}: ${JSON.stringify(faults)}`);
			played++;
		}
	}
	faulty += found.length;
	const seconds = ((performance.now() - began) / 1_000).toFixed(1);
	const note = `largest checkpoint ${(largest / 1_000).toFixed(1)} kB`;
	console.log(`${found.length === 0 ? "pass" : "FAIL"}  ${name.padEnd(48)} ${seconds.padStart(6)} s  ${note}`);
	for (const line of found.slice(0, 5)) console.log(`      ${line}`);
}
console.log(`${played} histories, ${faulty} with a fault`);
for (const [limit, count] of Object.entries(limits)) console.log(`${String(count).padStart(8)}  ${limit}`);
process.exitCode = faulty > 0 ? 1 : 0;
