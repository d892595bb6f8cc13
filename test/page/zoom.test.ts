// At 200 % zoom and at 390 px the phone has most of the screen, and all is there by keyboard.
import { expect, test } from "vitest";
import { axeFindings, messages, visit } from "./visit.ts";

test.each([
	["200 % zoom", { width: 720, height: 450 }, 230],
	["390 px", { width: 390, height: 844 }, 560],
])(
	"at %s the messages have most of the screen, and the header is one row with a menu",
	async (_name, viewport, least) => {
		const { page, sandbox } = await visit({ scenario: "held" }, { viewport });
		await page.getByRole("button", { name: /Anna/ }).click();
		await messages(page).getByText("Held, not sent").waitFor();
		const boxOf = async (place: ReturnType<typeof page.locator>) =>
			(await place.boundingBox()) ?? { height: 0, width: 0 };
		expect((await boxOf(messages(page))).height).toBeGreaterThan(least);
		const header = await boxOf(page.locator("header.top"));
		expect(header.height).toBeLessThan(50);
		expect(header.height).toBeGreaterThan(30);
		expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
		// All of it is within the row: nothing is reached by scrolling only.
		const bar = page.locator("header .bar");
		const sizes = await bar.evaluate((row) => [row.scrollWidth - row.clientWidth, row.scrollHeight]);
		expect(sizes[0]).toBe(0);
		expect(sizes[1]).toBeLessThanOrEqual(header.height);
		expect(await axeFindings(page)).toEqual([]);
		// The menu, by keyboard.
		const menu = page.getByRole("button", { name: "Menu" });
		await menu.press("Enter");
		await page.getByRole("button", { name: "Faults…" }).waitFor();
		expect(await axeFindings(page)).toEqual([]);
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "Faults…" }).waitFor({ state: "hidden" });
		await menu.and(page.locator(":focus")).waitFor();
		await page.keyboard.press("t");
		await page.getByRole("button", { name: "+1 h" }).and(page.locator(":focus")).press("Enter");
		await expect.poll(() => sandbox.clock.now().toISOString()).toBe("2026-01-05T10:00:00.000Z");
		await page.getByRole("button", { name: "Reset…" }).click();
		await page.getByRole("dialog", { name: "Reset everything?" }).waitFor();
		await page.keyboard.press("Escape");
	},
);

test.each([
	["200 % zoom", { width: 720, height: 450 }],
	["390 px", { width: 390, height: 844 }],
])("at %s one field is there to write, as the contact or as the CRM", async (_name, viewport) => {
	const { page, sandbox } = await visit({ scenario: "held" }, { viewport });
	await page.getByRole("button", { name: /Anna/ }).click();
	await messages(page).getByText("Held, not sent").waitFor();
	const [contact, crm] = [page.getByLabel("Message from"), page.getByLabel("Text from the CRM")];
	expect([await contact.isVisible(), await crm.isVisible()]).toEqual([true, false]);
	await page.getByRole("button", { name: "as CRM" }).press("Enter");
	await crm.and(page.locator(":focus")).waitFor();
	expect([await contact.isVisible(), await crm.isVisible()]).toEqual([false, true]);
	await page.getByLabel("operationId").waitFor();
	await crm.fill("Would Friday suit you?");
	await crm.press("Enter");
	await expect.poll(() => sandbox.requests().length).toBe(1);
	expect(await axeFindings(page)).toEqual([]);
	await page.getByRole("button", { name: "as contact" }).click();
	await contact.and(page.locator(":focus")).waitFor();
	await crm.waitFor({ state: "hidden" });
	await page.keyboard.press("Escape");
	await page.keyboard.press("s");
	await crm.and(page.locator(":focus")).waitFor();
});

test("at 390 px the bar has room for violations and requests that wait, and for its menu", async () => {
	const { page, server, sandbox, client } = await visit({}, { viewport: { width: 390, height: 844 } });
	await fetch(`${server.baseUrl}/nowhere`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	sandbox.breakpoints.add({ operation: "messages.send" });
	const { messages: texts } = client.agency(sandbox.agency().id);
	const sent = texts.send({ to: "+447700900101", body: "Hello" });
	await page.getByRole("button", { name: "1 violation" }).waitFor();
	await page.getByRole("button", { name: "1 held" }).waitFor();
	const menu = await page.getByRole("button", { name: "Menu" }).boundingBox();
	expect((menu?.x ?? 0) + (menu?.width ?? 0)).toBeLessThanOrEqual(390);
	expect((await page.getByLabel("Agency").boundingBox())?.width).toBeGreaterThan(40);
	expect(await axeFindings(page)).toEqual([]);
	for (const held of sandbox.breakpoints.held()) held.resume();
	await sent;
});

test("at 200 % zoom the requests of a contact have more than half of the screen", async () => {
	const { page, client, sandbox } = await visit({ scenario: "held" }, { viewport: { width: 720, height: 450 } });
	await client.agency(sandbox.agency().id).messages.send({ to: "+447700900101", body: "Would Friday suit you?" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByRole("button", { name: "Requests", exact: true }).click();
	await page.getByText("only Anna").waitFor();
	const boxOf = async (place: ReturnType<typeof page.locator>) =>
		(await place.boundingBox()) ?? { x: 0, y: 0, height: 0, width: 0 };
	const filters = await boxOf(page.getByRole("search", { name: "Filter the log" }));
	const panel = await boxOf(page.getByRole("tabpanel", { name: "Requests" }));
	expect(panel.y + panel.height - filters.y - filters.height).toBeGreaterThan(225);
	// All of it is there, and none over another: a row of whole buttons, with the name of the contact.
	const parts = page.getByRole("search", { name: "Filter the log" }).locator("> *");
	const boxes = await parts.evaluateAll((all) =>
		all.map((each) => ({ ...each.getBoundingClientRect().toJSON(), isCut: each.scrollWidth > each.clientWidth + 1 })),
	);
	expect(boxes).toHaveLength(6);
	for (const [i, { left, right, isCut }] of boxes.entries()) {
		expect(left).toBeGreaterThanOrEqual(boxes[i - 1]?.right ?? 0);
		expect(right).toBeLessThanOrEqual(720);
		expect(isCut).toBe(false);
	}
	expect(await axeFindings(page)).toEqual([]);
	// A moment of before has its words and buttons below.
	await page.getByRole("slider", { name: "Go back in time" }).press("Home");
	await page.getByRole("button", { name: "Back to now" }).click();
	await page.getByText("now", { exact: true }).waitFor();
});
