import { expect, test } from "vitest";
import { ANNA, after, type Box, get, send, summaryOf, throughEachEntryPoint } from "./entry-points.ts";

const expiry = async (box: Box) => (await summaryOf(box, ANNA)).windowExpiresAt;
const queued = async (box: Box) => (await send(box, { to: ANNA, body: "Hi" })).ok().queued;

throughEachEntryPoint((open) => {
	test("R88 puts windowExpiresAt exactly 24 hours after the last inbound message, null before the first", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		box.agency.conversation(anna).open();
		expect(await expiry(box)).toBeNull();
		box.sandbox.clock.advance({ hours: 3, minutes: 2, ms: 1 });
		anna.writes("Hello");
		expect(await expiry(box)).toBe(after(27, 120_001));
		expect((await send(box, { to: ANNA, body: "Hi" })).ok().windowExpiresAt).toBe(after(27, 120_001));
	});

	test("R89 is open to the last millisecond and closed at the instant itself, or when it never opened", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		box.sandbox.clock.advance({ hours: 24 });
		expect(await queued(box)).toBe(true);
		const early = await open();
		early.agency.contact(ANNA).writes("Hello");
		early.sandbox.clock.advanceTo(after(24, -1));
		expect(await queued(early)).toBe(false);
		early.sandbox.clock.advance({ ms: 1 });
		expect(await queued(early)).toBe(true);
	});

	test("R90 is opened and renewed by any inbound message: a text, a file, a tap", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		const acts = [
			() => anna.writes("Hello"),
			() => anna.writes({ media: [{ url: "https://files.invalid/1.jpg" }] }),
			() => anna.taps("visit_tomorrow"),
			() => anna.writes("Again"),
		];
		for (const [index, act] of acts.entries()) {
			if (index > 0) box.sandbox.clock.advance({ hours: index === 3 ? 1 : 30 });
			act();
			expect(await expiry(box)).toBe(new Date(box.sandbox.clock.now().getTime() + 24 * 3_600_000).toISOString());
		}
	});

	test("R91 is not moved by anything outbound", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.sandbox.clock.advance({ hours: 1 });
		box.agency.ai.replies({ contact: anna, text: "The AI answers" });
		await send(box, { to: ANNA, body: "The API answers" });
		box.agency.staff.sends({ contact: anna, text: "A person answers" });
		expect(await expiry(box)).toBe(after(24));
		box.sandbox.clock.advance({ hours: 25 });
		expect(await queued(box)).toBe(true);
		expect(await expiry(box)).toBe(after(24));
	});

	test("R92 closes by time alone, without a message", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const before = (await get(box, ANNA)).text;
		box.sandbox.clock.advance({ hours: 24 });
		expect((await get(box, ANNA)).text).toBe(before);
		expect(await queued(box)).toBe(true);
	});

	test("R93 lets free text out while it is open", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		for (const hours of [0, 12, 11.99]) {
			box.sandbox.clock.advance({ hours });
			expect(await queued(box)).toBe(false);
		}
		expect(anna.inbox().map((each) => each.kind)).toEqual(["text", "text", "text"]);
	});
});
