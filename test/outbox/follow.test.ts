// The loop around `settled`: each change reaches the function of the application, whatever that does.
import { PartnerInvalidInput } from "messaging-conversations";
import { createOutbox, type FollowedChange, type FollowOptions, type Outbox } from "messaging-conversations/outbox";
import { expect, onTestFinished, test } from "vitest";
import { changed } from "./port.ts";
import { add, createWorld, type World } from "./world.ts";

const patient = { timeout: 60_000 };

/** Follows until the test ends. */
function start(outbox: Outbox, act: (change: FollowedChange) => unknown, options: FollowOptions = {}) {
	const stop = new AbortController();
	const following = outbox.follow(act, { signal: stop.signal, ...options });
	const end = async () => {
		stop.abort();
		await following;
	};
	onTestFinished(end);
	return { end, following };
}

/** Texts that have ended, without a request. */
async function end(world: World, ...ids: string[]): Promise<void> {
	for (const id of ids) {
		await add(world, id);
		await world.outbox.cancel(id);
	}
}

test("follow passes each change once, the oldest first, and acknowledges it", async () => {
	const world = createWorld();
	await end(world, "one", "two");
	const seen: string[] = [];
	start(world.outbox, ({ id, state }) => seen.push(`${id} ${state}`));
	await expect.poll(() => seen, patient).toEqual(["one cancelled", "two cancelled"]);
	await add(world, "three");
	await world.outbox.runOnce();
	await expect.poll(() => seen, patient).toEqual(["one cancelled", "two cancelled", "three sent"]);
	await expect.poll(() => world.outbox.settled(), patient).toEqual([]);
});

test("a text for which the function throws comes again until it succeeds, and others come meanwhile", async () => {
	const world = createWorld();
	await end(world, "bad", "good");
	const seen: string[] = [];
	start(world.outbox, async ({ id }) => {
		seen.push(id);
		if (id === "bad" && seen.filter((each) => each === "bad").length < 3) throw new Error("the CRM is away");
	});
	await expect.poll(() => seen, patient).toEqual(["bad", "good", "bad", "bad"]);
	await expect.poll(() => world.outbox.settled(), patient).toEqual([]);
	expect(world.pauses).toEqual([]);
});

test("more texts than a page that fail keep no other one back", async () => {
	const world = createWorld();
	await end(world, ...Array.from({ length: 170 }, (_, at) => `bad-${at}`), "good");
	const seen = new Set<string>();
	start(world.outbox, ({ id }) => {
		seen.add(id);
		// One that succeeds in between shows that the function works.
		if (id.startsWith("bad") && Number(id.slice(4)) % 3 > 0) throw new Error("never");
	});
	await expect.poll(() => seen.has("good"), patient).toBe(true);
	expect(seen.size).toBe(171);
	const left = await world.outbox.settled({ limit: 1_000 });
	expect(left.map(({ id }) => Number(id.slice(4)) % 3).filter((rest) => rest === 0)).toEqual([]);
	expect(left).toHaveLength(113);
});

test("a function that keeps failing is told once, and again after it has succeeded, without what it threw", async () => {
	const world = createWorld();
	await end(world, "one", "two", "three", "four");
	let isDown = true;
	const seen: string[] = [];
	start(world.outbox, ({ id }) => {
		seen.push(id);
		if (isDown) throw new Error("+447700900101 is away");
	});
	await expect.poll(() => world.pauses.length, patient).toBe(1);
	await expect.poll(() => seen.filter((id) => id === "one").length, patient).toBeGreaterThan(1);
	const [pause] = world.pauses;
	expect(pause).toMatchObject({ reason: "follow_failed", agencyId: world.agency.id, retryAt: expect.any(Date) });
	expect(JSON.stringify(pause)).not.toContain("447700900101");
	expect(pause?.cause).toEqual(new Error("+447700900101 is away"));
	expect(pause?.error).toMatchObject({ _tag: "PartnerConfigurationError", field: "onSettled" });
	expect(world.pauses).toHaveLength(1);
	isDown = false;
	await expect.poll(() => world.outbox.settled(), patient).toEqual([]);
	expect((await world.store.paused()).length).toBe(0);
	world.sandbox.clock.advance({ hours: 1 });
	isDown = true;
	await end(world, "five", "six", "seven");
	await expect.poll(() => world.pauses.length, patient).toBe(2);
});

test("a slow function stops no send", async () => {
	const world = createWorld();
	await end(world, "slow");
	let proceed = () => {};
	const slow = new Promise<void>((resolve) => {
		proceed = resolve;
	});
	const seen: string[] = [];
	start(world.outbox, async ({ id }) => {
		seen.push(id);
		if (id === "slow") await slow;
	});
	await expect.poll(() => seen, patient).toEqual(["slow"]);
	const stop = new AbortController();
	const working = world.outbox.work({ signal: stop.signal });
	await add(world, "text");
	await expect.poll(() => world.state("text"), patient).toBe("sent");
	expect(seen).toEqual(["slow"]);
	proceed();
	await expect.poll(() => seen, patient).toEqual(["slow", "text"]);
	stop.abort();
	await working;
});

test("follow ends quietly after the call in progress, which is acknowledged, and begins no other one", async () => {
	const world = createWorld();
	await end(world, "one", "two");
	const seen: string[] = [];
	let proceed = () => {};
	const { end: stop } = start(world.outbox, async ({ id }) => {
		seen.push(id);
		await new Promise<void>((resolve) => {
			proceed = resolve;
		});
	});
	await expect.poll(() => seen, patient).toEqual(["one"]);
	const ended = stop();
	proceed();
	await ended;
	expect(seen).toEqual(["one"]);
	expect((await world.outbox.settled()).map(({ id }) => id)).toEqual(["two"]);
});

test("a signal that has aborted already ends it before it calls the function", async () => {
	const world = createWorld();
	await end(world, "one");
	await world.outbox.follow(() => expect.unreachable(), { signal: AbortSignal.abort() });
	expect(await world.outbox.settled()).toHaveLength(1);
});

test("of two followers one gets every change, and the other one goes on when it ends", async () => {
	const world = createWorld();
	const other = world.restart();
	const seen: string[] = [];
	const first = start(world.outbox, ({ id }) => seen.push(`first ${id}`));
	await end(world, "one");
	await expect.poll(() => seen, patient).toEqual(["first one"]);
	start(other, ({ id }) => seen.push(`second ${id}`));
	await end(world, "two", "three");
	await expect.poll(() => seen, patient).toEqual(["first one", "first two", "first three"]);
	await first.end();
	await end(world, "four");
	await expect.poll(() => seen.at(-1), patient).toBe("second four");
	expect(seen).toHaveLength(4);
});

test("a change is acknowledged in the transaction of the function, and comes again if that was rolled back", async () => {
	const world = createWorld();
	await end(world, "one");
	const transactions: unknown[] = [];
	// A database whose first transaction is rolled back, although the function has not noticed.
	const store = changed(world.store, {
		async acknowledge(changes, tx) {
			transactions.push(tx);
			if (transactions.length > 1) await world.store.acknowledge(changes, tx);
		},
	});
	const tx = { query: async () => ({ rows: [] }) };
	const outbox = createOutbox({ client: world.client, store, now: world.sandbox.clock.now });
	let calls = 0;
	start(outbox, async ({ acknowledge }) => {
		calls++;
		await acknowledge(tx);
	});
	await expect.poll(() => world.outbox.settled(), patient).toEqual([]);
	expect([calls, transactions]).toEqual([2, [tx, tx]]);
});

test("a text that changes while the function has it comes again with its new state", async () => {
	const world = createWorld();
	await add(world, "text");
	await world.outbox.runOnce();
	const seen: string[] = [];
	start(world.outbox, async ({ state }) => {
		seen.push(state);
		if (seen.length > 1) return;
		world.anna.reads();
		await world.pass({ minutes: 5 });
	});
	await expect.poll(() => seen, patient).toEqual(["sent", "read"]);
	await expect.poll(() => world.outbox.settled(), patient).toEqual([]);
});

test("with held it passes texts that the service holds too", async () => {
	const world = createWorld();
	world.sandbox.clock.advance({ hours: 25 });
	await add(world, "held");
	await world.outbox.runOnce();
	const seen: string[] = [];
	start(world.outbox, ({ state }) => seen.push(state), { held: true });
	await expect.poll(() => seen, patient).toEqual(["held"]);
});

test("follow goes on after an outage of the database", async () => {
	const world = createWorld();
	await end(world, "one");
	let failures = 3;
	const store = changed(world.store, {
		async unacknowledged(...given) {
			if (failures-- > 0) throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
			return world.store.unacknowledged(...given);
		},
	});
	const pauses: string[] = [];
	const outbox = createOutbox({ client: world.client, store, onPaused: ({ reason }) => pauses.push(reason) });
	const seen: string[] = [];
	start(outbox, ({ id }) => seen.push(id));
	await expect.poll(() => seen, patient).toEqual(["one"]);
	expect(pauses).toEqual(["database"]);
});

test("follow rejects with an error of the database that does not pass by itself", async () => {
	const world = createWorld();
	const store = changed(world.store, { unacknowledged: () => Promise.reject(new TypeError("no such table")) });
	const outbox = createOutbox({ client: world.client, store });
	await expect(outbox.follow(() => {})).rejects.toThrow("no such table");
});

test.each([
	["onSettled", undefined, {}],
	["onSettled", "console.log", {}],
	["options.signal", () => {}, { signal: "SIGTERM" }],
	["options.held", () => {}, { held: "yes" }],
])("follow refuses a bad %s", async (field, act, options) => {
	const { outbox } = createWorld();
	const following = outbox.follow(act as () => void, options as FollowOptions);
	await expect(following).rejects.toThrow(PartnerInvalidInput);
	await expect(following).rejects.toMatchObject({ field: field.replace("options.", ""), operation: "follow" });
});
