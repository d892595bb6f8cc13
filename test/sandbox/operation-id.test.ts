import { expect, test } from "vitest";
import {
	ANNA,
	after,
	BELGIAN,
	type Box,
	BRAM,
	call,
	get,
	only,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const request = { to: ANNA, body: "The visit is at two.", operationId: "visit-1" };
const other = { ...request, body: "The visit is at three." };

function writing(box: Box, phone = ANNA) {
	const contact = box.agency.contact(phone);
	contact.writes("Hello");
	return contact;
}

const texts = (box: Box, phone = ANNA) =>
	box.agency
		.contact(phone)
		.inbox()
		.flatMap((each) => (each.kind === "text" ? [each.body] : []));
const templates = (box: Box) =>
	box.agency
		.contact(ANNA)
		.inbox()
		.filter((each) => each.kind === "template").length;

throughEachEntryPoint((open) => {
	test("R131 answers a retry to an open window with the same message and a null status, and sends nothing", async () => {
		const box = await open();
		writing(box);
		const sent = (await send(box, request)).ok();
		expect(sent.status).not.toBeNull();
		for (let retry = 0; retry < 3; retry += 1) {
			box.sandbox.clock.advance({ minutes: 1 });
			expect((await send(box, request)).ok()).toEqual({ ...sent, status: null });
		}
		expect(texts(box)).toEqual([request.body]);
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(2);
		expect(only(box.agency.contact(ANNA).inbox()).operationId).toBe("visit-1");
	});

	test("R132 does nothing else on a retry", async () => {
		const box = await open();
		const anna = writing(box);
		(await send(box, request)).ok();
		box.sandbox.clock.advance({ minutes: 1 });
		box.agency.startFlow(anna);
		box.agency.staff.setAi({ contact: anna, on: true });
		const before = (await get(box, ANNA)).text;
		(await send(box, request)).ok();
		expect((await get(box, ANNA)).text).toBe(before);
		expect(await summaryOf(box, ANNA)).toMatchObject({ aiEnabled: true, activeFlows: 1 });
	});

	test("R133 answers a retry of a text still held with the same queue entry, not checked again; the contact gets it once", async () => {
		const box = await open();
		const held = (await send(box, request)).ok();
		box.sandbox.clock.advance({ minutes: 1 });
		for (let retry = 0; retry < 3; retry += 1) expect((await send(box, request)).ok()).toEqual(held);
		expect(templates(box)).toBe(1);
		expect((await get(box, ANNA)).ok().conversation.queuedMessages).toHaveLength(1);
		box.agency.contact(ANNA).accepts();
		expect(texts(box)).toEqual([request.body]);
		expect(only(box.agency.contact(ANNA).inbox().slice(1)).operationId).toBe("visit-1");
	});

	test("R133 replays a text still held whatever became of languages and eligibility, which another send would meet", async () => {
		const box = await open();
		const held = (await send(box, request)).ok();
		const before = (await get(box, ANNA)).ok().conversation.queuedMessages;
		for (const settings of [
			{ languages: ["nl", "fr"] },
			{ missingTemplates: ["window_reopen_consent"] },
			{ languages: [] },
			{ configured: false },
		]) {
			box.agency.consent.set(settings);
			expect((await send(box, request)).ok()).toEqual(held);
			(await send(box, { ...request, operationId: "visit-2" })).refused(400);
			(await send(box, other)).refused(400); // R184
		}
		expect((await get(box, ANNA)).ok().conversation.queuedMessages).toEqual(before);
	});

	test("R131 R133 replays a send whose sender the agency has no more", async () => {
		const box = await open();
		const [subaccountId] = box.agency.senders.ids;
		const [now, later] = [
			{ ...request, subaccountId },
			{ ...request, subaccountId, to: BRAM, operationId: "visit-2" },
		];
		writing(box);
		const [sent, held] = [(await send(box, now)).ok(), (await send(box, later)).ok()];
		box.agency.senders.set(["11111111-1111-4111-8111-111111111111"]);
		expect((await send(box, now)).ok()).toEqual({ ...sent, status: null });
		expect((await send(box, later)).ok()).toEqual(held);
		(await send(box, { ...now, operationId: "visit-3" })).refused(400); // R98
	});

	test("R134 fails with 500 when an operationId comes back with another body", async () => {
		const box = await open();
		writing(box);
		(await send(box, request)).ok();
		expect((await send(box, other)).refused(500)._tag).toBe("PartnerInternalError");
		(await send(box, { ...request, operationId: "visit-2", to: BRAM })).ok();
		(await send(box, { ...other, operationId: "visit-2", to: BRAM })).refused(500);
	});

	test("R135 fails every retry of a reuse too", async () => {
		const box = await open();
		writing(box);
		(await send(box, request)).ok();
		for (let retry = 0; retry < 4; retry += 1) {
			box.sandbox.clock.advance({ hours: 30 });
			(await send(box, other)).refused(500);
		}
		expect(texts(box)).toEqual([request.body]);
	});

	test("R136 sends and holds nothing on a reuse", async () => {
		const box = await open();
		const anna = writing(box);
		(await send(box, request)).ok();
		box.agency.staff.setAi({ contact: anna, on: true });
		box.agency.startFlow(anna);
		const before = (await get(box, ANNA)).text;
		(await send(box, other)).refused(500);
		expect((await get(box, ANNA)).text).toBe(before);
		box.sandbox.clock.advance({ hours: 25 });
		(await send(box, other)).refused(500);
		expect((await get(box, ANNA)).text).toBe(before);
		expect([texts(box), templates(box)]).toEqual([[request.body], 0]);
	});

	test("R137 still accepts a retry with the first body after a reuse", async () => {
		const box = await open();
		writing(box);
		const sent = (await send(box, request)).ok();
		(await send(box, other)).refused(500);
		expect((await send(box, request)).ok()).toEqual({ ...sent, status: null });
		expect(texts(box)).toEqual([request.body]);
	});

	test("R138 compares the whole payload as JSON, with to normalised and null as absent", async () => {
		const box = await open();
		writing(box, BELGIAN);
		const sent = (await send(box, { ...request, to: BELGIAN })).ok();
		const path = `/agencies/${box.agency.id}/messages`;
		const same = [
			{ ...request, to: "0470 12 34 56" },
			{ ...request, to: "0032470123456" },
			{ operationId: request.operationId, body: request.body, to: BELGIAN },
			{ ...request, to: BELGIAN, subaccountId: null },
			`  {"body":"The visit is \\u0061t two.", "operationId":"visit-1","to":"${BELGIAN}"}\n`,
		];
		for (const body of same) {
			const answer = await call<typeof sent>(box, "POST", path, { body });
			expect(answer.ok().messageId, JSON.stringify(body)).toBe(sent.messageId);
		}
		const sender = "aaaaaaaa-1111-4111-8111-111111111111";
		box.agency.senders.set([sender]);
		const different = [
			{ ...request, to: ANNA },
			{ ...request, to: BELGIAN, body: `${request.body} ` },
			{ ...request, to: BELGIAN, consentLanguage: "nl" },
			{ ...request, to: BELGIAN, subaccountId: sender },
		];
		for (const body of different) (await send(box, body)).refused(500);
		expect(texts(box, BELGIAN)).toEqual([request.body]);
		const second = { ...request, to: BELGIAN, operationId: "visit-2", subaccountId: sender };
		(await send(box, second)).ok();
		(await send(box, { ...second, subaccountId: sender.toUpperCase() })).refused(500);
		(await send(box, { ...second, operationId: "visit-3", subaccountId: sender.toUpperCase() })).ok();
		expect(box.agency.contact(BELGIAN).inbox().at(-1)?.sender).toBe(sender);
	});

	test("R139 remembers an operationId by integration and agency, whatever the key", async () => {
		const box = await open();
		writing(box);
		const sent = (await send(box, request)).ok();
		const { apiKey: rotated } = box.sandbox.keys.create({});
		expect((await send(box, request, { key: rotated })).ok()).toEqual({ ...sent, status: null });
		(await send(box, other, { key: rotated })).refused(500);
		const second = box.sandbox.link({ name: "Second" });
		second.contact(ANNA).writes("Hello");
		expect((await send(box, other, { agencyId: second.id })).ok().messageId).not.toBe(sent.messageId);
		const crm = box.sandbox.integrations.add({ name: "Other CRM" });
		const theirs = crm.link({ name: "Theirs" });
		theirs.contact(ANNA).writes("Hello");
		const foreign = await send(box, other, { agencyId: theirs.id, key: crm.keys.create({}).apiKey });
		expect(foreign.ok().status).not.toBeNull();
		expect(second.contact(ANNA).inbox()).toHaveLength(1);
		expect(theirs.contact(ANNA).inbox()).toHaveLength(1);
		expect(texts(box)).toEqual([request.body]);
	});

	test("R140 never forgets an operationId", async () => {
		const box = await open();
		const anna = writing(box);
		const sent = (await send(box, request)).ok();
		box.sandbox.clock.advance({ hours: 3 * 365 * 24 });
		anna.writes("Hello again");
		expect((await send(box, request)).ok().messageId).toBe(sent.messageId);
		(await send(box, other)).refused(500);
		expect(texts(box)).toEqual([request.body]);
	});

	test("R140 forgets an operationId after policy.operationIdTtlHours", async () => {
		const box = await open({ policy: { operationIdTtlHours: 24 } });
		const anna = writing(box);
		const sent = (await send(box, request)).ok();
		box.sandbox.clock.advance({ hours: 23 });
		anna.writes("Hello again");
		expect((await send(box, request)).ok().messageId).toBe(sent.messageId);
		box.sandbox.clock.advance({ hours: 2 });
		expect((await send(box, request)).ok().messageId).not.toBe(sent.messageId);
		expect(texts(box)).toEqual([request.body, request.body]);
	});

	test("R140 takes another text under a forgotten operationId for another text, not for a retry", async () => {
		const box = await open({ policy: { operationIdTtlHours: 1, openSendWhileHeld: "keep" } });
		(await send(box, request)).ok();
		box.sandbox.clock.advance({ hours: 2 });
		expect((await send(box, other)).ok().queued).toBe(true);
		const lost = box.sandbox.events().filter((event) => event.type === "text.replaced");
		expect(lost.map(({ replaced, body }) => [replaced.body, body])).toEqual([[request.body, other.body]]);
		box.sandbox.clock.advance({ hours: 2 });
		writing(box);
		expect((await send(box, request)).ok().queued).toBe(false);
		expect((await get(box, ANNA)).ok().conversation.queuedMessages.map(({ body }) => body)).toEqual([other.body]);
	});

	test("R140 leaves an operationId to its new send, whatever becomes of the text that had it before", async () => {
		for (const answer of ["accepts", "declines"] as const) {
			const box = await open({ policy: { operationIdTtlHours: 1, retryAfterDrop: "replay" } });
			(await send(box, request)).ok();
			box.sandbox.clock.advance({ hours: 2 });
			const second = (await send(box, { ...request, to: BRAM })).ok();
			box.agency.contact(ANNA)[answer]();
			expect((await send(box, { ...request, to: BRAM })).ok()).toEqual(second);
			box.agency.contact(BRAM).accepts();
			expect((await send(box, { ...request, to: BRAM })).ok(), answer).toMatchObject({ queued: false });
			expect(texts(box, BRAM)).toEqual([request.body]);
			await box.close();
		}
	});

	test("R141 answers a retry as sent if the text was sent, even after the window has closed", async () => {
		const box = await open();
		writing(box);
		const sent = (await send(box, request)).ok();
		box.sandbox.clock.advance({ hours: 25 });
		const retry = (await send(box, request)).ok();
		expect(retry).toMatchObject({ queued: false, messageId: sent.messageId, status: null, windowOpen: true });
		expect([texts(box), templates(box)]).toEqual([[request.body], 0]);
	});

	test("R142 replays the delivered message when a held text was accepted before the retry", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		expect((await send(box, request)).ok().queued).toBe(true);
		box.sandbox.clock.advance({ hours: 1 });
		anna.accepts();
		box.sandbox.clock.advance({ hours: 1 });
		const retry = (await send(box, request)).ok();
		const [delivered] = await walkMessages(box, ANNA);
		expect(retry).toMatchObject({ queued: false, queueId: null, status: null, windowOpen: true });
		expect(retry.messageId).toBe(present(delivered).messageSid);
		expect(texts(box)).toEqual([request.body]);
		box.sandbox.clock.advance({ hours: 48 });
		expect((await send(box, request)).ok().messageId).toBe(retry.messageId);
		expect([texts(box), templates(box)]).toEqual([[request.body], 1]);
	});

	test("R142 sends again after delivery under policy.retryAfterDelivery resend", async () => {
		const box = await open({ policy: { retryAfterDelivery: "resend" } });
		(await send(box, request)).ok();
		box.agency.contact(ANNA).accepts();
		const again = (await send(box, request)).ok();
		expect(again.queued).toBe(false);
		expect(texts(box)).toEqual([request.body, request.body]);
	});

	test("R143 treats the retry of a dropped or replaced text as a new send, which is held in a closed window and sent in an open one", async () => {
		const box = await open();
		const held = (await send(box, request)).ok();
		box.sandbox.clock.advance({ hours: 48 });
		expect((await summaryOf(box, ANNA)).queuedMessages).toBe(0);
		const anew = (await send(box, request)).ok();
		expect(anew.queued).toBe(true);
		expect(anew.queueId).not.toBe(held.queueId);
		expect(templates(box)).toBe(2);
		box.agency.contact(ANNA).accepts();
		expect(texts(box)).toEqual([request.body]);
	});

	test("R143 sends a declined text at once when it is retried, as the decline opened the window", async () => {
		const box = await open();
		(await send(box, request)).ok();
		expect(box.agency.contact(ANNA).declines()).toEqual({ hadHeldText: true });
		const anew = (await send(box, request)).ok();
		expect(anew).toMatchObject({ queued: false, queueId: null, windowOpen: true, windowExpiresAt: after(24) });
		expect(anew.status).not.toBeNull();
		expect([texts(box), templates(box)]).toEqual([[request.body], 1]);
		expect((await send(box, request)).ok()).toEqual({ ...anew, status: null });
		expect(texts(box)).toEqual([request.body]);
	});

	test("R143 holds a declined text anew when it is retried, where a decline opens no window", async () => {
		const box = await open({ policy: { declineOpensWindow: false } });
		const held = (await send(box, request)).ok();
		box.agency.contact(ANNA).declines();
		const anew = (await send(box, request)).ok();
		expect(anew).toMatchObject({ queued: true, windowOpen: false, windowExpiresAt: null });
		expect(anew.queueId).not.toBe(held.queueId);
		expect([texts(box), templates(box)]).toEqual([[], 2]);
	});

	test("R143 holds a replaced text again when it is retried, in place of the one that replaced it", async () => {
		const box = await open();
		const held = (await send(box, request)).ok();
		const newer = { ...other, operationId: "visit-2" };
		(await send(box, newer)).ok();
		box.sandbox.clock.advance({ hours: 1 });
		expect((await send(box, request)).ok()).toEqual(held);
		const waits = only((await get(box, ANNA)).ok().conversation.queuedMessages);
		expect(waits).toMatchObject({ id: held.queueId, body: request.body, createdAt: after(0), updatedAt: after(1) });
		expect(templates(box)).toBe(1);
		expect((await send(box, newer)).ok()).toEqual(held);
		box.agency.contact(ANNA).accepts();
		expect(texts(box)).toEqual([newer.body]);
	});

	test("R143 sends a replaced text at once when it is retried to an open window", async () => {
		const box = await open();
		(await send(box, request)).ok();
		(await send(box, { ...other, operationId: "visit-2" })).ok();
		box.agency.contact(ANNA).writes("Hello");
		const anew = (await send(box, request)).ok();
		expect(anew).toMatchObject({ queued: false, queueId: null, windowOpen: true });
		expect(anew.status).not.toBeNull();
		expect(texts(box)).toEqual([request.body]);
		expect((await summaryOf(box, ANNA)).queuedMessages).toBe(0); // R128
	});

	test("R144 keeps an operationId free through a refusal and through a fault before the handler", async () => {
		const box = await open();
		const anna = writing(box);
		const { apiKey: readOnly } = box.sandbox.keys.create({ scopes: ["conversations:read"] });
		(await send(box, other, { key: null })).refused(401);
		(await send(box, other, { key: readOnly })).refused(403);
		(await send(box, { ...other, subaccountId: "no uuid" })).refused(400);
		box.agency.conversation(anna).takeOver({ times: 1 });
		(await send(box, other)).refused(409);
		box.sandbox.faults.add({ operation: "messages.send", times: 1, phase: "before", effect: { status: 500 } });
		(await send(box, other)).refused(500);
		expect((await send(box, request)).ok().status).not.toBeNull();
		expect(texts(box)).toEqual([request.body]);
	});

	test("R144 takes an operationId when the answer is lost after the handler", async () => {
		const box = await open();
		writing(box);
		box.sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: { status: 500 } });
		(await send(box, request)).refused(500);
		expect(texts(box)).toEqual([request.body]);
		(await send(box, other)).refused(500);
		expect((await send(box, request)).ok()).toMatchObject({ queued: false, status: null });
		expect(texts(box)).toEqual([request.body]);
	});

	test("R145 processes two simultaneous sends with one operationId one after the other", async () => {
		const box = await open();
		writing(box);
		const results = (await Promise.all([send(box, request), send(box, request)])).map((answer) => answer.ok());
		expect(results[0]?.messageId).toBe(results[1]?.messageId);
		expect(results.filter((result) => result.status === null)).toHaveLength(1);
		expect(texts(box)).toEqual([request.body]);
	});

	test("R180 keeps one of two texts that are sent at the same moment", async () => {
		const box = await open();
		const [one, two] = await Promise.all([
			send(box, { to: ANNA, body: "One" }),
			send(box, { to: ANNA, body: "Two", operationId: "b" }),
		]);
		expect(one.ok().queueId).toBe(two.ok().queueId);
		const held = only((await get(box, ANNA)).ok().conversation.queuedMessages);
		const arrived = box.sandbox.requests().filter((each) => each.operation === "messages.send");
		expect(arrived).toHaveLength(2);
		expect(["One", "Two"]).toContain(held.body);
		expect(templates(box)).toBe(1);
		box.agency.contact(ANNA).accepts();
		expect(texts(box)).toEqual([held.body]);
	});

	test("R184 refuses a reuse that is invalid in itself with 400", async () => {
		const box = await open();
		writing(box);
		(await send(box, request)).ok();
		(await send(box, { ...request, body: "" })).refused(400);
		(await send(box, { ...request, to: "abc" })).refused(400);
		(await send(box, { ...request, extra: true })).refused(400);
		(await send(box, { ...request, subaccountId: "no uuid" })).refused(400);
		(await send(box, { ...request, subaccountId: "33333333-3333-4333-8333-333333333333" })).refused(400);
		expect(texts(box)).toEqual([request.body]);
		expect((await summaryOf(box, ANNA)).windowExpiresAt).toBe(after(24));
	});

	test("R185 with policy.retryAfterDrop replay, answers the retry of a dropped text as held, and sends nothing", async () => {
		const box = await open({ policy: { retryAfterDrop: "replay" } });
		const anna = box.agency.contact(ANNA);
		const request = { to: ANNA, body: "One", operationId: "a" };
		const held = (await send(box, request)).ok();
		anna.declines();
		const before = anna.inbox();
		// Declining opened the window: under the other interpretation this retry delivers what she refused.
		expect((await send(box, request)).ok()).toEqual(held);
		box.sandbox.clock.advance({ hours: 30 });
		expect((await send(box, request)).ok()).toEqual(held);
		expect(anna.inbox()).toEqual(before);
		expect((await get(box, ANNA)).ok().conversation.queuedMessages).toEqual([]);
		(await send(box, { ...request, body: "Other" })).refused(500);
		const usual = await open();
		await send(usual, request);
		usual.agency.contact(ANNA).declines();
		expect((await send(usual, request)).ok().queued).toBe(false);
		expect(usual.agency.contact(ANNA).inbox().at(-1)?.body).toBe("One");
	});

	test("R186 lets the late retry of a replaced text take the newer one's place, except with policy.retryAfterReplace replay", async () => {
		for (const [retryAfterReplace, waits] of [
			["resend", "One"],
			["replay", "Two"],
		] as const) {
			const box = await open({ policy: { retryAfterReplace } });
			const request = { to: ANNA, body: "One", operationId: "a" };
			const first = (await send(box, request)).ok();
			(await send(box, { to: ANNA, body: "Two", operationId: "b" })).ok();
			expect((await send(box, request)).ok()).toEqual(first);
			const { queuedMessages } = (await get(box, ANNA)).ok().conversation;
			expect(queuedMessages.map(({ body }) => body)).toEqual([waits]);
			box.agency.contact(ANNA).accepts();
			expect((await send(box, request)).ok().queued).toBe(retryAfterReplace === "replay");
			const texts = box.agency
				.contact(ANNA)
				.inbox()
				.filter(({ kind }) => kind === "text");
			expect(texts.map(({ body }) => body)).toEqual([waits]);
			await box.close();
		}
	});
});
