import { expect, test } from "vitest";
import {
	ANNA,
	after,
	agencyCalls,
	BELGIAN,
	type Box,
	BRAM,
	first,
	get,
	list,
	listed,
	lookup,
	messages,
	only,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

const SENDER_A = "11111111-1111-4111-8111-111111111111";
const SENDER_B = "22222222-2222-4222-8222-222222222222";

function writing(box: Box) {
	const anna = box.agency.contact(ANNA);
	anna.writes("Hello");
	return anna;
}

const bilingual = (box: Box) => box.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });

throughEachEntryPoint((open) => {
	test("R94 asks for a phone number in to, and takes local and 00 forms", async () => {
		const box = await open();
		for (const to of [undefined, null, 32470123456, {}, [ANNA], "", "abc", "12", "0470", `${ANNA} ${BRAM}`]) {
			expect((await send(box, { to, body: "Hi" })).refused(400).message).toMatch(/\bto\b/);
		}
		expect((await list(box)).ok().conversations).toEqual([]);
		const bea = box.agency.contact(BELGIAN);
		bea.writes("Hello");
		for (const to of [BELGIAN, "0470123456", "0470 12 34 56", "0032470123456"]) {
			expect((await send(box, { to, body: "Hi" })).ok().queued).toBe(false);
		}
		expect(bea.inbox()).toHaveLength(4);
	});

	test("R95 asks for a body that is not blank", async () => {
		const box = await open();
		const anna = writing(box);
		for (const body of [undefined, null, 1, ["Hi"], {}, "", " ", "\n\t "]) {
			expect((await send(box, { to: ANNA, body })).refused(400).message).toMatch(/body/);
		}
		expect(anna.inbox()).toEqual([]);
	});

	test("R96 refuses a field that it does not know", async () => {
		const box = await open();
		const anna = writing(box);
		for (const extra of [{ attachments: [] }, { media: null }, { Body: "x" }, { agencyId: box.agency.id }]) {
			const { message } = (await send(box, { to: ANNA, body: "Hi", ...extra })).refused(400);
			expect(message).toContain(Object.keys(extra)[0]);
		}
		expect(anna.inbox()).toEqual([]);
	});

	test("R97 takes null for subaccountId alone", async () => {
		const box = await open();
		writing(box);
		const good = { to: ANNA, body: "Hi", operationId: "a", consentLanguage: "nl" };
		for (const field of ["to", "body", "operationId", "consentLanguage"]) {
			expect((await send(box, { ...good, [field]: null })).refused(400).message).toContain(field);
		}
		(await send(box, { ...good, subaccountId: null })).ok();
	});

	test("R98 takes a subaccountId that is one of the agency's senders", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.senders.set([SENDER_A, SENDER_B]);
		for (const subaccountId of ["", "abc", SENDER_A.slice(1), 1, true, {}]) {
			expect((await send(box, { to: ANNA, body: "Hi", subaccountId })).refused(400).message).toMatch(/subaccountId/);
		}
		const unknown = "33333333-3333-4333-8333-333333333333";
		expect((await send(box, { to: ANNA, body: "Hi", subaccountId: unknown })).refused(400).message).toMatch(
			/subaccountId/,
		);
		expect(anna.inbox()).toEqual([]);
		(await send(box, { to: ANNA, body: "Omitted" })).ok();
		(await send(box, { to: ANNA, body: "Null", subaccountId: null })).ok();
		(await send(box, { to: ANNA, body: "Named", subaccountId: SENDER_B })).ok();
		expect(anna.inbox().map((each) => each.sender)).toEqual([SENDER_A, SENDER_A, SENDER_B]);
	});

	test("R99 ignores consentLanguage while the window is open", async () => {
		const box = await open();
		const anna = writing(box);
		bilingual(box);
		for (const consentLanguage of ["nl", "xx", "anything at all", ""]) {
			expect((await send(box, { to: ANNA, body: "Hi", consentLanguage })).ok().queued).toBe(false);
		}
		for (const consentLanguage of [1, null, ["nl"]]) {
			(await send(box, { to: ANNA, body: "Hi", consentLanguage })).refused(400);
		}
		expect(anna.inbox().map((each) => each.kind)).toEqual(["text", "text", "text", "text"]);
	});

	test("R100 asks for a language when there are several, even with a default", async () => {
		const box = await open();
		bilingual(box);
		expect((await send(box, { to: ANNA, body: "Hi" })).refused(400).message).toMatch(/consentLanguage/);
		expect((await send(box, { to: ANNA, body: "Hi", consentLanguage: "fr" })).ok().queued).toBe(true);
	});

	test("R101 refuses a language that the agency does not have", async () => {
		const box = await open();
		box.agency.consent.set({ languages: ["nl"], defaultLanguage: "nl" });
		expect((await send(box, { to: ANNA, body: "Hi", consentLanguage: "de" })).refused(400).message).toMatch(
			/consentLanguage/,
		);
		bilingual(box);
		expect((await send(box, { to: ANNA, body: "Hi", consentLanguage: "de" })).refused(400).message).toMatch(
			/consentLanguage/,
		);
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
	});

	test("R102 uses the only language when none is given", async () => {
		const box = await open();
		box.agency.consent.set({ languages: ["fr"], defaultLanguage: "fr" });
		(await send(box, { to: ANNA, body: "Hi" })).ok();
		expect(only(box.agency.contact(ANNA).inbox())).toMatchObject({ kind: "template", language: "fr" });
	});

	test("R103 compares languages exactly", async () => {
		const box = await open();
		bilingual(box);
		for (const consentLanguage of ["NL", "Fr", "nl ", "nl-BE", ""]) {
			(await send(box, { to: ANNA, body: "Hi", consentLanguage })).refused(400);
		}
		(await send(box, { to: ANNA, body: "Hi", consentLanguage: "nl" })).ok();
	});

	test("R104 refuses a closed-window send of an agency that is not eligible, and no other", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.consent.set({ configured: false });
		expect((await send(box, { to: ANNA, body: "Open" })).ok().queued).toBe(false);
		box.sandbox.clock.advance({ hours: 24 });
		const before = (await get(box, ANNA)).text;
		(await send(box, { to: ANNA, body: "Closed" })).refused(400);
		(await send(box, { to: ANNA, body: "Closed", consentLanguage: "nl" })).refused(400);
		(await send(box, { to: BRAM, body: "Never wrote" })).refused(400);
		expect((await get(box, ANNA)).text).toBe(before);
		expect(anna.inbox().map((each) => each.body)).toEqual(["Open"]);
		(await get(box, BRAM)).refused(404);
	});

	test("R105 is eligible with approved templates and a language", async () => {
		const box = await open();
		writing(box);
		const eligible = async () => (await get(box, ANNA)).ok().conversation.windowReopenReadiness.eligibleForManualSend;
		const sends = async () => (await send(box, { to: BRAM, body: "Hi", consentLanguage: "nl" })).status;
		box.agency.consent.set({ languages: ["nl"], defaultLanguage: "nl" });
		expect([await eligible(), await sends()]).toEqual([true, 200]);
		box.agency.consent.set({ languages: [], defaultLanguage: null });
		expect([await eligible(), await sends()]).toEqual([false, 400]);
		box.agency.consent.set({ languages: ["nl"], missingTemplates: ["consent_nl"] });
		expect([await eligible(), await sends()]).toEqual([false, 400]);
		box.agency.consent.set({ missingTemplates: [] });
		expect([await eligible(), await sends()]).toEqual([true, 200]);
	});

	test("R106 has its templates approved when configured, with nothing missing and nothing unapproved", async () => {
		const box = await open();
		writing(box);
		const approved = async () => (await get(box, ANNA)).ok().conversation.windowReopenReadiness.templatesApproved;
		const sound = { configured: true, missingFlowCodes: [], missingTemplates: [], unapprovedTemplates: [] };
		box.agency.consent.set(sound);
		expect(await approved()).toBe(true);
		const spoils = [
			{ configured: false },
			{ missingFlowCodes: ["consent_flow"] },
			{ missingTemplates: ["consent_nl"] },
			{ unapprovedTemplates: [{ templateCode: "consent_nl", status: null }] },
		];
		for (const spoil of spoils) {
			box.agency.consent.set({ ...sound, ...spoil });
			expect(await approved(), JSON.stringify(spoil)).toBe(false);
		}
	});

	test("R107 refuses an operationId that is empty or null", async () => {
		const box = await open();
		const anna = writing(box);
		for (const operationId of ["", null, 1, {}]) {
			expect((await send(box, { to: ANNA, body: "Hi", operationId })).refused(400).message).toMatch(/operationId/);
		}
		expect(anna.inbox()).toEqual([]);
	});

	test("R108 sends to a contact without a conversation, which makes one", async () => {
		const box = await open();
		(await get(box, ANNA)).refused(404);
		expect((await send(box, { to: ANNA, body: "Hi" })).ok()).toMatchObject({ queued: true, windowExpiresAt: null });
		expect(await listed(box)).toEqual([ANNA]);
		expect(only((await lookup(box, [ANNA])).ok().results).conversation).toMatchObject({
			totalMessages: 1,
			contactName: null,
		});
		expect(only((await messages(box, ANNA)).ok().messages).templateName).not.toBeNull();
		expect((await summaryOf(box, ANNA)).visibility.reason).toBe("focus");
	});

	test("R109 answers all seven fields, success true", async () => {
		const box = await open();
		writing(box);
		const now = (await send(box, { to: ANNA, body: "Hi" })).ok();
		const held = (await send(box, { to: BRAM, body: "Hi" })).ok();
		const fields = ["messageId", "queueId", "queued", "status", "success", "windowExpiresAt", "windowOpen"];
		for (const result of [now, held]) {
			expect(Object.keys(result).sort()).toEqual(fields);
			expect(result.success).toBe(true);
		}
	});

	test("R110 answers a send to an open window with the message it became", async () => {
		const box = await open();
		writing(box);
		const result = (await send(box, { to: ANNA, body: "Hi" })).ok();
		expect(result).toMatchObject({ queued: false, queueId: null, windowOpen: true, windowExpiresAt: after(24) });
		expect(["queued", "accepted"]).toContain(result.status);
		expect(first((await messages(box, ANNA)).ok().messages).messageSid).toBe(result.messageId);
	});

	test("R111 answers a send to a closed window with the queue entry it became", async () => {
		const box = await open();
		writing(box);
		box.sandbox.clock.advance({ hours: 30 });
		const late = (await send(box, { to: ANNA, body: "Hi" })).ok();
		expect(late).toMatchObject({
			queued: true,
			messageId: null,
			status: null,
			windowOpen: false,
			windowExpiresAt: after(24),
		});
		expect(late.queueId).toBeTypeOf("string");
		const never = (await send(box, { to: BRAM, body: "Hi" })).ok();
		expect(never).toMatchObject({
			queued: true,
			messageId: null,
			status: null,
			windowOpen: false,
			windowExpiresAt: null,
		});
		expect(never.queueId).not.toBe(late.queueId);
	});

	test("R112 brings exactly one text to an open window, on top of the conversation and of the list", async () => {
		const box = await open();
		const anna = writing(box);
		box.sandbox.clock.advance({ minutes: 1 });
		box.agency.contact(BRAM).writes("Hello");
		box.sandbox.clock.advance({ minutes: 1 });
		(await send(box, { to: ANNA, body: "The visit is at two." })).ok();
		expect(only(anna.inbox())).toMatchObject({ kind: "text", body: "The visit is at two.", at: after(0, 120_000) });
		const [newest, older] = (await messages(box, ANNA)).ok().messages;
		expect(newest).toMatchObject({ direction: "outbound", body: "The visit is at two.", createdAt: after(0, 120_000) });
		expect(older).toMatchObject({ direction: "inbound", body: "Hello" });
		expect(await listed(box)).toEqual([ANNA, BRAM]);
	});

	test("R113 brings exactly one consent template to a closed window, and not the text", async () => {
		const box = await open();
		(await send(box, { to: ANNA, body: "The visit is at two." })).ok();
		const template = only(box.agency.contact(ANNA).inbox());
		expect(template.kind).toBe("template");
		expect(template.body).not.toContain("The visit is at two.");
		expect(only((await messages(box, ANNA)).ok().messages).templateName).toBe(template.templateCode);
	});

	test("R114 reads a sent text as queued at first", async () => {
		const box = await open();
		writing(box);
		(await send(box, { to: ANNA, body: "Hi" })).ok();
		expect(first((await messages(box, ANNA)).ok().messages).status).toBe("queued");
	});

	test("R115 takes every request without operationId for a new message", async () => {
		const box = await open();
		const anna = writing(box);
		const ids = new Set<unknown>();
		for (let round = 0; round < 3; round += 1) ids.add((await send(box, { to: ANNA, body: "Same" })).ok().messageId);
		expect(ids.size).toBe(3);
		expect(anna.inbox()).toHaveLength(3);
	});

	test("R116 does nothing on a 409, and the same request succeeds after a read", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.startFlow(anna);
		box.sandbox.clock.advance({ minutes: 1 });
		const before = (await get(box, ANNA)).text;
		box.agency.conversation(anna).takeOver({ times: 1 });
		const request = { to: ANNA, body: "Hi", operationId: "visit" };
		expect((await send(box, request)).refused(409)._tag).toBe("PartnerConflict");
		expect((await get(box, ANNA)).text).toBe(before);
		expect(anna.inbox()).toEqual([]);
		expect((await send(box, request)).ok()).toMatchObject({ queued: false, windowOpen: true });
		expect(anna.inbox()).toHaveLength(1);
	});

	test("R117 never answers 409 to a read", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.conversation(anna).takeOver({ times: 1 });
		const { "messages.send": sends, ...reads } = agencyCalls(box, ANNA);
		for (const run of Object.values(reads)) expect((await run()).status).toBe(200);
		expect((await present(sends)()).status).toBe(409);
		expect((await present(sends)()).status).toBe(200);
	});

	test("R174 stores to as E.164 whatever form was sent", async () => {
		const box = await open();
		(await send(box, { to: "0470 12 34 56", body: "Hi" })).ok();
		expect(await listed(box)).toEqual([BELGIAN]);
		(await send(box, { to: "0032470123456", body: "Hi again" })).ok();
		expect(await listed(box)).toEqual([BELGIAN]);
		expect(box.agency.contact(BELGIAN).inbox()).toHaveLength(1);
	});

	test("R175 sends to a thread that the agency does not own, without taking it over", async () => {
		const box = await open();
		const anna = writing(box);
		for (const reason of ["unlinked", "tagged"] as const) {
			box.agency.conversation(anna).visibleAs(reason);
			expect((await send(box, { to: ANNA, body: reason })).ok().queued).toBe(false);
			expect((await summaryOf(box, ANNA)).visibility.reason).toBe(reason);
		}
		expect(anna.inbox().map((each) => each.body)).toEqual(["unlinked", "tagged"]);
	});

	test("R176 sends from the given sender, else from the default one", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.senders.set([SENDER_B, SENDER_A]);
		(await send(box, { to: ANNA, body: "Default" })).ok();
		(await send(box, { to: ANNA, body: "Given", subaccountId: SENDER_A })).ok();
		expect(anna.inbox().map((each) => each.sender)).toEqual([SENDER_B, SENDER_A]);
		const bram = box.agency.contact(BRAM);
		(await send(box, { to: BRAM, body: "Held", subaccountId: SENDER_A })).ok();
		bram.accepts();
		expect(bram.inbox().map((each) => [each.kind, each.sender])).toEqual([
			["template", SENDER_A],
			["text", SENDER_A],
		]);
	});

	test("R177 sends the template in the language that was asked for", async () => {
		const box = await open();
		bilingual(box);
		(await send(box, { to: ANNA, body: "Hi", consentLanguage: "fr" })).ok();
		(await send(box, { to: BRAM, body: "Hi", consentLanguage: "nl" })).ok();
		const templates = [ANNA, BRAM].map((phone) => only(box.agency.contact(phone).inbox()));
		expect(templates.map((template) => template.language)).toEqual(["fr", "nl"]);
		expect(templates[0]?.body).not.toBe(templates[1]?.body);
	});

	test("R181 makes queued, windowOpen, queueId and messageId agree in every 200", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		const results = [];
		const hi = { to: ANNA, body: "Hi", operationId: "a" };
		results.push((await send(box, hi)).ok(), (await send(box, hi)).ok());
		anna.accepts();
		results.push((await send(box, hi)).ok(), (await send(box, { to: ANNA, body: "More" })).ok());
		box.sandbox.clock.advance({ hours: 25 });
		results.push((await send(box, hi)).ok(), (await send(box, { to: ANNA, body: "Last" })).ok());
		for (const { queued, windowOpen, queueId, messageId } of results) {
			expect([windowOpen, queueId !== null, messageId === null]).toEqual([!queued, queued, queued]);
		}
		expect(results.map((result) => result.queued)).toEqual([true, true, false, false, false, true]);
	});
});
