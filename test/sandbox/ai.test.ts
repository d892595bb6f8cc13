import { expect, test } from "vitest";
import {
	ANNA,
	after,
	type Box,
	BRAM,
	first,
	get,
	list,
	lookup,
	messages,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const on = { enabled: true, disabledReason: null, disabledAt: null };
const off = (disabledReason: string, hours: number, ms = 0) => ({
	enabled: false,
	disabledReason,
	disabledAt: after(hours, ms),
});

const ai = async (box: Box) => (await get(box, ANNA)).ok().conversation.aiSettings;

function writing(box: Box) {
	const anna = box.agency.contact(ANNA);
	anna.writes("Hello");
	return anna;
}

async function sent(box: Box, body = "Hi"): Promise<string> {
	return present((await send(box, { to: ANNA, body })).ok().messageId);
}

throughEachEntryPoint((open) => {
	test("R146 turns the AI off by any send through the API", async () => {
		const box = await open();
		writing(box);
		expect(await ai(box)).toEqual(on);
		box.sandbox.clock.advance({ hours: 1 });
		await sent(box);
		expect(await ai(box)).toEqual(off("manual_send", 1));
	});

	test("R146 turns the AI off by a send to a closed window too", async () => {
		const box = await open();
		writing(box);
		box.sandbox.clock.advance({ hours: 25 });
		expect((await send(box, { to: ANNA, body: "Hi" })).ok().queued).toBe(true);
		expect(await ai(box)).toEqual(off("manual_send", 25));
	});

	test("R147 turns the AI off by a send of the staff", async () => {
		const box = await open();
		const anna = writing(box);
		box.sandbox.clock.advance({ hours: 1 });
		box.agency.staff.sends({ contact: anna, text: "This is Tom of the agency" });
		expect(await ai(box)).toEqual(off("manual_send", 1));
		expect(anna.inbox().map((each) => each.body)).toEqual(["This is Tom of the agency"]);
	});

	test("R148 ends every flow in progress as cancelled", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.startFlow(anna).complete();
		box.agency.startFlow(anna).wait();
		box.agency.startFlow(anna);
		expect(await summaryOf(box, ANNA)).toMatchObject({ activeFlows: 2, completedFlows: 1, latestFlowStatus: "active" });
		box.sandbox.clock.advance({ minutes: 1 });
		await sent(box);
		expect(await summaryOf(box, ANNA)).toMatchObject({
			activeFlows: 0,
			completedFlows: 1,
			latestFlowStatus: "cancelled",
		});
	});

	test("R148 ends flows by a send to a closed window too, and leaves finished ones alone", async () => {
		const box = await open();
		const anna = writing(box);
		box.sandbox.clock.advance({ hours: 25 });
		box.agency.startFlow(anna);
		(await send(box, { to: ANNA, body: "Held" })).ok();
		expect(await summaryOf(box, ANNA)).toMatchObject({ activeFlows: 0, latestFlowStatus: "cancelled" });
		const bram = box.agency.contact(BRAM);
		bram.writes("Hello");
		box.agency.startFlow(bram).fail();
		(await send(box, { to: BRAM, body: "Hi" })).ok();
		expect(await summaryOf(box, BRAM)).toMatchObject({ activeFlows: 0, latestFlowStatus: "failed" });
	});

	test("R149 leaves user_toggle as it is when the API sends", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.staff.setAi({ contact: anna, on: false });
		box.sandbox.clock.advance({ hours: 1 });
		await sent(box);
		expect(await ai(box)).toMatchObject({ enabled: false, disabledReason: "user_toggle" });
		box.sandbox.clock.advance({ hours: 48 });
		anna.writes("Hello?");
		expect(await ai(box)).toMatchObject({ enabled: false, disabledReason: "user_toggle" });
	});

	test("R149 turns user_toggle into manual_send under policy.sendOverridesToggle", async () => {
		const box = await open({ policy: { sendOverridesToggle: true } });
		const anna = writing(box);
		box.agency.staff.setAi({ contact: anna, on: false });
		box.sandbox.clock.advance({ hours: 1 });
		await sent(box);
		expect(await ai(box)).toEqual(off("manual_send", 1));
		box.sandbox.clock.advance({ hours: 48 });
		anna.writes("Hello?");
		expect(await ai(box)).toEqual(on);
	});

	test("R150 moves disabledAt forward with a later send", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		box.sandbox.clock.advance({ hours: 10 });
		await sent(box);
		expect(await ai(box)).toEqual(off("manual_send", 10));
		box.sandbox.clock.advance({ hours: 20 });
		anna.writes("30 hours after the first, 20 after the second");
		expect(await ai(box)).toEqual(off("manual_send", 10));
	});

	test("R151 turns the AI on again when the contact writes more than 24 hours after a manual send", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		box.sandbox.clock.advance({ hours: 24, ms: 1 });
		expect((await ai(box)).enabled).toBe(false);
		anna.writes("Still there?");
		expect(await ai(box)).toEqual(on);
	});

	test("R152 keeps the AI off when the contact writes within 24 hours, or at 24 hours exactly", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		for (const hours of [1, 22, 1]) {
			box.sandbox.clock.advance({ hours });
			anna.writes("Still there?");
			expect(await ai(box)).toEqual(off("manual_send", 0));
		}
		expect(box.sandbox.clock.now().toISOString()).toBe(after(24));
		box.sandbox.clock.advance({ ms: 1 });
		anna.writes("Now?");
		expect(await ai(box)).toEqual(on);
	});

	test("R153 lets only the staff undo user_toggle", async () => {
		const box = await open();
		const anna = writing(box);
		box.agency.staff.setAi({ contact: anna, on: false });
		box.sandbox.clock.advance({ hours: 100 });
		anna.writes("Hello?");
		anna.taps("anything");
		expect(await ai(box)).toEqual(off("user_toggle", 0));
		box.agency.staff.setAi({ contact: anna, on: true });
		expect(await ai(box)).toEqual(on);
	});

	test("R154 turns the AI off as user_toggle, over manual_send too", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		box.sandbox.clock.advance({ hours: 1 });
		box.agency.staff.setAi({ contact: anna, on: false });
		expect(await ai(box)).toEqual(off("user_toggle", 1));
		box.sandbox.clock.advance({ hours: 30 });
		anna.writes("Hello?");
		expect((await ai(box)).disabledReason).toBe("user_toggle");
	});

	test("R155 never turns the AI on by time alone", async () => {
		const box = await open();
		writing(box);
		await sent(box);
		box.sandbox.clock.advance({ hours: 10_000 });
		expect(await ai(box)).toEqual(off("manual_send", 0));
	});

	test("R156 ends with the AI off when a held text is accepted more than 24 hours after its send", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		(await send(box, { to: ANNA, body: "Held" })).ok();
		box.sandbox.clock.advance({ hours: 30 });
		box.agency.startFlow(anna);
		anna.accepts();
		expect(await ai(box)).toEqual(off("manual_send", 30));
		expect(await summaryOf(box, ANNA)).toMatchObject({ activeFlows: 0, latestFlowStatus: "cancelled" });
		expect(anna.inbox().map((each) => each.kind)).toEqual(["template", "text"]);
	});

	test("R157 counts every message, of either side and of every kind", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		box.agency.staff.sends({ contact: anna, text: "Staff" });
		anna.writes({ media: [{ url: "https://files.invalid/1.jpg" }] });
		box.sandbox.clock.advance({ hours: 25 });
		(await send(box, { to: ANNA, body: "Held" })).ok();
		anna.taps("anything");
		expect((await summaryOf(box, ANNA)).totalMessages).toBe(6);
		expect(await walkMessages(box, ANNA)).toHaveLength(6);
	});

	test("R158 counts outbound messages that failed, went undelivered or carry an error code", async () => {
		const box = await open();
		const anna = writing(box);
		const ids = [];
		for (let index = 0; index < 5; index += 1) ids.push(await sent(box, `Text ${index}`));
		const [failed, undelivered, coded, delivered] = ids.map((id) => box.sandbox.message(id));
		const count = async () => (await summaryOf(box, ANNA)).failedMessages;
		expect(await count()).toBe(0);
		present(failed).failed({ errorCode: 63016 });
		expect(await count()).toBe(1);
		present(undelivered).undelivered();
		expect(await count()).toBe(2);
		present(coded).set("delivered", { errorCode: 63018 });
		expect(await count()).toBe(3);
		present(delivered).delivered();
		anna.writes("Inbound never fails");
		expect(await count()).toBe(3);
	});

	test("R159 shows the last message of either side, and the last inbound one", async () => {
		const box = await open();
		const anna = writing(box);
		box.sandbox.clock.advance({ hours: 1 });
		const long = "0123456789".repeat(25);
		await sent(box, long);
		expect(await summaryOf(box, ANNA)).toMatchObject({
			lastMessageAt: after(1),
			lastMessageDirection: "outbound",
			lastMessagePreview: long.slice(0, 100),
			lastInboundAt: after(0),
		});
		box.sandbox.clock.advance({ hours: 1 });
		anna.writes(long.slice(0, 101));
		expect((await summaryOf(box, ANNA)).lastMessagePreview).toBe(long.slice(0, 100));
		anna.writes("🏡".repeat(150));
		const preview = present((await summaryOf(box, ANNA)).lastMessagePreview);
		expect(preview).toMatch(/^🏡+$/u);
		expect(preview.length).toBeLessThan(300);
		anna.writes("Fine");
		expect(await summaryOf(box, ANNA)).toMatchObject({
			lastMessageAt: after(2),
			lastMessageDirection: "inbound",
			lastMessagePreview: "Fine",
			lastInboundAt: after(2),
		});
	});

	test("R160 is unlinked exactly when that is the reason of its visibility", async () => {
		const box = await open();
		const anna = writing(box);
		for (const reason of ["unlinked", "focus", "tagged", "unknown", "unlinked"] as const) {
			box.agency.conversation(anna).visibleAs(reason);
			expect(await summaryOf(box, ANNA)).toMatchObject({ isUnlinked: reason === "unlinked", visibility: { reason } });
			expect(first((await list(box)).ok().conversations).isUnlinked).toBe(reason === "unlinked");
		}
	});

	test("R161 shows statuses that the contract does not know, when they are driven", async () => {
		const box = await open({ check: "open values" });
		const anna = writing(box);
		box.sandbox.message(await sent(box)).set("held_by_carrier");
		expect(first((await messages(box, ANNA)).ok().messages).status).toBe("held_by_carrier");
		box.agency.startFlow(anna).set("paused");
		expect((await summaryOf(box, ANNA)).latestFlowStatus).toBe("paused");
		expect(first((await lookup(box, [ANNA])).ok().results).conversation?.latestFlowStatus).toBe("paused");
	});

	test("R162 moves no status by itself", async () => {
		const box = await open();
		const anna = writing(box);
		await sent(box);
		box.agency.startFlow(anna);
		const before = (await get(box, ANNA)).text;
		box.sandbox.clock.advance({ hours: 10_000 });
		expect((await get(box, ANNA)).text).toBe(before);
	});

	test("R178 counts active and waiting flows, and not the consent flow", async () => {
		const box = await open();
		const anna = writing(box);
		const summary = () => summaryOf(box, ANNA);
		expect(await summary()).toMatchObject({ activeFlows: 0, completedFlows: 0, latestFlowStatus: null });
		const flow = box.agency.startFlow(anna);
		expect(await summary()).toMatchObject({ activeFlows: 1, latestFlowStatus: "active" });
		flow.wait();
		expect(await summary()).toMatchObject({ activeFlows: 1, latestFlowStatus: "waiting" });
		flow.complete();
		expect(await summary()).toMatchObject({ activeFlows: 0, completedFlows: 1, latestFlowStatus: "completed" });
		const second = box.agency.startFlow(anna);
		box.sandbox.clock.advance({ minutes: 1 });
		flow.set("completed");
		expect(await summary()).toMatchObject({ activeFlows: 1, latestFlowStatus: "completed" });
		box.sandbox.clock.advance({ minutes: 1 });
		for (const [act, status] of [
			["fail", "failed"],
			["timeout", "timeout"],
			["cancel", "cancelled"],
		] as const) {
			second[act]();
			expect(await summary()).toMatchObject({ activeFlows: 0, completedFlows: 1, latestFlowStatus: status });
		}
		(await send(box, { to: BRAM, body: "Held" })).ok();
		expect(await summaryOf(box, BRAM)).toMatchObject({ activeFlows: 0, completedFlows: 0, latestFlowStatus: null });
		box.agency.contact(BRAM).accepts();
		expect(await summaryOf(box, BRAM)).toMatchObject({ activeFlows: 0, completedFlows: 0, latestFlowStatus: null });
	});

	test("R178 counts the consent as a flow while it holds a text, under policy.consentFlowCounts", async () => {
		const box = await open({ policy: { consentFlowCounts: true } });
		(await send(box, { to: BRAM, body: "Held" })).ok();
		expect(await summaryOf(box, BRAM)).toMatchObject({ activeFlows: 1, latestFlowStatus: "waiting" });
		box.agency.contact(BRAM).accepts();
		expect(await summaryOf(box, BRAM)).toMatchObject({ activeFlows: 0, completedFlows: 0, latestFlowStatus: null });
	});

	test("R179 never lets the AI answer on its own, and refuses its answers while it is off", async () => {
		const box = await open();
		const anna = writing(box);
		box.sandbox.clock.advance({ hours: 10 });
		anna.writes("Anybody?");
		expect(anna.inbox()).toEqual([]);
		box.agency.ai.replies({ contact: anna, text: "The AI answers" });
		expect(anna.inbox().map((each) => each.body)).toEqual(["The AI answers"]);
		expect(await ai(box)).toEqual(on);
		await sent(box);
		expect(() => box.agency.ai.replies({ contact: anna, text: "Not now" })).toThrow();
		expect(anna.inbox()).toHaveLength(2);
		box.agency.staff.setAi({ contact: anna, on: true });
		box.agency.ai.replies({ contact: anna, text: "Now again" });
		expect((await walkMessages(box, ANNA))[0]).toMatchObject({ direction: "outbound", body: "Now again" });
	});
});
