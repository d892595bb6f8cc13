import { beforeAll, expect, type onTestFinished, test } from "vitest";
import type { Transport } from "../../src/index.ts";
import { type Adapter, adapters, nodeTransport } from "../adapters.ts";
import { isLong } from "../length.ts";
import { packageCaller } from "./caller.ts";
import { campaign, timers, timersOver } from "./campaign.ts";
import { faults } from "./faults.ts";
import { killed, oneSignal, outage, reads } from "./scenarios.ts";

/** Shorter time-outs, or more calls at once, would cut honest answers on a busy machine. */
const unhurried = { timeoutMs: 1500, deadlineMs: 8000, inFlight: isLong ? 24 : 8, sharesTimers: true };

const transportOf = (adapter: Adapter, onFinished?: typeof onTestFinished): { over?: Transport } =>
	adapter === "fetch" ? {} : { over: nodeTransport({}, onFinished) };

test("the picker has at least 22 kinds of fault", () => {
	expect(new Set(faults.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(22);
});

type Round = readonly ["open" | "closed", rate: number, seed: number, Adapter, sends: number];
const rounds: readonly Round[] = isLong
	? [
			["open", 0.3, 21, "fetch", 800],
			["closed", 0.3, 22, "fetch", 800],
			["open", 0.5, 24, "fetch", 800],
			["open", 0.3, 28, "nodeHttp", 800],
			["closed", 0.3, 29, "nodeHttp", 800],
		]
	: [
			["open", 0.5, 24, "fetch", 120],
			["closed", 0.3, 22, "fetch", 160],
			["open", 0.3, 28, "nodeHttp", 160],
			["closed", 0.5, 29, "nodeHttp", 120],
		];

test("without faults each send is one request", async () => {
	const sends = isLong ? 800 : 100;
	const patience = { timeoutMs: 60_000, deadlineMs: 120_000 };
	const report = await campaign({ makeCaller: packageCaller, seed: 23, sends, rate: 0, ...patience });
	expect(report.violations).toEqual([]);
	expect([report.sent, report.requests]).toEqual([sends, sends]);
});

let timersBefore = 0;
beforeAll(() => {
	timersBefore = timers();
});

// Campaigns mostly wait: for time-outs, and for what Retry-After asks. So short ones run at the same time.
const testTogether = isLong ? test : test.concurrent;

testTogether.for(rounds)(
	"S36 no send is doubled, lost or misreported: window %s, fault rate %f, seed %i, over %s",
	async ([window, rate, seed, adapter, sends], { expect, onTestFinished }) => {
		const options = { seed, sends, rate, window, ...unhurried, ...transportOf(adapter, onTestFinished) };
		const report = await campaign({ makeCaller: packageCaller, ...options });
		expect(report.violations).toEqual([]);
		expect(report.kindsPlayed).toBeGreaterThanOrEqual(22);
	},
);

testTogether.for(adapters)(
	"#35 sends that are aborted at random say truly what became of them (%s)",
	async (adapter, { expect, onTestFinished }) => {
		const { violations, sent, unknown } = await campaign({
			makeCaller: packageCaller,
			seed: 25,
			sends: isLong ? 400 : 96,
			rate: 0.3,
			abortWithinMs: 100,
			...unhurried,
			...transportOf(adapter, onTestFinished),
		});
		expect(violations).toEqual([]);
		expect([sent > 0, unknown > 0]).toEqual([true, true]);
	},
);

testTogether.for(adapters)(
	"reads under faults give the right data or a typed error (%s)",
	async (adapter, { expect, onTestFinished }) => {
		const calls = isLong ? 600 : 120;
		expect(
			(await reads({ seed: 26, calls, rate: 0.3, ...unhurried, ...transportOf(adapter, onTestFinished) })).violations,
		).toEqual([]);
	},
);

test("the campaigns that ran at the same time left no timer", async () => {
	expect(await timersOver(timersBefore)).toBe(0);
});

test.for(adapters)("#39 in an outage many calls make at most 20 extra requests (%s)", async (adapter) => {
	const calls = isLong ? 500 : 60;
	expect((await outage({ calls, extra: 20, ...transportOf(adapter) })).violations).toEqual([]);
});

test.for(adapters)("S34 many calls on one signal hold one listener at a time and leave none (%s)", async (adapter) => {
	const calls = isLong ? 10_000 : 200;
	expect((await oneSignal({ calls, ...transportOf(adapter) })).violations).toEqual([]);
});

test("#40 a process that is killed in the middle resumes with the ids that it wrote down, and each text arrives once", async () => {
	expect((await killed({ seed: 27, kills: 2, window: "open" })).violations).toEqual([]);
});
