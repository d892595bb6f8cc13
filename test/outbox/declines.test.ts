// When a contact has declined, and when it only looks like that.
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { add, createWorld, stateOf } from "./world.ts";

const defaults = { onReply: undefined, maxAgeMs: undefined } as const;

/** A contact whose window has closed, so that a text is held. */
function createClosed(options: Partial<OutboxOptions> = {}) {
	const world = createWorld({ ...defaults, ...options });
	world.sandbox.clock.advance({ hours: 25 });
	return world;
}

const declined = ["cancelled", "earlier_text_declined"];
const unanswered = ["cancelled", "earlier_text_unanswered"];

describe("a decline", () => {
	test.each(["visible", "hidden", "hidden, and the worker starts again"])(
		"ends marketing until the contact writes words, while the conversation is %s",
		async (how) => {
			const world = createClosed();
			const { anna, agency, outbox, pass, restart } = world;
			await add(world, "first");
			await pass({ minutes: 5 });
			anna.declines();
			await pass({ minutes: 30 });
			expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
			if (how !== "visible") agency.conversation(anna).hide();
			const working = how.includes("again") ? restart() : outbox;
			await add(world, "offer", { purpose: "marketing" });
			await working.drain();
			await pass({ hours: 1 });
			expect(await stateOf(world, "offer")).toEqual(declined);
			if (how !== "visible") return;
			anna.writes("Do you have something with a garden?");
			await add(world, "another offer", { purpose: "marketing" });
			await pass({ minutes: 30 });
			expect(await stateOf(world, "another offer")).toEqual(["sent", null]);
		},
	);

	test("that a read has seen stays one when a colleague writes afterwards", async () => {
		const world = createClosed();
		const { anna, agency, outbox, sandbox, pass } = world;
		await add(world, "first");
		await add(world, "second");
		await pass({ minutes: 5 });
		anna.declines();
		const read = (await outbox.explain("first"))?.steps.length ?? 0;
		// Until the outbox has seen that the text is gone.
		for (let minutes = 0; ((await outbox.explain("first"))?.steps.length ?? 0) === read && minutes < 30; minutes++)
			await pass({ minutes: 1 });
		sandbox.clock.advance({ ms: 10_000 });
		agency.staff.sends({ contact: anna, text: "Understood, sorry" });
		await pass({ minutes: 30 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
		expect(await stateOf(world, "second")).toEqual(declined);
	});

	test("that comes after the text was dropped ends what was enqueued before it, and marketing", async () => {
		const world = createClosed();
		const { anna, sandbox, pass } = world;
		await add(world, "first");
		await pass({ hours: 49 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
		await add(world, "before", { notBefore: new Date(sandbox.clock.now().getTime() + 3 * 3_600_000) });
		await pass({ hours: 1 });
		anna.declines();
		await pass({ minutes: 1 });
		await add(world, "offer", { purpose: "marketing" });
		await add(world, "after", { purpose: "reply" });
		await pass({ hours: 3 });
		expect(await stateOf(world, "before")).toEqual(declined);
		expect(await stateOf(world, "offer")).toEqual(declined);
		expect(await stateOf(world, "after")).toEqual(["sent", null]);
	});
});

describe("no decline is", () => {
	test.each([
		["a reply of ours takes the place of the held text", 0.5],
		["a reply of ours takes the place of the held text minutes later", 5],
	])("a tap of a booking, after which %s", async (_name, minutes) => {
		const world = createClosed();
		const { anna, pass, sandbox } = world;
		await add(world, "first");
		await pass({ minutes: 70 });
		anna.taps("visit_confirm");
		sandbox.clock.advance({ ms: minutes * 60_000 });
		await add(world, "answer", { purpose: "reply" });
		await pass({ minutes: 5 });
		await add(world, "notice");
		await add(world, "offer", { purpose: "marketing" });
		await pass({ hours: 1 });
		expect((await stateOf(world, "first"))[0]).toBe("replaced");
		expect(await stateOf(world, "notice")).toEqual(["sent", null]);
		expect(await stateOf(world, "offer")).toEqual(["sent", null]);
	});

	test("a tap of a booking, after which a colleague writes: a person is told to look, and nothing else ends", async () => {
		const world = createClosed();
		const { anna, agency, outbox, pass, sandbox } = world;
		await add(world, "first");
		await add(world, "second");
		await pass({ minutes: 70 });
		anna.taps("visit_confirm");
		sandbox.clock.advance({ ms: 1_000 });
		agency.staff.sends({ contact: anna, text: "Monday 14:00 is fine" });
		await pass({ hours: 1 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "displaced"]);
		expect((await outbox.status("first"))?.description).toMatch(/tapped a button.*look at the conversation/);
		expect(await stateOf(world, "second")).toEqual(["sent", null]);
	});

	test("a tap of consent after words that a colleague has answered", async () => {
		const world = createClosed();
		const { anna, agency, pass, sandbox } = world;
		await add(world, "first");
		await add(world, "second");
		await pass({ minutes: 20 });
		anna.writes("Who is this?");
		sandbox.clock.advance({ ms: 1_000 });
		agency.staff.sends({ contact: anna, text: "It's us" });
		sandbox.clock.advance({ ms: 1_000 });
		anna.accepts();
		await pass({ hours: 1 });
		await add(world, "offer", { purpose: "marketing" });
		await pass({ minutes: 30 });
		expect(await stateOf(world, "second")).toEqual(["sent", null]);
		expect(await stateOf(world, "offer")).toEqual(["sent", null]);
	});

	test("the consent to a colleague's text, which does not show for a while", async () => {
		let isLate = false;
		const closed = createClosed();
		const { sandbox, agency, anna, store, pass } = closed;
		const client = createClient({
			...sandbox.connection,
			retry: false,
			async fetch(input, init) {
				const response = await sandbox.fetch(input, init);
				if (!isLate || !new URL(input).pathname.endsWith(encodeURIComponent(anna.phoneNumber))) return response;
				const json = JSON.parse(await response.text());
				const { messagePage } = json;
				messagePage.messages = messagePage.messages.filter(
					(message: { direction: string; templateName: string | null }) =>
						message.direction === "inbound" || message.templateName !== null,
				);
				return Response.json(json);
			},
		});
		const outbox = createOutbox({ ...defaults, client, store, now: sandbox.clock.now });
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await outbox.enqueue({ id: "ours", agencyId: agency.id, to: anna.phoneNumber, body: "ours" });
		await outbox.drain();
		anna.accepts();
		isLate = true;
		sandbox.clock.advance({ minutes: 11 });
		await outbox.drain();
		isLate = false;
		sandbox.clock.advance({ ms: 20_000 });
		await pass({ hours: 1 });
		expect(await stateOf(closed, "ours")).toEqual(["sent", null]);
	});
});

describe("no answer", () => {
	test("ends what was enqueued before the text was dropped, and nothing that came later", async () => {
		const world = createClosed();
		const { sandbox, outbox, pass } = world;
		await add(world, "first");
		await pass({ hours: 47 });
		await add(world, "before", { notBefore: new Date(sandbox.clock.now().getTime() + 6 * 3_600_000) });
		sandbox.clock.advance({ hours: 1, minutes: 2 });
		await add(world, "after");
		await pass({ hours: 7 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
		expect(await stateOf(world, "before")).toEqual(unanswered);
		expect((await outbox.status("after"))?.state).toBe("held");
	});

	test("counts from the drop, although the workers were away over the weekend", async () => {
		const world = createClosed();
		const { sandbox, outbox, pass } = world;
		await add(world, "first");
		await pass({ minutes: 1 });
		sandbox.clock.advance({ hours: 94 });
		await add(world, "after");
		await pass({ minutes: 30 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
		expect((await outbox.status("after"))?.state).toBe("held");
	});
});
