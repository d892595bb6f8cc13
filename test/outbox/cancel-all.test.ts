// Which texts `cancelAll` and `erase` list, while workers go on.
import type { CancelledTexts } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { changed } from "./port.ts";
import { createWorld, type World } from "./world.ts";

const ids = Array.from({ length: 40 }, (_, at) => `text-${String(at).padStart(2, "0")}`);

/** Forty texts to ten contacts, who have just written. */
async function createMany(): Promise<World> {
	const world = createWorld();
	const { agency, outbox } = world;
	for (const [at, id] of ids.entries()) {
		const contact = agency.contact(`+4477009001${String(10 + (at % 10))}`);
		if (at < 10) contact.writes("Is the flat still free?");
		await outbox.enqueue({ id, agencyId: agency.id, to: contact.phoneNumber, body: id });
	}
	return world;
}

const sorted = ({ cancelled, tooLate }: CancelledTexts) => ({ cancelled: cancelled.sort(), tooLate: tooLate.sort() });

/** What a worker of another process does at the moments between the statements of a call. */
const moments = ["before the stop", "after the stop"] as const;

function workingAt(world: World, moment: (typeof moments)[number]) {
	const { store, outbox, restart } = world;
	return restart({
		store: changed(store, {
			async stop(...given) {
				if (moment === "before the stop") await outbox.runOnce();
				await store.stop(...given);
				if (moment === "after the stop") await outbox.runOnce();
			},
		}),
	});
}

describe("each text is in exactly one list if a worker looks at it", () => {
	test.each(moments)("of an agency, %s", async (moment) => {
		const world = await createMany();
		const found = sorted(await workingAt(world, moment).cancelAll({ agencyId: world.agency.id }));
		const isLate = moment === "before the stop";
		expect(found).toEqual({ cancelled: isLate ? [] : ids, tooLate: isLate ? ids : [] });
		expect(world.sends()).toHaveLength(isLate ? ids.length : 0);
	});

	test.each(["cancelAll", "erase"] as const)("of a contact, by %s, after the stop", async (method) => {
		const world = await createMany();
		const { agency } = world;
		const whose = { agencyId: agency.id, to: "+447700900113" };
		const found = sorted(await workingAt(world, "after the stop")[method](whose));
		expect(found).toEqual({ cancelled: ["text-03", "text-13", "text-23", "text-33"], tooLate: [] });
	});

	test("and it ends as expired then", async () => {
		const world = createWorld();
		const { agency, anna, sandbox, store, outbox, restart } = world;
		const notAfter = new Date(sandbox.clock.now().getTime() + 60_000);
		await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: anna.phoneNumber, body: "Hi", notAfter });
		const late = restart({
			store: changed(store, {
				async stop(...given) {
					sandbox.clock.advance({ hours: 1 });
					await outbox.runOnce();
					await store.stop(...given);
				},
			}),
		});
		expect(await late.cancelAll({ agencyId: agency.id })).toEqual({ cancelled: ["note-1"], tooLate: [] });
		expect(await outbox.status("note-1")).toMatchObject({ state: "expired" });
	});
});

test("beside running workers no text is in both lists or in none, and none of the cancelled ones was sent", async () => {
	const world = await createMany();
	const { agency, outbox, restart, sends } = world;
	const end = new AbortController();
	const working = [outbox, restart()].map((each) => each.work({ signal: end.signal }));
	const { cancelled, tooLate } = await restart().cancelAll({ agencyId: agency.id });
	end.abort();
	await Promise.all(working);
	const states = await Promise.all(ids.map(async (id) => (await outbox.status(id))?.state));
	expect(states.filter((state) => state !== "cancelled")).toHaveLength(sends().length);
	const all = [...cancelled, ...tooLate];
	expect(new Set(all).size).toBe(all.length);
	// What had ended before the call is in none.
	for (const [at, id] of ids.entries()) if (states[at] === "cancelled") expect(cancelled).toContain(id);
	for (const id of cancelled) expect(states[ids.indexOf(id)]).toBe("cancelled");
});

test("a text that had ended before the call is in no list, and one that is enqueued while it is stopped is cancelled", async () => {
	const world = createWorld();
	const { agency, anna, store, outbox, restart } = world;
	const text = { agencyId: agency.id, to: anna.phoneNumber, body: "Hi" };
	await outbox.enqueue({ ...text, id: "sent" });
	await outbox.runOnce();
	const late = restart({
		store: changed(store, {
			async stop(...given) {
				await outbox.enqueue({ ...text, id: "meanwhile" });
				await store.stop(...given);
			},
		}),
	});
	expect(await late.cancelAll({ agencyId: agency.id })).toEqual({ cancelled: ["meanwhile"], tooLate: [] });
});
