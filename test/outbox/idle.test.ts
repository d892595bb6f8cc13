import { describe, expect, test } from "vitest";
import { expectCalm, situations } from "./idle.ts";
import { memoryStore } from "./memory.ts";
import { add, createWorld, stateOf } from "./world.ts";

/** The store of the tests takes any. */
const noTransaction = {} as never;

describe("a worker that can only wait makes few statements, and ends", () => {
	test.concurrent.each(situations)("$title", async (situation) => {
		await expectCalm(situation, { store: memoryStore(), transaction: (act) => act(noTransaction) });
	});
});

describe("a text of tomorrow that came back with a backup", () => {
	async function restored() {
		const world = createWorld();
		const { outbox, sandbox, anna } = world;
		const now = sandbox.clock.now().getTime();
		const notBefore = new Date(now + 24 * 3_600_000);
		await add(world, "old", { notBefore });
		await outbox.restored({ backupAt: new Date(now - 3_600_000) });
		return { ...world, successor: { id: "new", to: anna.phoneNumber, supersedes: "old", notBefore } };
	}

	test.each([{ tx: noTransaction }, {}])("ends at once when it is cancelled: %j", async (options) => {
		const world = await restored();
		expect(await world.outbox.cancel("old", options)).toBe(true);
		await world.outbox.runOnce();
		expect(await stateOf(world, "old")).toEqual(["cancelled", "requested"]);
	});

	test.each([{ tx: noTransaction }, {}])(
		"ends at once as superseded when another one takes its place: %j",
		async (options) => {
			const world = await restored();
			const { agency, outbox, successor } = world;
			await outbox.enqueue({ ...successor, agencyId: agency.id, body: "Other time" }, options);
			await outbox.runOnce();
			expect(await stateOf(world, "old")).toEqual(["cancelled", "superseded"]);
			expect(await stateOf(world, "new")).toEqual(["waiting", null]);
		},
	);

	test("ends at once when everything to the contact is cancelled", async () => {
		const world = await restored();
		expect(await world.outbox.cancelAll({ to: world.anna.phoneNumber })).toEqual({ cancelled: ["old"], tooLate: [] });
		await world.outbox.runOnce();
		expect(await stateOf(world, "old")).toEqual(["cancelled", "requested"]);
	});
});
