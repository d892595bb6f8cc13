// At 200 % zoom and at 390 px the phone has most of the screen, and all is there by keyboard.
import { expect, test } from "vitest";
import { axeFindings, messages, visit } from "./visit.ts";

test.each([
	["200 % zoom", { width: 720, height: 450 }, 180],
	["390 px", { width: 390, height: 844 }, 420],
])("at %s the messages have most of the screen, and the header is one row", async (_name, viewport, least) => {
	const { page } = await visit({ scenario: "held" }, { viewport });
	await page.getByRole("button", { name: /Anna/ }).click();
	await messages(page).getByText("Held, not sent").waitFor();
	const heightOf = async (place: ReturnType<typeof page.locator>) => (await place.boundingBox())?.height ?? 0;
	expect(await heightOf(messages(page))).toBeGreaterThan(least);
	expect(await heightOf(page.locator("header.top"))).toBeLessThan(60);
	expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
	await page.getByRole("button", { name: "Reset…" }).focus();
	expect(
		await page
			.getByRole("button", { name: "Reset…" })
			.evaluate((button) => button.getBoundingClientRect().right <= innerWidth),
	).toBe(true);
	expect(await page.getByLabel("operationId").isVisible()).toBe(false);
	await page.getByLabel("Text from the CRM").focus();
	await page.getByLabel("operationId").waitFor();
	expect(await axeFindings(page)).toEqual([]);
});
