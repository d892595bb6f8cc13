import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import {
	ANNA,
	after,
	BELGIAN,
	BRAM,
	call,
	first,
	get,
	list,
	listed,
	lookup,
	me,
	messages,
	NOW,
	only,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

throughEachEntryPoint((open) => {
	test("connection: a base URL, a key of the right form with a dead prefix, and a fetch that takes them", async () => {
		const { sandbox } = await open();
		const { baseUrl, apiKey, fetch } = sandbox.connection;
		expect(baseUrl).toBe("https://sandbox.invalid/api/v1");
		expect(apiKey).toMatch(/^sandbox_live\.[^.\s]+\.[^.\s]+$/);
		const headers = { authorization: `Bearer ${apiKey}` };
		expect((await fetch(`${baseUrl}/me`, { headers })).status).toBe(200);
		expect((await fetch(new URL(`${baseUrl}/me`), { headers })).status).toBe(200);
		expect((await fetch(new Request(`${baseUrl}/me`, { headers }))).status).toBe(200);
		expect((await sandbox.fetch(new Request(`${baseUrl}/me`, { headers }))).status).toBe(200);
	});

	test("connection.fetch rejects with the caller's reason once its signal has fired", async () => {
		const { sandbox } = await open();
		const { baseUrl, apiKey, fetch } = sandbox.connection;
		const headers = { authorization: `Bearer ${apiKey}` };
		await expect(fetch(`${baseUrl}/me`, { headers, signal: AbortSignal.abort() })).rejects.toMatchObject({
			name: "AbortError",
		});
		sandbox.faults.add({ effect: "hang" });
		const controller = new AbortController();
		const hanging = fetch(`${baseUrl}/me`, { headers, signal: controller.signal });
		controller.abort();
		await expect(hanging).rejects.toMatchObject({ name: "AbortError" });
	});

	test("agency: the first one, or the one that is named; an unknown id throws at once", async () => {
		const { sandbox, agency } = await open();
		expect(sandbox.agency(agency.id).id).toBe(agency.id);
		const second = sandbox.link({ name: "Second" });
		expect(sandbox.agency(second.id).id).toBe(second.id);
		expect(sandbox.agency().id).toBe(agency.id);
		expect(() => sandbox.agency("agy_0")).toThrow(/agy_0/);
	});

	test("link, unlink and rename: twice is not an error, and the id stays", async () => {
		const box = await open();
		const names = async () => (await me(box)).ok().agencies.map((agency) => agency.name);
		const second = box.sandbox.link({ name: "Second" });
		second.link();
		second.link();
		expect(await names()).toContain("Second");
		second.rename("Renamed");
		expect(await names()).toContain("Renamed");
		second.rename(null);
		expect(await names()).toContain(null);
		second.unlink();
		second.unlink();
		expect(await names()).toHaveLength(1);
		second.link();
		expect((await me(box)).ok().agencies.map((agency) => agency.id)).toContain(second.id);
	});

	test("integration.hide and restore: the key reaches nothing, then all of it again", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		box.sandbox.integration.hide();
		(await me(box)).refused(404);
		(await list(box)).refused(403);
		box.sandbox.integration.restore();
		expect(await listed(box)).toEqual([ANNA]);
	});

	test("integrations.add: a second integration has its own keys and agencies", async () => {
		const box = await open();
		const other = box.sandbox.integrations.add({ name: "Other CRM" });
		const agency = other.link({ name: "Theirs" });
		const { apiKey: key } = other.keys.create({});
		const theirs = (await me(box, { key })).ok();
		const mine = (await me(box)).ok();
		expect(theirs.integration.name).toBe("Other CRM");
		expect(theirs.integration.id).not.toBe(mine.integration.id);
		expect(theirs.agencies).toEqual([{ id: agency.id, name: "Theirs" }]);
		expect(mine.agencies.map((each) => each.id)).toEqual([box.agency.id]);
	});

	test("contact: any form of a number is the same contact; what is not a number throws", async () => {
		const box = await open();
		const bea = box.agency.contact("0470 12 34 56", { name: "Bea" });
		expect(bea.phoneNumber).toBe(BELGIAN);
		bea.writes("One");
		box.agency.contact("0032470123456").writes("Two");
		box.agency.contact(BELGIAN, { name: "Beatrix" }).writes("Three");
		expect(await summaryOf(box, BELGIAN)).toMatchObject({ totalMessages: 3, contactName: "Beatrix" });
		for (const phone of ["abc", "", "+", "12"]) expect(() => box.agency.contact(phone), phone).toThrow();
	});

	test("contact.writes: a text, files, a reply", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const hello = first((await messages(box, ANNA)).ok().messages);
		anna.writes({
			body: "See",
			media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }],
			replyTo: hello.id,
		});
		const seen = first((await messages(box, ANNA)).ok().messages);
		expect(seen).toMatchObject({
			body: "See",
			direction: "inbound",
			numMedia: 1,
			replyTo: { body: "Hello", direction: "inbound" },
		});
		expect(() => anna.writes({ body: "To nothing", replyTo: 999_999 })).toThrow();
		const { id: foreign } = box.agency.contact(BRAM).writes("To somebody else");
		expect(() => anna.writes({ body: "To another thread", replyTo: foreign })).toThrow();
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(2);
	});

	test("contact.writes keeps what was given, whatever becomes of the caller's objects", async () => {
		const box = await open();
		const file = { url: "https://files.invalid/1.jpg" };
		const media = [file];
		box.agency.contact(ANNA).writes({ media });
		file.url = "https://files.invalid/other.jpg";
		media.push({ url: "https://files.invalid/2.jpg" });
		const message = first((await messages(box, ANNA)).ok().messages);
		expect(message).toMatchObject({ numMedia: 1, media: [{ url: "https://files.invalid/1.jpg" }] });
	});

	test("contact.taps, accepts and declines: an inbound message each, and never an error", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		expect(anna.accepts()).toEqual({ hadHeldText: false });
		expect(anna.declines()).toEqual({ hadHeldText: false });
		anna.taps("visit_tomorrow");
		expect(await summaryOf(box, ANNA)).toMatchObject({ totalMessages: 3, lastMessageDirection: "inbound" });
		expect(first((await messages(box, ANNA)).ok().messages).buttonClicked).toBe("visit_tomorrow");
	});

	test("contact.inbox: what the phone got from this agency, in order", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		const sender = "11111111-1111-4111-8111-111111111111";
		box.agency.senders.set([sender]);
		box.agency.consent.set({ languages: ["fr"], defaultLanguage: "fr" });
		expect(anna.inbox()).toEqual([]);
		(await send(box, { to: ANNA, body: "Held", operationId: "a" })).ok();
		box.sandbox.clock.advance({ hours: 1 });
		anna.accepts();
		box.sandbox.link({ name: "Elsewhere" }).contact(ANNA).writes("To another agency");
		const [template, text] = anna.inbox();
		expect(anna.inbox()).toHaveLength(2);
		expect(template).toMatchObject({ kind: "template", language: "fr", sender, at: after(0) });
		expect(template?.templateCode).toBeTypeOf("string");
		expect(text).toMatchObject({
			kind: "text",
			body: "Held",
			templateCode: null,
			operationId: "a",
			sender,
			at: after(1),
		});
	});

	test("staff.setAi and staff.sends: what a person at the agency does", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.staff.setAi({ contact: anna, on: false });
		expect((await summaryOf(box, ANNA)).aiEnabled).toBe(false);
		box.agency.staff.setAi({ contact: anna, on: true });
		expect((await summaryOf(box, ANNA)).aiEnabled).toBe(true);
		box.agency.staff.sends({ contact: anna, text: "This is Tom" });
		expect(only(anna.inbox())).toMatchObject({ kind: "text", body: "This is Tom", operationId: null });
		expect((await get(box, ANNA)).ok().conversation.aiSettings.disabledReason).toBe("manual_send");
	});

	test("ai.replies: an outbound text that leaves the AI on, and throws while it is off", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.ai.replies({ contact: anna, text: "The AI answers" });
		expect(await summaryOf(box, ANNA)).toMatchObject({
			aiEnabled: true,
			lastMessageDirection: "outbound",
			totalMessages: 2,
		});
		box.agency.staff.setAi({ contact: anna, on: false });
		expect(() => box.agency.ai.replies({ contact: anna, text: "Again" })).toThrow(/AI/);
	});

	test("startFlow: a new flow each time, which takes every status at any time", async () => {
		const box = await open({ check: "open values" });
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const flow = box.agency.startFlow(anna);
		box.agency.startFlow(anna).complete();
		expect(await summaryOf(box, ANNA)).toMatchObject({ activeFlows: 1, completedFlows: 1 });
		const verbs = [
			["wait", "waiting"],
			["complete", "completed"],
			["cancel", "cancelled"],
			["fail", "failed"],
			["timeout", "timeout"],
		] as const;
		for (const [verb, status] of verbs) {
			flow[verb]();
			expect((await summaryOf(box, ANNA)).latestFlowStatus).toBe(status);
		}
		flow.set("anything");
		expect((await summaryOf(box, ANNA)).latestFlowStatus).toBe("anything");
	});

	test("consent.set: changes what it names and leaves the rest", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const readiness = async () => (await get(box, ANNA)).ok().conversation.windowReopenReadiness;
		const usual = await readiness();
		expect(usual).toMatchObject({ configured: true, templatesApproved: true, eligibleForManualSend: true });
		box.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "fr" });
		expect(await readiness()).toEqual({ ...usual, availableLanguages: ["nl", "fr"], defaultLanguage: "fr" });
		box.agency.consent.set({ missingFlowCodes: ["f"] });
		expect(await readiness()).toMatchObject({ availableLanguages: ["nl", "fr"], missingFlowCodes: ["f"] });
		const other = box.sandbox.link({ name: "Other" });
		other.contact(ANNA).writes("Hello");
		const elsewhere = (await get(box, ANNA, {}, { agencyId: other.id })).ok().conversation.windowReopenReadiness;
		expect(elsewhere).toEqual(usual);
	});

	test("senders.set: which senders there are, the first by default", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const ids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
		box.agency.senders.set(ids);
		(await send(box, { to: ANNA, body: "Hi" })).ok();
		(await send(box, { to: ANNA, body: "Hi", subaccountId: present(ids[1]) })).ok();
		expect(anna.inbox().map((each) => each.sender)).toEqual(ids);
		expect(() => box.agency.senders.set(["no uuid"])).toThrow();
	});

	test("conversation: open, visibleAs, share, hide and takeOver", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		const conversation = box.agency.conversation(anna);
		conversation.open();
		expect(await summaryOf(box, ANNA)).toMatchObject({ totalMessages: 0 });
		conversation.visibleAs("unknown");
		expect((await summaryOf(box, ANNA)).visibility.reason).toBe("unknown");
		conversation.share();
		expect((await summaryOf(box, ANNA)).visibility.isShared).toBe(true);
		conversation.takeOver({ times: 2 });
		const statuses = [];
		for (let index = 0; index < 3; index += 1) statuses.push((await send(box, { to: ANNA, body: "Hi" })).status);
		expect(statuses).toEqual([409, 409, 200]);
		conversation.hide();
		(await get(box, ANNA)).refused(404);
		conversation.visibleAs("focus");
		(await get(box, ANNA)).ok();
	});

	test("conversation.takeOver: once by default, for this contact alone", async () => {
		const box = await open();
		for (const phone of [ANNA, BRAM]) box.agency.contact(phone).writes("Hello");
		box.agency.conversation(box.agency.contact(ANNA)).takeOver();
		(await send(box, { to: BRAM, body: "Hi" })).ok();
		(await send(box, { to: ANNA, body: "Hi" })).refused(409);
		(await send(box, { to: ANNA, body: "Hi" })).ok();
	});

	test("message: by its number or its provider id, to any status; an unknown one throws", async () => {
		const box = await open({ check: "open values" });
		box.agency.contact(ANNA).writes("Hello");
		const sid = present((await send(box, { to: ANNA, body: "Hi" })).ok().messageId);
		const newest = async () => first((await messages(box, ANNA)).ok().messages);
		const { id } = await newest();
		for (const [verb, status] of [
			["sent", "sent"],
			["delivered", "delivered"],
			["read", "read"],
			["undelivered", "undelivered"],
		] as const) {
			box.sandbox.message(verb === "read" ? id : sid)[verb]();
			expect((await newest()).status).toBe(status);
		}
		box.sandbox.message(id).failed({ errorCode: 63016 });
		expect((await newest()).status).toBe("failed");
		box.sandbox.message(sid).set("anything");
		expect((await newest()).status).toBe("anything");
		expect(() => box.sandbox.message("SMunknown")).toThrow();
		expect(() => box.sandbox.message(999_999)).toThrow();
	});

	test("keys: create, revoke, expire and setScopes; an unknown id throws", async () => {
		const box = await open();
		const { id, apiKey: key } = box.sandbox.keys.create({ scopes: ["messages:write"] });
		expect(key).toMatch(/^sandbox_live\.[^.\s]+\.[^.\s]+$/);
		expect(key).toContain(id);
		(await list(box, {}, { key })).refused(403);
		box.sandbox.keys.setScopes(id, ["conversations:read"]);
		(await list(box, {}, { key })).ok();
		box.sandbox.keys.expire(id);
		(await list(box, {}, { key })).refused(401);
		const second = box.sandbox.keys.create({});
		box.sandbox.keys.revoke(second.id);
		(await me(box, { key: second.apiKey })).refused(401);
		for (const verb of ["revoke", "expire"] as const) expect(() => box.sandbox.keys[verb]("nobody")).toThrow();
		expect(() => box.sandbox.keys.setScopes("nobody", [])).toThrow();
	});

	test("controls speak of the agency they were asked of", async () => {
		const box = await open();
		const second = box.sandbox.link({ name: "Second" });
		second.contact(ANNA, { name: "Anna of the second" }).writes("Hello");
		expect(await listed(box)).toEqual([]);
		expect(await listed(box, {}, { agencyId: second.id })).toEqual([ANNA]);
		expect(only((await lookup(box, [ANNA])).ok().results).conversation).toBeNull();
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
	});

	test("nothing but loopback is spoken of in what the sandbox hands out", async () => {
		const box = await open();
		const served = (await call(box, "GET", "/openapi.json", { key: null })).text;
		const hosts = [
			...`${served}${JSON.stringify(box.sandbox.snapshot().world)}`.matchAll(/https?:\/\/([^/"\s{]+)/g),
		].map((match) => match[1]);
		for (const host of hosts) expect(host).toMatch(/(^|\.)(invalid|example)$|^127\.0\.0\.1/);
	});
});

test("createSandbox is cheap and has fixed ids", () => {
	const made = Array.from({ length: 50 }, () => createSandbox({ now: NOW }));
	expect(new Set(made.map((sandbox) => sandbox.agency().id)).size).toBe(1);
	expect(new Set(made.map((sandbox) => sandbox.connection.apiKey)).size).toBe(1);
});
