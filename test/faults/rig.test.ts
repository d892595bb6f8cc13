import { expect, test } from "vitest";
import type { Exchange } from "../../src/index.ts";
import { type Adapter, adapters, nodeExchange } from "../adapters.ts";
import { packageCaller } from "./caller.ts";
import { campaign } from "./campaign.ts";
import { faults } from "./faults.ts";
import { killed, oneSignal, outage, reads } from "./scenarios.ts";

const slow = { timeout: 180_000 };

const exchangeOf = (adapter: Adapter): { over?: Exchange } => (adapter === "fetch" ? {} : { over: nodeExchange() });

test("the picker has at least 22 kinds of fault", () => {
	expect(new Set(faults.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(22);
});

test.for([
	["open", 0.3, 21, "fetch"],
	["closed", 0.3, 22, "fetch"],
	["open", 0, 23, "fetch"],
	["open", 0.5, 24, "fetch"],
	["open", 0.3, 28, "nodeHttp"],
	["closed", 0.3, 29, "nodeHttp"],
] as const)(
	"no send is doubled, lost or misreported: window %s, fault rate %f, seed %i, over %s",
	slow,
	async ([window, rate, seed, adapter]) => {
		// Without faults every request must count, so a busy machine may take its time.
		const patience = rate === 0 ? { timeoutMs: 20_000, deadlineMs: 50_000 } : {};
		const over = exchangeOf(adapter);
		const report = await campaign({ makeCaller: packageCaller, seed, sends: 800, rate, window, ...patience, ...over });
		expect(report.violations).toEqual([]);
		if (rate === 0) expect([report.sent, report.requests]).toEqual([800, 800]);
		else expect(report.kindsPlayed).toBeGreaterThanOrEqual(22);
	},
);

test.for(adapters)("#35 sends that are aborted at random say truly what became of them (%s)", slow, async (adapter) => {
	const { violations, sent, unknown } = await campaign({
		makeCaller: packageCaller,
		seed: 25,
		sends: 400,
		rate: 0.3,
		abortWithinMs: 100,
		inFlight: 16,
		...exchangeOf(adapter),
	});
	expect(violations).toEqual([]);
	expect([sent > 0, unknown > 0]).toEqual([true, true]);
});

test.for(adapters)("#39 in an outage 500 calls make at most 20 extra requests (%s)", slow, async (adapter) => {
	expect((await outage({ calls: 500, extra: 20, ...exchangeOf(adapter) })).violations).toEqual([]);
});

test.for(adapters)("reads under faults give the right data or a typed error (%s)", slow, async (adapter) => {
	expect((await reads({ seed: 26, calls: 600, rate: 0.3, ...exchangeOf(adapter) })).violations).toEqual([]);
});

test.for(adapters)(
	"S34 10,000 calls on one signal hold one listener at a time and leave none (%s)",
	slow,
	async (adapter) => {
		expect((await oneSignal({ calls: 10_000, ...exchangeOf(adapter) })).violations).toEqual([]);
	},
);

test(
	"#40 a process that is killed in the middle resumes with the ids that it wrote down, and each text arrives once",
	slow,
	async () => {
		expect((await killed({ seed: 27, kills: 2, window: "open" })).violations).toEqual([]);
	},
);
