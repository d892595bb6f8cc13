// Visits that move: chains of texts that supersede each other, and what a repeated call changes.
import { describe, expect, test } from "vitest";
import { changed } from "./port.ts";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
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

	test("a text that was enqueued later than the one that names it is not ended by that one", async () => {
		const world = createWorld(defaults);
		await add(world, "at 14", { supersedes: "at 10" });
		await add(world, "at 10");
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 14", "at 10"]);
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
		const dying = world.restart({ store: changed(world.store, { save: () => Promise.reject(new Error("killed")) }) });
		const { agency, anna } = world;
		const back = { id: "at 10", agencyId: agency.id, to: anna.phoneNumber, body: "at 10", supersedes: "at 14" };
		await expect(dying.enqueue(back)).rejects.toThrow("killed");
		expect(await stateOf(world, "at 14")).toEqual(["waiting", null]);
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 10"]);
		expect(await stateOf(world, "at 14")).toEqual(["cancelled", "superseded"]);
	});
});

describe("texts that supersede the same text", () => {
	test("of two that are enqueued at once, the later one goes out", async () => {
		const world = createWorld(defaults);
		await add(world, "at 10");
		await add(world, "at 14", { supersedes: "at 10" });
		await add(world, "at 16", { supersedes: "at 10" });
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at 16"]);
		expect(await stateOf(world, "at 14")).toEqual(["cancelled", "superseded"]);
	});

	test.each([
		["earlier", 2, 1],
		["later", 1, 2],
	])("the one that was enqueued last goes out, although it is due %s", async (_, first, second) => {
		const world = createWorld(defaults);
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10", notBefore: later(world, first) });
		await add(world, "at 16", { supersedes: "at 10", notBefore: later(world, second) });
		await world.pass({ hours: 3 });
		expect(world.texts()).toEqual(["at 16"]);
		expect(await stateOf(world, "at 14")).toEqual(["cancelled", "superseded"]);
	});

	test("the later one goes out too if the earlier one was sent", async () => {
		const world = createWorld(defaults);
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10" });
		await world.pass({ minutes: 5 });
		await add(world, "at 16", { supersedes: "at 10" });
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["at 14", "at 16"]);
	});

	test.each([
		["names the same text", ["at 10"]],
		["supersedes one that names the same text", ["at 10", "at 16"]],
	])("the later one replaces the earlier one that is held, if it %s", async (_, named) => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "at 14")).toEqual(["held", null]);
		for (const [at, supersedes] of named.entries()) await add(world, `at ${16 + at}`, { supersedes });
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "at 14")).toEqual(["replaced", null]);
		await add(world, "at 18", { supersedes: "at 10" });
		await world.pass({ minutes: 30 });
		world.anna.accepts();
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["at 18"]);
	});

	test("a repeated call of one that takes a held place through another one is as the first call was", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10" });
		await world.pass({ minutes: 1 });
		await add(world, "at 16", { supersedes: "at 10" });
		await add(world, "at 17", { supersedes: "at 16" });
		await world.pass({ minutes: 30 });
		expect(await add(world, "at 17", { supersedes: "at 16" })).toMatchObject({ state: "held", ignored: [] });
	});

	test("texts to two numbers do not take the place of each other", async () => {
		const world = createWorld(defaults);
		const bob = world.agency.contact("+447700900102");
		bob.writes("Hello");
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10" });
		await add(world, "at 16", { supersedes: "at 10", to: bob.phoneNumber });
		await world.pass({ minutes: 5 });
		expect([world.texts(), bob.inbox().map(({ body }) => body)]).toEqual([["at 14"], ["at 16"]]);
	});
});

describe("a visit that moves back", () => {
	test("a text that has ended is not enqueued again: the call says to use an id for each occasion", async () => {
		const world = createWorld(defaults);
		await add(world, "at 10", { notBefore: later(world, 1) });
		await add(world, "at 14", { supersedes: "at 10", notBefore: later(world, 1) });
		const back = add(world, "at 10", { supersedes: "at 14", notBefore: later(world, 1) });
		await expect(back).rejects.toMatchObject({
			_tag: "PartnerInvalidInput",
			field: "id",
			rule: expect.stringMatching(/use an id for each occasion/),
		});
		expect(await stateOf(world, "at 14")).toEqual(["waiting", null]);
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["at 14"]);
	});

	test.each(["at 14", "at 10"] as const)(
		"a repeated call of %s in a circle leaves the last text as it is",
		async (id) => {
			const world = createWorld(defaults);
			const other = { "at 14": "at 10", "at 10": "at 14" } as const;
			const enqueue = (each: "at 14" | "at 10") =>
				add(world, each, { supersedes: other[each], notBefore: later(world, 1) });
			await enqueue("at 14");
			await enqueue("at 10");
			const again = enqueue(id);
			if (id === "at 14") await expect(again).rejects.toMatchObject({ field: "id" });
			else expect(await again).toMatchObject({ state: "waiting" });
			await world.pass({ hours: 2 });
			expect(world.texts()).toEqual(["at 10"]);
		},
	);

	test("with an id for each occasion it moves three times and back", async () => {
		const world = createWorld(defaults);
		const times = ["10", "14", "16", "10"];
		for (const [at, time] of times.entries()) {
			const moved = at > 0 && { supersedes: `v${at - 1}` };
			await add(world, `v${at}`, { body: `at ${time}`, notBefore: later(world, 1), ...moved });
		}
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["at 10"]);
		for (const at of [0, 1, 2]) expect(await stateOf(world, `v${at}`)).toEqual(["cancelled", "superseded"]);
	});

	test("also while the first one is held: the last one takes its place", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "v0");
		await world.pass({ minutes: 1 });
		for (const at of [1, 2, 3]) await add(world, `v${at}`, { supersedes: `v${at - 1}` });
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "v0")).toEqual(["replaced", null]);
		world.anna.accepts();
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["v3"]);
	});

	test.each(["sent", "cancelled"])(
		"a repeated call whose text is %s changes nothing while nothing else waits",
		async (end) => {
			const world = createWorld(defaults);
			await add(world, "at 10", { notBefore: later(world, 1) });
			await add(world, "at 14", { supersedes: "at 10" });
			if (end === "cancelled") await world.outbox.cancel("at 14");
			await world.pass({ minutes: 1 });
			const before = world.store.all();
			expect(await add(world, "at 14", { supersedes: "at 10" })).toMatchObject({ state: end, ignored: [] });
			expect(world.store.all()).toEqual(before);
		},
	);

	test("a repeated call of a text that took the place of a held one, and has ended, changes nothing", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at 10");
		await world.pass({ minutes: 1 });
		await add(world, "at 14", { supersedes: "at 10", notBefore: later(world, 1) });
		await world.outbox.cancel("at 14");
		const before = world.store.all();
		expect(await add(world, "at 14", { supersedes: "at 10", notBefore: later(world, 1) })).toMatchObject({
			state: "cancelled",
		});
		expect(world.store.all()).toEqual(before);
		expect(await stateOf(world, "at 10")).toEqual(["held", null]);
	});

	test.each(["waiting", "held", "sending"] as const)(
		"a repeated call whose text has ended throws while the one that it names is %s",
		async (state) => {
			const world = createWorld(defaults);
			await add(world, "done");
			await world.pass({ minutes: 1 });
			await add(world, "there", { notBefore: later(world, 5) });
			const row = await world.store.find("there");
			if (row) await world.store.save({ ...row, state });
			await expect(add(world, "done", { supersedes: "there" })).rejects.toMatchObject({ field: "id" });
			expect(await world.outbox.status("there")).toMatchObject({ state, cancelRequested: false });
		},
	);

	test("a text that is due later goes too if the process died before it cancelled it", async () => {
		const world = createWorld(defaults);
		await add(world, "at 10", { notBefore: later(world, 5) });
		const dying = world.restart({ store: changed(world.store, { save: () => Promise.reject(new Error("killed")) }) });
		const { agency, anna } = world;
		const moved = { id: "at 14", agencyId: agency.id, to: anna.phoneNumber, body: "at 14", supersedes: "at 10" };
		await expect(dying.enqueue(moved)).rejects.toThrow("killed");
		await world.pass({ hours: 6 });
		expect(world.texts()).toEqual(["at 14"]);
		expect(await stateOf(world, "at 10")).toEqual(["cancelled", "superseded"]);
	});
});

describe("a contact whose number was corrected", () => {
	function moving() {
		const world = createWorld(defaults);
		const corrected = world.agency.contact("+447700900102");
		corrected.writes("My new number");
		const textsOf = (contact: typeof corrected) =>
			contact.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
		return { ...world, corrected, textsOf };
	}

	test("gets the new time at the new number, and the old number gets nothing", async () => {
		const world = moving();
		const { corrected } = world;
		await add(world, "v0", { notBefore: later(world, 1) });
		const status = await add(world, "v1", { to: corrected.phoneNumber, supersedes: "v0", notBefore: later(world, 1) });
		expect(status).toMatchObject({ state: "waiting", description: "Waits to be sent." });
		expect(await stateOf(world, "v0")).toEqual(["cancelled", "superseded"]);
		await world.pass({ hours: 2 });
		expect([world.texts(), world.textsOf(corrected)]).toEqual([[], ["v1"]]);
	});

	test("what the service holds for the old number may still arrive there, and the new status says so", async () => {
		const world = moving();
		const { corrected } = world;
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "v0");
		await world.pass({ minutes: 1 });
		corrected.writes("Are you there?");
		const status = await add(world, "v1", { to: corrected.phoneNumber, supersedes: "v0" });
		expect(status.description).toMatch(/\(v0\).*may still arrive at the other number/);
		expect(await world.outbox.status("v0")).toMatchObject({ state: "held", cancelRequested: true });
		await world.pass({ minutes: 30 });
		// Not replaced there, because the new time is for the new number.
		expect(world.anna.state().held?.body).toBe("v0");
		expect(world.textsOf(corrected)).toEqual(["v1"]);
		expect((await world.outbox.status("v1"))?.description).toMatch(/may still arrive/);
		world.anna.declines();
		await world.pass({ hours: 1 });
		expect((await world.outbox.status("v1"))?.description).not.toMatch(/may still arrive/);
	});

	test("also if the number is corrected and the visit moves again: the status of the last text says so", async () => {
		const world = moving();
		const { corrected } = world;
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "v0");
		await world.pass({ minutes: 1 });
		const to = corrected.phoneNumber;
		await add(world, "v1", { to, supersedes: "v0", notBefore: later(world, 2) });
		const status = await add(world, "v2", { to, supersedes: "v1", notBefore: later(world, 2) });
		expect(status.description).toMatch(/\(v0\).*may still arrive/);
		expect(await stateOf(world, "v1")).toEqual(["cancelled", "superseded"]);
	});

	test.each([false, true])(
		"a number that is corrected and changed back takes the place of what is held there, with a held one between: %s",
		async (isHeld) => {
			const world = moving();
			const { corrected } = world;
			world.sandbox.clock.advance({ hours: 25 });
			await add(world, "v0");
			await world.pass({ minutes: 1 });
			await add(world, "v1", {
				to: corrected.phoneNumber,
				supersedes: "v0",
				...(!isHeld && { notBefore: later(world, 2) }),
			});
			if (isHeld) await world.pass({ minutes: 1 });
			await add(world, "v2", { supersedes: "v1" });
			await world.pass({ minutes: 30 });
			expect(await stateOf(world, "v0")).toEqual(["replaced", null]);
			expect(world.anna.state().held?.body).toBe("v2");
			world.anna.accepts();
			await world.pass({ minutes: 5 });
			expect(world.texts()).toEqual(["v2"]);
		},
	);

	test("a text for the new number keeps the quiet hours, because it takes no place there", async () => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		const world = createWorld({ ...defaults, quietHours });
		world.sandbox.clock.advanceTo(new Date("2026-01-06T19:00:00Z"));
		await add(world, "v0");
		await world.pass({ minutes: 1 });
		world.sandbox.clock.advance({ minutes: 90 });
		const notAfter = "2026-01-07T07:30:00Z";
		const status = await add(world, "v1", { to: "+447700900102", supersedes: "v0", notAfter });
		expect(status).toMatchObject({ state: "expired", reason: "quiet_hours" });
		expect(await world.outbox.status("v0")).toMatchObject({ state: "held", cancelRequested: true });
	});

	test("no opt-out moves along, and one of the new number counts", async () => {
		const world = moving();
		const { corrected } = world;
		await add(world, "v0", { notBefore: later(world, 1) });
		world.anna.writes("STOP");
		await add(world, "v1", { to: corrected.phoneNumber, supersedes: "v0" });
		await world.pass({ minutes: 1 });
		expect(world.textsOf(corrected)).toEqual(["v1"]);
		await add(world, "w0", { to: "+447700900103", notBefore: later(world, 1) });
		corrected.writes("STOP");
		await add(world, "w1", { to: corrected.phoneNumber, supersedes: "w0" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "w1")).toEqual(["cancelled", "opted_out"]);
		expect(await stateOf(world, "w0")).toEqual(["cancelled", "superseded"]);
	});

	test("a text that is being sent to the old number is not sent again, and the new one says that it may arrive", async () => {
		const world = moving();
		await add(world, "v0");
		const row = await world.store.find("v0");
		if (row) await world.store.save({ ...row, state: "sending" });
		expect(await add(world, "v1", { to: world.corrected.phoneNumber, supersedes: "v0" })).toMatchObject({
			state: "waiting",
			description: expect.stringMatching(/may still arrive/),
		});
		expect(await world.outbox.status("v0")).toMatchObject({ state: "sending", cancelRequested: true });
		await world.pass({ minutes: 5 });
		expect([world.texts(), world.textsOf(world.corrected)]).toEqual([[], ["v1"]]);
		expect(await stateOf(world, "v0")).toEqual(["cancelled", "superseded"]);
	});

	test("a process that dies in between leaves both, and the worker cancels the one to the old number", async () => {
		const world = moving();
		const { agency, corrected } = world;
		await add(world, "v0", { notBefore: later(world, 1) });
		const dying = world.restart({ store: changed(world.store, { save: () => Promise.reject(new Error("killed")) }) });
		const moved = { id: "v1", agencyId: agency.id, to: corrected.phoneNumber, body: "v1", supersedes: "v0" };
		await expect(dying.enqueue(moved)).rejects.toThrow("killed");
		expect(await stateOf(world, "v0")).toEqual(["waiting", null]);
		await world.pass({ hours: 2 });
		expect([world.texts(), world.textsOf(corrected)]).toEqual([[], ["v1"]]);
		expect(await stateOf(world, "v0")).toEqual(["cancelled", "superseded"]);
	});
});

describe("a text of another agency", () => {
	function twoAgencies() {
		const world = createWorld(defaults);
		const other = world.sandbox.link({ name: "Second" });
		return { ...world, other };
	}

	test("with the same id is none of this one's, and stays as it is", async () => {
		const world = twoAgencies();
		await add(world, "v0", { agencyId: world.other.id, notBefore: later(world, 1) });
		await expect(add(world, "v1", { supersedes: "v0" })).rejects.toMatchObject({
			field: "supersedes",
			rule: expect.stringMatching(/another agency.*\{ id, agencyId \}/),
		});
		const own = { id: "v0", agencyId: world.agency.id };
		await expect(add(world, "v1", { supersedes: own })).rejects.toMatchObject({ field: "supersedes" });
		expect(await stateOf(world, "v0")).toEqual(["waiting", null]);
		expect(await world.outbox.status("v1")).toBeUndefined();
	});

	test("is superseded if its agency is named, once", async () => {
		const world = twoAgencies();
		const supersedes = { id: "v0", agencyId: world.other.id };
		await add(world, "v0", { agencyId: world.other.id, notBefore: later(world, 1) });
		for (const _ of ["first", "again"])
			expect(await add(world, "v1", { supersedes })).toMatchObject({ state: "waiting", ignored: [] });
		expect(await stateOf(world, "v0")).toEqual(["cancelled", "superseded"]);
		expect(await add(world, "v1", { supersedes: "v0" })).toMatchObject({ ignored: ["supersedes"] });
	});

	test("that was enqueued later under an id that this one names is not touched", async () => {
		const world = twoAgencies();
		await add(world, "v1", { supersedes: "v0", notBefore: later(world, 1) });
		await add(world, "v0", { agencyId: world.other.id, notBefore: later(world, 2) });
		expect((await add(world, "v1", { supersedes: "v0", notBefore: later(world, 1) })).ignored).toEqual([]);
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "v0")).toEqual(["waiting", null]);
	});

	test("that was cancelled too late is not told of to this one", async () => {
		const world = twoAgencies();
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "v1", { supersedes: "v0", notBefore: later(world, 1) });
		await add(world, "v0", { agencyId: world.other.id });
		await world.pass({ minutes: 1 });
		await world.outbox.cancel("v0");
		expect(await world.outbox.status("v0")).toMatchObject({ state: "held", cancelRequested: true });
		expect((await world.outbox.status("v1"))?.description).not.toMatch(/may still arrive/);
	});

	test.each([
		["supersedes.id", { id: "", agencyId: "agy" }],
		["supersedes.agencyId", { id: "v0" }],
		["supersedes", { id: "v0", agency: "agy" }],
		["supersedes", null],
		["supersedes", { id: "v1", agencyId: "agy" }],
	])("is named by its id and its agency: %s", async (field, supersedes) => {
		const world = twoAgencies();
		await expect(add(world, "v1", { supersedes: supersedes as never })).rejects.toMatchObject({ field });
	});
});

describe("what a repeated call ignores", () => {
	test("is listed: a reminder that moved keeps its time", async () => {
		const world = createWorld(defaults);
		const remind = (hours: number) =>
			add(world, "reminder-17", { notBefore: later(world, hours - 24), notAfter: later(world, hours) });
		expect((await remind(240)).ignored).toEqual([]);
		expect(await remind(480)).toMatchObject({ state: "waiting", ignored: ["notBefore", "notAfter"] });
		expect((await world.store.find("reminder-17"))?.notBefore).toBe(later(world, 216).getTime());
	});

	test("is every field that is not refused, by what it means", async () => {
		const world = createWorld(defaults);
		const meta = { visit: 17, of: { a: 1, b: [1, 2] } };
		await add(world, "text", { meta, purpose: "reply", priority: 3, whenClosed: "ask", supersedes: "none" });
		const same = {
			meta: { of: { b: [1, 2], a: 1 }, visit: 17 },
			purpose: "reply",
			priority: 3,
			supersedes: "none",
		} as const;
		expect((await add(world, "text", same)).ignored).toEqual([]);
		const { ignored } = await add(world, "text", {
			notBefore: later(world, 1),
			notAfter: later(world, 2),
			purpose: "marketing",
			priority: 4,
			onHeld: "replace",
			whenClosed: "skip",
			supersedes: "other",
			by: "Ben",
			why: "He called",
			meta: { ...meta, of: { a: 1, b: [2, 1] } },
		});
		const all = [
			"notBefore",
			"notAfter",
			"purpose",
			"priority",
			"onHeld",
			"whenClosed",
			"supersedes",
			"by",
			"why",
			"meta",
		];
		expect(ignored).toEqual(all);
		expect((await add(world, "text")).ignored).toEqual(["purpose", "priority", "supersedes", "meta"]);
	});

	test("is listed after the text was sent, too", async () => {
		const world = createWorld(defaults);
		await add(world, "text");
		await world.pass({ minutes: 1 });
		const again = await add(world, "text", { notBefore: later(world, 1) });
		expect(again).toMatchObject({ state: "sent", ignored: ["notBefore"] });
	});

	test("is listed for each text of a list, also for an id that is in it twice", async () => {
		const world = createWorld(defaults);
		const note = { id: "a", agencyId: world.agency.id, to: world.anna.phoneNumber, body: "Hi" };
		const statuses = await world.outbox.enqueueMany([note, { ...note, priority: 1 }, { ...note, id: "b" }]);
		expect(statuses.map(({ ignored }) => ignored)).toEqual([[], ["priority"], []]);
		const again = await world.outbox.enqueueMany([{ ...note, id: "b", meta: 1 }, note]);
		expect(again.map(({ ignored }) => ignored)).toEqual([["meta"], []]);
	});

	test("leaves a text that it names alone", async () => {
		const world = createWorld(defaults);
		await add(world, "old", { notBefore: later(world, 1) });
		await add(world, "new", { notBefore: later(world, 2) });
		const again = await add(world, "new", { notBefore: later(world, 2), supersedes: "old" });
		expect(again).toMatchObject({ state: "waiting", ignored: ["supersedes"] });
		expect(await stateOf(world, "old")).toEqual(["waiting", null]);
	});
});
