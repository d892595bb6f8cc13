// When a contact has declined, and when it only looks like that.
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { newText } from "./store-suite.ts";
import { add, createWorld, learnYes, stateOf } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;

/** A contact whose window has closed, so that a text is held. */
function createClosed(options: Partial<OutboxOptions> = {}) {
	const world = createWorld({ ...defaults, ...options });
	world.sandbox.clock.advance({ hours: 25 });
	return world;
}

const declined = ["cancelled", "earlier_text_declined"];
const unanswered = ["cancelled", "earlier_text_unanswered"];

afterEach(() => void vi.useRealTimers());

describe("a decline", () => {
	test.each([
		["a minute and a half fast", "right", 90, 0],
		["five minutes fast", "right", 300, 0],
		["right", "five minutes slow", 0, -300],
		["five minutes fast", "five minutes slow", 300, -300],
	])(
		"is one if the clock of the machine that sent is %s and that of the one that reads is %s",
		async (...[, , sent, read]) => {
			const world = createClosed({ now: undefined });
			const { anna, sandbox, outbox, restart } = world;
			const setClock = (seconds: number) =>
				vi.useFakeTimers({ toFake: ["Date"], now: sandbox.clock.now().getTime() + seconds * 1_000 });
			setClock(sent);
			await add(world, "first");
			await outbox.runOnce();
			expect(await stateOf(world, "first")).toEqual(["held", null]);
			sandbox.clock.advance({ ms: 2_000 });
			anna.declines();
			const other = restart();
			for (let minute = 0; minute < 20; minute++) {
				sandbox.clock.advance({ minutes: 1 });
				setClock(read);
				await other.runOnce();
			}
			expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
			await add(world, "offer", { purpose: "marketing" });
			await other.runOnce();
			expect(await stateOf(world, "offer")).toEqual(declined);
		},
	);

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
			await working.runOnce();
			await pass({ hours: 1 });
			expect(await stateOf(world, "offer")).toEqual(declined);
			if (how !== "visible") return;
			anna.writes("Do you have something with a garden?");
			await add(world, "another offer", { purpose: "marketing" });
			await pass({ minutes: 30 });
			expect(await stateOf(world, "another offer")).toEqual(["sent", null]);
		},
	);

	test.each([
		["45 seconds ahead of its stamps", 45],
		["58 seconds ahead of its stamps", 58],
		["five minutes behind its stamps", -300],
		["missing in the answers to sends, and this machine five minutes fast", undefined],
	])("is one if the Date of the service is %s", async (_, ahead) => {
		const { sandbox, restart, ...rest } = createClosed();
		const fetch: typeof globalThis.fetch = async (input, init) => {
			const response = await sandbox.fetch(input, init);
			const headers = new Headers(response.headers);
			if (ahead !== undefined)
				headers.set("date", new Date(sandbox.clock.now().getTime() + ahead * 1_000).toUTCString());
			else if (init?.method === "POST") headers.delete("date");
			return new Response(response.body, { status: response.status, headers });
		};
		const client = createClient({ ...sandbox.connection, fetch });
		const outbox = restart({ client, now: undefined, settleMs: 20_000 });
		const world = { ...rest, outbox };
		const setClock = () => {
			const now = sandbox.clock.now().getTime() + (ahead === undefined ? 300_000 : 0);
			vi.useFakeTimers({ toFake: ["Date"], now });
		};
		setClock();
		await add(world, "first");
		await outbox.runOnce();
		sandbox.clock.advance({ ms: 10_000 });
		world.anna.declines();
		for (let minute = 0; minute < 20; minute++) {
			sandbox.clock.advance({ minutes: 1 });
			setClock();
			await outbox.runOnce();
		}
		expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
	});

	test("is not taken from a drop that a slow machine dates too late: what is enqueued afterwards is sent", async () => {
		const { sandbox, restart, ...rest } = createClosed();
		// So that each check is a read.
		const fetch: typeof globalThis.fetch = async (input, init) =>
			String(input).endsWith("/lookup") ? Response.json({}, { status: 500 }) : sandbox.fetch(input, init);
		const client = createClient({ ...sandbox.connection, fetch, retry: false });
		const outbox = restart({ client, now: undefined });
		const world = { ...rest, outbox };
		const setClock = () => vi.useFakeTimers({ toFake: ["Date"], now: sandbox.clock.now().getTime() - 3_600_000 });
		setClock();
		await add(world, "first");
		await outbox.runOnce();
		const isDropped = async () => (await stateOf(world, "first"))[0] === "dropped";
		for (let tries = 0; tries < 400 && !(await isDropped()); tries++) {
			sandbox.clock.advance({ minutes: 10 });
			setClock();
			await outbox.runOnce();
		}
		sandbox.clock.advance({ minutes: 2 });
		setClock();
		await add(world, "later");
		await outbox.runOnce();
		expect(await stateOf(world, "later")).toEqual(["held", null]);
	});

	test("at one agency says nothing to another", async () => {
		const world = createClosed();
		const { anna, sandbox, outbox, pass } = world;
		const second = sandbox.link({ name: "Second" });
		second.contact(anna.phoneNumber).writes("Hello");
		await add(world, "first");
		await pass({ minutes: 5 });
		anna.declines();
		await pass({ minutes: 30 });
		await add(world, "offer", { purpose: "marketing" });
		const other = {
			id: "other",
			agencyId: second.id,
			to: anna.phoneNumber,
			body: "other",
			purpose: "marketing",
		} as const;
		await outbox.enqueue(other);
		await pass({ minutes: 30 });
		expect(await stateOf(world, "offer")).toEqual(declined);
		expect(await stateOf(world, "other")).toEqual(["sent", null]);
	});

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
		await learnYes(world);
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

describe("a decline of a colleague's text", () => {
	/** Texts that wait behind a colleague's, and the contact who declines that one. */
	async function createDeclined() {
		const world = createClosed();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await add(world, "answer", { purpose: "reply" });
		await add(world, "notice");
		await pass({ minutes: 25 });
		anna.declines();
		sandbox.clock.advance({ ms: 1_000 });
		return world;
	}

	test("ends a notice that was enqueued before it, and no reply", async () => {
		const world = await createDeclined();
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "answer")).toEqual(["sent", null]);
		expect(await stateOf(world, "notice")).toEqual(declined);
		expect(world.texts()).toEqual(["answer"]);
	});

	test("delays no reply, whenever that was enqueued", async () => {
		const world = await createDeclined();
		await add(world, "answer to the decline", { purpose: "reply" });
		await world.pass({ ms: 2_000 });
		expect(world.texts()).toEqual(["answer", "answer to the decline"]);
		await world.pass({ minutes: 30 });
		expect(await stateOf(world, "notice")).toEqual(declined);
	});

	test("ends a notice that is read only afterwards, and no reply", async () => {
		const world = createClosed();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await add(world, "notice");
		await pass({ minutes: 25 });
		await add(world, "answer", { purpose: "reply" });
		sandbox.clock.advance({ ms: 1_000 });
		anna.declines();
		await pass({ minutes: 30 });
		expect(await stateOf(world, "answer")).toEqual(["sent", null]);
		expect(await stateOf(world, "notice")).toEqual(declined);
	});
});

describe("no decline is", () => {
	test("a tap of a booking, after which a reply of ours takes the place of a colleague's text", async () => {
		const world = createClosed();
		const { anna, agency, pass } = world;
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await add(world, "notice");
		await pass({ minutes: 25 });
		anna.taps("visit_confirm");
		await add(world, "answer", { purpose: "reply", onHeld: "send_if_open" });
		await pass({ hours: 1 });
		expect(world.texts()).toEqual(["answer", "notice"]);
	});

	test.each(["a colleague", "a text of ours"])(
		"a tap long after an ignored text, if %s wrote meanwhile",
		async (who) => {
			const world = createClosed();
			const { anna, agency, pass } = world;
			await add(world, "first");
			await pass({ hours: 49 });
			anna.writes("Hello?");
			if (who === "a colleague") agency.staff.sends({ contact: anna, text: "Tap to book" });
			else await add(world, "Tap to book");
			await pass({ minutes: 5 });
			anna.taps("visit_confirm");
			await pass({ minutes: 5 });
			await add(world, "offer", { purpose: "marketing" });
			await pass({ minutes: 30 });
			expect(await stateOf(world, "offer")).toEqual(["sent", null]);
		},
	);

	test("a tap that observe tells of alone, because the messages before it are not known", async () => {
		const world = createClosed();
		const { anna, agency, client, outbox, sandbox, pass } = world;
		await add(world, "first");
		await pass({ hours: 49 });
		anna.writes("Hello?");
		agency.staff.sends({ contact: anna, text: "Tap to book" });
		sandbox.clock.advance({ ms: 1_000 });
		anna.taps("visit_confirm");
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages.slice(0, 1) });
		await add(world, "offer", { purpose: "marketing" });
		await pass({ minutes: 30 });
		expect(await stateOf(world, "offer")).toEqual(["sent", null]);
	});

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
		await learnYes(world);
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

	test.each(["a colleague's text", "a text of ours"])(
		"the consent to %s, which does not show for a while",
		async (whose) => {
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
			const ours = { agencyId: agency.id, to: anna.phoneNumber };
			if (whose === "a text of ours") await outbox.enqueue({ ...ours, id: "first", body: "first" });
			else agency.staff.sends({ contact: anna, text: "A colleague's" });
			await outbox.runOnce();
			await outbox.enqueue({ ...ours, id: "second", body: "second" });
			await outbox.runOnce();
			anna.accepts();
			isLate = true;
			sandbox.clock.advance({ minutes: 11 });
			await outbox.runOnce();
			isLate = false;
			sandbox.clock.advance({ ms: 20_000 });
			await pass({ hours: 1 });
			await add(closed, "offer", { purpose: "marketing" });
			await pass({ minutes: 5 });
			expect(await stateOf(closed, "second")).toEqual(["sent", null]);
			expect(await stateOf(closed, "offer")).toEqual(["sent", null]);
		},
	);
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

	test("ends what was enqueued before the drop, and committed when the conversation is hidden", async () => {
		const world = createClosed();
		const { anna, agency, sandbox, store, pass } = world;
		await add(world, "first");
		await pass({ minutes: 5 });
		const createdAt = sandbox.clock.now().getTime();
		await pass({ hours: 49 });
		expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
		agency.conversation(anna).hide();
		const late = { ...newText, id: "late", agencyId: agency.id, to: anna.phoneNumber, createdAt };
		await store.insert({ ...late, notAfter: sandbox.clock.now().getTime() + 3_600_000 }, undefined);
		await pass({ minutes: 5 });
		expect(await stateOf(world, "late")).toEqual(unanswered);
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
