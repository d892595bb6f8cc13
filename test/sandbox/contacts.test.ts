import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import {
	ANNA,
	after,
	type Box,
	BRAM,
	get,
	list,
	listed,
	lookup,
	messages,
	NOW,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

const statuses = async (box: Box) => (await messages(box, ANNA)).ok().messages.map(({ status }) => status);

throughEachEntryPoint((open) => {
	test("R187 fails every message to a contact until their phone can be reached again", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		anna.setReachable(false);
		expect((await send(box, { to: ANNA, body: "One" })).ok()).toMatchObject({ queued: false, status: "queued" });
		box.agency.staff.setAi({ contact: anna, on: true });
		box.agency.ai.replies({ contact: anna, text: "Two" });
		expect(await statuses(box)).toEqual(["failed", "failed", "received"]);
		expect((await summaryOf(box, ANNA)).failedMessages).toBe(2);
		expect(anna.inbox()).toEqual([]);
		box.sandbox.clock.advance({ hours: 25 });
		expect((await send(box, { to: ANNA, body: "Held" })).ok().queued).toBe(true);
		expect((await statuses(box))[0]).toBe("failed"); // the consent template
		const failed = box.sandbox.events().filter((event) => event.type === "message.status");
		expect(failed.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
		anna.setReachable(true);
		anna.accepts();
		expect(anna.inbox().map(({ body }) => body)).toEqual(["Held"]);
	});

	test("a contact who reads makes each message that did not fail read, delivered too", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const { messageId } = (await send(box, { to: ANNA, body: "One" })).ok();
		await send(box, { to: ANNA, body: "Two" });
		box.sandbox.message(messageId ?? "").failed({ errorCode: 1 });
		box.sandbox.clock.advance({ minutes: 1 });
		anna.reads();
		const rows = (await messages(box, ANNA)).ok().messages;
		expect(rows.map(({ status, readAt, deliveredAt }) => [status, readAt, deliveredAt])).toEqual([
			["read", after(0, 60_000), after(0, 60_000)],
			["failed", null, null],
			["received", null, null],
		]);
		box.sandbox.clock.advance({ minutes: 1 });
		anna.reads();
		expect((await messages(box, ANNA)).ok().messages[0]?.readAt).toBe(after(0, 60_000));
		box.sandbox.message(rows[0]?.id ?? 0).delivered(); // a report that comes late
		anna.reads();
		expect((await messages(box, ANNA)).ok().messages[0]).toMatchObject({ status: "read", readAt: after(0, 60_000) });
	});

	test("R188 shows one conversation to two agencies: the same messages, window, held text and AI", async () => {
		const box = await open();
		const second = box.sandbox.link({ name: "Second" });
		const agencyId = second.id;
		const anna = box.agency.contact(ANNA, { name: "Anna" });
		anna.writes("Hello");
		box.agency.contact(BRAM).writes("Hello");
		expect(await listed(box, {}, { agencyId })).toEqual([]);
		box.agency.conversation(anna).shareWith(second);
		expect(await listed(box, {}, { agencyId })).toEqual([ANNA]);
		const visibility = async (options?: { agencyId: string }) => (await summaryOf(box, ANNA, options)).visibility;
		expect(await visibility()).toEqual({ reason: "focus", isShared: true, isVisibleThroughAgencyTag: false });
		expect(await visibility({ agencyId })).toEqual({
			reason: "tagged",
			isShared: true,
			isVisibleThroughAgencyTag: true,
		});
		await send(box, { to: ANNA, body: "From the second" }, { agencyId });
		expect((await get(box, ANNA)).ok().messagePage.messages.map(({ body }) => body)).toEqual([
			"From the second",
			"Hello",
		]);
		expect((await get(box, ANNA)).ok().conversation.aiSettings.disabledReason).toBe("manual_send");
		expect(await listed(box)).toEqual([ANNA, BRAM]);
		expect((await list(box, { search: "anna" }, { agencyId })).ok().conversations).toHaveLength(1);
		expect((await lookup(box, [ANNA], { agencyId })).ok().results[0]?.conversation?.contactName).toBe("Anna");
		box.sandbox.clock.advance({ hours: 25 });
		await send(box, { to: ANNA, body: "Held" });
		expect((await get(box, ANNA, {}, { agencyId })).ok().conversation.queuedMessages).toMatchObject([{ body: "Held" }]);
		second.conversation(ANNA).hide();
		expect(await listed(box, {}, { agencyId })).toEqual([]);
		expect(await listed(box)).toContain(ANNA);
		expect([(await visibility()).isShared, anna.state().visibility.isShared]).toEqual([false, false]);
		expect(second.conversation(ANNA).state().visibility.isShared).toBe(true);
	});

	test("R188 keeps cursors of a shared conversation apart, and a shared conversation in a snapshot", async () => {
		const box = await open();
		const second = box.sandbox.link({ name: "Second" });
		const anna = box.agency.contact(ANNA);
		for (let index = 0; index < 3; index += 1) anna.writes(`Text ${index}`);
		box.agency.conversation(ANNA).shareWith(second.id, { reason: "unknown" });
		const page = (await messages(box, ANNA, { pageSize: 1 })).ok();
		(await messages(box, ANNA, { pageSize: 1, cursor: page.nextCursor ?? "" }, { agencyId: second.id })).refused(400);
		const before = (await list(box, {}, { agencyId: second.id })).text;
		box.sandbox.restore(JSON.parse(JSON.stringify(box.sandbox.snapshot())));
		box.correlationIds.clear();
		expect((await list(box, {}, { agencyId: second.id })).text).toBe(before);
		anna.writes("Later");
		expect((await summaryOf(box, ANNA, { agencyId: second.id })).totalMessages).toBe(4);
	});
});

test("sharing with an agency that has a conversation of its own with the contact is refused", () => {
	const sandbox = createSandbox();
	const second = sandbox.link({ name: "Second" });
	second.contact(ANNA).writes("Hello");
	sandbox.agency().contact(ANNA).writes("Hello");
	expect(() => sandbox.agency().conversation(ANNA).shareWith(second)).toThrow(/conversation of its own/);
	expect(() => sandbox.agency().conversation(ANNA).shareWith("agy_0")).toThrow(/no agency agy_0/);
	expect(() => sandbox.agency().conversation(ANNA).shareWith(sandbox.agency())).toThrow(/must be another one/);
	expect(sandbox.agency().conversation(ANNA).state().visibility.reason).toBe("focus");
});

test("state shows what the service and the phone know of a conversation, and reading it leaves no trace", () => {
	const sandbox = createSandbox({ now: NOW });
	const agency = sandbox.agency();
	const anna = agency.contact(ANNA, { name: "Anna" });
	anna.writes("Hello");
	agency.ai.replies({ contact: anna, text: "It is!" });
	const flow = agency.startFlow(anna).wait();
	sandbox.clock.advance({ hours: 25 });
	agency.staff.sends({ contact: anna, text: "Friday?" });
	const before = JSON.stringify([sandbox.snapshot().world, sandbox.requests(), sandbox.events()]);
	const state = anna.state();
	expect(state).toEqual(agency.conversation(ANNA).state());
	expect(state).toMatchObject({
		agencyId: agency.id,
		phoneNumber: ANNA,
		name: "Anna",
		exists: true,
		window: { open: false, expiresAt: after(24) },
		held: { body: "Friday?", author: "staff", createdAt: after(25), expiresAt: after(73) },
		ai: { enabled: false, disabledReason: "manual_send", disabledAt: after(25) },
		flows: [{ id: flow.id, status: "cancelled" }],
		activeFlows: 0,
		totalMessages: 3,
		visibility: { reason: "focus", isShared: false, hidden: false, agencyIds: [agency.id] },
		takeOvers: 0,
		reachable: true,
	});
	expect(state.messages.map(({ author, body }) => [author, body])).toEqual([
		["contact", "Hello"],
		["ai", "It is!"],
		["template", expect.any(String)],
	]);
	expect(state.messages[2]?.buttons.map(({ code }) => code)).toEqual(["consent_accept", "consent_decline"]);
	const { flows: _, messages: __, ...row } = state;
	expect(agency.conversations()).toEqual([row]);
	expect(agency.contacts().map(({ name }) => name)).toEqual(["Anna"]);
	expect(sandbox.agencies().map((each) => each.state())).toMatchObject([{ id: agency.id, linked: true }]);
	expect(JSON.stringify([sandbox.snapshot().world, sandbox.requests(), sandbox.events()])).toBe(before);
});

test("looking at a contact of whom nothing is known makes none", () => {
	const sandbox = createSandbox();
	const before = JSON.stringify(sandbox.snapshot().world);
	const nobody = sandbox.agency().contact(ANNA);
	expect([nobody.name, nobody.inbox(), nobody.state().exists, nobody.state().messages]).toEqual([null, [], false, []]);
	nobody.reads();
	expect(sandbox.agency().conversation(ANNA).state().exists).toBe(false);
	expect(sandbox.agency().contacts()).toEqual([]);
	expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
});

test("contacts are in order of creation, even after a snapshot of a shared conversation", () => {
	const sandbox = createSandbox();
	const second = sandbox.link({ name: "Second" });
	second.contact(BRAM, { name: "Bram" });
	sandbox.agency().contact(ANNA).writes("Hello");
	sandbox.agency().conversation(ANNA).shareWith(second);
	const numbers = () => second.contacts().map(({ phoneNumber }) => phoneNumber);
	expect(numbers()).toEqual([BRAM, ANNA]);
	sandbox.restore(sandbox.snapshot());
	expect(numbers()).toEqual([BRAM, ANNA]);
});

test("the phone shows a template of the AI as a template", () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact(ANNA);
	anna.writes("Hello");
	sandbox.agency().ai.replies({ contact: anna, text: "When?", templateName: "visit_times" });
	sandbox.agency().ai.replies({ contact: anna, text: "Monday?" });
	expect(anna.inbox().map(({ kind, templateCode }) => [kind, templateCode])).toEqual([
		["template", "visit_times"],
		["text", null],
	]);
});

test("a control that is refused, or that changes nothing, makes no contact", () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	agency.consent.set({ configured: false });
	expect(() => agency.ai.replies({ contact: ANNA, text: "Hello" })).toThrow("window is closed");
	expect(() => agency.staff.sends({ contact: ANNA, text: "Hello" })).toThrow("window is closed");
	expect(() => agency.contact(ANNA).writes({ body: "Hello", replyTo: 7 })).toThrow("no message 7");
	agency.contact(ANNA, { name: null }).setReachable(true);
	agency.staff.setAi({ contact: ANNA, on: true });
	expect(agency.contacts()).toEqual([]);
});

test("agency.message finds a message of the agency's conversations by either id, and none of another agency", () => {
	const sandbox = createSandbox();
	const [agency, other] = [sandbox.agency(), sandbox.link({ name: "Second" })];
	agency.contact(ANNA).writes("Hello");
	const sent = agency.staff.sends({ contact: ANNA, text: "Hi" });
	agency.message(sent?.id ?? 0).delivered();
	agency.message(sent?.messageSid ?? "").read();
	expect(agency.contact(ANNA).state().messages.at(-1)?.status).toBe("read");
	expect(() => other.message(sent?.id ?? 0)).toThrow("of another agency");
	agency.conversation(ANNA).shareWith(other.id);
	other.message(sent?.id ?? 0).failed();
	expect(agency.contact(ANNA).state().messages.at(-1)?.status).toBe("failed");
});
