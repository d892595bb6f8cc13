// What a CRM does beside sending: it moves visits, sends campaigns, shows a status column, and restores backups.
import type { Pause } from "messaging-conversations/outbox";
import { createOutbox } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import { changed, type OutboxText } from "./port.ts";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const hour = 3_600_000;

describe("a visit that moves: supersedes", () => {
	test("a waiting text is cancelled, and the new one is sent", async () => {
		const world = createWorld(defaults);
		await add(world, "at two", { notBefore: new Date(world.sandbox.clock.now().getTime() + hour) });
		await add(world, "at three", { supersedes: "at two" });
		expect(await stateOf(world, "at two")).toEqual(["cancelled", "superseded"]);
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ hours: 2 });
		expect(world.texts()).toEqual(["at three"]);
		expect((await world.outbox.status("at two"))?.description).toMatch(/newer text took its place/);
		expect((await world.outbox.settled()).map(({ id }) => id)).toEqual(["at two", "at three"]);
	});

	test("a held text is replaced in the service's queue, also while the window is closed", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at two");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "at two")).toEqual(["held", null]);
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ minutes: 20 });
		expect(await stateOf(world, "at two")).toEqual(["replaced", null]);
		expect(await stateOf(world, "at three")).toEqual(["held", null]);
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["at three"]);
	});

	test.each([
		["in the quiet hours", { notAfter: "2026-01-07T07:30:00Z" }],
		["in the quiet hours, which it outlasts", {}],
		["although no consent is to be asked", { whenClosed: "skip" as const }],
	])("a held text is replaced %s, because the contact should not get the old time", async (_, rest) => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		const world = createWorld({ ...defaults, quietHours });
		world.sandbox.clock.advanceTo(new Date("2026-01-06T19:00:00Z"));
		await add(world, "tomorrow 10:00");
		await world.pass({ minutes: 1 });
		world.sandbox.clock.advance({ minutes: 90 });
		await add(world, "tomorrow 07:30", { supersedes: "tomorrow 10:00", ...rest });
		await world.pass({ minutes: 20 });
		expect(await stateOf(world, "tomorrow 10:00")).toEqual(["replaced", null]);
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["tomorrow 07:30"]);
	});

	const quietAtNight = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } };

	test("a visit that moves twice takes the place of the held text at night too", async () => {
		const world = createWorld(quietAtNight);
		world.sandbox.clock.advanceTo(new Date("2026-01-06T19:30:00Z"));
		await add(world, "at nine");
		await world.pass({ minutes: 1 });
		await add(world, "at ten", { supersedes: "at nine", notBefore: "2026-01-07T09:00:00Z" });
		world.sandbox.clock.advance({ minutes: 90 });
		await add(world, "at seven", { supersedes: "at ten", notAfter: "2026-01-07T07:00:00Z" });
		await world.pass({ minutes: 20 });
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["at seven"]);
		expect(await stateOf(world, "at nine")).toEqual(["replaced", null]);
	});

	test.each([
		[{}, ["waiting", "quiet_hours"]],
		[{ whenClosed: "skip" as const }, ["waiting", "quiet_hours"]],
	])("a text that only may take a held one's place keeps the quiet hours: %j", async (rest, state) => {
		const world = createWorld(quietAtNight);
		world.sandbox.clock.advanceTo(new Date("2026-01-06T19:00:00Z"));
		await add(world, "held");
		await world.pass({ minutes: 1 });
		world.sandbox.clock.advance({ minutes: 90 });
		await add(world, "news", { onHeld: "replace", ...rest });
		await world.pass({ minutes: 20 });
		expect(await stateOf(world, "news")).toEqual(state);
		expect(world.anna.state().held?.body).toBe("held");
	});

	test("in an open window it waits for the end of the quiet hours", async () => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		const world = createWorld({ ...defaults, quietHours });
		world.sandbox.clock.advanceTo(new Date("2026-01-06T19:00:00Z"));
		await add(world, "at two");
		await world.pass({ minutes: 1 });
		world.sandbox.clock.advance({ minutes: 90 });
		await add(world, "at three", { supersedes: "at two" });
		world.anna.writes("Hello?");
		await world.pass({ minutes: 20 });
		expect(await stateOf(world, "at three")).toEqual(["waiting", "quiet_hours"]);
	});

	test("a held text of somebody else is not replaced", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "at two", { notBefore: new Date(world.sandbox.clock.now().getTime() + 1_000) });
		await world.client.agency(world.agency.id).messages.send({ to: world.anna.phoneNumber, body: "From a colleague." });
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "at three")).toEqual(["waiting", null]);
	});

	describe.each([
		["took the request", "after"],
		["did not take it", "before"],
	] as const)("while nobody knows whether the service, which %s, is away for hours", (_, phase) => {
		/** The answer of a send is lost, and then nothing is answered for six hours. */
		async function losing(rest: { to?: string } = {}, { dies = false, isClosed = false } = {}) {
			const outage: { remove: () => void }[] = [];
			const beforeSend = () => {
				const { faults } = world.sandbox;
				if (outage.length === 0) {
					outage.push(faults.add({ operation: "messages.send", phase, effect: "reset", times: 100_000 }));
					for (const operation of ["conversations.get", "conversations.lookup"] as const)
						outage.push(faults.add({ operation, effect: { status: 503 }, times: 100_000 }));
				}
				return "send" as const;
			};
			const world = createWorld({ ...defaults, beforeSend });
			if (isClosed) world.sandbox.clock.advance({ hours: 25 });
			const bob = world.agency.contact("+447700900102");
			bob.writes("Hello");
			await add(world, "at two");
			await world.pass({ minutes: 1 });
			expect(await stateOf(world, "at two")).toEqual(["sending", null]);
			const save = () => Promise.reject(new Error("killed"));
			const { outbox } = dies ? { outbox: world.restart({ store: changed(world.store, { save }) }) } : world;
			const moving = add({ ...world, outbox }, "at three", { supersedes: "at two", ...rest });
			const status = dies ? await expect(moving).rejects.toThrow("killed") : await moving;
			await world.pass({ hours: 6 });
			if (!dies) expect(await world.outbox.status("at two")).toMatchObject({ state: "sending", cancelRequested: true });
			for (const fault of outage) fault.remove();
			await world.pass({ hours: 2 });
			return { ...world, bob, status };
		}
		const old = phase === "after" ? ["at two"] : [];
		const end = phase === "after" ? ["sent", null] : ["cancelled", "superseded"];

		test("the new text is stored and goes out last, and the earlier one is not sent again", async () => {
			const world = await losing();
			expect(world.texts()).toEqual([...old, "at three"]);
			expect(await stateOf(world, "at two")).toEqual(end);
		});

		test("so it is if the process dies right after it has stored the new one", async () => {
			const world = await losing({}, { dies: true });
			expect(world.texts()).toEqual([...old, "at three"]);
			expect(await stateOf(world, "at two")).toEqual(end);
		});

		test("what the service holds by then is replaced", async () => {
			const world = await losing({}, { isClosed: true });
			expect(await stateOf(world, "at two")).toEqual(phase === "after" ? ["replaced", null] : end);
			world.anna.accepts();
			await world.pass({ hours: 1 });
			expect(world.texts()).toEqual(["at three"]);
		});

		test("so it is at another number, and the status of the new one says that both may arrive", async () => {
			const world = await losing({ to: "+447700900102" });
			expect(world.status?.description).toMatch(/may still arrive/);
			expect([world.texts(), world.bob.inbox().map(({ body }) => body)]).toEqual([old, ["at three"]]);
			expect(await stateOf(world, "at two")).toEqual(end);
		});
	});

	test.each(["sent", "gone", "erased"])("an earlier text that is %s keeps nothing back", async (how) => {
		const world = createWorld(defaults);
		if (how !== "gone") await add(world, "at two");
		await world.pass({ minutes: 1 });
		if (how === "erased") await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
		await add(world, "at three", { supersedes: "at two" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "at three")).toEqual(["sent", null]);
	});

	test("a process that dies in between leaves both, and the worker cancels the earlier one", async () => {
		const world = createWorld({ ...defaults, concurrency: 1 });
		await add(world, "at two", { priority: 9 });
		const { insert } = world.store;
		const dying = { ...world.store, save: () => Promise.reject(new Error("killed")), insert };
		const outbox = createOutbox({ client: world.client, store: dying, now: world.sandbox.clock.now });
		const { anna, agency } = world;
		const moved = { id: "at three", agencyId: agency.id, to: anna.phoneNumber, body: "at three", supersedes: "at two" };
		await expect(outbox.enqueue(moved)).rejects.toThrow("killed");
		expect(await stateOf(world, "at two")).toEqual(["waiting", null]);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["at three"]);
		expect(await stateOf(world, "at two")).toEqual(["cancelled", "superseded"]);
	});

	test("it has to be another text", async () => {
		const world = createWorld(defaults);
		await add(world, "at two");
		await expect(add(world, "at two", { supersedes: "at two" })).rejects.toMatchObject({ field: "supersedes" });
		await expect(add(world, "other", { supersedes: "" })).rejects.toMatchObject({ field: "supersedes" });
		expect(await world.outbox.status("other")).toBeUndefined();
	});
});

describe("enqueueMany", () => {
	test("stores a campaign with the status of each, once", async () => {
		const world = createWorld(defaults);
		const texts = [1, 2, 3].map((at) => ({
			id: `june-${at}`,
			agencyId: world.agency.id,
			to: `+44 7700 90020${at}`,
			body: `New flats ${at}`,
			purpose: "marketing" as const,
		}));
		const statuses = await world.outbox.enqueueMany(new Set(texts));
		expect(statuses.map(({ id, state, purpose, to }) => [id, state, purpose, to])).toEqual(
			[1, 2, 3].map((at) => [`june-${at}`, "waiting", "marketing", `+44770090020${at}`]),
		);
		await world.outbox.enqueueMany(texts);
		expect(world.store.all()).toHaveLength(3);
		// The third one has never written.
		for (const at of [1, 2]) world.agency.contact(`+44770090020${at}`).writes("Hello");
		// The AI may still be talking with those who wrote.
		world.sandbox.clock.advance({ hours: 1 });
		await world.pass({ minutes: 1 });
		expect(world.sends()).toHaveLength(2);
		expect(await stateOf(world, "june-3")).toEqual(["expired", "window_closed"]);
		expect(await world.outbox.enqueueMany([])).toEqual([]);
	});

	test.each<[what: string, field: string, change: object]>([
		["a bad number", "texts[1].to", { to: "12" }],
		["no body", "texts[1].body", { body: "" }],
		["a field that does not exist", "texts[1]", { text: "Hi" }],
		["supersedes", "texts[1].supersedes", { supersedes: "a" }],
		["an id of another text in the list", "texts[1].id", { id: "a" }],
	])("%s is refused by the name of the text, and nothing is stored", async (_, field, change) => {
		const world = createWorld(defaults);
		const text = (id: string) => ({ id, agencyId: world.agency.id, to: "+447700900101", body: id });
		await expect(world.outbox.enqueueMany([text("a"), { ...text("b"), ...change }])).rejects.toMatchObject({
			_tag: "PartnerInvalidInput",
			field,
			operation: "enqueueMany",
		});
		expect(world.store.all()).toEqual([]);
	});

	test.each([["a text"], [42], [null], [{ id: "a" }]])("%j is no list", async (given) => {
		const world = createWorld(defaults);
		await expect(world.outbox.enqueueMany(given as never)).rejects.toMatchObject({ field: "texts" });
	});

	test("takes a thousand texts, and no more", async () => {
		const world = createWorld(defaults);
		const texts = Array.from({ length: 1_001 }, (_, at) => ({
			...{ id: `t${at}`, agencyId: world.agency.id, to: "+447700900101", body: "New flats" },
		}));
		await expect(world.outbox.enqueueMany(texts)).rejects.toMatchObject({ field: "texts" });
		expect(await world.outbox.enqueueMany(texts.slice(1))).toHaveLength(1_000);
	});

	test("texts that can only be sent in quiet hours expire at once, and the others do not", async () => {
		const timeZone = "Europe/Brussels";
		const world = createWorld({ ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone } });
		const now = world.sandbox.clock.now();
		const night = new Date(now);
		night.setUTCHours(22);
		const text = (id: string, rest: object) => ({
			...{ id, agencyId: world.agency.id, to: world.anna.phoneNumber, body: id, ...rest },
		});
		const late = { notBefore: night, notAfter: new Date(night.getTime() + hour) };
		const [first, second, again] = await world.outbox.enqueueMany([
			text("late", late),
			text("early", {}),
			text("late", late),
		]);
		expect(first).toMatchObject({ state: "expired", reason: "quiet_hours" });
		expect(again).toEqual(first);
		expect(second).toMatchObject({ state: "waiting" });
	});
});

describe("settled with held", () => {
	test("a held text is listed, again when it is to be cancelled, and again with its end", async () => {
		const world = createWorld(defaults);
		const news = async () => {
			const changes = await world.outbox.settled({ held: true });
			await world.outbox.acknowledge(changes);
			return changes.map(({ id, state, cancelRequested }) => [id, state, cancelRequested]);
		};
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "first");
		await world.pass({ minutes: 1 });
		expect(await world.outbox.settled()).toEqual([]);
		expect(await news()).toEqual([["first", "held", false]]);
		expect(await news()).toEqual([]);
		expect(await world.outbox.cancel("first")).toBe(false);
		expect(await news()).toEqual([["first", "held", true]]);
		world.anna.accepts();
		await world.pass({ minutes: 20 });
		expect(await news()).toEqual([["first", "sent", true]]);
	});

	test("STOP while it is held is news too", async () => {
		const world = createWorld({ ...defaults, onReply: "send" });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "first");
		await world.pass({ minutes: 1 });
		await world.outbox.acknowledge(await world.outbox.settled({ held: true }));
		world.anna.writes("STOP");
		await world.pass({ minutes: 20 });
		expect(await world.outbox.settled({ held: true })).toMatchObject([{ id: "first", cancelRequested: true }]);
	});

	test.each<[string, (world: World) => unknown]>([
		["wrote STOP", ({ anna }) => anna.writes("STOP")],
		["wrote STOP in Polish", ({ anna }) => anna.writes("Wypisz mnie")],
		["opted out by telephone", ({ outbox, anna }) => outbox.optOut({ to: anna.phoneNumber })],
	])("nobody is told to write to a contact who %s while a text was held", async (_how, act) => {
		const world = createWorld({ ...defaults, onReply: "wait" });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "first");
		await world.pass({ minutes: 1 });
		await act(world);
		await world.pass({ minutes: 20 });
		expect((await world.outbox.status("first"))?.description).toMatch(/^The contact asked for no more texts while/);
		await world.pass({ hours: 60 });
		const { state, description } = (await world.outbox.status("first")) ?? {};
		expect([state, description]).toEqual([
			"dropped",
			"Not delivered: the contact asked for no more texts. Only call them if it matters.",
		]);
	});

	test("held has to be true or false", async () => {
		const world = createWorld(defaults);
		await expect(world.outbox.settled({ held: "yes" as never })).rejects.toMatchObject({ field: "held" });
	});
});

describe("a hook that throws", () => {
	const secret = new TypeError("no lead for +447700900101");
	const throwing = () => {
		throw secret;
	};

	test.each<[name: string, options: Parameters<typeof createWorld>[0]]>([
		["beforeSend", { beforeSend: throwing }],
		["beforeSend, asynchronous", { beforeSend: async () => throwing() }],
		["optOut", { optOut: throwing }],
		["quietHours.timeZone", { quietHours: { from: "20:00", to: "08:00", timeZone: throwing } }],
	])("%s: onPaused gets the error itself, and nothing else shows its message", async (_, options) => {
		const pauses: Pause[] = [];
		const world = createWorld({ ...defaults, ...options, onPaused: (pause) => pauses.push(pause) });
		await add(world, "first");
		await world.pass({ minutes: 1 });
		expect(pauses).toMatchObject([{ reason: "hook_failed", id: "first" }]);
		expect(pauses[0]?.cause).toBe(secret);
		expect(Object.keys(pauses[0] ?? {})).not.toContain("cause");
		const shown = JSON.stringify([pauses, pauses[0]?.error, await world.outbox.status("first"), world.store.all()]);
		expect(shown + String(pauses[0]?.error)).not.toContain("no lead");
	});

	test("one that returns nothing usable has no cause", async () => {
		const pauses: Pause[] = [];
		const world = createWorld({
			...defaults,
			beforeSend: () => "yes" as never,
			onPaused: (pause) => pauses.push(pause),
		});
		await add(world, "first");
		await world.pass({ minutes: 1 });
		expect(pauses).toMatchObject([{ reason: "hook_failed" }]);
		expect(pauses[0] && "cause" in pauses[0]).toBe(false);
	});
});

test("a STOP with more messages after it than one page holds is found before the next text, while the last one is followed", async () => {
	const world = createWorld(defaults);
	const { anna, agency, outbox, sandbox } = world;
	await add(world, "one");
	await outbox.runOnce();
	sandbox.clock.advance({ ms: 2_000 });
	anna.writes("STOP");
	for (let count = 0; count < 60; count++) agency.staff.sends({ contact: anna, text: `Photo ${count}` });
	sandbox.clock.advance({ minutes: 5 });
	await add(world, "two", { purpose: "notice" });
	await outbox.runOnce();
	expect(await stateOf(world, "two")).toEqual(["cancelled", "opted_out"]);
});

describe("a backup that was restored", () => {
	/** A world whose texts are restored as they were before `since` happened. */
	async function restored(
		texts: (world: World) => Promise<unknown>,
		since: (world: World) => Promise<unknown>,
		isDeclared = true,
	) {
		const before = createWorld(defaults);
		await texts(before);
		const rows = before.store.all();
		const backupAt = before.sandbox.clock.now();
		before.sandbox.clock.advance({ minutes: 1 });
		await since(before);
		before.sandbox.clock.advance({ hours: 3 });
		const store = memoryStore();
		for (const row of rows) {
			await store.insert(row, undefined);
			await store.save({ ...row, version: 0 });
		}
		const outbox = createOutbox({ client: before.client, store, now: before.sandbox.clock.now });
		const count = isDeclared ? await outbox.restored({ backupAt }) : 0;
		const after = { ...before, store, outbox };
		const pass = async (minutes: number) => {
			for (let minute = 0; minute < minutes; minute++) {
				await outbox.runOnce();
				before.sandbox.clock.advance({ minutes: 1 });
			}
		};
		return { ...after, count, pass };
	}

	test("what was sent since is found, and not sent again", async () => {
		const world = await restored(
			(world) => add(world, "See you at 14:00."),
			(world) => world.pass({ minutes: 1 }),
		);
		expect(world.count).toBe(1);
		await world.pass(3);
		expect(world.texts()).toEqual(["See you at 14:00."]);
		expect(await stateOf(world, "See you at 14:00.")).toEqual(["sent", null]);
	});

	test("what is held since is found, and delivered once", async () => {
		const world = await restored(
			async (world) => {
				world.sandbox.clock.advance({ hours: 25 });
				await add(world, "first");
			},
			(world) => world.pass({ minutes: 1 }),
		);
		await world.pass(3);
		expect(await stateOf(world, "first")).toEqual(["held", null]);
		expect(world.templates()).toBe(1);
		world.anna.accepts();
		await world.pass(20);
		expect(world.texts()).toEqual(["first"]);
		expect(await stateOf(world, "first")).toEqual(["sent", null]);
	});

	test.each(["no_answer", "answered_in_words", "declined"] as const)(
		"what is held since goes by what the contact does afterwards, and not by what they wrote the day before: %s",
		async (end) => {
			const world = await restored(
				async (world) => {
					world.sandbox.clock.advance({ hours: 1 });
					world.anna.writes("Do you have a garden?");
					world.sandbox.clock.advance({ hours: 25 });
					await add(world, "first");
				},
				(world) => world.pass({ minutes: 1 }),
			);
			await world.pass(3);
			expect(await stateOf(world, "first")).toEqual(["held", null]);
			if (end === "answered_in_words") world.anna.writes("Who is this?");
			if (end === "declined") world.anna.declines();
			for (let hour = 0; hour < 51; hour++) {
				world.sandbox.clock.advance({ minutes: 57 });
				await world.pass(3);
			}
			expect(await stateOf(world, "first")).toEqual(["dropped", end]);
		},
	);

	test("what the contact declined since is cancelled, and what ran out is unknown", async () => {
		const held = async (world: World) => {
			world.sandbox.clock.advance({ hours: 25 });
			await add(world, "first");
		};
		const declined = await restored(held, async (world) => {
			await world.pass({ minutes: 1 });
			world.anna.declines();
		});
		await declined.pass(3);
		expect(await stateOf(declined, "first")).toEqual(["cancelled", "earlier_text_declined"]);
		const ignored = await restored(held, async (world) => {
			await world.pass({ minutes: 1 });
			world.sandbox.clock.advance({ hours: 50 });
		});
		await ignored.store.save({ ...(ignored.store.all()[0] as OutboxText), notAfter: Number.MAX_SAFE_INTEGER });
		await ignored.pass(3);
		expect(await stateOf(ignored, "first")).toEqual(["unknown", "ambiguous"]);
		expect([declined.templates(), ignored.templates()]).toEqual([1, 1]);
	});

	describe.each(["waiting", "held"] as const)("a text that is %s in it", (state) => {
		const enqueued = async (world: World) => {
			world.sandbox.clock.advance({ hours: 25 });
			await add(world, "first");
			if (state === "held") await world.pass({ minutes: 1 });
		};

		test.each([
			["10 minutes later", 600, undefined],
			["40 seconds later", 40, undefined],
			["10 minutes later, and a tap on a button of a visit has been answered at once", 600, "mon-14"],
		])(
			"was perhaps declined, although a colleague has written %s: no marketing follows",
			async (_, seconds, button) => {
				const world = await restored(enqueued, async (world) => {
					const { anna, agency, sandbox } = world;
					await world.pass({ minutes: 1 });
					sandbox.clock.advance({ minutes: 10 });
					anna.declines();
					sandbox.clock.advance({ ms: seconds * 1_000 });
					agency.staff.sends({ contact: anna, text: "Call me if you change your mind." });
					if (button === undefined) return;
					sandbox.clock.advance({ minutes: 10 });
					anna.taps(button);
					sandbox.clock.advance({ ms: 3_000 });
					agency.staff.sends({ contact: anna, text: "See you on Monday." });
				});
				await world.pass(3);
				expect(await stateOf(world, "first")).toEqual(["unknown", "ambiguous"]);
				await add(world, "offer", { purpose: "marketing" });
				await add(world, "visit", { purpose: "notice" });
				await world.pass(3);
				expect(await stateOf(world, "offer")).toEqual(["cancelled", "earlier_text_declined"]);
				expect(await stateOf(world, "visit")).toEqual(["sent", null]);
				expect(world.texts()).not.toContain("first");
			},
		);

		test("was declined, and nobody has written since: no marketing follows", async () => {
			const world = await restored(enqueued, async (world) => {
				await world.pass({ minutes: 1 });
				world.sandbox.clock.advance({ minutes: 10 });
				world.anna.declines();
			});
			await world.pass(3);
			await add(world, "offer", { purpose: "marketing" });
			await world.pass(3);
			expect(await stateOf(world, "offer")).toEqual(["cancelled", "earlier_text_declined"]);
		});

		test("was displaced by a text of a colleague, which the contact has accepted: that is no decline", async () => {
			const world = await restored(enqueued, async (world) => {
				await world.pass({ minutes: 1 });
				world.sandbox.clock.advance({ minutes: 10 });
				world.agency.staff.sends({ contact: world.anna, text: "Are you still there?" });
				world.anna.accepts();
			});
			await world.pass(3);
			await add(world, "offer", { purpose: "marketing" });
			await world.pass(3);
			expect(await stateOf(world, "offer")).toEqual(["sent", null]);
		});
	});

	test("an opt-out since then cancels", async () => {
		const world = await restored(
			(world) => add(world, "first", { notBefore: new Date(world.sandbox.clock.now().getTime() + hour) }),
			async (world) => {
				world.anna.writes("STOP");
				for (let count = 0; count < 60; count++) world.anna.writes(`Message ${count}`);
			},
		);
		await world.pass(3);
		expect(await stateOf(world, "first")).toEqual(["cancelled", "opted_out"]);
	});

	test("an opt-out since then cancels, although the contact wants texts again by now", async () => {
		const world = await restored(
			(world) => add(world, "first", { notBefore: new Date(world.sandbox.clock.now().getTime() + hour) }),
			async (world) => {
				world.anna.writes("STOP");
				world.sandbox.clock.advance({ minutes: 1 });
				world.anna.writes("START");
			},
		);
		await world.pass(3);
		expect(await stateOf(world, "first")).toEqual(["cancelled", "opted_out"]);
	});

	test.each([
		"its time has passed",
		"it was cancelled",
		"the contact wrote STOP",
		"the contact opted out by telephone",
	])("what was sent since is found although %s, and has no false status", async (how) => {
		const world = await restored(
			(world) => add(world, "first", { notAfter: new Date(world.sandbox.clock.now().getTime() + hour) }),
			async (world) => {
				await world.pass({ minutes: 1 });
				if (how === "the contact wrote STOP") world.anna.writes("STOP");
			},
		);
		if (how === "it was cancelled") expect(await world.outbox.cancel("first")).toBe(false);
		if (how === "the contact opted out by telephone") await world.outbox.optOut({ to: world.anna.phoneNumber });
		await world.pass(3);
		expect(await stateOf(world, "first")).toEqual(["sent", null]);
	});

	test("nothing proves that a text to a contact without a conversation was not sent", async () => {
		const to = "+447700900109";
		const world = await restored(
			(world) => add(world, "first", { to }),
			async () => {},
		);
		await world.pass(2);
		expect(await stateOf(world, "first")).toEqual(["unknown", "unreadable"]);
		await add(world as never, "second", { to });
		await world.pass(2);
		expect(await stateOf(world, "second")).toEqual(["held", null]);
	});

	test("two texts of the same words are two messages, and one message is one text", async () => {
		const twice = async (world: World) => {
			await add(world, "one", { body: "Reminder" });
			await add(world, "two", { body: "Reminder" });
		};
		const both = await restored(twice, (world) => world.pass({ minutes: 1 }));
		await both.pass(5);
		expect(both.texts()).toEqual(["Reminder", "Reminder"]);
		// Which message is which cannot be told.
		for (const id of ["one", "two"]) expect(await stateOf(both, id)).toEqual(["unknown", "ambiguous"]);
		const one = await restored(twice, async (world) => {
			await world.outbox.cancel("two");
			await world.pass({ minutes: 1 });
		});
		await one.pass(5);
		expect(await stateOf(one, "one")).toEqual(["sent", null]);
		expect(one.texts()).toEqual(["Reminder", "Reminder"]);
	});

	test("nothing is guessed of a text that is newer, or without a declaration", async () => {
		const world = createWorld(defaults);
		await add(world, "January", { body: "Your visit is tomorrow." });
		await world.pass({ minutes: 1 });
		world.sandbox.clock.advance({ minutes: 10 });
		await add(world, "February", { body: "Your visit is tomorrow." });
		expect(await world.outbox.restored({ backupAt: world.sandbox.clock.now() })).toBe(1);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toHaveLength(2);
		const undeclared = await restored(
			(world) => add(world, "first"),
			(world) => world.pass({ minutes: 1 }),
			false,
		);
		await undeclared.pass(1);
		// The service knows the id of the request for a while only.
		expect(await stateOf(undeclared, "first")).toEqual(["sent", null]);
	});

	test("words that a colleague wrote before the backup, or writes after the declaration, are not the text", async () => {
		const text = (world: World) => world.client.agency(world.agency.id).messages;
		const world = await restored(
			async (world) => {
				await text(world).send({ to: world.anna.phoneNumber, body: "Reminder" });
				world.sandbox.clock.advance({ minutes: 10 });
				await add(world, "first", { body: "Reminder" });
			},
			async () => {},
		);
		await text(world as never).send({ to: world.anna.phoneNumber, body: "Something else" });
		await world.pass(3);
		expect(world.texts()).toEqual(["Reminder", "Something else", "Reminder"]);
	});

	test.each([["tomorrow"], ["2026-01-05 10:00"], [undefined], [1_774_774_800]])(
		"%j is no backupAt",
		async (backupAt) => {
			const world = createWorld(defaults);
			await expect(world.outbox.restored({ backupAt: backupAt as never })).rejects.toMatchObject({ field: "backupAt" });
		},
	);

	test("backupAt must not be in the future", async () => {
		const world = createWorld(defaults);
		const backupAt = new Date(world.sandbox.clock.now().getTime() + 60_000);
		await expect(world.outbox.restored({ backupAt })).rejects.toMatchObject({ field: "backupAt" });
	});
});

test.each([1, 3])(
	"replies that wait for a colleague's text go out as soon as the next reply is enqueued: %d waited",
	async (count) => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		const waiting = Array.from({ length: count }, (_, at) => `reply ${at}`);
		for (const id of waiting) await add(world, id, { purpose: "reply" });
		await world.pass({ minutes: 11 });
		world.anna.accepts();
		await world.pass({ ms: 1_000 });
		await add(world, "the next", { purpose: "reply" });
		await world.pass({ ms: 1_000 });
		expect(world.texts()).toEqual(["From a colleague", ...waiting, "the next"]);
	},
);
