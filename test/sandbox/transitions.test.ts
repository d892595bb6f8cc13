import { expect, test } from "vitest";
import { ANNA, after, type Box, get, only, send, throughEachEntryPoint } from "./entry-points.ts";

// One test for each row of the table in spec §3, named by the row.

const detail = async (box: Box) => (await get(box, ANNA)).ok().conversation;
const sends = async (box: Box, body = "Hi") => (await send(box, { to: ANNA, body })).ok();
const kinds = (box: Box) =>
	box.agency
		.contact(ANNA)
		.inbox()
		.map((each) => each.kind);

throughEachEntryPoint((open) => {
	test("§3 Window open, time passes, 24 hours after last inbound message: Window closed, sends are queued", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		expect(await sends(box)).toMatchObject({ windowOpen: true, queued: false });
		box.sandbox.clock.advance({ hours: 24 });
		expect(await sends(box)).toMatchObject({ windowOpen: false, queued: true });
	});

	test("§3 Window closed or never opened, contact writes, any inbound message: Window open for 24 h", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Never wrote before");
		expect(await sends(box)).toMatchObject({ windowOpen: true, windowExpiresAt: after(24) });
		box.sandbox.clock.advance({ hours: 30 });
		anna.writes("Had closed");
		expect(await sends(box)).toMatchObject({ windowOpen: true, windowExpiresAt: after(54) });
	});

	test("§3 AI on, send message, any send through the API: AI off, manual_send, flows end", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.startFlow(anna);
		await sends(box);
		const { summary, aiSettings } = await detail(box);
		expect(aiSettings).toEqual({ enabled: false, disabledReason: "manual_send", disabledAt: after(0) });
		expect(summary.activeFlows).toBe(0);
	});

	test("§3 AI off (manual_send), contact writes more than 24 h after the manual message: AI on", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		await sends(box);
		box.sandbox.clock.advance({ hours: 25 });
		anna.writes("Hello again");
		expect((await detail(box)).aiSettings.enabled).toBe(true);
	});

	test("§3 AI off (user_toggle), staff turn it back on: AI on", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.staff.setAi({ contact: anna, on: false });
		box.agency.staff.setAi({ contact: anna, on: true });
		expect((await detail(box)).aiSettings.enabled).toBe(true);
	});

	test("§3 AI on, staff turn it off: AI off, user_toggle", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.staff.setAi({ contact: anna, on: false });
		expect((await detail(box)).aiSettings).toMatchObject({ enabled: false, disabledReason: "user_toggle" });
	});

	test("§3 No queued text, send message, window closed: text held, consent template sent, queued true", async () => {
		const box = await open();
		expect(await sends(box, "Held")).toMatchObject({ queued: true });
		expect(only((await detail(box)).queuedMessages)).toMatchObject({ body: "Held", status: "queued" });
		expect(kinds(box)).toEqual(["template"]);
	});

	test("§3 Queued text held, another send: replaced by the new text, still one per contact", async () => {
		const box = await open();
		await sends(box, "One");
		await sends(box, "Two");
		expect(only((await detail(box)).queuedMessages).body).toBe("Two");
	});

	test("§3 Queued text held, contact accepts consent template: queued text sent", async () => {
		const box = await open();
		await sends(box, "Held");
		box.agency.contact(ANNA).accepts();
		expect((await detail(box)).queuedMessages).toEqual([]);
		expect(kinds(box)).toEqual(["template", "text"]);
	});

	test("§3 Queued text held, contact declines: queued text dropped", async () => {
		const box = await open();
		await sends(box, "Held");
		box.agency.contact(ANNA).declines();
		expect((await detail(box)).queuedMessages).toEqual([]);
		expect(kinds(box)).toEqual(["template"]);
	});

	test("§3 Queued text held, no answer within the agency's time limit: queued text dropped", async () => {
		const box = await open();
		await sends(box, "Held");
		box.sandbox.clock.advance({ hours: 48 });
		expect((await detail(box)).queuedMessages).toEqual([]);
		box.agency.consent.set({ answerWithinHours: 72 });
		await sends(box, "Longer");
		box.sandbox.clock.advance({ hours: 71 });
		expect((await detail(box)).queuedMessages).toHaveLength(1);
		box.sandbox.clock.advance({ hours: 1 });
		expect((await detail(box)).queuedMessages).toEqual([]);
		expect(kinds(box)).toEqual(["template", "template"]);
	});
});
