// Marketing never asks for consent: it goes out in an open window, or not at all.
import { createClient } from "messaging-conversations";
import type { EnqueuedText, OutboxOptions } from "messaging-conversations/outbox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { add, createHeldMarketing, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const purpose = "marketing";
const ended = ["expired", "window_closed"];

/** Anna wrote on 5 January at 09:00. */
const goTo = ({ sandbox }: World, time: string) => sandbox.clock.advanceTo(new Date(`2026-01-${time}Z`));

/** The same outbox, whose answers carry another Date, or none. */
function dated({ sandbox, restart }: World, aheadMs: () => number | undefined, options: Partial<OutboxOptions> = {}) {
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const response = await sandbox.fetch(input, init);
		const headers = new Headers(response.headers);
		const ahead = aheadMs();
		headers.delete("date");
		if (ahead !== undefined) headers.set("date", new Date(sandbox.clock.now().getTime() + ahead).toUTCString());
		return new Response(response.body, { status: response.status, headers });
	};
	return restart({ client: createClient({ ...sandbox.connection, fetch, retry: false }), ...options });
}

afterEach(() => void vi.useRealTimers());

describe("marketing", () => {
	test.each<[string, (world: World) => unknown, Partial<EnqueuedText>]>([
		["has not written within a day", (world) => goTo(world, "06T09:00:01"), {}],
		["has never written", () => {}, { to: "+447700900102" }],
		["is hidden from the agency", ({ agency, anna }) => agency.conversation(anna).hide(), {}],
		["has a window that ends in less than five minutes", (world) => goTo(world, "06T08:55:01"), {}],
		["is to be replaced, whatever is held", (world) => goTo(world, "07T09:00:00"), { onHeld: "replace" }],
	])("ends as window_closed and asks for nothing if the contact %s", async (_, happens, rest) => {
		const world = createWorld(defaults);
		await happens(world);
		await add(world, "offer", { purpose, ...rest });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "offer"), world.sends(), world.pauses]).toEqual([ended, [], []]);
		expect((await world.outbox.status("offer"))?.description).toMatch(/Marketing never asks for consent/);
		expect((await world.outbox.explain("offer"))?.steps.at(-1)?.sentence).toMatch(/because of window_closed/);
		expect(await world.outbox.health()).toMatchObject({ due: 0, pauses: [], texts: { waiting: 0, held: 0 } });
	});

	test("goes out while the window is open for more than five minutes", async () => {
		const world = createWorld(defaults);
		goTo(world, "06T08:54:30");
		await add(world, "offer", { purpose });
		await world.outbox.runOnce();
		expect([await stateOf(world, "offer"), world.texts()]).toEqual([["sent", null], ["offer"]]);
	});

	test.each([
		["the template is not approved", { unapprovedTemplates: ["consent_en"] }],
		["the agency never set up its consent flow", { configured: false, languages: [] }],
		["the agency has several languages and no default one", { languages: ["nl", "fr"], defaultLanguage: null }],
	])("needs nothing of the agency: %s", async (_, settings) => {
		const world = createWorld(defaults);
		const { agency, anna, client, outbox, pauses, sandbox } = world;
		agency.consent.set(settings);
		agency.staff.setAi({ contact: anna, on: false });
		await add(world, "open", { purpose, consentLanguage: "de" });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "open"), world.texts()]).toEqual([["sent", null], ["open"]]);
		sandbox.clock.advance({ hours: 25 });
		await add(world, "closed", { purpose, consentLanguage: "de" });
		await world.pass({ minutes: 1 });
		expect([await stateOf(world, "closed"), pauses]).toEqual([ended, []]);
		expect((await outbox.health()).pauses).toEqual([]);
		expect((await client.agency(agency.id).conversations.get(anna.phoneNumber)).conversation.queuedMessages).toEqual(
			[],
		);
	});

	test("is refused with whenClosed: ask, before it is stored, and takes skip", async () => {
		const world = createWorld(defaults);
		const text = { agencyId: world.agency.id, to: "+447700900101", body: "New flats", purpose } as const;
		const refusal = {
			_tag: "PartnerInvalidInput",
			field: "whenClosed",
			message: expect.stringMatching(/Leave it out/),
		};
		await expect(world.outbox.enqueue({ id: "a", ...text, whenClosed: "ask" })).rejects.toMatchObject(refusal);
		const many = world.outbox.enqueueMany([
			{ id: "b", ...text },
			{ id: "c", ...text, whenClosed: "ask" },
		]);
		await expect(many).rejects.toMatchObject({ ...refusal, field: "texts[1].whenClosed" });
		expect(world.store.all()).toEqual([]);
		await world.outbox.enqueue({ id: "d", ...text });
		// It is what marketing does anyway.
		expect((await world.outbox.enqueue({ id: "d", ...text, whenClosed: "skip" })).ignored).toEqual([]);
	});

	test("whose window ends at night is not sent at night, and ends in the morning", async () => {
		const world = createWorld({ ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } });
		goTo(world, "06T03:00:00");
		world.anna.writes("Hello?");
		goTo(world, "06T20:30:00");
		await add(world, "offer", { purpose });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "offer")).toEqual(["waiting", "quiet_hours"]);
		expect((await world.outbox.status("offer"))?.nextAttemptAt).toEqual(new Date("2026-01-07T08:00:00Z"));
		await world.pass({ hours: 12 });
		expect([await stateOf(world, "offer"), world.sends()]).toEqual([ended, []]);
	});

	test("waits behind a held text, goes when the contact accepts that one, and ends with the window otherwise", async () => {
		for (const how of ["accepts", "says nothing"]) {
			const world = createWorld({ ...defaults, defaultMaxAgeMs: Number.POSITIVE_INFINITY });
			goTo(world, "07T09:00:00");
			await add(world, "notice");
			await world.pass({ minutes: 1 });
			await add(world, "offer", { purpose });
			await world.pass({ minutes: 20 });
			expect((await stateOf(world, "offer"))[0]).toBe("waiting");
			if (how === "accepts") world.anna.accepts();
			await world.pass({ hours: 60 });
			expect([how, world.texts()]).toEqual([how, how === "accepts" ? ["notice", "offer"] : []]);
			expect((await stateOf(world, "offer"))[0]).toBe(how === "accepts" ? "sent" : "cancelled");
		}
	});

	test("that supersedes a held text does not take its place in the service's queue", async () => {
		const world = createWorld(defaults);
		goTo(world, "07T09:00:00");
		await add(world, "first");
		await world.pass({ minutes: 1 });
		await add(world, "second", { purpose, supersedes: "first" });
		await world.pass({ minutes: 30 });
		expect([await stateOf(world, "second"), world.anna.state().held?.body]).toEqual([ended, "first"]);
		expect(world.sends()).toHaveLength(1);
	});

	test("that is superseded while it waits never goes, and the new one does", async () => {
		const world = createWorld(defaults);
		await add(world, "june", { purpose, notBefore: new Date(world.sandbox.clock.now().getTime() + 3_600_000) });
		await add(world, "july", { purpose, supersedes: "june" });
		await world.pass({ hours: 2 });
		expect([await stateOf(world, "june"), world.texts()]).toEqual([["cancelled", "superseded"], ["july"]]);
	});

	test("of a backup ends if the window has closed since, and is not sent twice", async () => {
		const world = createWorld(defaults);
		await add(world, "sent", { purpose });
		await add(world, "late", {
			purpose,
			notBefore: new Date("2026-01-06T12:00Z"),
			notAfter: new Date("2026-01-09T12:00Z"),
		});
		const restore = world.store.snapshot();
		const backupAt = world.sandbox.clock.now();
		await world.pass({ hours: 1 });
		restore();
		await world.outbox.restored({ backupAt });
		await world.pass({ hours: 30 });
		expect([world.texts(), await stateOf(world, "late")]).toEqual([["sent"], ended]);
		expect((await stateOf(world, "sent"))[0]).toMatch(/sent|delivered/);
	});

	test.each([-3, 24])("waits while a Date that is %i hours ahead hides whether the window is open", async (hours) => {
		const world = createWorld(defaults);
		let aheadMs = hours * 3_600_000;
		const outbox = dated(world, () => aheadMs);
		// By one of the two clocks the window has closed.
		goTo(world, hours < 0 ? "06T10:00:00" : "05T10:00:00");
		await add(world, "offer", { purpose });
		await outbox.runOnce();
		expect((await stateOf(world, "offer"))[0]).toBe("waiting");
		expect(world.sends()).toEqual([]);
		aheadMs = 0;
		world.sandbox.clock.advance({ minutes: 11 });
		await outbox.runOnce();
		expect(await stateOf(world, "offer")).toEqual(hours < 0 ? ended : ["sent", null]);
	});

	test("waits while the window seems to end in more than a day, because this machine's clock is slow", async () => {
		const world = createWorld({ ...defaults, now: undefined });
		const slow = () => vi.useFakeTimers({ toFake: ["Date"], now: world.sandbox.clock.now().getTime() - 180_000 });
		const outbox = dated(world, () => undefined, { now: undefined });
		world.agency.staff.setAi({ contact: world.anna, on: false });
		slow();
		await add(world, "offer", { purpose });
		await outbox.runOnce();
		expect((await stateOf(world, "offer"))[0]).toBe("waiting");
		world.sandbox.clock.advance({ minutes: 10 });
		slow();
		await outbox.runOnce();
		expect([await stateOf(world, "offer"), world.texts()]).toEqual([["sent", null], ["offer"]]);
	});

	test("that the service refuses because the window has just closed is read again, and ends", async () => {
		let isFirst = true;
		const world = createWorld({
			...defaults,
			onSend: ({ clock }) => {
				if (isFirst) clock.advance({ minutes: 7 });
				isFirst = false;
			},
		});
		world.agency.consent.set({ missingTemplates: ["consent_en"] });
		goTo(world, "06T08:54:00");
		await add(world, "offer", { purpose });
		await world.pass({ minutes: 20 });
		expect([await stateOf(world, "offer"), world.sends().length]).toEqual([ended, 1]);
		expect(world.pauses).toEqual([]);
	});
});

describe("marketing that the service holds because the window closed right before the request", () => {
	test("asks once, and neither its No nor what came before it stops a notice or a reply", async () => {
		const world = await createHeldMarketing("offer", defaults);
		expect(await stateOf(world, "offer")).toEqual(["held", null]);
		const notAfter = new Date(world.sandbox.clock.now().getTime() + 9 * 86_400_000);
		for (const each of ["reply", "notice", "marketing"] as const)
			await add(world, each, { purpose: each, onHeld: "wait", notAfter });
		await add(world, "reminder", { notBefore: new Date(world.sandbox.clock.now().getTime() + 7_200_000), notAfter });
		await world.pass({ minutes: 1 });
		world.anna.declines();
		await world.pass({ hours: 3 });
		expect(await stateOf(world, "offer")).toEqual(["dropped", "declined"]);
		expect(world.texts()).toEqual(["reply", "notice", "reminder"]);
		expect(await stateOf(world, "marketing")).toEqual(["waiting", "refusal"]);
		await add(world, "later", { purpose });
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "later")).toEqual(["waiting", "refusal"]);
		world.anna.writes("Do you have something with a garden?");
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual(["reply", "notice", "reminder", "marketing", "later"]);
	});

	test("and gets no answer ends nothing: what waits behind it goes out then", async () => {
		const world = await createHeldMarketing("offer", defaults);
		const notAfter = new Date(world.sandbox.clock.now().getTime() + 9 * 86_400_000);
		await add(world, "notice", { notAfter });
		await world.pass({ hours: 50 });
		expect(await stateOf(world, "offer")).toEqual(["dropped", "no_answer"]);
		expect(await stateOf(world, "notice")).toEqual(["held", null]);
		world.anna.accepts();
		await world.pass({ minutes: 30 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test("lets a reply to what the contact writes go, and is then replaced", async () => {
		const world = await createHeldMarketing("offer", defaults);
		await world.pass({ minutes: 20 });
		world.anna.writes("Who is this?");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 5 });
		expect([world.texts(), (await stateOf(world, "offer"))[0]]).toEqual([["answer"], "replaced"]);
	});

	test("is sent again to a contact who answers in words, if your onReply says so", async () => {
		const world = await createHeldMarketing("offer", { ...defaults, onReply: "send" });
		await world.pass({ minutes: 20 });
		world.anna.writes("Who is this?");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual(["offer"]);
	});
});
