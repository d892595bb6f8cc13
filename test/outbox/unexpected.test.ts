// Contacts and offices that do the unexpected: taps of bookings, answers at night, visits that move twice, opt-outs by telephone.
import { describe, expect, test } from "vitest";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const nights = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } } as const;

/** Moves the clock to the next time of a day. */
function goTo({ sandbox: { clock } }: World, hours: number, minutes: number): void {
	const at = clock.now();
	at.setUTCHours(hours, minutes, 0, 0);
	if (at <= clock.now()) at.setUTCDate(at.getUTCDate() + 1);
	clock.advanceTo(at);
}

describe("the tap of a booking is no decline", () => {
	test("while a text is held that gets no answer then", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 30 });
		world.anna.taps("visit_confirm");
		await world.pass({ hours: 52 });
		expect(await stateOf(world, "held")).toEqual(["dropped", "no_answer"]);
	});

	test("while a text is held that a colleague displaces", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 30 });
		await add(world, "next");
		world.anna.taps("visit_confirm");
		await world.pass({ minutes: 60 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague." });
		await world.pass({ hours: 9 });
		expect((await stateOf(world, "next"))[1]).not.toBe("earlier_text_declined");
	});

	test("after the contact has accepted a colleague's text", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague." });
		await add(world, "notice");
		await world.pass({ minutes: 29 });
		world.anna.accepts();
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.taps("visit_confirm");
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["From a colleague.", "notice"]);
	});

	test("since a backup", async () => {
		const world = createWorld(defaults);
		await add(world, "notice");
		const backupAt = world.sandbox.clock.now();
		world.sandbox.clock.advance({ minutes: 10 });
		world.anna.taps("visit_confirm");
		world.sandbox.clock.advance({ minutes: 10 });
		await world.outbox.restored({ backupAt });
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["notice"]);
	});
});

describe("an answer does not wait", () => {
	test("all night behind a notice that was tried in the evening", async () => {
		const world = createWorld(nights);
		goTo(world, 19, 59);
		world.anna.writes("Hello");
		world.sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 90 }, times: 1 });
		await add(world, "notice");
		await world.pass({ minutes: 6 });
		expect(await world.outbox.status("notice")).toMatchObject({ state: "waiting", attempts: 1 });
		world.anna.writes("Are you there?");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["answer"]);
		await world.pass({ hours: 13 });
		expect(world.texts()).toEqual(["answer", "notice"]);
	});

	test("behind a held text that an earlier answer has just displaced", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "reminder");
		await world.pass({ minutes: 1 });
		world.anna.writes("Is it still free?");
		await add(world, "first", { purpose: "reply" });
		await world.pass({ ms: 1_000 });
		world.sandbox.clock.advance({ ms: 20_000 });
		await add(world, "second", { purpose: "reply" });
		await world.pass({ ms: 2_000 });
		expect(world.texts()).toEqual(["first", "second"]);
	});

	test("for a contact who has just declined, and asked", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "reminder");
		await world.pass({ minutes: 1 });
		world.anna.declines();
		world.sandbox.clock.advance({ ms: 5_000 });
		world.anna.writes("But is it still free?");
		world.sandbox.clock.advance({ ms: 5_000 });
		await add(world, "It is.", { purpose: "reply" });
		await world.pass({ ms: 2_000 });
		expect(world.texts()).toEqual(["It is."]);
		await world.pass({ minutes: 10 });
		expect(await stateOf(world, "reminder")).toEqual(["dropped", expect.any(String)]);
	});

	test.each(["STOP", "a telephone call"])("but it is not repeated after %s", async (how) => {
		const world = createWorld(defaults);
		world.sandbox.faults.add({ operation: "messages.send", effect: { status: 503 }, times: 1 });
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		world.sandbox.clock.advance({ ms: 1 });
		if (how === "STOP") world.anna.writes("STOP");
		else await world.outbox.optOut({ to: world.anna.phoneNumber });
		await world.pass({ minutes: 5 });
		expect([await stateOf(world, "answer"), world.texts()]).toEqual([["cancelled", "opted_out"], []]);
	});

	test("behind a colleague's held text for ever after STOP", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague." });
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		world.anna.writes("STOP");
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "answer")).toEqual(["cancelled", "opted_out"]);
	});
});

describe("a visit that moves twice", () => {
	test("the last time takes the place of the first, which is held", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at two");
		await world.pass({ minutes: 1 });
		await add(world, "at three", { supersedes: "at two" });
		await add(world, "at four", { supersedes: "at three" });
		await world.pass({ minutes: 30 });
		expect(world.anna.state().held?.body).toBe("at four");
		world.anna.accepts();
		await world.pass({ minutes: 5 });
		expect(world.texts()).toEqual(["at four"]);
	});

	test("an answer that waits does not keep the new time back", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at two");
		await world.pass({ minutes: 1 });
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ minutes: 30 });
		expect(world.anna.state().held?.body).toBe("at three");
		world.anna.accepts();
		await world.pass({ minutes: 5 });
		expect(world.texts()).not.toContain("at two");
	});
});

test("after a restore a cancellation in a transaction has no false status", async () => {
	const world = createWorld(defaults);
	await add(world, "note");
	const restore = world.store.snapshot();
	const backupAt = world.sandbox.clock.now();
	world.sandbox.clock.advance({ minutes: 5 });
	await world.outbox.runOnce();
	world.sandbox.clock.advance({ minutes: 5 });
	restore();
	await world.outbox.restored({ backupAt });
	expect(await world.outbox.cancel("note", { tx: {} as never })).toBe(false);
	await world.pass({ minutes: 10 });
	expect([await stateOf(world, "note"), world.texts()]).toEqual([["sent", null], ["note"]]);
});

test("an opt-out and an opt-in from before a backup end nothing", async () => {
	const world = createWorld(defaults);
	const later = new Date(world.sandbox.clock.now().getTime() + 10 * 86_400_000);
	await add(world, "reminder", { notBefore: later });
	for (const words of ["STOP", "START"]) {
		world.sandbox.clock.advance({ hours: 1 });
		world.anna.writes(words);
	}
	const { conversation, messagePage } = await world.client
		.agency(world.agency.id)
		.conversations.get(world.anna.phoneNumber);
	await world.outbox.observe({ agencyId: world.agency.id, conversation, messages: messagePage.messages });
	world.sandbox.clock.advance({ hours: 100 });
	await world.outbox.restored({ backupAt: world.sandbox.clock.now() });
	world.sandbox.clock.advanceTo(later);
	world.anna.writes("Hello");
	await world.pass({ hours: 1 });
	// In ordinary life STOP ends it only if somebody sees it before START.
	expect(world.texts()).toEqual(["reminder"]);
});

test("an opt-out by telephone holds at once, also for texts of the same queue and for a held one", async () => {
	const world = createWorld(defaults);
	let isCalled = false;
	world.sandbox.subscribe((event) => {
		if (isCalled || event.type !== "request" || event.operation !== "messages.send") return;
		isCalled = true;
		void world.outbox.optOut({ to: world.anna.phoneNumber });
	});
	for (const id of ["1", "2", "3"]) await add(world, id);
	await world.outbox.runOnce();
	expect(world.texts()).toEqual(["1"]);

	const other = createWorld(defaults);
	other.sandbox.clock.advance({ hours: 25 });
	await add(other, "held");
	await other.pass({ minutes: 30 });
	await other.outbox.optOut({ to: other.anna.phoneNumber });
	await other.pass({ minutes: 20 });
	expect(await other.outbox.status("held")).toMatchObject({ state: "held", cancelRequested: true });
});

test("a START to one agency does not undo a STOP to another one", async () => {
	const world = createWorld(defaults);
	world.anna.writes("STOP");
	await add(world, "first");
	await world.pass({ minutes: 1 });
	world.sandbox.clock.advance({ hours: 1 });
	const other = world.sandbox.link({ name: "Other" });
	other.contact(world.anna.phoneNumber).writes("START");
	const { conversation, messagePage } = await world.client.agency(other.id).conversations.get(world.anna.phoneNumber);
	await world.outbox.observe({ conversation, messages: messagePage.messages });
	await add(world, "second");
	await world.pass({ minutes: 1 });
	expect([await stateOf(world, "second"), world.texts()]).toEqual([["cancelled", "opted_out"], []]);
});

test("a request for consent that reached no phone is no answer that is missing", async () => {
	const world = createWorld(defaults);
	world.sandbox.clock.advance({ hours: 25 });
	world.anna.setReachable(false);
	await add(world, "first");
	await world.pass({ minutes: 1 });
	await add(world, "second", { notAfter: new Date(world.sandbox.clock.now().getTime() + 9 * 86_400_000) });
	await world.pass({ hours: 51 });
	expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
	expect((await stateOf(world, "second"))[1]).not.toBe("earlier_text_unanswered");
});
