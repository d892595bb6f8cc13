// However long the log is, at most 200 of its lines are in the page, and one goes to older and newer ones.
import { expect, test } from "vitest";
import { axeFindings, requests, shows, type Visit, visit } from "./visit.ts";

const lines = (page: Visit["page"], name = "Requests") => page.getByRole("log", { name }).locator("li:has(details)");
const button = (page: Visit["page"], name: string) => page.getByRole("tabpanel").getByRole("button", { name });

/** A log in which each request is a line. */
async function long(count: number): Promise<Visit> {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { sandbox, page } = visited;
	for (let i = 1; i <= count; i++) await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: "none" });
	await page.reload();
	await shows(requests(page), `GET /me ?${count}`.replace("GET /me ", ""));
	return visited;
}

test("the requests have at most 200 rows in the page, each with its place, on the way to the oldest and back", async () => {
	const { page } = await long(450);
	const ends = async () => {
		const first = lines(page).first();
		return [
			await lines(page).count(),
			await first.getAttribute("aria-posinset"),
			await first.locator(".target").innerText(),
		];
	};
	await expect.poll(ends).toEqual([200, "1", "?450"]);
	expect(await lines(page).first().getAttribute("aria-setsize")).toBe("450");
	await button(page, "Load older").click();
	await expect.poll(ends).toEqual([200, "201", "?250"]);
	await button(page, "Load older").click();
	await expect.poll(ends).toEqual([50, "401", "?50"]);
	expect(await button(page, "Load older").count()).toBe(0);
	expect(await axeFindings(page)).toEqual([]);
	for (let i = 0; i < 2; i++) await button(page, "Show newer").click();
	await expect.poll(ends).toEqual([200, "1", "?450"]);
	expect(await button(page, "Show newer").count()).toBe(0);
});

test("so have the events, what a search finds, and the oldest first", async () => {
	const { page } = await long(450);
	await page.getByRole("tab", { name: "Events" }).click();
	await expect.poll(() => lines(page, "Events").count()).toBe(200);
	await button(page, "Load older").click();
	await expect.poll(() => lines(page, "Events").first().getAttribute("aria-posinset")).toBe("201");
	await page.getByRole("tab", { name: "Requests" }).click();
	await expect.poll(() => lines(page).first().getAttribute("aria-posinset")).toBe("1");
	await page.getByLabel("Text in the log").fill("status:401");
	await page.getByText("450 requests found, the newest 200 are shown.").waitFor();
	for (const [posinset, count] of [
		["201", 200],
		["401", 50],
	] as const) {
		await button(page, "Load older").click();
		await expect.poll(() => lines(page).first().getAttribute("aria-posinset")).toBe(posinset);
		await expect.poll(() => lines(page).count()).toBe(count);
	}
	// Another search begins at its first line.
	await page.getByRole("button", { name: "Oldest first" }).click();
	await expect.poll(() => lines(page).first().locator(".target").innerText()).toBe("?1");
	await button(page, "Load newer").click();
	await expect.poll(() => lines(page).first().locator(".target").innerText()).toBe("?201");
	await button(page, "Show older").click();
	await expect.poll(() => lines(page).first().locator(".target").innerText()).toBe("?1");
});

test("a link to a request far down opens it among its neighbours", async () => {
	const { page, sandbox } = await long(450);
	const { correlationId } = sandbox.requests()[100] ?? {};
	await page.evaluate((id) => (location.hash = `#/?request=${id}`), correlationId);
	await shows(lines(page).filter({ has: page.locator("details[open]") }), `X-Correlation-Id: ${correlationId}`);
	expect(await lines(page).count()).toBeLessThanOrEqual(200);
});

test("a reset on the last page leaves no page without lines", async () => {
	const { page, sandbox } = await long(450);
	for (let i = 0; i < 2; i++) await button(page, "Load older").click();
	await expect.poll(() => lines(page).count()).toBe(50);
	sandbox.reset();
	await sandbox.request({ method: "GET", path: "/me" });
	await expect.poll(() => lines(page).count()).toBe(1);
});
