import { expect, test } from "vitest";
import { nodeFetch } from "../../src/node.ts";
import { packageCaller } from "./caller.ts";
import { campaign } from "./campaign.ts";
import { faults } from "./faults.ts";
import { killed, oneSignal, outage, reads } from "./scenarios.ts";

const slow = { timeout: 60_000 };

test("the picker has at least 22 kinds of fault", () => {
	expect(new Set(faults.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(22);
});

test.for([
	["open", 0.3, 21],
	["closed", 0.3, 22],
	["open", 0, 23],
	["open", 0.5, 24],
] as const)(
	"no send is doubled, lost or misreported: window %s, fault rate %f, seed %i",
	slow,
	async ([window, rate, seed]) => {
		// Without faults every request must count, so a busy machine may take its time.
		const patience = rate === 0 ? { timeoutMs: 20_000, deadlineMs: 50_000 } : {};
		const report = await campaign({ makeCaller: packageCaller, seed, sends: 800, rate, window, ...patience });
		expect(report.violations).toEqual([]);
		if (rate === 0) expect([report.sent, report.requests]).toEqual([800, 800]);
		else expect(report.kindsPlayed).toBeGreaterThanOrEqual(22);
	},
);

test("no send is doubled, lost or misreported over nodeFetch", slow, async () => {
	const over = nodeFetch();
	const options = { makeCaller: packageCaller, seed: 28, sends: 800, rate: 0.3, over };
	const { violations, kindsPlayed } = await campaign(options);
	over.close();
	expect(violations).toEqual([]);
	expect(kindsPlayed).toBeGreaterThanOrEqual(22);
});

test("#35 sends that are aborted at random moments say truly what became of them", slow, async () => {
	const { violations, sent, unknown } = await campaign({
		makeCaller: packageCaller,
		seed: 25,
		sends: 400,
		rate: 0.3,
		abortWithinMs: 100,
		inFlight: 16,
	});
	expect(violations).toEqual([]);
	expect([sent > 0, unknown > 0]).toEqual([true, true]);
});

test("#39 in an outage 500 calls make at most 20 extra requests", slow, async () => {
	expect((await outage({ calls: 500, extra: 20 })).violations).toEqual([]);
});

test("reads and lookups under faults give the right data or a typed error", slow, async () => {
	expect((await reads({ seed: 26, calls: 600, rate: 0.3 })).violations).toEqual([]);
});

test("S34 10,000 calls on one long-lived signal hold one listener at a time and leave none", slow, async () => {
	expect((await oneSignal({ calls: 10_000 })).violations).toEqual([]);
});

test(
	"#40 a process that is killed in the middle resumes with the ids that it wrote down, and each text arrives once",
	slow,
	async () => {
		expect((await killed({ seed: 27, kills: 2, window: "open" })).violations).toEqual([]);
	},
);
