// Each rule of a text that was requested before, in the order in which they are asked. A title begins with the name of its rule. Without
// that rule its test fails, so that a rule that nobody watches is found by taking it away.
import { createClient } from "messaging-conversations";
import type { EnqueuedText } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { add, createHeldMarketing, createWorld, stateOf, type World } from "./world.ts";

type Options = NonNullable<Parameters<typeof createWorld>[0]>;

/** A held text is sent again if the contact answers in words. */
const defaults = { onReply: "send", defaultMaxAgeMs: undefined } as const;
const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };

/** Anna wrote on 5 January at 09:00. */
const goTo = ({ sandbox }: World, time: string) => sandbox.clock.advanceTo(new Date(`2026-01-${time}Z`));
const requests = (world: World, id: string) => world.sends().filter(({ body }) => Object(body).body === id).length;
const reads = ({ sandbox }: World) => sandbox.requests().filter(({ operation }) => operation === "conversations.get");

/** The answer of a send is lost: the service has taken it, or not. */
const lose = ({ sandbox }: World, phase: "before" | "after") =>
	sandbox.faults.add({ operation: "messages.send", phase, effect: { status: 500 } });

/** The same outbox, whose answers carry a Date that is ahead of the service's clock. */
function dated({ sandbox, restart }: World, aheadMs: number) {
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const response = await sandbox.fetch(input, init);
		const headers = new Headers(response.headers);
		headers.set("date", new Date(sandbox.clock.now().getTime() + aheadMs).toUTCString());
		return new Response(response.body, { status: response.status, headers });
	};
	return restart({ client: createClient({ ...sandbox.connection, fetch, retry: false }) });
}

describe("a text that is being sent", () => {
	/** The service has not taken the first request, and does not say so. The window is open, so that a second one may follow at once. */
	async function createLost(options: Options = {}, text: Partial<EnqueuedText> = {}, at?: string): Promise<World> {
		const world = createWorld({ ...defaults, ...options });
		if (at) goTo(world, at);
		// The AI may answer Anna within the hour.
		if (text.purpose === "marketing" && !at) world.sandbox.clock.advance({ hours: 1, minutes: 1 });
		lose(world, "before");
		await add(world, "note", text);
		await world.outbox.runOnce();
		expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
		return world;
	}

	test("send: a request that was lost a moment ago is made again at once, while the window is open", async () => {
		const world = await createLost();
		await world.pass({ ms: 10_000 });
		expect([await world.state("note"), requests(world, "note"), world.texts()]).toEqual(["sent", 2, ["note"]]);
	});

	test("reading: the conversation is read first, and shows that the request was taken", async () => {
		const world = createWorld(defaults);
		lose(world, "after");
		await add(world, "note");
		await world.pass({ minutes: 5 });
		expect([await world.state("note"), requests(world, "note"), world.texts()]).toEqual(["sent", 1, ["note"]]);
	});

	test.each(["sent", "unknown"] as const)(
		"hidden: a text whose conversation is hidden meanwhile is not sent again, and ends as %s",
		async (end) => {
			const world = createWorld(defaults);
			const { agency, anna } = world;
			lose(world, "after");
			await add(world, "note");
			await world.outbox.runOnce();
			agency.conversation(anna).hide();
			await world.pass({ minutes: 20 });
			expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
			if (end === "sent") agency.conversation(anna).visibleAs("focus");
			await world.pass({ hours: 72 });
			expect([await world.state("note"), requests(world, "note")]).toEqual([end, 1]);
		},
	);

	test("taken_over: a text that left the service's queue for one that was sent in its place ends as replaced by it", async () => {
		const world = await createHeld();
		await add(world, "newer", { notBefore: new Date("2026-01-07T00:00:00Z") });
		world.anna.writes("Who is this?");
		lose(world, "before");
		for (let step = 0; step < 100 && (await world.state("held")) !== "sending"; step++)
			await world.pass({ ms: 10_000 });
		const [held, newer] = world.store.all();
		if (held?.state !== "sending" || !newer) throw new Error("it was not sent again");
		// As if an earlier request of the other one had been taken late.
		await world.store.save({ ...newer, state: "sent", messageId: "SM1", nextAt: null });
		await world.store.save({ ...held, progress: { ...held.progress, replacedBy: "newer" } });
		world.agency.staff.sends({ contact: world.anna, text: "In its place" });
		await world.pass({ minutes: 10 });
		expect(await world.outbox.status("held")).toMatchObject({ state: "replaced", replacedBy: "newer" });
	});

	test("result: a request to a closed window that shows nowhere is not made again before it is certain that it was not taken", async () => {
		const world = createWorld({ ...defaults, settleMs: 65_000 });
		world.sandbox.clock.advance({ hours: 25 });
		lose(world, "before");
		await add(world, "note");
		await world.pass({ minutes: 1 });
		expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
		await world.pass({ minutes: 1 });
		expect([await world.state("note"), requests(world, "note"), world.templates()]).toEqual(["held", 2, 1]);
	});

	test.each(["optOut", "the time zone"])("hook_failed: while %s fails, it is not sent again", async (which) => {
		let isBroken = false;
		const failing = <Value>(name: string, value: Value) => {
			if (isBroken && which === name) throw new Error("down");
			return value;
		};
		const world = await createLost({
			optOut: () => failing("optOut", false),
			quietHours: { ...quietHours, timeZone: () => failing("the time zone", "UTC") },
		});
		isBroken = true;
		// The time zone of an agency is kept for a moment.
		const other = world.restart();
		world.sandbox.clock.advance({ ms: 10_000 });
		await other.runOnce();
		expect([await stateOf(world, "note"), requests(world, "note")]).toEqual([["sending", "hook_failed"], 1]);
		expect(world.pauses.map(({ reason }) => reason)).toContain("hook_failed");
		isBroken = false;
		await world.pass({ minutes: 10 });
		expect([await world.state("note"), world.texts()]).toEqual(["sent", ["note"]]);
	});

	test.each<[what: string, world: Promise<World>, opt: (world: World) => unknown]>([
		["who writes STOP", createLost(), ({ anna }) => anna.writes("STOP")],
		["who wants no more by telephone", createLost(), ({ outbox, anna }) => outbox.optOut({ to: anna.phoneNumber })],
		["who writes STOP to a reply", createLost({}, { purpose: "reply" }), ({ anna }) => anna.writes("STOP")],
	])("opted_out: it is not sent again to a contact %s", async (_, lost, optOut) => {
		const world = await lost;
		await optOut(world);
		await world.pass({ minutes: 30 });
		expect([await stateOf(world, "note"), requests(world, "note")]).toEqual([["cancelled", "opted_out"], 1]);
	});

	test("opted_out: a reply waits for another answer if the Date of one leaves open whether the contact wrote after STOP", async () => {
		const world = createWorld(defaults);
		world.anna.writes("STOP");
		await world.pass({ hours: 1 });
		world.anna.writes("Do you still have my keys?");
		await world.pass({ minutes: 30 });
		lose(world, "before");
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		world.sandbox.clock.advance({ ms: 5_000 });
		await dated(world, -3 * 3_600_000).runOnce();
		expect([await world.state("answer"), requests(world, "answer")]).toEqual(["sending", 1]);
		await world.pass({ minutes: 10 });
		expect([await world.state("answer"), world.texts()]).toEqual(["sent", ["answer"]]);
	});

	test("suspended: it is read about and not sent again while a person has suspended the agency", async () => {
		const world = await createLost();
		await world.outbox.suspend({ reason: "Wrong price" });
		const before = reads(world).length;
		await world.pass({ hours: 1 });
		// Soon after the request, and once its time is over.
		expect([requests(world, "note"), reads(world).length - before]).toEqual([1, 2]);
		await world.outbox.resume();
		await world.pass({ minutes: 5 });
		expect([await world.state("note"), world.texts()]).toEqual(["sent", ["note"]]);
	});

	test.each(["notice", "marketing"] as const)(
		"wrong_number: %s is not sent again once the contact wrote that the number is wrong",
		async (purpose) => {
			const world = await createLost({}, { purpose });
			world.anna.writes("Wrong number");
			await world.pass({ hours: 2 });
			expect([await stateOf(world, "note"), requests(world, "note")]).toEqual([["waiting", "wrong_number"], 1]);
		},
	);

	test("refusal: marketing is not sent again once the contact has refused something, and a notice is", async () => {
		const offer = await createLost({}, { purpose: "marketing" });
		const notice = await createLost();
		for (const world of [offer, notice]) {
			world.anna.writes("Not interested");
			await world.pass({ hours: 2 });
		}
		expect([requests(offer, "note"), requests(notice, "note")]).toEqual([1, 2]);
	});

	test("perhaps_declined: marketing is not sent again once the contact has tapped what may be a No", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		world.sandbox.clock.advance({ hours: 49 });
		world.anna.writes("Hello?");
		world.sandbox.clock.advance({ hours: 1, minutes: 1 });
		lose(world, "before");
		await add(world, "note", { purpose: "marketing" });
		await world.outbox.runOnce();
		expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
		world.anna.declines();
		await world.pass({ hours: 2 });
		expect([await stateOf(world, "note"), requests(world, "note")]).toEqual([["waiting", "perhaps_declined"], 1]);
	});

	test.each(["notice", "marketing"] as const)(
		"quiet_hours: %s is not sent again if they have begun, and is in the morning",
		async (purpose) => {
			const world = await createLost({ quietHours }, { purpose }, "05T19:59:59");
			goTo(world, "05T20:00:01");
			await world.pass({ hours: 11 });
			expect(requests(world, "note")).toBe(1);
			goTo(world, "06T08:00:00");
			await world.pass({ minutes: 5 });
			expect([await world.state("note"), requests(world, "note")]).toEqual(["sent", 2]);
		},
	);

	test("quiet_while_closed: a reply is not sent again at night if an answer with a wrong Date leaves open whether the window is", async () => {
		const world = await createLost({ quietHours }, { purpose: "reply" }, "05T22:00:00");
		world.sandbox.clock.advance({ ms: 5_000 });
		await dated(world, 24 * 3_600_000).runOnce();
		expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
		await world.pass({ minutes: 5 });
		expect([await world.state("note"), world.texts()]).toEqual(["sent", ["note"]]);
	});

	test("marketing is not sent again if an answer with a wrong Date leaves open whether the window is", async () => {
		const world = await createLost({}, { purpose: "marketing" });
		world.sandbox.clock.advance({ ms: 5_000 });
		await dated(world, 24 * 3_600_000).runOnce();
		expect([await world.state("note"), requests(world, "note")]).toEqual(["sending", 1]);
		await world.pass({ minutes: 5 });
		expect([await world.state("note"), world.texts()]).toEqual(["sent", ["note"]]);
	});
});

/** The service holds a text of ours. */
async function createHeld(options: Options = {}, text: Partial<EnqueuedText> = {}): Promise<World> {
	const isMarketing = text.purpose === "marketing";
	const world = isMarketing
		? await createHeldMarketing("held", { ...defaults, ...options })
		: createWorld({ ...defaults, ...options });
	if (!isMarketing) {
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held", text);
	}
	await world.pass({ minutes: 1 });
	expect([await world.state("held"), requests(world, "held")]).toEqual(["held", 1]);
	return world;
}

describe("a text that the service holds", () => {
	test("send: it is sent once more when the contact has answered in words", async () => {
		const world = await createHeld();
		world.anna.writes("Who is this?");
		await world.pass({ minutes: 20 });
		expect([await world.state("held"), requests(world, "held"), world.texts()]).toEqual(["sent", 2, ["held"]]);
	});

	test("unchanged: it is looked up, and its conversation is not read while nothing happens", async () => {
		const world = await createHeld();
		await world.pass({ hours: 1 });
		const before = reads(world).length;
		await world.pass({ hours: 6 });
		expect(reads(world).length).toBe(before);
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["held"]);
	});

	test.each<[what: string, happens: (world: World) => unknown]>([
		["a reply may take its place", (world) => add(world, "answer", { purpose: "reply" })],
		[
			"the contact has opted out, and the process that was told so died before it had marked the text",
			(world) => {
				const store = { ...world.store, unfinished: async () => [] };
				return world.restart({ store }).optOut({ to: world.anna.phoneNumber });
			},
		],
	])("unchanged: it is read when it is due although nothing has happened at the service, if %s", async (_, happens) => {
		const world = await createHeld();
		await world.pass({ hours: 1 });
		const before = reads(world).length;
		await happens(world);
		await world.pass({ minutes: 11 });
		expect(reads(world).length).toBeGreaterThan(before);
	});

	test("reading: what became of it is known before it would be sent again", async () => {
		const world = await createHeld({ onReply: () => "send" });
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect([await world.state("held"), requests(world, "held"), world.texts()]).toEqual(["sent", 1, ["held"]]);
	});

	test("hidden: while its conversation is hidden it is not sent again, and it is found once that is shown", async () => {
		const world = await createHeld();
		const { agency, anna } = world;
		agency.conversation(anna).hide();
		anna.writes("Who is this?");
		await world.pass({ hours: 1 });
		expect([await world.state("held"), requests(world, "held")]).toEqual(["held", 1]);
		agency.conversation(anna).visibleAs("focus");
		await world.pass({ hours: 1 });
		expect([await world.state("held"), requests(world, "held")]).toEqual(["sent", 2]);
	});

	test("taken_over: it ends as replaced by the reply that was sent in its place", async () => {
		const world = await createHeld({ onReply: "wait" });
		await add(world, "answer", { purpose: "reply" });
		world.anna.writes("Is it still free?");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["answer"]);
		expect(await world.outbox.status("held")).toMatchObject({ state: "replaced", replacedBy: "answer" });
	});

	test("taken_over: it was dropped if the service did not take the reply that was to be sent in its place", async () => {
		const world = await createHeld({ onReply: "wait" });
		await add(world, "answer", { purpose: "reply" });
		world.anna.writes("Is it still free?");
		world.sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 400 } });
		await world.pass({ minutes: 20 });
		expect([await world.state("held"), await world.state("answer")]).toEqual(["held", "refused"]);
		world.anna.declines();
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "held")).toEqual(["dropped", "declined"]);
	});

	test.each<[what: string, happens: (world: World) => unknown, end: (string | null | undefined)[]]>([
		["that accepts it", ({ anna }) => anna.accepts(), ["sent", null]],
		["that declines it", ({ anna }) => anna.declines(), ["dropped", "declined"]],
		[
			"to whom a colleague writes",
			({ agency, anna }) => agency.staff.sends({ contact: anna, text: "From a colleague" }),
			["replaced", null],
		],
	])("gone: it becomes what its conversation shows of a contact %s, and is not sent again", async (_, happens, end) => {
		const world = await createHeld();
		happens(world);
		await world.pass({ hours: 9 });
		expect([await stateOf(world, "held"), requests(world, "held")]).toEqual([end, 1]);
	});

	test.each<[what: string, optOut: (world: World) => unknown]>([
		["writes STOP", ({ anna }) => anna.writes("STOP")],
		[
			"wants no more by telephone, and writes then",
			async ({ outbox, anna }) => {
				await outbox.optOut({ to: anna.phoneNumber });
				anna.writes("Who is this?");
			},
		],
	])("opted_out: it is marked as cancelled and not sent again when the contact %s", async (_, optOut) => {
		const world = await createHeld();
		await optOut(world);
		await world.pass({ minutes: 30 });
		expect(await world.outbox.status("held")).toMatchObject({ state: "held", cancelRequested: true });
		expect([requests(world, "held"), world.texts()]).toEqual([1, []]);
	});

	test("opted_out: a text that was accepted and that somebody stops afterwards was sent, and is not marked", async () => {
		const world = await createHeld();
		world.anna.accepts();
		world.anna.writes("STOP");
		await world.pass({ minutes: 30 });
		expect(await world.outbox.status("held")).toMatchObject({ state: "sent", cancelRequested: false });
	});

	test.each<[what: string, options: Options, happens: (world: World) => unknown]>([
		["nobody has answered", {}, () => {}],
		["the contact has answered, and `onReply` is wait", { onReply: "wait" }, ({ anna }) => anna.writes("Who is this?")],
		[
			"it was cancelled too late",
			{},
			async ({ outbox, anna }) => {
				await outbox.cancel("held");
				anna.writes("Who is this?");
			},
		],
	])("in_queue: it stays there and is not sent again if %s", async (_, options, happens) => {
		const world = await createHeld(options);
		await happens(world);
		await world.pass({ hours: 9 });
		expect([await world.state("held"), requests(world, "held")]).toEqual(["held", 1]);
	});

	test.each(["optOut", "onReply", "beforeSend", "the time zone"])(
		"hook_failed: while %s fails, it is not sent again, and its status says so",
		async (which) => {
			let isBroken = false;
			const failing = <Value>(name: string, value: Value) => {
				if (isBroken && which === name) throw new Error("down");
				return value;
			};
			const world = await createHeld({
				onReply: () => failing("onReply", "send"),
				beforeSend: () => failing("beforeSend", "send"),
				optOut: () => failing("optOut", false),
				quietHours: { from: "01:00", to: "02:00", timeZone: () => failing("the time zone", "UTC") },
			});
			await world.pass({ minutes: 5 });
			isBroken = true;
			world.anna.writes("Who is this?");
			await world.pass({ minutes: 30 });
			expect([await stateOf(world, "held"), requests(world, "held")]).toEqual([["held", "hook_failed"], 1]);
			expect(world.pauses.map(({ reason }) => reason)).toContain("hook_failed");
			isBroken = false;
			await world.pass({ minutes: 15 });
			expect([requests(world, "held"), world.texts()]).toEqual([2, ["held"]]);
		},
	);

	test.each(["onReply", "beforeSend"])(
		"hook_failed: if %s takes longer than a reading counts, twice, it is not sent again, and its status says how long that took",
		async (which) => {
			let isSlow = false;
			const slow = (name: string) => {
				if (isSlow && which === name) world.sandbox.clock.advance({ ms: 12_000 });
				return "send" as const;
			};
			const world: World = await createHeld({ onReply: () => slow("onReply"), beforeSend: () => slow("beforeSend") });
			isSlow = true;
			world.anna.writes("Who is this?");
			world.sandbox.clock.advance({ minutes: 20 });
			await world.outbox.runOnce();
			expect([await stateOf(world, "held"), requests(world, "held")]).toEqual([["held", "hook_failed"], 1]);
			expect((await world.outbox.status("held"))?.error?.message).toContain(`${which}`);
			expect((await world.outbox.status("held"))?.error?.message).toContain("it took 12 seconds");
			isSlow = false;
			await world.pass({ minutes: 5 });
			expect([requests(world, "held"), world.texts()]).toEqual([2, ["held"]]);
		},
	);

	test("suspended: it is read about and not sent again while a person has suspended the agency", async () => {
		let asked = 0;
		const beforeSend = () => {
			asked++;
			return "send" as const;
		};
		const world = await createHeld({ beforeSend });
		await world.outbox.suspend({ agencyId: world.agency.id, reason: "Wrong price" });
		const [askedBefore, readBefore] = [asked, reads(world).length];
		world.anna.writes("Who is this?");
		await world.pass({ hours: 1 });
		expect([requests(world, "held"), reads(world).length > readBefore]).toEqual([1, true]);
		// Not even a check is asked.
		expect(asked).toBe(askedBefore);
		await world.outbox.resume({ agencyId: world.agency.id });
		await world.pass({ minutes: 20 });
		expect([requests(world, "held"), world.texts()]).toEqual([2, ["held"]]);
	});

	test.each(["notice", "marketing"] as const)(
		"wrong_number: %s is not sent again once the contact wrote that the number is wrong",
		async (purpose) => {
			const world = await createHeld({}, { purpose });
			world.anna.writes("Wrong number");
			await world.pass({ hours: 2 });
			expect([await world.state("held"), requests(world, "held")]).toEqual(["held", 1]);
		},
	);

	test("refusal: marketing is not sent again once the contact has refused something, and a notice is", async () => {
		const offer = await createHeld({}, { purpose: "marketing" });
		const notice = await createHeld();
		for (const world of [offer, notice]) {
			world.anna.writes("Not interested");
			await world.pass({ hours: 2 });
		}
		expect([requests(offer, "held"), requests(notice, "held")]).toEqual([1, 2]);
	});

	test.each(["notice", "marketing"] as const)(
		"quiet_hours: %s is not sent again before they end, and a reply is",
		async (purpose) => {
			const world = await createHeld({ quietHours }, { purpose });
			const answer = await createHeld({ quietHours }, { purpose: "reply" });
			for (const each of [world, answer]) {
				goTo(each, "06T21:00:00");
				each.anna.writes("Who is this?");
				await each.pass({ hours: 10, minutes: 59 });
			}
			expect([requests(world, "held"), requests(answer, "held")]).toEqual([1, 2]);
			await world.pass({ minutes: 11 });
			expect([requests(world, "held"), world.texts()]).toEqual([2, ["held"]]);
		},
	);

	test("quiet_hours: a reply to what the contact writes at night goes in the place of a notice that sleeps", async () => {
		const world = await createHeld({ quietHours });
		goTo(world, "06T21:00:00");
		world.anna.writes("Who is this?");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["answer"]);
		expect(await world.outbox.status("held")).toMatchObject({ state: "replaced", replacedBy: "answer" });
	});

	/** The contact answers, and the text is read about a moment before the window closes, so that it is not open for certain. */
	async function readAtTheEnd(world: World, answer: string): Promise<void> {
		const { sandbox, anna, outbox } = world;
		await outbox.suspend({ reason: "Later" });
		goTo(world, answer);
		anna.writes("Who is this?");
		sandbox.clock.advance({ hours: 23, minutes: 59, ms: 57_000 });
		await outbox.resume();
		await outbox.runOnce();
	}

	test("marketing is not sent again if an answer with a wrong Date leaves open whether the window is", async () => {
		const world = await createHeld({}, { purpose: "marketing" });
		goTo(world, "06T12:00:00");
		world.anna.writes("Who is this?");
		const other = dated(world, 24 * 3_600_000);
		for (let minutes = 0; minutes < 30; minutes++) {
			world.sandbox.clock.advance({ minutes: 1 });
			await other.runOnce();
		}
		const steps = (await world.outbox.explain("held"))?.steps.map(({ sentence }) => sentence).join(" ");
		expect([steps?.includes("Request 2"), await world.state("held")]).toEqual([false, "held"]);
		await world.pass({ minutes: 30 });
		expect(world.texts()).toEqual(["held"]);
	});

	test.each([
		["at night", "06T21:00:00", 1],
		["at noon", "06T12:00:00", 2],
	])(
		"quiet_while_closed: a reply that may meet a closed window %s is sent again if it is not night",
		async (_, at, count) => {
			const world = await createHeld({ quietHours }, { purpose: "reply" });
			await readAtTheEnd(world, at);
			expect(requests(world, "held")).toBe(count);
		},
	);

	test.each(["wait", "cancel"] as const)(
		"on_reply: it is not sent again if the application says %s",
		async (verdict) => {
			const asked: string[] = [];
			const world = await createHeld({
				onReply: (replies) => {
					asked.push(...replies.map(({ body }) => body ?? ""));
					return verdict === "wait" ? "wait" : { cancel: "Sold" };
				},
			});
			world.anna.writes("Who is this?");
			await world.pass({ hours: 1 });
			expect([requests(world, "held"), new Set(asked)]).toEqual([1, new Set(["Who is this?"])]);
			expect(await world.outbox.status("held")).toMatchObject({ state: "held", cancelRequested: verdict === "cancel" });
		},
	);

	test("before_send: it is not sent again if the check of the application cancels it", async () => {
		const world = await createHeld({
			beforeSend: (_, { conversation }) => (isOpen(conversation) ? { cancel: "Answered" } : "send"),
		});
		world.anna.writes("Who is this?");
		await world.pass({ hours: 1 });
		expect(await world.outbox.status("held")).toMatchObject({ state: "held", cancelRequested: true });
		expect(requests(world, "held")).toBe(1);
	});

	test("before_send: it is sent again at the time that the check of the application names", async () => {
		const waitUntil = new Date("2026-01-06T16:00:00Z");
		const world = await createHeld({
			beforeSend: (_, { conversation, now }) =>
				isOpen(conversation) && now < waitUntil ? { waitUntil, because: "Later" } : "send",
		});
		world.anna.writes("Who is this?");
		await world.pass({ hours: 5 });
		expect([await stateOf(world, "held"), requests(world, "held")]).toEqual([["held", "before_send"], 1]);
		await world.pass({ hours: 2 });
		expect([requests(world, "held"), world.texts()]).toEqual([2, ["held"]]);
	});

	const isOpen = (conversation: { summary: { windowExpiresAt: string | null } } | null) =>
		Date.parse(conversation?.summary.windowExpiresAt ?? "") > Date.parse("2026-01-06T12:00:00Z");

	type Consent = Parameters<World["agency"]["consent"]["set"]>[0];
	const closed =
		(rule: string, broken: Consent, before: Consent = {}) =>
		async () => {
			const options = { ...defaults };
			const text = before.languages ? { consentLanguage: "fr" } : {};
			const [world, able] = [createWorld(options), createWorld(options)];
			for (const each of [world, able]) {
				each.agency.consent.set(before);
				each.sandbox.clock.advance({ hours: 25 });
				await add(each, "held", text);
				await each.pass({ minutes: 1 });
			}
			world.agency.consent.set(broken);
			for (const each of [world, able]) await readAtTheEnd(each, "06T12:00:00");
			expect([requests(world, "held"), requests(able, "held")]).toEqual([1, 2]);
			expect(await stateOf(world, "held")).toEqual(["held", rule]);
		};

	test(
		"consent_unavailable: it is not sent again to a window that may be closed if the agency cannot ask for consent",
		closed("consent_unavailable", { missingTemplates: ["consent"] }),
	);

	test(
		"language_unavailable: it is not sent again to a window that may be closed if the agency has lost its language",
		closed("language_unavailable", { languages: ["de"], defaultLanguage: "de" }, { languages: ["de", "fr"] }),
	);

	test(
		"language_required: it is not sent again to a window that may be closed if it has to choose a language now",
		closed("language_required", { languages: ["nl", "fr"], defaultLanguage: null }),
	);
});
