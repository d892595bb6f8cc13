// `npm run test:long -- faults`: the client's fault suite at full length. Prints a table and exits with 1 on any violation.
import type { Transport } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { packageCaller } from "./caller.ts";
import { type CampaignOptions, campaign } from "./campaign.ts";
import { killed, oneSignal, outage, reads, type Verdict } from "./scenarios.ts";

const seeds = [1, 2, 3] as const;

async function sends(options: Omit<CampaignOptions, "makeCaller">): Promise<Verdict> {
	const report = await campaign({ makeCaller: packageCaller, ...options });
	const { sent, notSent, unknown, unknownAtOnce, requests, kindsPlayed } = report;
	const share = ((100 * unknown) / report.sends).toFixed(2);
	const note = `${sent} sent, ${notSent} not_sent, ${unknown} unknown (${share} %; ${unknownAtOnce} at the first answer), ${requests} requests, ${kindsPlayed} kinds`;
	return { violations: report.violations, note };
}

async function overNode(run: (over: Transport) => Promise<Verdict>): Promise<Verdict> {
	const over = nodeHttp();
	const verdict = await run(over);
	over.close();
	return verdict;
}

const plan: readonly [name: string, run: () => Promise<Verdict>][] = [
	...seeds.flatMap((seed) =>
		(["open", "closed"] as const).map((window): [string, () => Promise<Verdict>] => [
			`10,000 sends, 30 % faults, seed ${seed}, window ${window}`,
			() => sends({ seed, sends: 10_000, rate: 0.3, window }),
		]),
	),
	...[0, 0.01, 0.05, 0.1, 0.5].map((rate): [string, () => Promise<Verdict>] => [
		`2,000 sends, ${rate * 100} % faults`,
		() => sends({ seed: 4, sends: 2000, rate, ...(rate === 0 && { timeoutMs: 20_000, deadlineMs: 50_000 }) }),
	]),
	[
		"1,000 sends, aborted at random",
		() => sends({ seed: 5, sends: 1000, rate: 0.3, abortWithinMs: 150, inFlight: 16 }),
	],
	[
		"10,000 sends, 30 % faults, over nodeHttp",
		() => overNode((over) => sends({ seed: 9, sends: 10_000, rate: 0.3, over })),
	],
	[
		"10,000 reads and lookups, 30 % faults, over nodeHttp",
		() => overNode((over) => reads({ seed: 10, calls: 10_000, rate: 0.3, over })),
	],
	["500 calls in an outage, at most 20 extra requests", () => outage({ calls: 500, extra: 20 })],
	[
		"500 calls in an outage, at most 20 extra requests, over nodeHttp",
		() => overNode((over) => outage({ calls: 500, extra: 20, over })),
	],
	["10,000 reads and lookups, 30 % faults", () => reads({ seed: 6, calls: 10_000, rate: 0.3 })],
	["10,000 calls on one signal", () => oneSignal({ calls: 10_000 })],
	["kill -9 in the middle, 10 times, window open", () => killed({ seed: 7, kills: 10, window: "open" })],
	["kill -9 in the middle, 10 times, window closed", () => killed({ seed: 8, kills: 10, window: "closed" })],
];

let passed = 0;
let failed = 0;
for (const [name, run] of plan) {
	const began = performance.now();
	const { violations, note } = await run();
	const seconds = ((performance.now() - began) / 1000).toFixed(1);
	if (violations.length === 0) passed++;
	else failed++;
	console.log(`${violations.length === 0 ? "pass" : "FAIL"}  ${name.padEnd(56)} ${seconds.padStart(6)} s  ${note}`);
	for (const { kind, detail } of violations.slice(0, 10)) console.log(`      ${kind}: ${detail}`);
	if (violations.length > 10) console.log(`      and ${violations.length - 10} more`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
