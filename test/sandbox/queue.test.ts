import { expect, test } from "vitest";
import {
	ANNA,
	after,
	type Box,
	first,
	get,
	list,
	lookup,
	messages,
	only,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const hold = async (box: Box, body = "Held", extra: object = {}) => {
	const result = (await send(box, { to: ANNA, body, ...extra })).ok();
	expect(result.queued).toBe(true);
	return present(result.queueId);
};

const held = async (box: Box) => (await get(box, ANNA)).ok().conversation.queuedMessages;
const texts = (box: Box) =>
	box.agency
		.contact(ANNA)
		.inbox()
		.flatMap((each) => (each.kind === "text" ? [each.body] : []));
const templates = (box: Box) =>
	box.agency
		.contact(ANNA)
		.inbox()
		.filter((each) => each.kind === "template");

throughEachEntryPoint((open) => {
	test("R118 holds at most one text a contact", async () => {
		const box = await open();
		for (const body of ["One", "Two", "Three"]) {
			await hold(box, body);
			expect((await held(box)).map((entry) => entry.body)).toEqual([body]);
		}
		await send(box, { to: "+447700900109", body: "Another contact" });
		expect((await held(box)).map((entry) => entry.body)).toEqual(["Three"]);
	});

	test("R119 replaces the held text in place: same id, same createdAt, new updatedAt", async () => {
		const box = await open();
		const queueId = await hold(box, "One");
		const before = only(await held(box));
		expect(before).toMatchObject({ id: queueId, body: "One", createdAt: after(0), updatedAt: after(0) });
		box.sandbox.clock.advance({ hours: 2 });
		expect(await hold(box, "Two")).toBe(queueId);
		expect(only(await held(box))).toEqual({ ...before, body: "Two", updatedAt: after(2) });
	});

	test("R120 sends no second template when a held text is replaced", async () => {
		const box = await open();
		await hold(box, "One");
		await hold(box, "Two");
		expect(templates(box)).toHaveLength(1);
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(1);
	});

	test("R120 sends the template again under policy.templateOnReplace", async () => {
		const box = await open({ policy: { templateOnReplace: true } });
		const queueId = await hold(box, "One");
		expect(await hold(box, "Two")).toBe(queueId);
		expect(templates(box)).toHaveLength(2);
		box.agency.contact(ANNA).accepts();
		expect(texts(box)).toEqual(["Two"]);
	});

	test("R121 does not start the answer time again when a held text is replaced", async () => {
		const box = await open();
		await hold(box, "One");
		box.sandbox.clock.advance({ hours: 47 });
		await hold(box, "Two");
		box.sandbox.clock.advance({ minutes: 59 });
		expect(await held(box)).toHaveLength(1);
		box.sandbox.clock.advance({ minutes: 1 });
		expect(await held(box)).toEqual([]);
	});

	test("R122 shows the held text as queued, without a file", async () => {
		const box = await open();
		await hold(box);
		expect(only(await held(box))).toMatchObject({
			body: "Held",
			status: "queued",
			attachmentUploadId: null,
			attachmentFileName: null,
			attachmentMimeType: null,
			attachmentFileSize: null,
		});
	});

	test("R123 sends the held text when the contact accepts, after the tap that opens the window", async () => {
		const box = await open();
		await hold(box);
		box.sandbox.clock.advance({ hours: 5 });
		expect(box.agency.contact(ANNA).accepts()).toEqual({ hadHeldText: true });
		expect(texts(box)).toEqual(["Held"]);
		const [text, tap, template] = await walkMessages(box, ANNA);
		expect(text).toMatchObject({ direction: "outbound", body: "Held", createdAt: after(5), templateName: null });
		expect(tap).toMatchObject({ direction: "inbound", createdAt: after(5) });
		expect(present(tap).buttonClicked).not.toBeNull();
		expect(present(template).templateName).not.toBeNull();
		expect(await summaryOf(box, ANNA)).toMatchObject({
			queuedMessages: 0,
			windowExpiresAt: after(29),
			totalMessages: 3,
		});
	});

	test("R124 drops the held text when the contact declines, whose tap opens the window", async () => {
		const box = await open();
		await hold(box);
		box.sandbox.clock.advance({ hours: 5 });
		expect(box.agency.contact(ANNA).declines()).toEqual({ hadHeldText: true });
		expect(await held(box)).toEqual([]);
		expect(texts(box)).toEqual([]);
		expect(await summaryOf(box, ANNA)).toMatchObject({ windowExpiresAt: after(29), lastInboundAt: after(5) });
		expect((await send(box, { to: ANNA, body: "Allowed" })).ok().queued).toBe(false);
		expect(texts(box)).toEqual(["Allowed"]);
	});

	test("R124 leaves the window closed on a decline under policy.declineOpensWindow false", async () => {
		const box = await open({ policy: { declineOpensWindow: false } });
		await hold(box);
		expect(box.agency.contact(ANNA).declines()).toEqual({ hadHeldText: true });
		expect(await held(box)).toEqual([]);
		expect((await summaryOf(box, ANNA)).windowExpiresAt).toBeNull();
		expect((await send(box, { to: ANNA, body: "Held again" })).ok().queued).toBe(true);
	});

	test("R125 drops the held text at 48 hours without an answer", async () => {
		const box = await open();
		await hold(box);
		box.sandbox.clock.advanceTo(after(48, -1));
		expect(await held(box)).toHaveLength(1);
		box.sandbox.clock.advance({ ms: 1 });
		expect(await held(box)).toEqual([]);
		expect(texts(box)).toEqual([]);
	});

	test("R125 drops the held text at the agency's own time", async () => {
		const box = await open();
		box.agency.consent.set({ answerWithinHours: 2 });
		await hold(box);
		box.sandbox.clock.advanceTo(after(2, -1));
		expect(await held(box)).toHaveLength(1);
		box.sandbox.clock.advance({ ms: 1 });
		expect(await held(box)).toEqual([]);
	});

	test("R125 drops the held text at a time of a part of a millisecond too, and takes it back from a snapshot", async () => {
		for (const answerWithinHours of [0.012_345_6, 1e-9]) {
			const box = await open();
			box.agency.consent.set({ answerWithinHours });
			await hold(box);
			box.sandbox.restore(box.sandbox.snapshot());
			const { expiresAt = "" } = box.agency.contact(ANNA).state().held ?? {};
			expect(Date.parse(expiresAt)).toBeGreaterThan(Date.parse(after(0)));
			box.sandbox.clock.advanceTo(expiresAt);
			expect(await held(box)).toEqual([]);
			await box.close();
		}
	});

	test("R126 sends nothing when the contact accepts too late", async () => {
		const box = await open();
		await hold(box);
		box.sandbox.clock.advance({ hours: 48 });
		expect(box.agency.contact(ANNA).accepts()).toEqual({ hadHeldText: false });
		expect(texts(box)).toEqual([]);
		expect((await summaryOf(box, ANNA)).windowExpiresAt).toBe(after(72));
	});

	test("R126 sends nothing when the contact accepts after declining, or accepts twice", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		await hold(box);
		anna.declines();
		expect(anna.accepts()).toEqual({ hadHeldText: false });
		expect(texts(box)).toEqual([]);
		box.sandbox.clock.advance({ hours: 24 });
		await hold(box, "Second");
		anna.accepts();
		anna.accepts();
		expect(texts(box)).toEqual(["Second"]);
	});

	test("R127 keeps the text held when the contact writes plain text, which opens the window", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		await hold(box);
		box.sandbox.clock.advance({ hours: 1 });
		anna.writes("Who is this?");
		expect(only(await held(box)).body).toBe("Held");
		expect(texts(box)).toEqual([]);
		expect((await summaryOf(box, ANNA)).windowExpiresAt).toBe(after(25));
		anna.accepts();
		expect(texts(box)).toEqual(["Held"]);
	});

	test("R127 sends the held text on any inbound message under policy.inboundFlushesQueue", async () => {
		const box = await open({ policy: { inboundFlushesQueue: true } });
		await hold(box);
		box.agency.contact(ANNA).writes("Who is this?");
		expect(await held(box)).toEqual([]);
		expect(texts(box)).toEqual(["Held"]);
		expect((await walkMessages(box, ANNA)).map((message) => message.body).slice(0, 2)).toEqual([
			"Held",
			"Who is this?",
		]);
	});

	test("R128 sends at once and clears the held text when the window is open", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		await hold(box);
		anna.writes("Who is this?");
		const result = (await send(box, { to: ANNA, body: "It is us" })).ok();
		expect(result).toMatchObject({ queued: false, windowOpen: true });
		expect(await held(box)).toEqual([]);
		expect(texts(box)).toEqual(["It is us"]);
		expect(anna.accepts()).toEqual({ hadHeldText: false });
		expect(texts(box)).toEqual(["It is us"]);
	});

	test("R128 keeps the held text beside the sent one under policy.openSendWhileHeld keep", async () => {
		const box = await open({ policy: { openSendWhileHeld: "keep" } });
		const anna = box.agency.contact(ANNA);
		await hold(box);
		anna.writes("Who is this?");
		expect((await send(box, { to: ANNA, body: "It is us" })).ok().queued).toBe(false);
		expect(only(await held(box)).body).toBe("Held");
		anna.accepts();
		expect(texts(box)).toEqual(["It is us", "Held"]);
	});

	test("R129 counts the held text in every summary", async () => {
		const box = await open();
		const counts = async () => [
			(await summaryOf(box, ANNA)).queuedMessages,
			first((await list(box)).ok().conversations).queuedMessages,
			first((await lookup(box, [ANNA])).ok().results).conversation?.queuedMessages,
		];
		await hold(box);
		expect(await counts()).toEqual([1, 1, 1]);
		await hold(box, "Replaced");
		expect(await counts()).toEqual([1, 1, 1]);
		box.agency.contact(ANNA).declines();
		expect(await counts()).toEqual([0, 0, 0]);
		box.sandbox.clock.advance({ hours: 24 });
		await hold(box);
		box.agency.contact(ANNA).writes("Hello");
		expect(await counts()).toEqual([1, 1, 1]);
		await send(box, { to: ANNA, body: "Open" });
		expect(await counts()).toEqual([0, 0, 0]);
	});

	test("R130 checks languages and eligibility again when a send replaces the held text; a retry of that text itself is not checked", async () => {
		const box = await open();
		const queueId = await hold(box, "One", { operationId: "one" });
		const before = (await get(box, ANNA)).ok().conversation.queuedMessages;
		box.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });
		expect((await send(box, { to: ANNA, body: "Two" })).refused(400).message).toMatch(/consentLanguage/);
		(await send(box, { to: ANNA, body: "Two", consentLanguage: "xx" })).refused(400);
		box.agency.consent.set({ missingTemplates: ["consent_nl"] });
		(await send(box, { to: ANNA, body: "Two", consentLanguage: "nl" })).refused(400);
		expect(await hold(box, "One", { operationId: "one" })).toBe(queueId);
		expect(await held(box)).toEqual(before);
		box.agency.consent.set({ missingTemplates: [] });
		await hold(box, "Two", { consentLanguage: "fr" });
		expect(only(await held(box)).body).toBe("Two");
		expect((await messages(box, ANNA)).ok().messages).toHaveLength(1);
	});
});
