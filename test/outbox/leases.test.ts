// The agencies of a feed among processes: nobody has more than a share, and an agency that a process loses is taken over.
import { createClient, PartnerInvalidInput } from "messaging-conversations";
import { type AgencyLeases, createOutbox, type LeasesOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { watchAgencies } from "messaging-conversations/sync";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";
import { changed, type OutboxStore } from "./port.ts";

const second = 1_000;

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

/** Processes that share a database whose clock a test can set, and ask for all agencies as a feed does. */
function createFleet(count: number) {
	let aheadMs = 0;
	const store = memoryStore(() => Date.now() + aheadMs);
	const agencies = Array.from({ length: count }, (_, at) => `agy_${at}`);
	const { connection } = createSandbox();
	const processes = new Set<AgencyLeases>();
	/** A process that asks. One that was killed or stopped asks no more, and prolongs nothing. */
	function start(change: (store: OutboxStore) => Partial<OutboxStore> = () => ({}), name?: string) {
		let isStopped = false;
		const never = new Promise<never>(() => {});
		const stoppable = changed(store, {
			prolongLeases: (...given) => (isStopped ? never : store.prolongLeases(...given)),
		});
		const outbox = createOutbox({
			client: createClient({ ...connection }),
			store: changed(stoppable, change(stoppable)),
		});
		const lease = outbox.leases(name === undefined ? {} : { name });
		processes.add(lease);
		const stop = () => {
			isStopped = true;
			processes.delete(lease);
		};
		const resume = () => {
			isStopped = false;
			processes.add(lease);
		};
		return { lease, stop, resume };
	}
	async function pass(seconds: number): Promise<void> {
		for (let at = 0; at < seconds; at += 5) {
			for (const lease of processes) for (const id of agencies) await lease(id).catch(() => false);
			await vi.advanceTimersByTimeAsync(5 * second);
		}
	}
	const held = (lease: AgencyLeases): number => agencies.filter((id) => lease.holds(id)).length;
	/** How many each process has. No agency is with two of them. */
	function shares(): number[] {
		for (const id of agencies) expect([...processes].filter((lease) => lease.holds(id)).length).toBeLessThan(2);
		return [...processes].map(held).sort((one, other) => one - other);
	}
	return {
		agencies,
		store,
		start,
		pass,
		held,
		shares,
		setClock(ms: number) {
			aheadMs += ms;
		},
	};
}

test.each([
	[30, 1, [30]],
	[30, 3, [10, 10, 10]],
	[31, 3, [9, 11, 11]],
	[2, 3, [0, 1, 1]],
	[1, 2, [0, 1]],
])("%i agencies among %i processes", async (agencies, processes, shares) => {
	const { start, pass, shares: found } = createFleet(agencies);
	for (let at = 0; at < processes; at++) start();
	await pass(60);
	expect(found()).toEqual(shares);
});

test("a process that joins gets its share, although another one has everything", async () => {
	const { start, pass, shares, held } = createFleet(30);
	const { lease } = start();
	await pass(10);
	expect(held(lease)).toBe(30);
	start();
	await pass(20);
	expect(shares()).toEqual([15, 15]);
	start();
	await pass(20);
	expect(shares()).toEqual([10, 10, 10]);
});

test("the agencies of a process that dies are taken over, and no others move", async () => {
	const { agencies, start, pass, shares } = createFleet(30);
	const [first, second_, third] = [start(), start(), start()];
	await pass(60);
	const before = agencies.filter((id) => first.lease.holds(id));
	third.stop();
	await pass(20);
	expect(shares()).toEqual([10, 10]);
	await pass(60);
	expect(shares()).toEqual([15, 15]);
	expect(before.filter((id) => !first.lease.holds(id))).toEqual([]);
	expect(agencies.filter((id) => !first.lease.holds(id) && !second_.lease.holds(id))).toEqual([]);
});

test("a process that gives its agencies back leaves them to the others at once", async () => {
	const { agencies, start, pass, shares } = createFleet(30);
	const [, leaving] = [start(), start()];
	await pass(30);
	for (const id of agencies) await leaving.lease.release(id);
	leaving.stop();
	await pass(10);
	expect(shares()).toEqual([30]);
});

test("a process that was stopped for longer than its leases holds nothing when it goes on, and joins again", async () => {
	const { agencies, start, pass, shares, held } = createFleet(30);
	const [first, stopped] = [start(), start()];
	await pass(60);
	expect(held(stopped.lease)).toBe(15);
	stopped.stop();
	await pass(60);
	expect([held(first.lease), held(stopped.lease)]).toEqual([30, 0]);
	stopped.resume();
	expect(agencies.filter((id) => stopped.lease.holds(id))).toEqual([]);
	await pass(30);
	expect(shares()).toEqual([15, 15]);
});

test("a machine that was asleep holds nothing, by whichever of its clocks", async () => {
	const { start, pass, held } = createFleet(3);
	const { lease, stop } = start();
	await pass(10);
	expect(held(lease)).toBe(3);
	stop();
	// Its own timers stand still meanwhile.
	vi.setSystemTime(Date.now() + 60 * second);
	expect(held(lease)).toBe(0);
});

describe.each([
	["forward", 3_600_000],
	["back", -3_600_000],
])("if the clock of the database is set %s by an hour", (_, ms) => {
	test("each agency is with one process soon after", async () => {
		const { start, pass, shares, setClock } = createFleet(30);
		start();
		start();
		await pass(30);
		setClock(ms);
		await pass(60);
		expect(shares()).toEqual([15, 15]);
	});

	test("what a process that died had is taken over", async () => {
		const { start, pass, shares, setClock } = createFleet(30);
		start();
		const dead = start();
		await pass(30);
		setClock(ms);
		dead.stop();
		await pass(60);
		expect(shares()).toEqual([30]);
	});
});

test("a lease whose answer was lost is taken again by its process", async () => {
	let failures = 10;
	const { start, pass, shares } = createFleet(30);
	start((store) => ({
		async takeLease(lease) {
			const isTaken = await store.takeLease(lease);
			if (failures-- > 0) throw new Error("the connection was lost");
			return isTaken;
		},
	}));
	start();
	await pass(60);
	expect(shares()).toEqual([15, 15]);
});

test("an agency whose lease could not be given back is free after a while", async () => {
	const { agencies, start, pass, shares } = createFleet(30);
	start();
	const leaving = start((store) => ({
		endLease: async (lease) => {
			if (lease.topic.startsWith("agencies")) throw new Error("the database is away");
			await store.endLease(lease);
		},
	}));
	await pass(30);
	for (const id of agencies) await leaving.lease.release(id).catch(() => {});
	leaving.stop();
	leaving.resume();
	// It does not ask any more, and its timer runs.
	await vi.advanceTimersByTimeAsync(60 * second);
	leaving.stop();
	await pass(10);
	expect(shares()).toEqual([30]);
});

test("while the database is away nobody holds an agency for longer than its lease", async () => {
	let isAway = false;
	const { start, pass, held } = createFleet(3);
	const { lease } = start((store) => ({
		async prolongLeases(...given) {
			if (isAway) throw new Error("away");
			return store.prolongLeases(...given);
		},
		async takeLease(given) {
			if (isAway) throw new Error("away");
			return store.takeLease(given);
		},
	}));
	await pass(10);
	isAway = true;
	await pass(40);
	expect(held(lease)).toBe(0);
	isAway = false;
	await pass(10);
	expect(held(lease)).toBe(3);
});

test("two feeds with a name each share nothing", async () => {
	const { start, pass, held } = createFleet(4);
	const [mirror, search] = [start(undefined, "mirror"), start(undefined, "search")];
	await pass(10);
	expect([held(mirror.lease), held(search.lease)]).toEqual([4, 4]);
});

test("watchAgencies follows what its leases hold, and gives it back when it ends", async () => {
	const { store, start } = createFleet(0);
	const other = start();
	const sandbox = createSandbox();
	const [theirs, ours] = [sandbox.agency().id, sandbox.link({ name: "Second" }).id];
	expect(await other.lease(theirs)).toBe(true);
	const client = createClient({ ...sandbox.connection });
	const lease = createOutbox({ client, store }).leases();
	const polled = new Set<string>();
	const stop = new AbortController();
	const feed = watchAgencies(client, {
		load: () => undefined,
		lease,
		onPoll: ({ agencyId }) => polled.add(agencyId),
		signal: stop.signal,
	});
	const running = (async () => {
		for await (const _ of feed);
	})();
	await vi.advanceTimersByTimeAsync(120 * second);
	expect([...polled]).toEqual([ours]);
	expect(lease.holds(ours)).toBe(true);
	expect(await other.lease(ours)).toBe(false);
	stop.abort();
	await vi.advanceTimersByTimeAsync(10 * second);
	await running;
	expect(await other.lease(ours)).toBe(true);
	for (const id of [ours, theirs]) await other.lease.release(id);
	expect(vi.getTimerCount()).toBe(0);
});

describe("a process that lost its lease while it polls", () => {
	/** A feed of one agency, in which two contacts have written. */
	function open(holds: () => boolean) {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		agency.contact("+447700900101").writes("Hello");
		agency.contact("+447700900102").writes("Hi");
		const saved: string[] = [];
		const stop = new AbortController();
		const errors: unknown[] = [];
		const feed = watchAgencies(createClient({ ...sandbox.connection }), {
			load: () => undefined,
			save: async (agencyId) => void saved.push(agencyId),
			lease: Object.assign(() => true, { holds }),
			onError: (error) => errors.push(error),
			signal: stop.signal,
		});
		return { feed, saved, stop, errors };
	}

	test("saves nothing, and its loop is told by an error that can be retried", async () => {
		let isHeld = true;
		const { feed, saved, stop } = open(() => isHeld);
		const failures: unknown[] = [];
		const running = (async () => {
			for await (const { save } of feed) {
				isHeld = false;
				await save().catch((error: unknown) => failures.push(error));
				stop.abort();
			}
		})();
		await vi.advanceTimersByTimeAsync(60 * second);
		await running;
		expect(failures).toMatchObject([{ _tag: "PartnerConfigurationError", field: "lease", retryable: true }]);
		expect(saved).toEqual([]);
	});

	test("delivers no further change", async () => {
		let isHeld = true;
		const { feed, saved, stop, errors } = open(() => isHeld);
		let changes = 0;
		const running = (async () => {
			for await (const _ of feed) {
				changes++;
				isHeld = false;
			}
		})();
		await vi.advanceTimersByTimeAsync(20 * second);
		stop.abort();
		await vi.advanceTimersByTimeAsync(second);
		await running;
		expect([changes, saved, errors]).toEqual([1, [], []]);
	});
});

test.each([
	["name", { name: "" }],
	["name", { name: "two\nlines" }],
	["options", { names: "feed" } as LeasesOptions],
])("leases refuses bad options, and names the field: %s", (field, options) => {
	const outbox = createOutbox({ client: createClient({ ...createSandbox().connection }), store: memoryStore() });
	expect(() => outbox.leases(options)).toThrow(PartnerInvalidInput);
	expect(() => outbox.leases(options)).toThrow(expect.objectContaining({ field, operation: "leases" }));
});
