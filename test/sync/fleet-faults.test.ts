/*
 * Processes that share a fleet while a fifth of the answers are faults, and one of them is killed again and again. In the
 * end the database is compared with the service. `TEST_LONG=1 npx vitest run test/sync/fleet-faults` plays an hour with
 * 300 agencies, and prints the figures.
 */
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { randomFrom } from "../faults/random.ts";
import { isLong } from "../length.ts";
import { type FleetProcess, type FleetRun, openFleet } from "./fleet.ts";

const second = 1_000;
const minute = 60 * second;
const size = isLong ? { agencies: 300, active: 20, minutes: 60 } : { agencies: 24, active: 3, minutes: 4 };
const processes = 3;

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

test.each(["partition", "lease"] as const)(
	"three processes that share a fleet by %s lose nothing, with faults at 20 % and kills",
	async (sharing) => {
		const fleet = openFleet(size.agencies, 0.2);
		const ids = fleet.sandbox.agencies().map(({ id }) => id);
		const active = ids.slice(0, size.active);
		const random = randomFrom(3);
		for (const id of ids) fleet.write(id);

		const start = (index: number): FleetProcess =>
			fleet.start(
				{
					statuses: true,
					// Together as many as one process of the test without faults, where the fleet has the same size.
					requestsPerSecond: 5 / processes,
					...(sharing === "partition" && { partition: { index, of: processes } }),
				},
				sharing === "lease",
			);
		const running = Array.from({ length: processes }, (_, index) => start(index));
		let kills = 0;
		let killAt = 20;
		/** Lets a second pass, in which the first process may be killed or started again. */
		const live = async (at: number): Promise<void> => {
			if (at === killAt) {
				running[0]?.kill();
				kills++;
			}
			if (at === killAt + 3) {
				running[0] = start(0);
				killAt = at + 5 + Math.floor(random() * 60);
			}
			await fleet.pass(second);
		};

		await fleet.pass(2 * minute);
		const began = Date.now();
		const heap = [heapMB()];
		const seconds = size.minutes * 60;
		for (let at = 0; at < seconds; at++) {
			for (const [index, id] of active.entries())
				if ((at + index * 7) % 60 === 0) fleet.write(id, at % 5, random() < 0.3);
			if (at % 10 === 0)
				fleet.write(ids[active.length + Math.floor(random() * (ids.length - active.length))] ?? "", at % 3);
			await live(at);
		}
		const ended = Date.now();
		const requests = fleet.requests.filter((at) => at >= began).length / seconds;
		heap.push(heapMB());
		// The kills go on until all is there.
		const isThere = (): boolean => [...fleet.messages.values()].every(({ deliveredAt }) => deliveredAt.length > 0);
		let at = seconds;
		for (let found = await fleet.differences(); at < seconds + 3_600; found = await fleet.differences()) {
			if (isThere() && found.missing.length + found.differing.length === 0) break;
			for (const until = at + 60; at < until; at++) await live(at);
		}
		const heapRunning = heapMB();
		for (const { stop } of running) stop();
		await fleet.pass(second);
		await Promise.all(running.map(({ run }) => run));
		const { rows, ...found } = await fleet.differences();

		if (isLong) {
			const lag = (isActive: boolean) => lagOf(fleet, (id) => active.includes(id) === isActive, began, ended);
			const [heapBefore, heapAfter] = heap;
			const figures = {
				kills,
				requests,
				active: lag(true),
				quiet: lag(false),
				heapBefore,
				heapAfter,
				heapRunning,
				heapEnded: heapMB(),
			};
			const toSettle = at - seconds;
			const polls = { polls: fleet.polls.length, failed: fleet.polls.filter(({ error }) => error).length };
			console.log(
				sharing,
				JSON.stringify({ rows, repeated: found.repeated, ...figures, ...polls, errors: fleet.errors.length, toSettle }),
			);
		}
		expect(found).toEqual({ missing: [], differing: [], surplus: [], repeated: 0 });
		expect(rows).toBeGreaterThan(fleet.messages.size);
		expect(kills).toBeGreaterThanOrEqual(5);
		expect(requests).toBeLessThanOrEqual(5.5);
		expect(vi.getTimerCount()).toBe(0);
	},
	3_600_000,
);

test("a process that is killed before it came to all agencies comes to all of them in the end", async () => {
	const fleet = openFleet(30);
	for (const { id } of fleet.sandbox.agencies()) fleet.write(id);
	const isThere = (): boolean => [...fleet.messages.values()].every(({ deliveredAt }) => deliveredAt.length > 0);
	let lives = 0;
	for (; lives < 300 && !isThere(); lives++) {
		const { kill } = fleet.start({ requestsPerSecond: 1 });
		await fleet.pass(10 * second);
		kill();
	}
	expect(isThere()).toBe(true);
	expect(lives).toBeGreaterThan(3);
	expect((await fleet.differences()).missing).toEqual([]);
}, 600_000);

/** Median and maximum of how long the messages of some agencies waited, in seconds. */
function lagOf(fleet: FleetRun, isOf: (agencyId: string) => boolean, began: number, ended: number) {
	const waits = [...fleet.messages.values()]
		.filter(({ agencyId, writtenAt }) => writtenAt >= began && writtenAt < ended && isOf(agencyId))
		.map(({ writtenAt, deliveredAt: [at = Number.POSITIVE_INFINITY] }) => (at - writtenAt) / second)
		.sort((a, b) => a - b);
	return { count: waits.length, median: waits[waits.length >> 1], most: waits.at(-1) };
}

/** The heap that is in use after a collection, in MB. */
function heapMB(): number {
	if (!isLong) return 0;
	v8.setFlagsFromString("--expose-gc");
	runInNewContext("gc")();
	return Math.round(process.memoryUsage().heapUsed / 1e5) / 10;
}
