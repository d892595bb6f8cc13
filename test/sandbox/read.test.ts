import { expect, test } from "vitest";
import {
	ANNA,
	after,
	BELGIAN,
	type Box,
	BRAM,
	call,
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
	walkMessages,
} from "./entry-points.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `Text ${index}`);

/** Anna writes so many texts, a second apart; the newest text comes first in what is returned. */
function thread(box: Box, count: number): string[] {
	const anna = box.agency.contact(ANNA);
	for (const text of numbered(count)) {
		box.sandbox.clock.advance({ ms: 1000 });
		anna.writes(text);
	}
	return numbered(count).reverse();
}

async function newest(box: Box, phone = ANNA) {
	return first((await messages(box, phone)).ok().messages);
}

throughEachEntryPoint((open) => {
	test("R69 reads the phone of the path with %2B, notes a literal plus and refuses %252B", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const conversations = `/agencies/${box.agency.id}/conversations`;
		(await call(box, "GET", `${conversations}/%2B${ANNA.slice(1)}`)).ok();
		expect(box.sandbox.violations()).toHaveLength(0);
		(await call(box, "GET", `${conversations}/${ANNA}`)).ok();
		expect(box.sandbox.violations()).toHaveLength(1);
		(await call(box, "GET", `${conversations}/${ANNA}/messages`)).ok();
		expect(box.sandbox.violations()).toHaveLength(2);
		(await call(box, "GET", `${conversations}/%252B${ANNA.slice(1)}`)).refused(400);
		(await call(box, "GET", `${conversations}/%252B${ANNA.slice(1)}/messages`)).refused(400);
	});

	test("R70 accepts the Belgian local form and the 00 prefix in the path", async () => {
		const box = await open();
		box.agency.contact(BELGIAN).writes("Hello");
		for (const phone of ["0470123456", "0032470123456"]) {
			expect((await get(box, phone)).ok().conversation.summary.phoneNumber).toBe(BELGIAN);
			expect((await messages(box, phone)).ok().messages).toHaveLength(1);
		}
	});

	test("R71 reads over spaces, dots, dashes, slashes and parentheses", async () => {
		const box = await open();
		box.agency.contact(BELGIAN).writes("Hello");
		for (const phone of [
			"0470 12 34 56",
			"0470.12.34.56",
			"0470-12-34-56",
			"0470/12/34/56",
			"(0470) 123456",
			"+32 470 12 34 56",
		]) {
			expect((await get(box, phone)).ok().conversation.summary.phoneNumber, phone).toBe(BELGIAN);
		}
	});

	test("R72 refuses text that is not a phone number with 400", async () => {
		const box = await open();
		for (const phone of [
			"abc",
			"+",
			"12",
			"00",
			"+0470123456",
			"+123456",
			"+999 123 456 789",
			"+3247012345678901234",
			"tel:+32470123456",
		]) {
			(await get(box, phone)).refused(400);
			(await messages(box, phone)).refused(400);
		}
	});

	test("R70 accepts E.164 by its form alone", async () => {
		const box = await open();
		for (const phone of ["+5215512345678", "+999123456789", "+3247012345", "+320470123456"]) {
			(await get(box, phone)).refused(404);
			expect(only((await lookup(box, [phone])).ok().results).conversation, phone).toBeNull();
			expect((await send(box, { to: phone, body: "Hello" })).ok().queued).toBe(true);
			box.agency.contact(phone).writes("Hello");
			expect((await get(box, phone)).ok().conversation.summary.phoneNumber).toBe(phone);
			expect(only((await lookup(box, [phone])).ok().results).conversation?.phoneNumber).toBe(phone);
		}
	});

	test("R72 takes a number without +, 00 or a local 0 for no phone number, in every operation", async () => {
		const box = await open();
		box.agency.contact("470123456").writes("Hello"); // a control reads what people write
		for (const phone of ["32470123456", "470123456", "447700900101", "+３２470123456", "0470\u2013123456"]) {
			(await get(box, phone)).refused(400);
			(await messages(box, phone)).refused(400);
			expect((await send(box, { to: phone, body: "Hello" })).refused(400).message).toMatch(/^to: /); // R94
			expect(only((await lookup(box, [phone])).ok().results).conversation, phone).toBeNull(); // R68
		}
		expect((await get(box, BELGIAN)).ok().conversation.summary.totalMessages).toBe(1);
	});

	test("R72 refuses a percent-escape that is broken like any other phone", async () => {
		const box = await open();
		for (const broken of ["%", "%zz", "%E0%A4%A"]) {
			const path = `/agencies/${box.agency.id}/conversations/${broken}`;
			expect((await call(box, "GET", path)).refused(400).message, path).toMatch(/phone/);
			(await call(box, "GET", `${path}/messages`)).refused(400);
		}
	});

	test("R73 answers the same 404 for a conversation that is unknown and one that is hidden", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.conversation(anna).hide();
		const answers = [await get(box, ANNA), await get(box, BRAM), await messages(box, ANNA), await messages(box, BRAM)];
		for (const answer of answers) expect(answer.refused(404)._tag).toBe("PartnerNotFound");
		expect(answers[0]?.text).toBe(answers[1]?.text);
		expect(answers[2]?.text).toBe(answers[3]?.text);
	});

	test("R74 sends to a contact whose conversation cannot be read", async () => {
		const box = await open();
		(await get(box, ANNA)).refused(404);
		expect((await send(box, { to: ANNA, body: "Hi" })).ok().queued).toBe(true);
		(await get(box, ANNA)).ok();
	});

	test("R75 shows summary, held text, AI and readiness, which agree", async () => {
		const box = await open();
		(await send(box, { to: ANNA, body: "Hi" })).ok();
		const { conversation } = (await get(box, ANNA)).ok();
		expect(Object.keys(conversation).sort()).toEqual([
			"aiSettings",
			"queuedMessages",
			"summary",
			"windowReopenReadiness",
		]);
		expect(conversation.queuedMessages).toHaveLength(1);
		expect(conversation.summary.queuedMessages).toBe(1);
		expect(conversation.summary.aiEnabled).toBe(false);
		expect(conversation.aiSettings.enabled).toBe(false);
	});

	test("R76 gives the summary of one conversation no cursor", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const row = only((await list(box)).ok().conversations);
		expect(await summaryOf(box, ANNA)).toEqual({ ...row, cursor: null });
	});

	test("R77 pages messages newest first, 50 at a time by default", async () => {
		const box = await open();
		const texts = thread(box, 101);
		const { messagePage } = (await get(box, ANNA)).ok();
		expect(messagePage.pageSize).toBe(50);
		expect(messagePage.messages.map((message) => message.body)).toEqual(texts.slice(0, 50));
		for (const pageSize of [7, 50, 100]) {
			expect((await walkMessages(box, ANNA, { pageSize })).map((message) => message.body)).toEqual(texts);
		}
		for (const pageSize of ["0", "101", "-1", "abc", "1.5", ""]) {
			expect((await get(box, ANNA, { pageSize })).refused(400).message).toMatch(/pageSize/);
			expect((await messages(box, ANNA, { pageSize })).refused(400).message).toMatch(/pageSize/);
		}
		for (const cursor of ["", "garbage"]) {
			expect((await get(box, ANNA, { cursor })).refused(400).message).toMatch(/cursor/);
			expect((await messages(box, ANNA, { cursor })).refused(400).message).toMatch(/cursor/);
		}
	});

	test("R78 has more exactly when there is a next cursor, to the last message", async () => {
		const box = await open();
		thread(box, 6);
		for (const [pageSize, more] of [
			[5, true],
			[6, false],
			[7, false],
		] as const) {
			const page = (await messages(box, ANNA, { pageSize })).ok();
			expect([page.hasMore, page.nextCursor !== null]).toEqual([more, more]);
		}
		const page = (await messages(box, ANNA, { pageSize: 3 })).ok();
		const last = (await messages(box, ANNA, { pageSize: 3, cursor: present(page.nextCursor) })).ok();
		expect([last.messages.length, last.hasMore]).toEqual([3, false]);
	});

	test("R79 gives the same page from both reads, for this conversation alone", async () => {
		const box = await open();
		thread(box, 5);
		const page = (await messages(box, ANNA, { pageSize: 2 })).ok();
		expect((await get(box, ANNA, { pageSize: 2 })).ok().messagePage).toEqual(page);
		const cursor = present(page.nextCursor);
		const next = (await messages(box, ANNA, { pageSize: 2, cursor })).ok();
		expect((await get(box, ANNA, { pageSize: 2, cursor })).ok().messagePage).toEqual(next);
		const bram = box.agency.contact(BRAM);
		for (const text of numbered(5)) bram.writes(text);
		(await messages(box, BRAM, { cursor })).refused(400);
		(await get(box, BRAM, { cursor })).refused(400);
		const ofTheList = present((await list(box, { pageSize: 1 })).ok().nextCursor);
		(await messages(box, ANNA, { cursor: ofTheList })).refused(400);
	});

	test("R80 neither shifts nor repeats older pages when messages arrive", async () => {
		const box = await open();
		const texts = thread(box, 5);
		const one = (await messages(box, ANNA, { pageSize: 2 })).ok();
		box.agency.contact(ANNA).writes("A new one");
		await send(box, { to: ANNA, body: "And an answer" });
		const two = (await messages(box, ANNA, { pageSize: 2, cursor: present(one.nextCursor) })).ok();
		const three = (await messages(box, ANNA, { pageSize: 2, cursor: present(two.nextCursor) })).ok();
		const seen = [...one.messages, ...two.messages, ...three.messages].map((message) => message.body);
		expect(seen).toEqual(texts);
		expect(three.hasMore).toBe(false);
	});

	test("R81 numbers messages by rising integers and names them by their provider id", async () => {
		const box = await open();
		thread(box, 4);
		await send(box, { to: ANNA, body: "Hi" });
		box.agency.contact(BRAM).writes("Hello");
		const rows = await walkMessages(box, ANNA);
		for (const [index, row] of rows.entries()) {
			expect(Number.isInteger(row.id)).toBe(true);
			expect(row.messageSid).not.toBe("");
			const older = rows[index + 1];
			if (older) expect(row.id).toBeGreaterThan(older.id);
		}
		const all = [...rows, ...(await walkMessages(box, BRAM))];
		expect(new Set(all.map((row) => row.id)).size).toBe(6);
		expect(new Set(all.map((row) => row.messageSid)).size).toBe(6);
	});

	test("R82 shows what the contact wrote as received", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		expect(await newest(box)).toMatchObject({ direction: "inbound", status: "received", createdAt: after(0) });
	});

	test("R82 leaves what the contact wrote received, whatever the provider is made to report", async () => {
		const box = await open();
		const { id, messageSid } = box.agency.contact(ANNA).writes("Hello");
		const before = (await get(box, ANNA)).text;
		const message = box.sandbox.message(id);
		for (const report of [
			() => message.sent(),
			() => message.delivered(),
			() => message.read(),
			() => message.failed({ errorCode: 63016 }),
			() => message.undelivered(),
			() => box.sandbox.message(messageSid).set("received"),
		]) {
			expect(report).toThrow("A contact's message is `received`");
		}
		expect((await get(box, ANNA)).text).toBe(before);
	});

	test("R83 has a null body for files alone, and no files as null and zero", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes({ media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] });
		expect(await newest(box)).toMatchObject({ body: null, numMedia: 1 });
		anna.writes("Text");
		expect(await newest(box)).toMatchObject({ body: "Text", media: null, numMedia: 0 });
		anna.writes({
			body: "Both",
			media: [{ url: "https://files.invalid/2.jpg" }, { url: "https://files.invalid/3.jpg" }],
		});
		expect(await newest(box)).toMatchObject({ body: "Both", numMedia: 2 });
	});

	test("R84 does not count a held text as a message before it is sent", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		await send(box, { to: ANNA, body: "Held" });
		expect((await walkMessages(box, ANNA)).map((message) => message.body)).not.toContain("Held");
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(1);
		anna.accepts();
		expect((await walkMessages(box, ANNA)).map((message) => message.body)).toContain("Held");
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(3);
	});

	test("R85 shows a template by name with its buttons, and a tap by its code", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		await send(box, { to: ANNA, body: "Held" });
		const template = await newest(box);
		expect(template).toMatchObject({ direction: "outbound", buttonClicked: null });
		expect(template.templateName).toBeTypeOf("string");
		const codes = (template.interactiveContent?.quickReplies ?? []).map((button) => button.code);
		expect(codes.length).toBeGreaterThanOrEqual(2);
		anna.declines();
		const tap = await newest(box);
		expect(tap).toMatchObject({ direction: "inbound", templateName: null });
		expect(codes).toContain(tap.buttonClicked);
		anna.taps("visit_tomorrow");
		expect(await newest(box)).toMatchObject({ direction: "inbound", buttonClicked: "visit_tomorrow" });
	});

	test("R85 shows the list, the links and the buttons of a template that the AI sent, and what was tapped", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Can I visit?");
		const items = [
			{ id: "mon-14", title: "Monday, 14:00", description: null },
			{ id: "tue", title: "Tuesday" },
		];
		const interactiveContent = {
			quickReplies: [{ code: "later", text: "Later" }],
			listPicker: { buttonText: "Times", items },
			ctaButtons: [{ type: "URL", title: "The flat", url: "https://homes.invalid/1", ttl_minutes: 60 }],
		};
		const content = structuredClone(interactiveContent);
		box.agency.ai.replies({ contact: anna, text: "When?", templateName: "visit_times", interactiveContent });
		interactiveContent.listPicker.items.length = 0; // a later change of the caller's object changes nothing
		expect(await newest(box)).toMatchObject({ templateName: "visit_times", interactiveContent: content });
		anna.taps("mon-14");
		expect(await newest(box)).toMatchObject({ body: "Monday, 14:00", buttonClicked: "mon-14" });
		anna.taps("later");
		expect(await newest(box)).toMatchObject({ body: "Later", buttonClicked: "later" });
		box.sandbox.restore(JSON.parse(JSON.stringify(box.sandbox.snapshot())));
		const kept = (await walkMessages(box, ANNA)).find(({ body }) => body === "When?");
		expect(kept?.interactiveContent).toEqual(content);
		expect(anna.state().messages[1]).toMatchObject({ author: "ai", templateCode: "visit_times" });
	});

	test("R86 shows files by url, in the present and in the older form", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes({ media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] });
		const [now] = present((await newest(box)).media);
		expect(now).toMatchObject({ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" });
		expect(now).not.toHaveProperty("content_type");
		anna.writes({ media: [{ url: "https://files.invalid/2.pdf", content_type: "application/pdf" }] });
		const [old] = present((await newest(box)).media);
		expect(old).toMatchObject({ url: "https://files.invalid/2.pdf", content_type: "application/pdf" });
		expect(old).not.toHaveProperty("contentType");
	});

	test("R87 shows the message replied to with all five fields", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const { messageId } = (await send(box, { to: ANNA, body: "The visit is at two." })).ok();
		anna.writes({ body: "Fine", replyTo: present(messageId) });
		expect(present((await newest(box)).replyTo)).toEqual({
			body: "The visit is at two.",
			direction: "outbound",
			createdAt: after(0),
			templateName: null,
			hasMedia: false,
		});
		anna.writes({ media: [{ url: "https://files.invalid/1.jpg" }] });
		const file = await newest(box);
		anna.writes({ body: "See that", replyTo: file.id });
		expect((await newest(box)).replyTo).toMatchObject({ body: null, direction: "inbound", hasMedia: true });
	});

	test("R167 refuses a percent-encoded plus inside a JSON body", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const encoded = `%2B${ANNA.slice(1)}`;
		expect((await send(box, { to: encoded, body: "Hi" })).refused(400).message).toMatch(/\bto\b/);
		expect(only((await lookup(box, [encoded])).ok().results).conversation).toBeNull();
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
	});

	test("R168 shows all nine fields of readiness, with a default among the languages or none", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const readiness = async () => (await get(box, ANNA)).ok().conversation.windowReopenReadiness;
		expect(Object.keys(await readiness())).toHaveLength(9);
		box.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "fr" });
		expect(await readiness()).toMatchObject({ availableLanguages: ["nl", "fr"], defaultLanguage: "fr" });
		box.agency.consent.set({ languages: ["de"] });
		expect([null, "de"]).toContain((await readiness()).defaultLanguage);
		box.agency.consent.set({ languages: [] });
		expect(await readiness()).toMatchObject({ availableLanguages: [], defaultLanguage: null });
		const unapprovedTemplates = [
			{ templateCode: "consent_nl", status: "pending" },
			{ templateCode: "consent_fr", status: null },
		];
		box.agency.consent.set({ missingFlowCodes: ["f"], missingTemplates: ["t"], unapprovedTemplates });
		expect(await readiness()).toMatchObject({ missingFlowCodes: ["f"], missingTemplates: ["t"], unapprovedTemplates });
	});

	test("R169 gives no reason and no time while the AI is on", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const ai = async () => (await get(box, ANNA)).ok().conversation.aiSettings;
		expect(await ai()).toEqual({ enabled: true, disabledReason: null, disabledAt: null });
		box.agency.staff.setAi({ contact: anna, on: false });
		expect(await ai()).toEqual({ enabled: false, disabledReason: "user_toggle", disabledAt: after(0) });
		box.agency.staff.setAi({ contact: anna, on: true });
		expect(await ai()).toEqual({ enabled: true, disabledReason: null, disabledAt: null });
	});

	test("R170 names the held text by the queueId of its send", async () => {
		const box = await open();
		const { queueId } = (await send(box, { to: ANNA, body: "Held" })).ok();
		expect(only((await get(box, ANNA)).ok().conversation.queuedMessages).id).toBe(queueId);
	});

	test("R171 shows no stored copies unless the agency stores media", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		const url = "https://files.invalid/1.jpg";
		anna.writes({ media: [{ url, contentType: "image/jpeg" }] });
		expect((await newest(box)).mediaStored).toBeNull();
		box.agency.storesMedia(true);
		anna.writes({ media: [{ url, contentType: "image/jpeg" }] });
		expect(only(present((await newest(box)).mediaStored))).toMatchObject({
			original_url: url,
			content_type: "image/jpeg",
		});
		anna.writes("No file");
		expect((await newest(box)).mediaStored ?? []).toEqual([]);
	});

	test("R172 sets deliveredAt and readAt when they are reported", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const one = present((await send(box, { to: ANNA, body: "One" })).ok().messageId);
		expect(await newest(box)).toMatchObject({ deliveredAt: null, readAt: null });
		box.sandbox.clock.advance({ minutes: 1 });
		box.sandbox.message(one).delivered();
		expect(await newest(box)).toMatchObject({ status: "delivered", deliveredAt: after(0, 60_000), readAt: null });
		box.sandbox.clock.advance({ minutes: 1 });
		box.sandbox.message(one).read();
		expect(await newest(box)).toMatchObject({
			status: "read",
			deliveredAt: after(0, 60_000),
			readAt: after(0, 120_000),
		});
		const two = present((await send(box, { to: ANNA, body: "Two" })).ok().messageId);
		box.sandbox.clock.advance({ minutes: 1 });
		box.sandbox.message(two).read();
		expect(await newest(box)).toMatchObject({ deliveredAt: after(0, 180_000), readAt: after(0, 180_000) });
		box.sandbox.clock.advance({ minutes: 1 });
		box.sandbox.message(two).delivered();
		box.sandbox.message(two).read();
		expect(await newest(box)).toMatchObject({ deliveredAt: after(0, 180_000), readAt: after(0, 180_000) });
	});

	test("R173 shows a status on the next read without moving the conversation", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const id = present((await send(box, { to: ANNA, body: "Hi" })).ok().messageId);
		box.sandbox.clock.advance({ minutes: 1 });
		box.agency.contact(BRAM).writes("Hello");
		box.sandbox.clock.advance({ minutes: 1 });
		expect((await newest(box)).status).toBe("queued");
		box.sandbox.message(id).delivered();
		expect((await newest(box)).status).toBe("delivered");
		expect(await listed(box)).toEqual([BRAM, ANNA]);
		expect((await summaryOf(box, ANNA)).lastMessageAt).toBe(after(0));
	});

	test("R182 gives each message its fourteen fields", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA, { name: "Anna" });
		anna.writes("Hello");
		await send(box, { to: ANNA, body: "Hi" });
		const rows = await walkMessages(box, ANNA);
		expect(rows.map((row) => Object.keys(row).length)).toEqual([14, 14]);
		const { id, messageSid, profileName, ...rest } = present(rows[1]);
		expect([typeof id, typeof messageSid]).toEqual(["number", "string"]);
		expect([null, "Anna"]).toContain(profileName);
		expect(rest).toMatchObject({
			body: "Hello",
			direction: "inbound",
			createdAt: after(0),
			status: "received",
			media: null,
			mediaStored: null,
			numMedia: 0,
			templateName: null,
			buttonClicked: null,
		});
	});

	test("R183 gives each page messages, nextCursor, pageSize and hasMore", async () => {
		const box = await open();
		box.agency.conversation(box.agency.contact(ANNA)).open();
		const empty = { messages: [], nextCursor: null, pageSize: 50, hasMore: false };
		expect((await messages(box, ANNA)).ok()).toEqual(empty);
		expect((await get(box, ANNA)).ok().messagePage).toEqual(empty);
	});
});
