// What a text is for decides when it is sent: quiet hours, opt-outs, closed windows and texts that the service holds.

import type { CancelAllOptions, EnqueuedText, EraseOptions, OutboxOptions } from "messaging-conversations/outbox";
import { createOutbox } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import type { OutboxText } from "./port.ts";
import { newText } from "./store-suite.ts";
import { add, createWorld, learnYes, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const purposes = ["reply", "notice", "marketing"] as const;

describe("order", () => {
	test("replies go first and marketing last, whatever the priority", async () => {
		const world = createWorld({ ...defaults, concurrency: 1 });
		await add(world, "offer", { purpose: "marketing", priority: 1_000_000 });
		await add(world, "reminder", { priority: -1_000_000 });
		await add(world, "urgent", { priority: 5 });
		await add(world, "answer", { purpose: "reply", priority: -1_000_000 });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["answer", "urgent", "reminder", "offer"]);
		expect((await world.outbox.status("offer"))?.purpose).toBe("marketing");
	});
});

describe("opt-outs", () => {
	const stops = ["STOP", "Uitschrijven", "Arrêtez de m'écrire", "Bitte keine Nachrichten mehr", "No me escribas más"];

	test.each(stops)("%j stops notices and marketing before the first request, and names the message", async (words) => {
		const world = createWorld(defaults);
		world.anna.writes(words);
		await add(world, "notice");
		await add(world, "offer", { purpose: "marketing" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
		expect(await stateOf(world, "offer")).toEqual(["cancelled", "opted_out"]);
		expect(world.sends()).toEqual([]);
		const { messages } = (await world.client.agency(world.agency.id).conversations.get(world.anna.phoneNumber))
			.messagePage;
		const status = await world.outbox.status("notice");
		expect(status?.optOutSid).toBe(messages[0]?.messageSid);
		expect(status?.description).toMatch(/asked for no more texts/);
	});

	test("holds when fifty newer messages have come, until the contact wants texts again", async () => {
		const world = createWorld(defaults);
		world.anna.writes("STOP");
		await add(world, "first");
		await world.pass({ minutes: 1 });
		for (let count = 0; count < 60; count++) world.anna.writes(`Message ${count}`);
		await add(world, "second");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "second")).toEqual(["cancelled", "opted_out"]);
		world.anna.writes("START");
		await add(world, "third");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["third"]);
	});

	test("a reply is sent if the contact wrote words after it, before the reply was enqueued", async () => {
		const world = createWorld(defaults);
		world.anna.writes("STOP");
		await add(world, "too early", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "too early")).toEqual(["cancelled", "opted_out"]);
		await add(world, "written before the question", { purpose: "reply" });
		world.sandbox.clock.advance({ ms: 1_000 });
		world.anna.writes("But is it still free?");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "written before the question")).toEqual(["cancelled", "opted_out"]);
		await add(world, "answer", { purpose: "reply" });
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["answer"]);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "late", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "late")).toEqual(["cancelled", "opted_out"]);
	});

	test.each(Object.entries({ photo: { media: [{ url: "https://files.invalid/1.jpg" }] }, thumb: "👍", marks: "!!" }))(
		"a %s without words is no question that a reply may answer",
		async (_what, message) => {
			const world = createWorld(defaults);
			world.anna.writes("STOP");
			world.sandbox.clock.advance({ minutes: 1 });
			world.anna.writes(message);
			world.sandbox.clock.advance({ minutes: 1 });
			await add(world, "answer", { purpose: "reply" });
			await world.pass({ minutes: 1 });
			expect([await stateOf(world, "answer"), world.texts()]).toEqual([["cancelled", "opted_out"], []]);
		},
	);

	test("a photo with words is one", async () => {
		const world = createWorld(defaults);
		world.anna.writes("STOP");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes({ body: "Is this the flat?", media: [{ url: "https://files.invalid/1.jpg" }] });
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["answer"]);
	});

	test("a held text is marked, and onReply does not send it again", async () => {
		const world = createWorld({ ...defaults, onReply: "send" });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 1 });
		world.anna.writes("STOP");
		await world.pass({ minutes: 30 });
		expect(await world.outbox.status("held")).toMatchObject({ cancelRequested: true });
		expect(world.texts()).toEqual([]);
	});

	test.each([
		["optOut by telephone", false],
		["a STOP that observe tells of", true],
	])("a held text is not sent again after %s while a hook is asked about it", async (_, isObserved) => {
		let during = async (): Promise<void> => {};
		const beforeSend = async () => {
			await during();
			return "send" as const;
		};
		const world = createWorld({ ...defaults, onReply: "send", beforeSend });
		const { anna, agency, client, sandbox } = world;
		// Another process, such as the one of the CRM.
		const other = world.restart({ beforeSend: undefined });
		sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 10 });
		expect(await stateOf(world, "held")).toEqual(["held", null]);
		let asked = 0;
		during = async () => {
			if (asked++ > 0) return;
			if (!isObserved) return void (await other.optOut({ to: anna.phoneNumber }));
			anna.writes("STOP");
			const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
			await other.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		};
		anna.writes("Who is this?");
		await world.pass({ minutes: 30 });
		expect([asked > 0, world.texts()]).toEqual([true, []]);
		expect(await world.outbox.status("held")).toMatchObject({ cancelRequested: true });
	});

	test("optOut and optIn store what came by telephone, for one agency or all, and erase keeps it", async () => {
		const world = createWorld(defaults);
		const { outbox, anna, agency } = world;
		await outbox.optOut({ to: "+44 7700 900101" });
		await add(world, "first");
		await world.pass({ minutes: 1 });
		await outbox.erase({ to: anna.phoneNumber, everyAgency: true });
		await add(world, "second");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "second")).toEqual(["cancelled", "opted_out"]);
		world.sandbox.clock.advance({ minutes: 1 });
		await outbox.optIn({ to: anna.phoneNumber, agencyId: agency.id });
		await add(world, "third");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["third"]);
		world.sandbox.clock.advance({ minutes: 1 });
		await add(world, "waits", { notBefore: new Date(world.sandbox.clock.now().getTime() + 3_600_000) });
		await outbox.optOut({ to: anna.phoneNumber, agencyId: agency.id });
		await world.pass({ hours: 2 });
		expect(await stateOf(world, "waits")).toEqual(["cancelled", "opted_out"]);
	});

	test("observe stores an opt-out that no read has met", async () => {
		const world = createWorld(defaults);
		const { outbox, agency, anna, client } = world;
		anna.writes("Désabonner");
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		for (let count = 0; count < 60; count++) anna.writes(`Message ${count}`);
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
	});

	test("a repeat is checked too: after a lost answer the text of a contact who has opted out is not sent again", async () => {
		const world = createWorld(defaults);
		world.sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
		await add(world, "notice");
		await world.outbox.runOnce();
		expect(world.sends()).toHaveLength(1);
		world.anna.writes("STOP");
		await world.pass({ hours: 3 });
		expect(world.texts()).toEqual([]);
		expect((await stateOf(world, "notice"))[0]).toBe("cancelled");
	});

	test("a function replaces isOptOut, and false examines nothing", async () => {
		const own = createWorld({ ...defaults, optOut: ({ body }) => body === "Basta" });
		own.anna.writes("STOP");
		await add(own, "first");
		await own.pass({ minutes: 1 });
		own.anna.writes("Basta");
		await add(own, "second");
		await own.pass({ minutes: 1 });
		expect(own.texts()).toEqual(["first"]);
		const none = createWorld({ ...defaults, optOut: false });
		none.anna.writes("STOP");
		await add(none, "first");
		await none.pass({ minutes: 1 });
		expect(none.texts()).toEqual(["first"]);
	});
});

describe("where an opt-out is met", () => {
	test("a STOP after a text that is followed holds for the next one, although fifty messages came since", async () => {
		const world = createWorld(defaults);
		await add(world, "first");
		await world.pass({ minutes: 1 });
		world.anna.writes("Stop, please");
		await world.pass({ hours: 1 });
		for (let count = 0; count < 60; count++) world.anna.writes(`Message ${count}`);
		await add(world, "second");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "second")).toEqual(["cancelled", "opted_out"]);
	});

	test("it is that of one agency, and a button that stops promotions is one", async () => {
		const world = createWorld(defaults);
		const other = world.sandbox.link({ name: "Other" });
		other.contact(world.anna).writes("Hello");
		other.staff.setAi({ contact: world.anna, on: false });
		const buttons = [{ code: "stop", text: "Stop promotions" }];
		world.agency.ai.replies({ contact: world.anna, text: "An offer", interactiveContent: { quickReplies: buttons } });
		world.anna.taps("stop");
		await add(world, "here", { purpose: "marketing" });
		await add(world, "elsewhere", { purpose: "marketing", agencyId: other.id });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "here")).toEqual(["cancelled", "opted_out"]);
		expect((await stateOf(world, "elsewhere"))[0]).toBe("sent");
	});
});

describe("an optOut of the caller", () => {
	const broken: Record<string, () => unknown> = {
		throws: () => {
			throw new Error("+447700900101 wrote STOP");
		},
		"is async": async () => false,
		"returns nothing": () => undefined,
	};

	test.each(Object.entries(broken))("that %s keeps the contact's texts back, and ends nothing", async (_, optOut) => {
		let isBroken = true;
		const world = createWorld({
			...defaults,
			optOut: () => (isBroken ? optOut() : false) as boolean,
		});
		await add(world, "kept back");
		await world.outbox.runOnce();
		expect(await stateOf(world, "kept back")).toEqual(["waiting", "hook_failed"]);
		expect(world.sends()).toEqual([]);
		expect(world.pauses).toMatchObject([{ reason: "hook_failed", error: { field: "optOut" } }]);
		const status = await world.outbox.status("kept back");
		expect(JSON.stringify([world.pauses, status?.error, status?.description])).not.toMatch(/447700900101|STOP/);
		isBroken = false;
		await world.pass({ minutes: 15 });
		expect(world.texts()).toEqual(["kept back"]);
		// Nor does it end the work when what was sent is followed.
		isBroken = true;
		world.anna.writes("Thanks");
		world.anna.reads();
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "kept back")).toEqual(["read", null]);
	});
});

describe("quiet hours", () => {
	/** The sandbox begins at 9:00 UTC, which is 10:00 in Brussels. */
	const quietHours = { from: "20:00", to: "08:00", timeZone: "Europe/Brussels" } as const;
	const at = (world: World, time: string) => {
		world.sandbox.clock.advanceTo(`${world.sandbox.clock.now().toISOString().slice(0, 10)}T${time}Z`);
		world.anna.writes("Hello");
	};

	test("a notice waits until they end, without a read, and in its place in the order", async () => {
		const world = createWorld({ ...defaults, quietHours });
		at(world, "21:00:00");
		await add(world, "moved to 14:00");
		await world.pass({ minutes: 50 });
		await add(world, "moved to 15:00");
		await world.pass({ hours: 8 });
		expect([world.sandbox.requests().length, world.texts()]).toEqual([0, []]);
		expect(await stateOf(world, "moved to 14:00")).toEqual(["waiting", "quiet_hours"]);
		expect((await world.outbox.status("moved to 14:00"))?.description).toBe(
			"Waits for the end of the quiet hours, at 2026-01-06 07:00 UTC.",
		);
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["moved to 14:00", "moved to 15:00"]);
	});

	test("a reply ignores them while the window is open, and keeps them otherwise", async () => {
		const world = createWorld({ ...defaults, quietHours });
		at(world, "21:00:00");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["answer"]);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "late answer", { purpose: "reply" });
		await world.pass({ minutes: 30 });
		expect([world.templates(), await stateOf(world, "late answer")]).toEqual([0, ["waiting", "quiet_hours"]]);
		await world.pass({ hours: 10 });
		expect(world.templates()).toBe(1);
	});

	test("a reply is not kept until the morning by an earlier one that is, once the contact has written", async () => {
		const timeZone = "Europe/Brussels";
		const world = createWorld({ ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone } });
		const { sandbox, anna } = world;
		sandbox.clock.advanceTo(new Date("2026-01-08T22:00:00Z"));
		await add(world, "first", { purpose: "reply" });
		await add(world, "second", { purpose: "reply" });
		await world.pass({ minutes: 5 });
		const before = sandbox.requests().length;
		await world.pass({ minutes: 50 });
		// Nobody asks again and again.
		expect(sandbox.requests().length).toBe(before);
		expect(world.texts()).toEqual([]);
		anna.writes("Are you still awake?");
		await add(world, "third", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["first", "second", "third"]);
	});

	test("what can only be sent within them expires at once", async () => {
		const world = createWorld({ ...defaults, quietHours });
		at(world, "14:00:00");
		const day = world.sandbox.clock.now().toISOString().slice(0, 10);
		const status = await add(world, "tonight", { notBefore: `${day}T21:00:00Z`, notAfter: `${day}T23:00:00Z` });
		expect([status.state, status.reason]).toEqual(["expired", "quiet_hours"]);
		expect(status.description).toMatch(/Call the contact/);
		expect((await world.outbox.settled()).map(({ id, reason }) => [id, reason])).toEqual([["tonight", "quiet_hours"]]);
		at(world, "21:30:00");
		await add(world, "head");
		await add(world, "behind", { notAfter: `${day}T22:30:00Z` });
		expect(await stateOf(world, "behind")).toEqual(["expired", "quiet_hours"]);
		await add(world, "reply", { notAfter: `${day}T22:30:00Z`, purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "reply")).toEqual(["sent", null]);
	});

	test("a repeat keeps them, and a text in doubt is read and followed as always", async () => {
		const world = createWorld({ ...defaults, quietHours });
		at(world, "18:59:59.950");
		world.sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
		await add(world, "notice");
		await world.pass({ hours: 3 });
		const night = world.sends().filter(({ at: time }) => new Date(time).getUTCHours() >= 19);
		expect([night, world.texts()]).toEqual([[], []]);
		await world.pass({ hours: 10 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test("the time zone may be that of the agency, and a function that fails pauses the contact", async () => {
		let zone: string | Error = "America/New_York";
		const timeZone = async () => {
			if (zone instanceof Error) throw zone;
			return zone;
		};
		const world = createWorld({ ...defaults, quietHours: { ...quietHours, timeZone } });
		at(world, "21:00:00");
		await add(world, "afternoon in New York");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["afternoon in New York"]);
		zone = new Error("+447700900101");
		const other = createWorld({ ...defaults, quietHours: { ...quietHours, timeZone } });
		await add(other, "no zone");
		await other.pass({ minutes: 1 });
		expect(other.texts()).toEqual([]);
		expect(await stateOf(other, "no zone")).toEqual(["waiting", "hook_failed"]);
		expect(other.pauses).toMatchObject([{ reason: "hook_failed" }]);
		expect(JSON.stringify(other.pauses)).not.toContain("447700900101");
	});

	test.each<[quietHours: unknown, field: string]>([
		[{ from: "8pm", to: "08:00", timeZone: "Europe/Brussels" }, "quietHours.from"],
		[{ from: "20:00", to: "24:00", timeZone: "Europe/Brussels" }, "quietHours.to"],
		[{ from: "20:00", to: "20:00", timeZone: "Europe/Brussels" }, "quietHours.to"],
		[{ from: "20:00", to: "08:00", timeZone: "Brussels" }, "quietHours.timeZone"],
		[{ from: "20:00", to: "08:00" }, "quietHours.timeZone"],
		["20:00-08:00", "quietHours"],
	])("%j is refused", (hours, field) => {
		const { client } = createWorld();
		const open = () => createOutbox({ client, store: memoryStore(), quietHours: hours as OutboxOptions["quietHours"] });
		expect(open).toThrow(expect.objectContaining({ _tag: "PartnerInvalidInput", field }));
	});
});

describe("whenClosed", () => {
	test.each(purposes)('"skip" asks nobody for consent: a %s ends as expired', async (purpose) => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "skipped", { whenClosed: "skip", purpose });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "skipped"), world.sends()]).toEqual([["expired", "window_closed"], []]);
		world.anna.writes("Hello");
		world.agency.staff.setAi({ contact: world.anna, on: false });
		await add(world, "sent", { whenClosed: "skip", purpose });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["sent"]);
	});

	test('"skip" skips a contact who never wrote', async () => {
		const world = createWorld(defaults);
		await add(world, "new", { to: "+447700900102", whenClosed: "skip" });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "new"), world.sends()]).toEqual([["expired", "window_closed"], []]);
	});
});

describe("while the service holds a text", () => {
	/** One of ours is held, and the contact has written since. */
	async function createHeld(options: Partial<OutboxOptions> = {}) {
		const world = createWorld({ ...defaults, ...options });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 1 });
		return world;
	}

	test("a reply is sent into an open window, and everything else waits", async () => {
		const world = await createHeld();
		world.anna.writes("Is it still free?");
		await add(world, "answer", { purpose: "reply" });
		await add(world, "notice");
		await world.pass({ minutes: 5 });
		// The reply ended what was held, so that the notice has its turn then.
		expect(world.texts()).toEqual(["answer", "notice"]);
		expect((await stateOf(world, "held"))[0]).toBe("replaced");
	});

	test("a reply waits while the window is closed, and is not read about again and again", async () => {
		const world = await createHeld();
		const before = world.sandbox.requests().length;
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 30 });
		expect((await stateOf(world, "answer"))[0]).toBe("waiting");
		expect(world.sandbox.requests().length - before).toBeLessThan(10);
		world.anna.writes("Hello?");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["answer"]);
	});

	test("a reply waits for a text of somebody else, unless it says send_if_open", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		world.anna.writes("Hello?");
		await add(world, "waits", { purpose: "reply" });
		await world.pass({ minutes: 5 });
		expect((await stateOf(world, "waits"))[0]).toBe("waiting");
		await add(world, "goes", { purpose: "reply", onHeld: "send_if_open", priority: 1 });
		await world.pass({ minutes: 5 });
		expect(world.texts()).toContain("goes");
	});

	test.each(purposes)("onHeld of a %s overrides the table: wait, send_if_open, replace", async (purpose) => {
		const wait = await createHeld();
		wait.anna.writes("Hello?");
		await add(wait, "waits", { purpose, onHeld: "wait" });
		await wait.pass({ minutes: 5 });
		expect(wait.texts()).toEqual([]);
		const open = await createHeld();
		open.anna.writes("Hello?");
		await add(open, "goes", { purpose, onHeld: "send_if_open" });
		await open.pass({ minutes: 5 });
		expect(open.texts()).toEqual(["goes"]);
		const replace = await createHeld();
		await add(replace, "takes its place", { purpose, onHeld: "replace" });
		await replace.pass({ minutes: 5 });
		if (purpose === "marketing") {
			// In a closed window it would ask the contact for consent.
			expect(replace.anna.state().held?.body).toBe("held");
			expect(await stateOf(replace, "takes its place")).toEqual(["expired", "window_closed"]);
			return;
		}
		expect(replace.anna.state().held?.body).toBe("takes its place");
		expect((await stateOf(replace, "held"))[0]).toBe("replaced");
	});
});

describe("what was given", () => {
	test("beforeSend and status give back purpose, times and meta", async () => {
		const seen: unknown[] = [];
		const world = createWorld({
			...defaults,
			beforeSend: ({ purpose, priority, notBefore, notAfter, meta }, { messages, isOwn }) => {
				seen.push({ purpose, priority, notBefore, notAfter, meta, own: messages.map(isOwn) });
				return "send";
			},
		});
		const notAfter = new Date(world.sandbox.clock.now().getTime() + 3_600_000);
		const meta = { visit: 7, tags: ["a", null] };
		await add(world, "1", { purpose: "reply", priority: 3, notAfter, meta });
		await world.pass({ minutes: 1 });
		await add(world, "2");
		await world.pass({ minutes: 1 });
		expect(seen).toEqual([
			{ purpose: "reply", priority: 3, notBefore: null, notAfter, meta, own: [false] },
			{ purpose: "notice", priority: 0, notBefore: null, notAfter: null, meta: null, own: [true, false] },
		]);
		expect((await world.outbox.status("1"))?.meta).toEqual(meta);
		const [first] = await world.outbox.settled();
		expect([first?.id, first?.purpose, first?.meta]).toEqual(["1", "reply", meta]);
		await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
		expect((await world.outbox.status("1"))?.meta).toBeNull();
	});

	test("who sends a text and why are given back, until it is erased", async () => {
		const ended: unknown[] = [];
		const world = createWorld({ onSettled: ({ by, why }) => void ended.push([by, why]) });
		const given = { by: " Ann ", why: "Anna called: x".padEnd(200, "x") };
		const [by, why] = ["Ann", given.why];
		expect(await add(world, "1", given)).toMatchObject({ by, why });
		expect(await add(world, "2")).toMatchObject({ by: null, why: null });
		// Somebody else's double click is the same text, under the same operationId.
		expect(await add(world, "1", { by: "Ben" })).toMatchObject({ by, why, ignored: ["by", "why"] });
		await world.pass({ minutes: 1 });
		const [first] = await world.outbox.settled();
		expect(first).toMatchObject({ id: "1", by, why });
		expect(ended).toContainEqual([by, why]);
		expect((await world.outbox.explain("1"))?.status).toMatchObject({ by, why });
		expect(JSON.stringify((await world.outbox.explain("1"))?.steps)).not.toContain("Ann");
		await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
		expect(await world.outbox.status("1")).toMatchObject({ by: null, why: null });
		expect(JSON.stringify(world.store.all())).not.toContain("Ann");
	});

	test("an erasure for one agency leaves the texts of the others, and all agencies are named in so many words", async () => {
		const world = createWorld();
		const other = world.sandbox.link({ name: "Other" });
		other.contact(world.anna.phoneNumber).writes("Hello");
		const { outbox, anna, agency } = world;
		const to = anna.phoneNumber;
		await add(world, "mine", { by: "Ann", why: "She asked" });
		await add(world, "others", { agencyId: other.id, by: "Ben", why: "He asked" });
		const notBefore = new Date(world.sandbox.clock.now().getTime() + 86_400_000);
		await add(world, "waits", { agencyId: other.id, notBefore });
		await world.pass({ minutes: 1 });
		const bad: [given: unknown, field: string][] = [
			[{ to }, "agencyId"],
			[{ to, agencyId: undefined, everyAgency: undefined }, "agencyId"],
			[{ to, agencyId: agency.id, everyAgency: true }, "everyAgency"],
			[{ to, everyAgency: false }, "everyAgency"],
			[{ to, everyAgency: "yes" }, "everyAgency"],
			[{ to, agencyId: agency.id, everyAgency: false }, "everyAgency"],
			[{ to, agencyId: "" }, "agencyId"],
			[{ to, agencyId: null }, "agencyId"],
		];
		for (const [given, field] of bad) {
			const error = await outbox.erase(given as EraseOptions).catch((thrown: unknown) => thrown);
			expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field });
			expect(String(error)).not.toContain(to);
		}
		expect(await outbox.status("mine")).toMatchObject({ to, by: "Ann" });
		await outbox.erase({ to, agencyId: agency.id });
		expect(await outbox.status("mine")).toMatchObject({ to: null, by: null, why: null });
		expect(await outbox.status("others")).toMatchObject({ to, by: "Ben", why: "He asked" });
		expect((await outbox.status("waits"))?.state).toBe("waiting");
		const { cancelled } = await outbox.erase({ to, everyAgency: true });
		expect(cancelled).toEqual(["waits"]);
		expect((await outbox.explain("others"))?.status).toMatchObject({ to: null, by: null, why: null });
	});

	test("texts of a whole agency are cancelled only by a call that names the agency and no number", async () => {
		const world = createWorld();
		const { outbox, anna, agency } = world;
		const to = anna.phoneNumber;
		await add(world, "waits", { notBefore: new Date(world.sandbox.clock.now().getTime() + 86_400_000) });
		const inherited = Object.create({ agencyId: agency.id });
		const bad: [given: unknown, field: string][] = [
			[{}, "to"],
			[{ by: "Ann" }, "to"],
			[inherited, "options"],
			[{ to: undefined }, "to"],
			[{ to: undefined, agencyId: undefined }, "to"],
			// The number of a contact without one must not cancel everybody's texts.
			[{ to: undefined, agencyId: agency.id }, "to"],
			[{ to: null, agencyId: agency.id }, "to"],
			[{ to: "", agencyId: agency.id }, "to"],
			[{ agencyId: undefined }, "agencyId"],
			[{ agencyId: null }, "agencyId"],
			[{ agencyId: "" }, "agencyId"],
			[{ agencyId: "*" }, "agencyId"],
			[{ agencyId: [agency.id] }, "agencyId"],
			[{ agencyId: agency.id, everyAgency: true }, "options"],
			[{ agencyId: agency.id, by: "" }, "by"],
			[agency.id, "options"],
			[null, "options"],
			[undefined, "options"],
		];
		for (const [given, field] of bad) {
			const error = await outbox.cancelAll(given as CancelAllOptions).catch((thrown: unknown) => thrown);
			expect([given, error]).toMatchObject([given, { _tag: "PartnerInvalidInput", field }]);
			expect(String(error)).not.toContain(to);
			expect((await outbox.status("waits"))?.state).toBe("waiting");
		}
		expect(await outbox.cancelAll({ agencyId: agency.id })).toEqual({ cancelled: ["waits"], tooLate: [] });
		// Without an agency a number still means every agency.
		await add(world, "again");
		expect(await outbox.cancelAll({ to, agencyId: undefined })).toEqual({ cancelled: ["again"], tooLate: [] });
	});

	test("an opt-out needs a number, also with an agency", async () => {
		const { outbox, agency } = createWorld();
		for (const method of ["optOut", "optIn"] as const) {
			const given = { agencyId: agency.id } as Parameters<typeof outbox.optOut>[0];
			await expect(outbox[method](given)).rejects.toMatchObject({ field: "to", operation: method });
		}
	});

	test("the operationId does not depend on who sends a text and why", async () => {
		const ids = await Promise.all(
			[{}, { by: "Ann", why: "She asked" }].map(async (given) => {
				const world = createWorld();
				await add(world, "1", given);
				await world.pass({ minutes: 1 });
				return (await world.outbox.status("1"))?.operationId;
			}),
		);
		expect(new Set(ids)).toEqual(new Set([expect.any(String)]));
	});

	test.each<[field: string, value: unknown]>([
		["purpose", "urgent"],
		["purpose", null],
		["onHeld", "skip"],
		["whenClosed", "wait"],
		["meta", () => 1],
		["meta", 1n],
		["meta", "x".repeat(5_000)],
		["by", "x".repeat(101)],
		["by", ""],
		["by", 7],
		["why", "xxxx".repeat(51)],
		["why", "xxxx\nxxxx"],
		["why", "xxxx\u202exxxx"],
		["why", null],
	])("a bad %s is refused without its value", async (field, value) => {
		const world = createWorld();
		const error = await add(world, "1", { [field]: value } as Partial<EnqueuedText>).catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field });
		expect(String(error)).not.toContain("xxxx");
		expect(await world.outbox.status("1")).toBeUndefined();
	});
});

describe("after an earlier text that the service held", () => {
	/** An earlier text of a purpose, which is held, and one of each purpose behind it. */
	async function createBehind(purpose: (typeof purposes)[number]) {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "earlier", { purpose, onHeld: "wait" });
		await world.pass({ minutes: 1 });
		for (const each of purposes) await add(world, each, { purpose: each, onHeld: "wait", notAfter: inDays(world, 9) });
		return world;
	}
	const inDays = ({ sandbox }: World, days: number) => new Date(sandbox.clock.now().getTime() + days * 86_400_000);
	const reasons = async (world: World) => Promise.all(purposes.map(async (each) => (await stateOf(world, each))[1]));

	const asking = ["reply", "notice"] as const;
	test.each(asking)(
		"that was declined, a %s, everything that was enqueued before is cancelled, but for a reply",
		async (purpose) => {
			const world = await createBehind(purpose);
			world.anna.declines();
			await world.pass({ minutes: 30 });
			expect(await stateOf(world, "earlier")).toEqual(["dropped", "declined"]);
			const states = await Promise.all(purposes.map(async (each) => (await stateOf(world, each))[0]));
			expect(states).toEqual(purposes.map((each) => (each === "reply" ? "sent" : "cancelled")));
			expect(world.texts()).toEqual(["reply"]);
			// Later ones are sent, but for marketing, until the contact writes.
			for (const each of purposes) await add(world, `later ${each}`, { purpose: each });
			await world.pass({ minutes: 5 });
			expect(world.texts()).toEqual(["reply", "later reply", "later notice"]);
			expect(await stateOf(world, "later marketing")).toEqual(["cancelled", "earlier_text_declined"]);
			world.anna.writes({ media: [{ url: "https://files.invalid/1.jpg" }] });
			await add(world, "after a photo", { purpose: "marketing" });
			await world.pass({ minutes: 5 });
			expect(await stateOf(world, "after a photo")).toEqual(["cancelled", "earlier_text_declined"]);
			world.anna.writes("Tell me more");
			await add(world, "asked for", { purpose: "marketing" });
			await world.pass({ minutes: 5 });
			expect(world.texts().at(-1)).toBe("asked for");
		},
	);

	test("a tap counts from its own time: what was enqueued after it is sent, although nobody had noticed it", async () => {
		const world = await createBehind("notice");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.declines();
		world.sandbox.clock.advance({ ms: 1 });
		world.anna.writes("But is it still free?");
		await add(world, "It is.", { purpose: "reply" });
		await add(world, "Your visit", { purpose: "notice" });
		await world.pass({ minutes: 30 });
		expect(await reasons(world)).toEqual(purposes.map((each) => (each === "reply" ? null : "earlier_text_declined")));
		expect(world.texts()).toEqual(["It is.", "reply", "Your visit"]);
	});

	test.each(["a reply", "a notice"])(
		"a colleague's, and declined, %s that waited behind it ends only if it is a notice",
		async (what) => {
			const world = createWorld(defaults);
			const { agency, anna, client, sandbox } = world;
			sandbox.clock.advance({ hours: 25 });
			await learnYes(world);
			await client.agency(agency.id).messages.send({ to: anna.phoneNumber, body: "From a colleague." });
			await add(world, "waits", { purpose: what === "a reply" ? "reply" : "notice" });
			await add(world, "later", { notBefore: new Date(sandbox.clock.now().getTime() + 7_200_000) });
			await world.pass({ minutes: 1 });
			anna.declines();
			await world.pass({ hours: 1 });
			const isReply = what === "a reply";
			expect(await stateOf(world, "waits")).toEqual(isReply ? ["sent", null] : ["cancelled", "earlier_text_declined"]);
			expect(await stateOf(world, "later")).toEqual(["cancelled", "earlier_text_declined"]);
			await add(world, "enqueued afterwards");
			await world.pass({ minutes: 1 });
			expect(world.texts()).toEqual([...(isReply ? ["waits"] : []), "enqueued afterwards"]);
		},
	);

	test("a colleague's, and accepted or ignored, the next text has its turn", async () => {
		for (const how of ["accepts", "ignores"]) {
			const world = createWorld({ ...defaults, defaultMaxAgeMs: Number.POSITIVE_INFINITY });
			world.sandbox.clock.advance({ hours: 25 });
			const { agency, anna, client } = world;
			await client.agency(agency.id).messages.send({ to: anna.phoneNumber, body: "From a colleague." });
			await add(world, "waits");
			await world.pass({ minutes: 1 });
			if (how === "accepts") anna.accepts();
			await world.pass({ hours: 60 });
			expect((await stateOf(world, "waits"))[0]).toBe(how === "accepts" ? "sent" : "held");
		}
	});

	test("a tap of a booking flow declines nothing", async () => {
		const world = createWorld(defaults);
		world.anna.taps("visit_confirm");
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test("a text whose transaction began before the tap, and was committed long after it, is cancelled", async () => {
		const world = await createBehind("notice");
		const { agency, anna, store } = world;
		const late = { ...(await store.find("notice")), id: "late" } as OutboxText;
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.declines();
		await world.pass({ minutes: 30 });
		await store.insert({ ...newText, ...late, agencyId: agency.id, to: anna.phoneNumber }, undefined);
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "late")).toEqual(["cancelled", "earlier_text_declined"]);
	});

	test("that is unknown or failed keeps nothing back, but for a decline that was seen", async () => {
		for (const how of ["says nothing", "declines"]) {
			const world = createWorld({ ...defaults, defaultMaxAgeMs: Number.POSITIVE_INFINITY });
			world.sandbox.clock.advance({ hours: 25 });
			// The answer is lost, so that it is not known that the text was held.
			world.sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
			await add(world, "earlier");
			await world.outbox.runOnce();
			for (const each of purposes) await add(world, each, { purpose: each });
			world.sandbox.clock.advance({ ms: 1 });
			if (how === "declines") world.anna.declines();
			else world.sandbox.clock.advance({ hours: 60 });
			await world.pass({ hours: 1 });
			expect(await stateOf(world, "earlier")).toEqual(["unknown", "ambiguous"]);
			const states = [(await stateOf(world, "reply"))[0], (await stateOf(world, "notice"))[0]];
			expect(states).toEqual(how === "declines" ? ["sent", "cancelled"] : ["held", "waiting"]);
		}
	});

	test("that a notice or a reply got no answer, notices and marketing are cancelled, and replies are not", async () => {
		for (const purpose of ["reply", "notice"] as const) {
			const world = await createBehind(purpose);
			await world.pass({ hours: 50 });
			expect(await stateOf(world, "earlier")).toEqual(["dropped", "no_answer"]);
			const [reply, ...others] = await reasons(world);
			expect([reply, others]).toEqual([null, ["earlier_text_unanswered", "earlier_text_unanswered"]]);
		}
	});

	test("one ignored notice does not end every later one", async () => {
		const world = await createBehind("notice");
		await world.pass({ hours: 100 });
		await add(world, "later");
		await world.pass({ minutes: 5 });
		expect((await stateOf(world, "later"))[0]).not.toBe("cancelled");
	});

	test("a contact who answered in words has not declined", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "earlier", { notAfter: inDays(world, 9) });
		await world.pass({ minutes: 1 });
		world.anna.writes("Yes please, send it!");
		await world.pass({ hours: 50 });
		expect(await stateOf(world, "earlier")).toEqual(["dropped", "answered_in_words"]);
		expect((await world.outbox.status("earlier"))?.description).toMatch(/answered in words/);
	});
});

describe("quiet hours by the clock on the wall", () => {
	const everyNight = { from: "20:00", to: "08:00" };

	/** When a text that comes due at a time goes out. */
	async function sentAt(timeZone: string, dueAt: string, hours = everyNight): Promise<string> {
		const world = createWorld({ ...defaults, quietHours: { ...hours, timeZone } });
		world.sandbox.clock.advanceTo(dueAt);
		// The window is open for as long as it takes.
		await add(world, "notice");
		await world.outbox.runOnce();
		for (let hour = 0; hour < 26 && world.sends().length === 0; hour++) {
			world.anna.writes("Hello");
			await world.pass({ hours: 1 });
		}
		return new Date(world.sends()[0]?.at ?? 0).toISOString();
	}

	test.each([
		[
			"Europe/Brussels, the night in which the clock goes forward",
			"Europe/Brussels",
			"2026-03-28T21:00:00Z",
			"2026-03-29T06:00:00.000Z",
		],
		[
			"Europe/Brussels, the night in which it goes back",
			"Europe/Brussels",
			"2026-10-24T21:00:00Z",
			"2026-10-25T07:00:00.000Z",
		],
		["Asia/Beirut, where it changes at midnight", "Asia/Beirut", "2026-03-28T21:30:00Z", "2026-03-29T05:00:00.000Z"],
		[
			"Africa/Cairo, where midnight does not exist then",
			"Africa/Cairo",
			"2026-04-23T21:30:00Z",
			"2026-04-24T05:00:00.000Z",
		],
		["Asia/Kolkata, with half an hour", "Asia/Kolkata", "2026-06-01T15:00:00Z", "2026-06-02T02:30:00.000Z"],
		["Asia/Kathmandu, with three quarters", "Asia/Kathmandu", "2026-06-01T15:00:00Z", "2026-06-02T02:15:00.000Z"],
	])("%s", async (_, timeZone, dueAt, expected) => {
		expect(await sentAt(timeZone, dueAt)).toBe(expected);
	});

	test("hours that begin and end on one day", async () => {
		const lunch = { from: "12:00", to: "13:30" };
		expect(await sentAt("Europe/Brussels", "2026-06-01T10:10:00Z", lunch)).toBe("2026-06-01T11:30:00.000Z");
		expect(await sentAt("Europe/Brussels", "2026-06-01T09:59:00Z", lunch)).toBe("2026-06-01T09:59:00.000Z");
	});

	test("an end that does not exist in the night of the change is the first moment after it", async () => {
		const hours = { from: "22:00", to: "02:30" };
		expect(await sentAt("Europe/Brussels", "2026-03-28T23:00:00Z", hours)).toBe("2026-03-29T01:00:00.000Z");
	});
});
