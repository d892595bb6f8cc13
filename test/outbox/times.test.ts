// When a text was sent, and when it ended.
import { expect, test } from "vitest";
import { add, createWorld, type World } from "./world.ts";

const minutes = (count: number): number => 60_000 * count;

async function timesOf({ outbox }: Pick<World, "outbox">, id: string) {
	const { state, sentAt, endedAt } = (await outbox.status(id)) ?? {};
	return [state, sentAt?.getTime() ?? sentAt, endedAt?.getTime() ?? endedAt];
}

test("a text that is sent has ended then, and what becomes of it later changes neither time", async () => {
	const world = createWorld();
	expect(await add(world, "a")).toMatchObject({ sentAt: null, endedAt: null });
	await world.pass({ minutes: 3 });
	const [, sentAt, endedAt] = await timesOf(world, "a");
	expect(sentAt).toBe(endedAt);
	expect(Number(sentAt)).toBeLessThan(world.sandbox.clock.now().getTime() - minutes(2));
	world.anna.reads();
	await world.pass({ hours: 1 });
	expect(await timesOf(world, "a")).toEqual(["read", sentAt, endedAt]);
	const [settled] = world.settled;
	expect(settled?.sentAt?.getTime()).toBe(sentAt);
});

test("a text that the service held was sent when the contact accepted, although the outbox sees that later", async () => {
	const world = createWorld();
	world.sandbox.clock.advance({ hours: 25 });
	await add(world, "a", { purpose: "reply" });
	await world.outbox.runOnce();
	expect(await timesOf(world, "a")).toEqual(["held", null, null]);
	world.sandbox.clock.advance({ minutes: 10 });
	world.anna.accepts();
	const accepted = world.sandbox.clock.now().getTime();
	world.sandbox.clock.advance({ hours: 2 });
	await world.pass({ hours: 1 });
	const [state, sentAt, endedAt] = await timesOf(world, "a");
	expect(state).toBe("sent");
	expect(Math.abs(Number(sentAt) - accepted)).toBeLessThan(minutes(1));
	expect(Number(endedAt)).toBeGreaterThanOrEqual(accepted + minutes(120));
});

test("a text whose answer is lost was sent when its message says so", async () => {
	const world = createWorld();
	world.sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await add(world, "a");
	await world.outbox.runOnce();
	const began = world.sandbox.clock.now().getTime();
	// Nobody works for two hours.
	world.sandbox.clock.advance({ hours: 2 });
	await world.pass({ minutes: 30 });
	const [state, sentAt] = await timesOf(world, "a");
	expect(state).toBe("sent");
	expect(Math.abs(Number(sentAt) - began)).toBeLessThan(minutes(1));
});

test("a text that is not sent has ended, and has no time at which it was sent", async () => {
	const world = createWorld();
	const now = world.sandbox.clock.now().getTime();
	for (const id of ["cancelled", "superseded"]) await add(world, id, { notBefore: now + minutes(60) });
	await add(world, "expired", { notBefore: now + minutes(60), notAfter: now + minutes(60) });
	await world.outbox.cancel("cancelled");
	await add(world, "moved", { supersedes: "superseded", notBefore: now + minutes(90) });
	for (const id of ["cancelled", "superseded"]) expect(await timesOf(world, id)).toEqual(["cancelled", null, now]);
	world.sandbox.clock.advance({ minutes: 61 });
	await world.outbox.runOnce();
	expect(await timesOf(world, "expired")).toEqual(["expired", null, now + minutes(61)]);
	expect(await timesOf(world, "moved")).toEqual(["waiting", null, null]);
	await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
	expect(await timesOf(world, "expired")).toEqual(["expired", null, now + minutes(61)]);
});

test("an unknown text that a person finds sent was sent when its last request began", async () => {
	const world = createWorld();
	for (const id of ["sent", "not_sent"] as const) {
		await add(world, id);
		const row = await world.store.find(id);
		if (!row) throw new Error("no row");
		const [since, at] = [row.since + 9, row.since + 5];
		const progress = { ...row.progress, attempts: 2, requests: [{ at: row.since }, { at }] };
		await world.store.save({ ...row, state: "unknown", since, endedAt: since, nextAt: null, progress });
		world.sandbox.clock.advance({ hours: 1 });
		await world.outbox.resolve(id, id);
		const state = id === "sent" ? "sent" : "cancelled";
		expect(await timesOf(world, id)).toEqual([state, id === "sent" ? at : null, since]);
	}
});
