import { describe, expect, test } from "vitest";
import { add, createWorld, stateOf, type World } from "./world.ts";

const notMine = { onReply: undefined, defaultMaxAgeMs: undefined };

/** Anna writes, and the outbox has read it with a text. */
async function havingRead(words: string, given: Parameters<typeof createWorld>[0] = {}): Promise<World> {
	const world = createWorld({ ...notMine, ...given });
	world.sandbox.clock.advance({ minutes: 1 });
	world.anna.writes(words);
	return world;
}

/** Anna taps a button of the AI. */
function tap({ agency, anna }: World, label: string): void {
	agency.staff.setAi({ contact: anna, on: true });
	agency.ai.replies({
		contact: anna,
		text: "Shall we talk?",
		interactiveContent: { quickReplies: [{ code: "b0", text: label }] },
	});
	anna.taps("b0");
}

describe("a contact who writes that the number is wrong", () => {
	test.each(["Wrong number", "Verkeerd nummer", "Mauvais numéro", "Sorry, falsche Nummer. Danke", "to pomyłka 🙏"])(
		"%s: notices and marketing wait, and a reply goes",
		async (words) => {
			const world = await havingRead(words);
			await add(world, "notice");
			await add(world, "marketing", { purpose: "marketing" });
			await add(world, "reply", { purpose: "reply" });
			await world.pass({ hours: 3 });
			expect(world.texts()).toEqual(["reply"]);
			expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
			expect(await stateOf(world, "marketing")).toEqual(["waiting", "wrong_number"]);
		},
	);

	test.each([
		"Wrong number on the door, we're at 14",
		"I gave you the wrong number, use 0470 12 34 56",
		"Wrong number?",
	])("%s is something else", async (words) => {
		const world = await havingRead(words);
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test("status, explain, health and settled show it", async () => {
		const world = await havingRead("Wrong number");
		const { outbox, agency } = world;
		await add(world, "notice");
		await add(world, "in days", { notBefore: new Date(world.sandbox.clock.now().getTime() + 30 * 3_600_000) });
		await world.pass({ minutes: 1 });
		for (const id of ["notice", "in days"]) {
			const status = await outbox.status(id);
			expect(status).toMatchObject({ state: "waiting", reason: "wrong_number", waitsFor: { kind: "wrong_number" } });
			expect(status?.description).toMatch(/number is wrong.*optIn/);
			expect((await outbox.explain(id))?.steps.at(-1)?.sentence).toMatch(/wrong_number/);
		}
		const { pauses, due } = await outbox.health();
		// Only a person ends it, so that no try is promised.
		expect(pauses).toMatchObject([{ agencyId: agency.id, reason: "wrong_number", until: null }]);
		expect(due).toBe(0);
		expect(await outbox.settled()).toEqual([]);
		const changes = await outbox.settled({ held: true });
		expect(changes.map(({ id, reason }) => [id, reason])).toEqual([
			["notice", "wrong_number"],
			["in days", "wrong_number"],
		]);
		await outbox.acknowledge(changes);
		expect(await outbox.settled({ held: true })).toEqual([]);
	});

	test("if the feed tells of it, health shows what is due in days at once", async () => {
		const world = createWorld();
		const { outbox, agency, anna, client } = world;
		for (const purpose of ["notice", "reply"] as const)
			await add(world, purpose, { purpose, notBefore: new Date(world.sandbox.clock.now().getTime() + 30 * 3_600_000) });
		anna.writes("Wrong number");
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
		expect(await stateOf(world, "reply")).toEqual(["waiting", null]);
		expect((await outbox.health()).pauses).toMatchObject([{ agencyId: agency.id, reason: "wrong_number" }]);
		expect((await outbox.settled({ held: true })).map(({ id }) => id)).toEqual(["notice"]);
		expect(await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber })).toBe(false);
		await world.pass({ minutes: 10 });
		expect(await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber })).toBe(true);
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", null]);
		expect((await outbox.health()).pauses).toEqual([]);
	});

	test("what is enqueued later waits too, and says so", async () => {
		const world = await havingRead("Wrong number");
		await add(world, "first");
		await world.pass({ hours: 1 });
		await add(world, "second");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "second")).toEqual(["waiting", "wrong_number"]);
		expect((await world.outbox.settled({ held: true })).map(({ id }) => id)).toEqual(["first", "second"]);
	});

	test("optIn lets them out, also what is due in days", async () => {
		const world = await havingRead("Wrong number");
		const { outbox, agency, anna } = world;
		await add(world, "notice");
		await add(world, "in days", { notBefore: new Date(world.sandbox.clock.now().getTime() + 10 * 3_600_000) });
		await world.pass({ minutes: 10 });
		expect(await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber })).toBe(true);
		expect(await stateOf(world, "in days")).toEqual(["waiting", null]);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["notice"]);
		expect((await outbox.health()).pauses).toEqual([]);
		await world.pass({ hours: 11 });
		expect(world.texts()).toEqual(["notice", "in days"]);
	});

	test("optIn before they write it, or in the same minutes, says nothing", async () => {
		const world = createWorld(notMine);
		const { outbox, agency, anna } = world;
		const right = () => outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber });
		await right();
		world.sandbox.clock.advance({ minutes: 1 });
		anna.writes("Wrong number");
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
		expect(await right()).toBe(false);
		await world.pass({ minutes: 10 });
		expect(await right()).toBe(true);
		await world.pass({ minutes: 1 });
		expect(world.texts()).toEqual(["notice"]);
	});

	test("START of whoever has the phone does not say that the number is right", async () => {
		const world = await havingRead("Wrong number");
		await add(world, "notice");
		await world.pass({ minutes: 10 });
		world.anna.writes("START");
		world.anna.writes("Who are you?");
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual([]);
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
	});

	test("the texts can be cancelled, and expire when their time has passed", async () => {
		const world = await havingRead("Wrong number");
		await add(world, "cancelled");
		await add(world, "expired", { notAfter: new Date(world.sandbox.clock.now().getTime() + 2 * 3_600_000) });
		await world.pass({ minutes: 5 });
		expect(await world.outbox.cancel("cancelled")).toBe(true);
		await world.pass({ hours: 3 });
		expect(await stateOf(world, "cancelled")).toEqual(["cancelled", "requested"]);
		expect(await stateOf(world, "expired")).toEqual(["expired", "too_old"]);
		expect((await world.outbox.health()).pauses).toEqual([]);
	});

	test("texts of another agency go out", async () => {
		const world = await havingRead("Wrong number");
		const other = world.sandbox.link({ name: "Second" });
		other.contact(world.anna.phoneNumber).writes("Hello");
		await add(world, "notice");
		await add(world, "of another agency", { agencyId: other.id });
		await world.pass({ minutes: 1 });
		expect(await world.state("of another agency")).toBe("sent");
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
	});

	test("the feed is enough to hear it, and it survives forget and a restart", async () => {
		const world = createWorld(notMine);
		const { outbox, agency, anna, client } = world;
		anna.writes("Wrong number");
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		for (let count = 0; count < 60; count++) anna.writes(`Message ${count}`);
		await outbox.erase({ to: anna.phoneNumber, everyAgency: true });
		await add(world, "notice");
		await world.restart().runOnce();
		expect(world.texts()).toEqual([]);
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
	});

	test("messages without a time say it once, and none of them that the number is right", async () => {
		const world = createWorld(notMine);
		const { outbox, agency, anna, client } = world;
		const observe = async (words: string) => {
			anna.writes(words);
			const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
			const messages = messagePage.messages.slice(0, 1).map((message) => ({ ...message, createdAt: null }));
			const change = { agencyId: agency.id, conversation, messages };
			await outbox.observe(change);
			return change;
		};
		const first = await observe("Wrong number");
		for (let count = 0; count < 60; count++) anna.writes(`Message ${count}`);
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
		await observe("STOP, please call");
		await observe("START");
		await world.pass({ minutes: 20 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
		expect(await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber })).toBe(true);
		// The same message comes again.
		await outbox.observe(first);
		await world.pass({ minutes: 1 });
		expect(await world.state("notice")).toBe("sent");
	});

	test.each([
		["noted before", [["Wrong number"], ["STOP"], ["START"]]],
		["beside it", [["STOP"], ["Wrong number", "START"]]],
	])("a START without a time doesn't say that the number is right, with a wrong number %s", async (_, told) => {
		const world = createWorld(notMine);
		const { outbox, agency, anna, client } = world;
		for (const words of told) {
			world.sandbox.clock.advance({ minutes: 10 });
			for (const each of words) anna.writes(each);
			const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
			const newest = messagePage.messages.slice(0, words.length);
			await outbox.observe({
				agencyId: agency.id,
				conversation,
				messages: newest.map((message) => ({ ...message, createdAt: null })),
			});
		}
		// So that no read shows the messages with their times.
		for (let count = 0; count < 60; count++) anna.writes(`Message ${count}`);
		await add(world, "notice");
		await world.pass({ minutes: 20 });
		expect(world.texts()).toEqual([]);
		expect(await outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber })).toBe(true);
		await add(world, "later");
		await world.pass({ minutes: 1 });
		expect(await world.state("later")).toBe("sent");
	});

	test("a tap on a button with this label says it too", async () => {
		const world = createWorld(notMine);
		tap(world, "Wrong number");
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["waiting", "wrong_number"]);
	});

	test("a held text stays with the service, and is not sent again because of the answer", async () => {
		const world = createWorld({ onReply: "send" });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "held");
		await world.pass({ minutes: 2 });
		world.anna.writes("Wrong number");
		await world.pass({ hours: 1 });
		expect(world.texts()).toEqual([]);
		expect(await world.state("held")).toBe("held");
	});

	test("waiting makes no requests", async () => {
		const world = await havingRead("Wrong number");
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		const before = world.sandbox.requests().length;
		await world.pass({ hours: 6 });
		expect(world.sandbox.requests().length - before).toBe(0);
	});

	test("STOP still ends the texts, and `optOut: false` reads nothing", async () => {
		const world = await havingRead("Wrong number. STOP");
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
		const deaf = await havingRead("Wrong number", { optOut: false });
		await add(deaf, "notice");
		await deaf.pass({ minutes: 1 });
		expect(deaf.texts()).toEqual(["notice"]);
	});
});

describe("a contact who refuses something", () => {
	test.each(["Ik wil dit niet meer", "Genoeg!", "Not interested", "Ça suffit", "Kein Interesse"])(
		"%s: marketing waits until they write, and nothing else does",
		async (words) => {
			const world = await havingRead(words);
			await add(world, "campaign", { purpose: "marketing" });
			await add(world, "reminder");
			await add(world, "reply", { purpose: "reply" });
			await world.pass({ hours: 3 });
			expect(world.texts()).toEqual(["reply", "reminder"]);
			const status = await world.outbox.status("campaign");
			expect(status).toMatchObject({ state: "waiting", reason: "refusal", waitsFor: { kind: "refusal" } });
			expect(status?.optOutSid).toBeNull();
			expect((await world.outbox.health()).pauses).toEqual([]);
			expect(await world.outbox.settled({ held: true })).not.toContainEqual(
				expect.objectContaining({ id: "campaign" }),
			);
			world.anna.writes("Is the garden big?");
			await add(world, "later", { purpose: "marketing" });
			await world.pass({ minutes: 1 });
			expect(world.texts()).toContain("later");
			await world.pass({ minutes: 30 });
			expect(world.texts().slice(2).sort()).toEqual(["campaign", "later"]);
		},
	);

	test("a tap, a photo and another refusal are no writing", async () => {
		const world = await havingRead("Genoeg!");
		await add(world, "campaign", { purpose: "marketing" });
		await world.pass({ minutes: 1 });
		tap(world, "Not interested");
		world.anna.writes({ media: [{ url: "https://files.invalid/1.jpg" }] });
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes("Geen interesse");
		await world.pass({ hours: 1 });
		expect(await stateOf(world, "campaign")).toEqual(["waiting", "refusal"]);
	});

	test("what they wrote before does not count", async () => {
		const world = createWorld(notMine);
		world.anna.writes("Is it free?");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes("Enough!");
		await add(world, "campaign", { purpose: "marketing" });
		await world.pass({ minutes: 30 });
		expect(world.texts()).toEqual([]);
	});

	test("it expires like any other text", async () => {
		const world = await havingRead("Enough!");
		await add(world, "campaign", { purpose: "marketing" });
		await world.pass({ hours: 49 });
		expect(await stateOf(world, "campaign")).toEqual(["expired", "too_old"]);
	});
});
