// Each rule by which a text that waits ends or goes on waiting, in the order in which they are asked. A title begins with the name of
// its rule. Without that rule its test fails, so that a rule that nobody watches is found by taking it away.
import type { EnqueuedText } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { add, createWorld, learnYes, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const night = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } } as const;
/** The store of the tests takes any. */
const noTransaction = {} as never;

/** Anna wrote on 5 January at 09:00, and quiet hours are from 20:00 to 08:00. */
const goTo = ({ sandbox }: World, time: string) => sandbox.clock.advanceTo(new Date(`2026-01-${time}Z`));
const inHours = ({ sandbox }: World, hours: number) => new Date(sandbox.clock.now().getTime() + hours * 3_600_000);
const kindOf = async ({ outbox }: World, id: string) => (await outbox.status(id))?.waitsFor?.kind;
const reads = ({ sandbox }: World) => sandbox.requests().filter(({ operation }) => operation === "conversations.get");
const bodies = (world: World) => world.sends().map(({ body }) => Object(body).body);

/** Anna's window is closed. */
function createClosed(options: Parameters<typeof createWorld>[0] = {}): World {
	const world = createWorld({ ...defaults, ...options });
	world.sandbox.clock.advance({ hours: 25 });
	return world;
}

/** The service holds a notice of ours. */
async function createHeld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
	const world = createClosed(options);
	await add(world, "held");
	await world.pass({ minutes: 1 });
	expect(await world.state("held")).toBe("held");
	return world;
}

/** Sends are answered 500, and not taken. */
const breakSends = ({ sandbox }: World) =>
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 }, times: 9_999 });

describe("a text ends", () => {
	test("restored: what was sent since the backup is found in the conversation, and is not sent again", async () => {
		const world = createWorld(defaults);
		await add(world, "note");
		const restore = world.store.snapshot();
		const backupAt = world.sandbox.clock.now();
		world.sandbox.clock.advance({ minutes: 5 });
		await world.outbox.runOnce();
		world.sandbox.clock.advance({ minutes: 5 });
		restore();
		await world.outbox.restored({ backupAt });
		await world.pass({ minutes: 10 });
		expect([await stateOf(world, "note"), bodies(world)]).toEqual([["sent", null], ["note"]]);
	});

	test.each(["cancelAll", "erase"] as const)(
		"stopped: a text whose transaction was still open when %s was called ends, also if its turn comes later",
		async (operation) => {
			const world = createWorld(defaults);
			await add(world, "now");
			await add(world, "later", { notBefore: inHours(world, 5) });
			const store = { ...world.store, unfinished: async () => [] };
			await world.restart({ store })[operation]({ to: world.anna.phoneNumber, agencyId: world.agency.id });
			await add(world, "afterwards");
			await world.pass({ hours: 6 });
			for (const id of ["now", "later"]) expect(await stateOf(world, id)).toEqual(["cancelled", "requested"]);
			expect(bodies(world)).toEqual(["afterwards"]);
		},
	);

	test("stopped: a text whose transaction was still open when all texts of its agency were cancelled ends, also if its turn comes later", async () => {
		const world = createWorld(defaults);
		await add(world, "now");
		await add(world, "later", { notBefore: inHours(world, 5) });
		const store = { ...world.store, unfinished: async () => [] };
		const outbox = world.restart({ store });
		expect(await outbox.cancelAll({ agencyId: world.agency.id })).toEqual({ cancelled: [], tooLate: [] });
		await add(world, "afterwards");
		await world.pass({ hours: 6 });
		for (const id of ["now", "later"]) expect(await stateOf(world, id)).toEqual(["cancelled", "requested"]);
		expect(bodies(world)).toEqual(["afterwards"]);
	});

	test("superseded: the earlier text ends, although the process that enqueued the later one died before it was cancelled", async () => {
		const world = createWorld(defaults);
		await add(world, "at two");
		const store = { ...world.store, save: () => Promise.reject(new Error("killed")) };
		await expect(
			add({ ...world, outbox: world.restart({ store }) }, "at three", { supersedes: "at two" }),
		).rejects.toThrow("killed");
		await world.pass({ minutes: 10 });
		expect(await stateOf(world, "at two")).toEqual(["cancelled", "superseded"]);
		expect(bodies(world)).toEqual(["at three"]);
	});

	test("requested: a text that is cancelled in a transaction between two tries is not tried again", async () => {
		const world = createWorld(defaults);
		breakSends(world);
		await add(world, "note");
		for (let minute = 0; minute < 30 && !(await isBetweenTries(world)); minute++) await world.pass({ minutes: 1 });
		expect(await world.outbox.cancel("note", { tx: noTransaction })).toBe(false);
		const tries = world.sends().length;
		world.sandbox.faults.clear();
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "note")).toEqual(["cancelled", "requested"]);
		expect([world.sends().length, world.texts()]).toEqual([tries, []]);
	});

	async function isBetweenTries({ outbox }: World): Promise<boolean> {
		const status = await outbox.status("note");
		return status?.state === "waiting" && status.attempts > 0;
	}

	test("requested: what came back with a backup and is not in the conversation ends once it is cancelled", async () => {
		const world = createWorld(defaults);
		await add(world, "note");
		await world.outbox.restored({ backupAt: inHours(world, -1) });
		expect(await world.outbox.cancel("note")).toBe(false);
		await world.pass({ hours: 30 });
		expect([await stateOf(world, "note"), world.sends()]).toEqual([["cancelled", "requested"], []]);
	});

	test("too_old: a text whose last moment passes while it waits is not sent afterwards", async () => {
		const world = createWorld(defaults);
		await world.outbox.suspend({ reason: "Wrong price" });
		await add(world, "note", { notAfter: inHours(world, 2) });
		await world.pass({ hours: 1 });
		expect(await world.state("note")).toBe("waiting");
		await world.pass({ hours: 2 });
		expect(await stateOf(world, "note")).toEqual(["expired", "too_old"]);
		await world.outbox.resume();
		await world.pass({ minutes: 5 });
		expect(world.sends()).toEqual([]);
	});

	test("opted_out: a contact who writes STOP gets neither what is due nor what is due in days", async () => {
		const world = createWorld(defaults);
		await add(world, "later", { notBefore: inHours(world, 48) });
		world.anna.writes("STOP");
		await add(world, "now");
		await world.pass({ minutes: 1 });
		for (const id of ["now", "later"]) expect(await stateOf(world, id)).toEqual(["cancelled", "opted_out"]);
		expect(world.sends()).toEqual([]);
	});

	test("earlier_text_declined: what waits behind a text that is declined ends", async () => {
		const world = await createHeld();
		await add(world, "behind");
		await add(world, "later", { notBefore: inHours(world, 48) });
		await world.pass({ minutes: 1 });
		world.anna.declines();
		await world.pass({ minutes: 30 });
		for (const id of ["behind", "later"])
			expect(await stateOf(world, id)).toEqual(["cancelled", "earlier_text_declined"]);
		expect(bodies(world)).toEqual(["held"]);
	});

	test("earlier_text_unanswered: what waits behind a notice that gets no answer ends", async () => {
		const world = await createHeld();
		await add(world, "behind", { notAfter: inHours(world, 100) });
		await world.pass({ hours: 52 });
		expect(await stateOf(world, "behind")).toEqual(["cancelled", "earlier_text_unanswered"]);
		expect(bodies(world)).toEqual(["held"]);
	});

	test("expires_tonight: a notice that could only go out at night ends when it is enqueued", async () => {
		const world = createWorld(night);
		const tonight = { notBefore: "2026-01-05T21:00:00Z", notAfter: "2026-01-05T23:00:00Z" };
		const { state, reason } = await add(world, "notice", tonight);
		expect([state, reason]).toEqual(["expired", "quiet_hours"]);
	});

	test.each<[what: string, arrange: (world: World) => Promise<unknown>]>([
		["behind a held text", async (world) => add(world, "held")],
		["of an agency that is suspended", async ({ outbox }) => outbox.suspend({ reason: "Wrong price" })],
	])(
		"expires_tonight: a notice %s ends when the night begins, and not when its time has passed",
		async (_, arrange) => {
			const world = createClosed(night);
			goTo(world, "06T18:00:00");
			await arrange(world);
			await world.pass({ minutes: 1 });
			await add(world, "notice", { notAfter: new Date("2026-01-06T23:30:00Z") });
			await world.pass({ minutes: 30 });
			expect(await world.state("notice")).toBe("waiting");
			goTo(world, "06T19:59:00");
			await world.pass({ hours: 1, minutes: 30 });
			expect(await stateOf(world, "notice")).toEqual(["expired", "quiet_hours"]);
		},
	);
});

describe("a text waits", () => {
	test("suspended: nothing of an agency that a person has suspended is read or sent, and no check is asked", async () => {
		const asked: string[] = [];
		const world = createWorld({
			...defaults,
			beforeSend: ({ id }) => {
				asked.push(id);
				return "send";
			},
		});
		const { agency, outbox, sandbox } = world;
		await outbox.suspend({ agencyId: agency.id, reason: "Wrong price" });
		await add(world, "notice");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ hours: 3 });
		expect([sandbox.requests(), asked]).toEqual([[], []]);
		expect([await kindOf(world, "notice"), await kindOf(world, "answer")]).toEqual(["suspended", "suspended"]);
		await outbox.resume({ agencyId: agency.id });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["answer", "notice"]);
	});

	test("suspended: it stops the next text of a contact whose first one is under way", async () => {
		const world = createWorld(defaults);
		let isCalled = false;
		world.sandbox.during({ operation: "messages.send", phase: "before" }, () => {
			isCalled = true;
			void world.outbox.suspend({ reason: "Wrong price" });
		});
		for (const id of ["first", "second"]) await add(world, id);
		await world.pass({ hours: 1 });
		expect([isCalled, world.texts()]).toEqual([true, ["first"]]);
		expect(await kindOf(world, "second")).toBe("suspended");
	});

	test("not_before: a text waits for its time, keeps no other one back, and its status says so whatever else is the case", async () => {
		const world = await createHeld();
		const notBefore = inHours(world, 4);
		await add(world, "reminder", { notBefore });
		await add(world, "answer", { purpose: "reply", notBefore });
		world.anna.writes("Yes?");
		await add(world, "now", { onHeld: "send_if_open" });
		await world.pass({ hours: 3 });
		expect(world.texts()).toEqual(["now"]);
		for (const id of ["reminder", "answer"])
			expect((await world.outbox.status(id))?.waitsFor).toMatchObject({ kind: "not_before", until: notBefore });
		await world.outbox.optIn({ to: world.anna.phoneNumber });
		await world.pass({ minutes: 59 });
		expect(world.texts()).toEqual(["now"]);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["now", "answer", "reminder"]);
	});

	test("behind: one text goes out at a time, and its result is known before the next one", async () => {
		const world = createWorld(defaults);
		breakSends(world);
		for (const id of ["first", "second"]) await add(world, id);
		await world.pass({ minutes: 10 });
		expect(new Set(bodies(world))).toEqual(new Set(["first"]));
		expect((await world.outbox.status("second"))?.waitsFor).toMatchObject({ kind: "behind", id: "first" });
		world.sandbox.faults.clear();
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["first", "second"]);
	});

	test("pause: after a 429 nothing is asked of the service until its time is over, not even for others", async () => {
		const world = createWorld(defaults);
		const { sandbox, agency, outbox } = world;
		const ben = agency.contact("+447700900102");
		ben.writes("Hello");
		sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 600 } });
		await add(world, "first");
		await outbox.runOnce();
		const before = sandbox.requests().length;
		await add(world, "to ben", { to: ben.phoneNumber });
		await add(world, "second", { purpose: "reply" });
		await world.pass({ minutes: 9 });
		expect(sandbox.requests().length).toBe(before);
		expect(await kindOf(world, "to ben")).toBe("pause");
		await world.pass({ minutes: 5 });
		expect([world.texts().sort(), ben.inbox().map(({ body }) => body)]).toEqual([["first", "second"], ["to ben"]]);
	});

	test("pause: a text whose worker has just begun, when another one meets a 429, makes no request", async () => {
		const ben = "+447700900102";
		let [leased, paused] = [() => {}, () => {}];
		const isLeased = new Promise<void>((resolve) => {
			leased = resolve;
		});
		const isPaused = new Promise<void>((resolve) => {
			paused = resolve;
		});
		const world: World = createWorld({
			...defaults,
			onPaused: () => paused(),
			async beforeSend({ id }) {
				if (id !== "first") return "send" as const;
				await add(world, "to ben", { to: ben });
				await isLeased;
				return "send" as const;
			},
		});
		const { claim } = world.store;
		world.store.claim = async (how) => {
			const leases = await claim(how);
			if (leases.some(({ to }) => to === ben)) {
				leased();
				await isPaused;
			}
			return leases;
		};
		world.sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 600 } });
		await add(world, "first");
		await world.outbox.runOnce();
		expect(world.sandbox.requests().map(({ operation }) => operation)).toEqual(["conversations.get", "messages.send"]);
		world.store.claim = claim;
		await world.pass({ minutes: 15 });
		expect([await world.state("first"), await world.state("to ben")]).toEqual(["sent", "held"]);
	});

	test("pause: an agency whose link has ended waits, and another agency does not", async () => {
		const world = createWorld(defaults);
		const { sandbox, agency, outbox } = world;
		const other = sandbox.link({ name: "Other" });
		other.contact(world.anna).writes("Hello");
		agency.unlink();
		await add(world, "first");
		await world.pass({ minutes: 3 });
		await add(world, "second", { to: agency.contact("+447700900102").phoneNumber });
		await add(world, "elsewhere", { agencyId: other.id });
		const before = sandbox.requests().length;
		await outbox.runOnce();
		expect([await world.state("elsewhere"), sandbox.requests().length - before]).toEqual(["sent", 2]);
		for (const id of ["first", "second"]) {
			const { waitsFor } = (await outbox.status(id)) ?? {};
			expect(waitsFor?.kind).toBe("pause");
			expect(waitsFor?.until?.getTime()).toBeGreaterThan(sandbox.clock.now().getTime());
		}
	});

	test("lost_request: after requests without a result the waits grow, and nothing that wakes the contact's texts cuts them short", async () => {
		const world = createWorld(defaults);
		const { outbox, sandbox, anna } = world;
		breakSends(world);
		await add(world, "note");
		await world.pass({ hours: 1 });
		const tries = world.sends().length;
		expect(tries).toBeGreaterThan(4);
		// The wait after the last one is longer than an hour.
		for (let minute = 0; minute < 20; minute++) {
			sandbox.clock.advance({ minutes: 1 });
			await outbox.optIn({ to: anna.phoneNumber });
			await outbox.runOnce();
		}
		expect(world.sends().length).toBe(tries);
		expect((await outbox.status("note"))?.nextAttemptAt?.getTime()).toBeGreaterThan(sandbox.clock.now().getTime());
	});

	test("put_off: a text that was put off is not tried before its next attempt, although other texts are enqueued", async () => {
		const asked: string[] = [];
		const world = createWorld({
			...defaults,
			beforeSend: ({ id }) => {
				asked.push(id);
				throw new Error("down");
			},
		});
		await add(world, "notice");
		await world.outbox.runOnce();
		for (let count = 0; count < 5; count++) {
			await add(world, `later ${count}`);
			await world.outbox.runOnce();
		}
		expect(asked).toEqual(["notice"]);
		const { nextAttemptAt } = (await world.outbox.status("notice")) ?? {};
		world.sandbox.clock.advanceTo(nextAttemptAt ?? inHours(world, 1));
		await world.outbox.runOnce();
		expect(asked.slice(0, 2)).toEqual(["notice", "notice"]);
	});

	test("behind_held: a reply to a contact who has written goes at once, because our held text is read for it", async () => {
		const world = await createHeld();
		await world.pass({ hours: 2 });
		world.anna.writes("Is it still free?");
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect(world.texts()).toEqual(["answer"]);
	});

	test("behind_held: a reply from a backup is looked for before it goes in the place of a held text, or after it", async () => {
		const world = await createHeld();
		await add(world, "answer", { purpose: "reply" });
		const backupAt = world.sandbox.clock.now();
		const restore = world.store.snapshot();
		world.anna.writes("Is it still free?");
		await world.pass({ minutes: 20 });
		expect([world.texts(), bodies(world)]).toEqual([["answer"], ["held", "answer"]]);
		restore();
		await world.outbox.restored({ backupAt });
		await world.pass({ hours: 1 });
		expect(bodies(world)).toEqual(["held", "answer"]);
		expect(await stateOf(world, "answer")).toEqual(["sent", null]);
	});

	test("behind_held: a reply goes in the place of our own held text, which is read first and then ends as replaced by it", async () => {
		const world = await createHeld();
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect((await world.outbox.status("answer"))?.waitsFor).toMatchObject({ kind: "own_held", id: "held" });
		expect(bodies(world)).toEqual(["held"]);
		world.anna.writes("Is it still free?");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["answer"]);
		expect(await world.outbox.status("held")).toMatchObject({ state: "replaced", replacedBy: "answer" });
	});

	test("behind_held: a text that may replace any held one does not replace one that the contact has just accepted", async () => {
		const world = await createHeld();
		world.anna.accepts();
		await add(world, "newer", { onHeld: "replace" });
		await world.pass({ minutes: 30 });
		expect(world.texts()).toEqual(["held", "newer"]);
		expect(["sent", "delivered"]).toContain(await world.state("held"));
	});
});

describe("a text waits for what has to be asked", () => {
	test.each(["the time zone", "beforeSend", "optOut"])("hook_failed: a failure of %s keeps it back", async (which) => {
		let isBroken = true;
		const failing = <Value>(name: string, value: Value) => {
			if (isBroken && which === name) throw new Error("down");
			return value;
		};
		const world = createWorld({
			...defaults,
			beforeSend: () => failing("beforeSend", "send"),
			optOut: () => failing("optOut", false),
			quietHours: { from: "01:00", to: "02:00", timeZone: () => failing("the time zone", "UTC") },
		});
		await add(world, "notice");
		await world.pass({ minutes: 5 });
		expect([await stateOf(world, "notice"), world.sends()]).toEqual([["waiting", "hook_failed"], []]);
		expect(await kindOf(world, "notice")).toBe("hook_failed");
		isBroken = false;
		await world.pass({ minutes: 11 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test.each(["held", "sent"] as const)(
		"shows: a text whose request was taken in a hidden conversation is found as %s once that is shown, and not sent again",
		async (end) => {
			const world = createClosed();
			const { agency, anna, outbox, sandbox } = world;
			agency.conversation(anna).hide();
			sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
			await add(world, "note");
			await outbox.runOnce();
			await outbox.suspend({ reason: "Look at it first" });
			await world.pass({ minutes: 10 });
			expect([await world.state("note"), world.sends().length]).toEqual(["waiting", 1]);
			if (end === "sent") anna.accepts();
			agency.conversation(anna).visibleAs("focus");
			await outbox.resume();
			await world.pass({ minutes: 1 });
			expect([await world.state("note"), world.sends().length]).toEqual([end, 1]);
		},
	);

	test.each(["notice", "marketing"] as const)("quiet_hours: %s waits until they end", async (purpose) => {
		const world = createWorld(night);
		goTo(world, "05T22:00:00");
		await add(world, "text", { purpose });
		await world.pass({ hours: 9, minutes: 59 });
		expect([world.sends(), await kindOf(world, "text")]).toEqual([[], "quiet_hours"]);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["text"]);
	});

	test("unchanged: a text that waits for a colleague's is looked up, and its conversation is not read meanwhile", async () => {
		const world = createClosed();
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		await add(world, "notice");
		await world.pass({ hours: 1 });
		const before = reads(world).length;
		await world.pass({ hours: 6 });
		expect(reads(world).length - before).toBe(0);
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["From a colleague", "notice"]);
	});

	test("reading: a check that always takes longer than a reading counts is asked twice, and again later", async () => {
		let asked = 0;
		let isSlow = true;
		const world: World = createWorld({
			...defaults,
			beforeSend: () => {
				// Otherwise a text whose check is asked for ever would keep the test from its end.
				if (++asked > 20) throw new Error("asked too often");
				if (isSlow) world.sandbox.clock.advance({ ms: 11_000 });
				return "send";
			},
		});
		await add(world, "notice");
		await world.outbox.runOnce();
		expect([asked, reads(world).length, bodies(world)]).toEqual([2, 2, []]);
		expect(await stateOf(world, "notice")).toEqual(["waiting", "hook_failed"]);
		const [pause] = world.pauses;
		expect([pause?.reason, (await world.outbox.status("notice"))?.error?.message]).toEqual([
			"hook_failed",
			expect.stringContaining("it took 11 seconds"),
		]);
		isSlow = false;
		await world.pass({ minutes: 2 });
		expect(bodies(world)).toEqual(["notice"]);
	});

	test("reading: what a check said of an older reading does not count, and it sees what came since", async () => {
		const world: World = createWorld({
			...defaults,
			beforeSend: (_text, { messages }) => {
				if (messages.some(({ body }) => body === "I have moved")) return { cancel: "No" };
				world.sandbox.clock.advance({ ms: 11_000 });
				world.anna.writes("I have moved");
				return "send";
			},
		});
		await add(world, "notice");
		await world.outbox.runOnce();
		expect([await stateOf(world, "notice"), bodies(world)]).toEqual([["cancelled", "before_send"], []]);
	});

	test("reading: a check that takes longer than a reading counts is followed by another reading", async () => {
		let isSlow = true;
		const world: World = createWorld({
			...defaults,
			beforeSend: () => {
				if (isSlow) {
					world.sandbox.clock.advance({ ms: 20_000 });
					world.anna.writes("STOP");
				}
				isSlow = false;
				return "send";
			},
		});
		await add(world, "notice");
		await world.pass({ minutes: 5 });
		expect([await stateOf(world, "notice"), world.sends()]).toEqual([["cancelled", "opted_out"], []]);
	});

	test("wrong_number: a notice waits once the contact wrote that the number is wrong, and a reply does not", async () => {
		const world = createWorld(defaults);
		world.anna.writes("Wrong number");
		await add(world, "notice");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ hours: 1 });
		expect([world.texts(), await kindOf(world, "notice")]).toEqual([["answer"], "wrong_number"]);
	});

	test("refusal: marketing waits once the contact has refused something, and a notice does not", async () => {
		const world = createWorld(defaults);
		world.anna.writes("Not interested");
		await add(world, "offer", { purpose: "marketing" });
		await add(world, "notice");
		await world.pass({ hours: 1 });
		expect([world.texts(), await kindOf(world, "offer")]).toEqual([["notice"], "refusal"]);
	});

	test("perhaps_declined: marketing waits once the contact has tapped what may be a No, and a notice does not", async () => {
		const world = createClosed();
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		world.anna.declines();
		await add(world, "offer", { purpose: "marketing" });
		await add(world, "notice");
		await world.pass({ hours: 1 });
		expect([world.texts(), await kindOf(world, "offer")]).toEqual([["notice"], "perhaps_declined"]);
	});

	test("colleague_declined: a text that waited behind a colleague's ends if that one is declined", async () => {
		const world = createClosed();
		await learnYes(world);
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		world.anna.declines();
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "earlier_text_declined"]);
	});

	test("colleague_held: a text does not take the place of a colleague's", async () => {
		const world = createClosed();
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		await add(world, "notice");
		await world.pass({ hours: 1 });
		expect([world.anna.state().held?.body, world.sends().length]).toEqual(["From a colleague", 0]);
		expect((await world.outbox.status("notice"))?.waitsFor).toMatchObject({ kind: "colleague_held", id: null });
	});

	test("own_held: a reply takes the place of our held text only while the window is open", async () => {
		const world = await createHeld();
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ hours: 1 });
		expect([world.anna.state().held?.body, bodies(world)]).toEqual(["held", ["held"]]);
		world.anna.writes("Is it still free?");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["answer"]);
	});

	test("own_held: a reply that was put off while the window was closed goes at once with the next reply", async () => {
		const world = await createHeld();
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ hours: 5 });
		world.anna.writes("Is it still free?");
		await add(world, "second", { purpose: "reply" });
		await world.pass({ ms: 1_000 });
		expect(world.texts()).toEqual(["answer", "second"]);
	});

	test("own_held: a reply does not take that place if the window closes while the check of the application is asked", async () => {
		const world: World = await createHeld({
			beforeSend: ({ id }) => {
				if (id === "answer") world.sandbox.clock.advance({ ms: 4_000 });
				return "send";
			},
		});
		world.anna.writes("Who is this?");
		world.sandbox.clock.advance({ hours: 23, minutes: 59, ms: 52_000 });
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect([world.anna.state().held?.body, await world.state("answer")]).toEqual(["held", "waiting"]);
	});

	test("quiet_while_closed: a reply waits for the morning if the window is closed, and not if it is open", async () => {
		const world = createWorld(night);
		goTo(world, "05T22:00:00");
		await add(world, "at once", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["at once"]);
		goTo(world, "06T22:00:00");
		await add(world, "in the morning", { purpose: "reply" });
		await world.pass({ hours: 9, minutes: 59 });
		expect([world.templates(), await kindOf(world, "in the morning")]).toEqual([0, "quiet_while_closed"]);
		await world.pass({ minutes: 1 });
		expect(world.templates()).toBe(1);
	});

	test("window_closed: a text that is not to ask for consent ends in a closed window", async () => {
		const world = createClosed();
		await add(world, "notice", { whenClosed: "skip" });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "notice"), world.sends()]).toEqual([["expired", "window_closed"], []]);
	});

	/** Anna is about to book a visit. */
	const booking = ({ agency, anna }: World) => {
		anna.writes("I want to visit the flat");
		return agency.startFlow(anna);
	};
	const offAi = ({ agency, anna }: World) => agency.staff.setAi({ contact: anna, on: false });

	test("#54 flow: a notice waits until the booking of a visit is complete, and a reply goes", async () => {
		const world = createWorld(defaults);
		const flow = booking(world);
		await add(world, "notice");
		await add(world, "second");
		await world.pass({ minutes: 4 });
		expect([await stateOf(world, "notice"), bodies(world)]).toEqual([["waiting", "flow"], []]);
		expect([await kindOf(world, "notice"), flow.status]).toEqual(["flow", "active"]);
		world.anna.writes("Monday at two");
		flow.complete();
		await world.pass({ minutes: 1 });
		expect([bodies(world), flow.status]).toEqual([["notice", "second"], "completed"]);
		booking(world);
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ ms: 1 });
		expect(bodies(world)).toEqual(["notice", "second", "answer"]);
	});

	test("flow: a notice goes within a minute of the end of a flow, also if nobody has written since, and other agencies don't wait", async () => {
		const world = createWorld(defaults);
		const other = world.sandbox.link({ name: "Other" });
		other.contact(world.anna).writes("Hello");
		const flow = booking(world);
		await add(world, "notice");
		await add(world, "elsewhere", { agencyId: other.id });
		await world.pass({ minutes: 3 });
		expect(bodies(world)).toEqual(["elsewhere"]);
		flow.complete();
		await world.pass({ minutes: 1 });
		expect(bodies(world)).toEqual(["elsewhere", "notice"]);
	});

	test("flow: a contact who writes STOP to the AI is heard within a minute, and gets nothing", async () => {
		const world = createWorld(defaults);
		booking(world);
		await add(world, "notice");
		await world.pass({ minutes: 2 });
		world.anna.writes("STOP");
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "notice"), bodies(world)]).toEqual([["cancelled", "opted_out"], []]);
	});

	test("flow: a notice goes before marketing that was tried, failed and waits now", async () => {
		const world = createWorld(defaults);
		offAi(world);
		world.sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 120 } });
		await add(world, "offer", { purpose: "marketing" });
		await world.outbox.runOnce();
		expect(bodies(world)).not.toEqual([]);
		world.agency.staff.setAi({ contact: world.anna, on: true });
		world.agency.ai.replies({ contact: world.anna, text: "It is still free" });
		const before = bodies(world).length;
		await world.pass({ minutes: 20 });
		expect([await kindOf(world, "offer"), bodies(world).length]).toEqual(["flow", before]);
		await add(world, "notice");
		await world.pass({ ms: 1 });
		expect(bodies(world).slice(before)).toEqual(["notice"]);
	});

	test("flow: a notice waits for ten minutes after it met the first flow, also in a new process, and a second flow gives it no more", async () => {
		const world = createWorld(defaults);
		const first = booking(world);
		await add(world, "notice");
		await world.pass({ minutes: 5 });
		first.complete();
		booking(world);
		const { outbox } = { outbox: world.restart() };
		for (let minute = 5; minute < 10; minute++) {
			await outbox.runOnce();
			expect(bodies(world)).toEqual([]);
			world.sandbox.clock.advance({ minutes: 1 });
		}
		await outbox.runOnce();
		expect(bodies(world)).toEqual(["notice"]);
		// Nothing is asked in a wait but by lookups, and not more than once a minute.
		expect(reads(world).length).toBeLessThanOrEqual(4);
		expect(world.sandbox.requests().length).toBeLessThanOrEqual(20);
	});

	test("flow: one that hangs keeps nothing back once the conversation was silent for half an hour", async () => {
		const world = createWorld(defaults);
		const flow = booking(world);
		offAi(world);
		world.sandbox.clock.advance({ minutes: 29 });
		await add(world, "offer", { purpose: "marketing" });
		await world.outbox.runOnce();
		expect([bodies(world), flow.status]).toEqual([[], "active"]);
		await world.pass({ minutes: 2 });
		expect(bodies(world)).toEqual(["offer"]);
		booking(world);
		world.sandbox.clock.advance({ hours: 3 });
		await add(world, "notice");
		await world.outbox.runOnce();
		expect(bodies(world)).toEqual(["offer", "notice"]);
	});

	test.each([
		[
			"fifteen minutes before its last moment",
			"05T09:20:00",
			{ notAfter: new Date("2026-01-05T09:20:00Z") },
			"09:05:00",
		],
		["before the quiet hours", "05T19:55:00", {}, "19:59:00"],
		["before the window closes", "06T08:55:00", {}, "08:59:00"],
	])("flow: a notice goes %s, although a flow is in progress", async (what, at, rest, latest) => {
		const world = createWorld(night);
		if (what === "before the quiet hours") {
			goTo(world, at);
			booking(world);
		} else if (what === "before the window closes") {
			goTo(world, at);
			world.agency.ai.replies({ contact: world.anna, text: "When does it suit you?" });
			world.agency.startFlow(world.anna);
		} else booking(world);
		await add(world, "notice", rest);
		await world.outbox.runOnce();
		expect(bodies(world)).toEqual([]);
		await world.pass({ minutes: 10 });
		expect([world.texts().filter((text) => text === "notice"), world.templates()]).toEqual([["notice"], 0]);
		const sentAt = (await world.outbox.status("notice"))?.sentAt?.toISOString().slice(11, 19) ?? "";
		expect(sentAt <= latest).toBe(true);
		expect(sentAt >= latest.slice(0, 3)).toBe(true);
	});

	test("flow: a notice that takes the place of another one goes at once, also before one that waits", async () => {
		const world = createWorld(defaults);
		await add(world, "at two", { notBefore: inHours(world, 5) });
		const flow = booking(world);
		await add(world, "notice");
		await world.pass({ minutes: 2 });
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ ms: 1 });
		expect([bodies(world)[0], flow.status]).toEqual(["at three", "cancelled"]);
	});

	test("flow: marketing waits until the AI and the contact were silent for an hour, and keeps no notice back", async () => {
		const world = createWorld(defaults);
		await add(world, "offer", { purpose: "marketing" });
		await world.pass({ minutes: 50 });
		world.anna.writes("And the garden?");
		await world.pass({ minutes: 59 });
		expect([await stateOf(world, "offer"), bodies(world)]).toEqual([["waiting", "flow"], []]);
		expect(reads(world).length).toBeLessThanOrEqual(2);
		await world.pass({ minutes: 2 });
		expect(bodies(world)).toEqual(["offer"]);
		world.sandbox.clock.advance({ hours: 25 });
		world.anna.writes("Hello");
		await add(world, "second offer", { purpose: "marketing" });
		await world.pass({ minutes: 1 });
		await add(world, "notice");
		await world.pass({ ms: 1 });
		expect(bodies(world)).toEqual(["offer", "notice"]);
		await world.pass({ hours: 1 });
		expect(bodies(world)).toEqual(["offer", "notice", "second offer"]);
	});

	test("flow: marketing ends when the window closes, although an hour has not passed", async () => {
		const world = createWorld(defaults);
		goTo(world, "06T08:40:00");
		world.agency.ai.replies({ contact: world.anna, text: "Are you still there?" });
		await add(world, "offer", { purpose: "marketing" });
		await world.pass({ minutes: 10 });
		expect(await kindOf(world, "offer")).toBe("flow");
		await world.pass({ minutes: 6 });
		expect([await stateOf(world, "offer"), bodies(world)]).toEqual([["expired", "window_closed"], []]);
	});

	test("flow: the consent of a text that the service holds is none", async () => {
		const world = createClosed({ policy: { consentFlowCounts: true } });
		await add(world, "held");
		await world.pass({ minutes: 1 });
		world.anna.writes("Hello");
		await add(world, "notice", { onHeld: "send_if_open" });
		await world.pass({ minutes: 1 });
		expect(bodies(world)).toContain("notice");
	});

	test("before_send: the check of the application cancels a text, or puts it off until a time", async () => {
		const world: World = createWorld({
			...defaults,
			beforeSend: ({ id }, { now }) => {
				if (id === "no") return { cancel: "No" };
				return now < waitUntil ? { waitUntil, because: "Later" } : "send";
			},
		});
		const waitUntil = inHours(world, 2);
		for (const id of ["no", "later"]) await add(world, id);
		await world.pass({ hours: 1, minutes: 59 });
		expect(await stateOf(world, "no")).toEqual(["cancelled", "before_send"]);
		expect((await world.outbox.status("later"))?.waitsFor).toMatchObject({ kind: "before_send", until: waitUntil });
		expect(world.sends()).toEqual([]);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["later"]);
	});

	const settings = {
		"consent_unavailable: a missing template": [{ missingTemplates: ["consent"] }, { missingTemplates: [] }],
		"language_required: a choice of languages": [
			{ languages: ["nl", "fr"], defaultLanguage: null },
			{ defaultLanguage: "nl" },
		],
		"language_unavailable: another language": [
			{ languages: ["de"], defaultLanguage: "de" },
			{ languages: ["de", "fr"] },
		],
	} as const;
	test.each(Object.entries(settings))(
		"%s keeps a text to a closed window back until the agency has changed it, and none to an open one",
		async (title, [broken, mended]) => {
			const [reason = ""] = title.split(":");
			const world = createClosed();
			const ben = world.agency.contact("+447700900102");
			ben.writes("Hello");
			world.agency.consent.set(broken);
			const language = reason === "language_unavailable" ? { consentLanguage: "fr" } : {};
			await add(world, "closed", language);
			await add(world, "open", { to: ben.phoneNumber, ...language });
			await world.pass({ minutes: 30 });
			expect(await stateOf(world, "closed")).toEqual(["waiting", reason]);
			expect([bodies(world), await kindOf(world, "closed")]).toEqual([["open"], reason]);
			world.agency.consent.set(mended);
			await world.pass({ minutes: 30 });
			expect(await world.state("closed")).toBe("held");
		},
	);
});

describe("a text that waits keeps no text of another purpose back that may go", () => {
	interface Beside {
		options?: Parameters<typeof createWorld>[0];
		/** Brings about that the text "waits" waits. */
		arrange: (world: World) => Promise<unknown>;
		/** The text that may go. */
		other?: Partial<EnqueuedText>;
		/** How the other one goes. */
		goes?: "sent" | "held";
		/** What lets the first one go. */
		mend?: (world: World) => unknown;
	}
	let isBroken = true;
	const failing: Parameters<typeof createWorld>[0] = {
		...defaults,
		beforeSend: ({ id }) => {
			if (isBroken && id === "waits") throw new Error("down");
			return "send";
		},
	};
	const later = new Date("2026-01-06T15:00:00Z");
	const puttingOff: Parameters<typeof createWorld>[0] = {
		...defaults,
		beforeSend: ({ id }, { now }) => (id === "waits" && now < later ? { waitUntil: later, because: "Later" } : "send"),
	};
	const purposes = ["reply", "notice", "marketing"] as const;
	const pairs = purposes.flatMap((waits) =>
		purposes.filter((each) => each !== waits).map((goes) => [waits, goes] as const),
	);

	test.each(pairs)("not_before: %s keeps no %s back", async (waits, goes) => {
		const world = createWorld(defaults);
		await add(world, "waits", { purpose: waits, notBefore: inHours(world, 5) });
		await add(world, "goes", { purpose: goes });
		await world.pass({ hours: 4 });
		expect(world.texts()).toEqual(["goes"]);
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["goes", "waits"]);
	});

	test.each(pairs)("before_send: %s keeps no %s back", async (waits, goes) => {
		const world = createWorld(puttingOff);
		world.sandbox.clock.advance({ hours: 20 });
		world.anna.writes("Hello");
		await add(world, "waits", { purpose: waits });
		await add(world, "goes", { purpose: goes });
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["goes"]);
		await world.pass({ hours: 9 });
		expect(world.texts()).toEqual(["goes", "waits"]);
	});

	const beside: Record<string, Beside> = {
		"hook_failed: a notice": {
			options: failing,
			arrange: async (world) => {
				isBroken = true;
				await add(world, "waits");
			},
			mend: () => {
				isBroken = false;
			},
		},
		"language_required: a notice without a language": {
			arrange: async (world) => {
				world.sandbox.clock.advance({ hours: 25 });
				world.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: null });
				await add(world, "waits");
			},
			other: { purpose: "reply", consentLanguage: "nl" },
			goes: "held",
		},
		"lost_request: a notice between two tries": {
			arrange: async (world) => {
				breakSends(world);
				await add(world, "waits");
				await world.pass({ hours: 1 });
				world.sandbox.faults.clear();
			},
			mend: () => {},
		},
		"quiet_hours: a notice": {
			options: night,
			arrange: async (world) => {
				goTo(world, "05T21:00:00");
				await add(world, "waits");
			},
			mend: () => {},
		},
		"quiet_hours: marketing": {
			options: night,
			arrange: async (world) => {
				goTo(world, "05T21:00:00");
				await add(world, "waits", { purpose: "marketing" });
			},
			mend: () => {},
		},
		"wrong_number: a notice": {
			arrange: async (world) => {
				world.anna.writes("Wrong number");
				await add(world, "waits");
			},
			mend: async ({ sandbox, outbox, agency, anna }) => {
				sandbox.clock.advance({ minutes: 10 });
				await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber });
			},
		},
		"perhaps_declined: marketing": {
			arrange: async (world) => {
				world.sandbox.clock.advance({ hours: 25 });
				world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
				world.anna.declines();
				world.sandbox.clock.advance({ minutes: 5 });
				await add(world, "waits", { purpose: "marketing" });
			},
			other: { purpose: "notice" },
			mend: ({ anna }) => anna.writes("Is the garden big?"),
		},
		"refusal: marketing": {
			arrange: async (world) => {
				world.anna.writes("Not interested");
				await add(world, "waits", { purpose: "marketing" });
			},
			other: { purpose: "notice" },
			mend: ({ anna }) => anna.writes("Is the garden big?"),
		},
	};

	test.each(Object.entries(beside))("%s", async (_, { options = defaults, arrange, other, goes = "sent", mend }) => {
		const world = createWorld(options);
		await arrange(world);
		await world.outbox.runOnce();
		expect(await world.state("waits")).toBe("waiting");
		await add(world, "goes", { purpose: "reply", ...other });
		await world.pass({ ms: 1_000 });
		expect([await world.state("waits"), await world.state("goes")]).toEqual(["waiting", goes]);
		if (!mend) return;
		await mend(world);
		await world.pass({ hours: 12 });
		expect(world.texts()).toEqual(["goes", "waits"]);
	});

	test.each(purposes)(
		"behind: %s waits for every other text that the service holds, and so does one of a colleague",
		async (purpose) => {
			const ours = await createHeld();
			await add(ours, "waits", { purpose, onHeld: "wait" });
			ours.anna.writes("Hello?");
			await ours.pass({ minutes: 30 });
			expect(await stateOf(ours, "waits")).toEqual(["waiting", null]);
			const theirs = createClosed();
			theirs.agency.staff.sends({ contact: theirs.anna, text: "From a colleague" });
			theirs.anna.writes("Hello?");
			await add(theirs, "waits", { purpose });
			await theirs.pass({ minutes: 30 });
			expect(await stateOf(theirs, "waits")).toEqual(["waiting", null]);
		},
	);

	const ofAgency: Record<string, (world: World) => unknown> = {
		"pause: an agency whose link has ended": ({ agency }) => agency.unlink(),
		"suspended: an agency": ({ outbox, agency }) => outbox.suspend({ agencyId: agency.id, reason: "Wrong price" }),
		"consent_unavailable: an agency that cannot ask for consent": ({ agency }) =>
			agency.consent.set({ missingTemplates: ["consent"] }),
	};
	test.each(Object.entries(ofAgency))("%s keeps the texts of no other one back", async (_, begin) => {
		const world = createClosed();
		const other = world.sandbox.link({ name: "Other" });
		other.contact(world.anna);
		await begin(world);
		await add(world, "waits");
		await world.pass({ minutes: 1 });
		for (const purpose of purposes) await add(world, `waits too, ${purpose}`, { purpose });
		await add(world, "goes", { agencyId: other.id });
		await world.pass({ minutes: 5 });
		expect(await world.state("goes")).toBe("held");
		for (const id of ["waits", ...purposes.map((purpose) => `waits too, ${purpose}`)])
			expect(await world.state(id)).toBe("waiting");
	});
});
