// Visits that move: chains of texts that supersede each other, and what a repeated call changes.
import { describe, expect, test } from "vitest";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, maxAgeMs: undefined } as const;
const later = (world: World, hours: number): Date => new Date(world.sandbox.clock.now().getTime() + hours * 3_600_000);

describe("texts that supersede each other in a circle", () => {
	test("a text takes the place of one that names it, although it was not there then", async () => {
		const world = createWorld(defaults);
		await add(world, "at 14", { supersedes: "at 10" });
		await add(world, "at 10", { supersedes: "at 14" });
		expect(await stateOf(world, "at 14")).toEqual(["cancelled", "superseded"]);
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 10"]);
	});

	test("of three texts, each of which takes the place of another, the last one goes out", async () => {
		const world = createWorld(defaults);
		await add(world, "at 10", { supersedes: "at 12" });
		await add(world, "at 11", { supersedes: "at 10" });
		await add(world, "at 12", { supersedes: "at 11" });
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 12"]);
	});

	test("a held text waits in the queue behind a circle, and each text comes to its end", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 1 });
		await add(world, "at 14", { supersedes: "at 10", notBefore: later(world, 1) });
		await add(world, "at 10", { supersedes: "at 14" });
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "held")).toEqual(["held", null]);
		world.anna.accepts();
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["held", "at 10"]);
	});

	test("of two whose process died before it cancelled one, the later one goes out", async () => {
		const world = createWorld({ ...defaults, concurrency: 1 });
		await add(world, "at 14", { supersedes: "at 10" });
		const dying = world.restart({ store: { ...world.store, save: () => Promise.reject(new Error("killed")) } });
		const { agency, anna } = world;
		const back = { id: "at 10", agencyId: agency.id, to: anna.phoneNumber, body: "at 10", supersedes: "at 14" };
		await expect(dying.enqueue(back)).rejects.toThrow("killed");
		expect(await stateOf(world, "at 14")).toEqual(["waiting", null]);
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 10"]);
		expect(await stateOf(world, "at 14")).toEqual(["cancelled", "superseded"]);
	});
});
