/* A fleet of agencies in one loop, in virtual time: who waits how long, and how many requests go out. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { randomFrom } from "../faults/random.ts";
import { isLong } from "../length.ts";
import { openFleet } from "./fleet.ts";

const second = 1_000;
const minute = 60 * second;

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

const seeds = isLong ? [1, 2, 3, 4, 5, 6] : [1];

/** What a fleet of 300 agencies has waited at 5 requests a second, in seconds and in order. */
interface Waits {
	active: number[];
	quiet: number[];
	requestsPerSecond: number;
}

/**
 * Plays a fleet in which 20 agencies are active.
 * @param pauseSeconds between two messages of an active agency
 */
async function waitsOf(seed: number, pauseSeconds: number, minutes: number): Promise<Waits> {
	vi.spyOn(Math, "random").mockImplementation(randomFrom(seed));
	const fleet = openFleet(300);
	const ids = fleet.sandbox.agencies().map(({ id }) => id);
	const active = ids.slice(0, 20);
	for (const id of ids) fleet.write(id);
	const loop = fleet.start();
	await fleet.pass(2 * minute);
	let quiet = 0;
	/** Every ten seconds a quiet agency has a message. */
	const live = async (minutes: number): Promise<void> => {
		for (let at = 0; at < minutes * 60; at++) {
			for (const [index, id] of active.entries()) if ((at + index * 7) % pauseSeconds === 0) fleet.write(id, at % 5);
			if (at % 10 === 0) fleet.write(ids[20 + ((quiet++ * 37) % 280)] ?? "");
			await fleet.pass(second);
		}
	};
	// An agency is active once its first messages were seen.
	await live(4);
	const began = Date.now();
	await live(minutes);
	const ended = Date.now();
	await fleet.pass(2 * minute);
	loop.stop();
	await fleet.pass(second);
	await loop.run;
	expect([...fleet.messages.values()].every(({ deliveredAt }) => deliveredAt.length === 1)).toBe(true);
	expect(vi.getTimerCount()).toBe(0);

	const waits = (of: (id: string) => boolean): number[] =>
		[...fleet.messages.values()]
			.filter(({ agencyId, writtenAt }) => writtenAt >= began && of(agencyId))
			.map(({ writtenAt, deliveredAt: [at = Number.POSITIVE_INFINITY] }) => (at - writtenAt) / second)
			.sort((a, b) => a - b);
	return {
		active: waits((id) => active.includes(id)),
		quiet: waits((id) => !active.includes(id)),
		requestsPerSecond: fleet.requests.filter((at) => at >= began && at < ended).length / ((ended - began) / second),
	};
}

const median = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? Number.NaN;

test.each(seeds)(
	"of 300 agencies at 5 requests a second, 20 active ones wait at most 20 s and quiet ones two minutes: seed %i",
	async (seed) => {
		const { active, quiet, requestsPerSecond } = await waitsOf(seed, 60, isLong ? 10 : 6);
		const figures = { active: [median(active), active.at(-1)], quiet: [median(quiet), quiet.at(-1)] };
		if (isLong)
			console.log(JSON.stringify({ requestsPerSecond, ...figures, heapMB: process.memoryUsage().heapUsed / 1e6 }));
		expect(active.length).toBeGreaterThanOrEqual(120);
		expect(quiet.length).toBeGreaterThanOrEqual(36);
		expect(active.at(-1)).toBeLessThanOrEqual(20);
		expect(quiet.at(-1)).toBeLessThanOrEqual(120);
		expect(requestsPerSecond).toBeLessThanOrEqual(5.1);
	},
	1_200_000,
);

test.each(seeds)(
	"while more is to be read than the budget allows, quiet agencies do not crowd out active ones: seed %i",
	async (seed) => {
		const { active, quiet } = await waitsOf(seed, 12, 4);
		if (isLong) console.log(JSON.stringify({ active: active.at(-1), quiet: quiet.at(-1) }));
		expect(active.at(-1)).toBeLessThanOrEqual(42);
		expect(quiet.at(-1)).toBeLessThanOrEqual(140);
	},
	1_200_000,
);
