// Small things that misled: one name for one fault, stories that one can leave, violations beside their contact, and times.
import { expect, test } from "vitest";
import { messages, requests, shows, type Visit, visit } from "./visit.ts";

const anna = "+447700900101";
const bram = "+447700900122";

test("a lost answer has one name on its button, in the list of what is armed and in the log", async () => {
	const { page, sandbox } = await visit();
	await page.getByRole("button", { name: "Faults…" }).click();
	await page.getByRole("button", { name: "Lose its answer" }).click();
	await page.getByText("messages.send: Lose its answer, 1 left").waitFor();
	await page.keyboard.press("Escape");
	const path = `/agencies/${sandbox.agency().id}/messages`;
	await sandbox.request({ method: "POST", path, body: { to: anna, body: "Hi" } });
	await page.getByRole("tab", { name: "Events" }).click();
	await shows(page.getByRole("log", { name: "Events" }), "fault: Lose its answer");
});

test("a story that has ended can be closed, and so can one that has just begun", async () => {
	const { page } = await visit();
	const guide = page.getByRole("region", { name: /^Story:/ });
	await page.evaluate(() => (location.hash = "#/stories/accepted"));
	await guide.getByRole("link", { name: "Close the story" }).click();
	await guide.waitFor({ state: "detached" });
	await page.getByRole("main", { name: "Phone of Emma" }).waitFor();
	await page.evaluate(() => (location.hash = "#/stories/accepted"));
	for (const name of ["Send as the CRM", "Accept as Emma", "Send as the CRM"])
		await guide.getByRole("button", { name }).click();
	await guide.getByText("the end").waitFor();
	await guide.getByRole("link", { name: "Close the story" }).click();
	await guide.waitFor({ state: "detached" });
	await shows(messages(page), "Or would Friday at 10:00 be better?");
	await page.reload();
	await page.getByRole("main", { name: "Phone of Emma" }).waitFor();
	expect(await guide.count()).toBe(0);
});

async function violated(visited: Visit, agencyId: string, to: string): Promise<void> {
	const send = (body: string) => ({
		method: "POST",
		path: `/agencies/${agencyId}/messages`,
		body: { to, body, operationId: `id of ${to}` },
	});
	await visited.sandbox.request(send("One"));
	await visited.sandbox.request(send("Two"));
}

test("a violation leads to its request and to its contact, also of another agency", async () => {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { page, sandbox } = visited;
	const agency = sandbox.agency();
	agency.contact(anna, { name: "Anna" }).writes("Hello");
	agency.contact(bram, { name: "Bram" }).writes("Hello");
	const other = sandbox.link({ name: "Second" });
	other.contact(anna, { name: "Anna of the second" }).writes("Hello");
	await violated(visited, agency.id, bram);
	await page.getByRole("button", { name: /Anna/ }).first().click();
	await page.getByRole("button", { name: "1 violation" }).click();
	await page.getByRole("dialog").getByRole("link", { name: /POST/ }).click();
	await page.getByRole("main", { name: "Phone of Bram" }).waitFor();
	await shows(requests(page), "X-Correlation-Id");
	await violated(visited, other.id, anna);
	await page.getByRole("button", { name: "2 violations" }).click();
	await page
		.getByRole("dialog")
		.getByRole("link", { name: new RegExp(other.id) })
		.click();
	await page.getByRole("main", { name: "Phone of Anna of the second" }).waitFor();
});

test("a name with digits is found in the list, and Enter opens it, not a number with these digits", async () => {
	const { page, sandbox } = await visit();
	sandbox.agency().contact(anna, { name: "Flat 122" }).writes("Hello");
	sandbox.clock.advance({ hours: 1 });
	sandbox.agency().contact(bram, { name: "Bram" }).writes("Hello");
	await page.getByRole("button", { name: /Bram/ }).waitFor();
	const field = page.getByLabel("Search or new number");
	await field.fill("Flat 122");
	await expect
		.poll(() => page.getByRole("navigation", { name: "Conversations" }).getByRole("listitem").count())
		.toBe(1);
	await field.press("Enter");
	await page.getByRole("main", { name: "Phone of Flat 122" }).waitFor();
	// A name is no new number either.
	await field.fill("Anna 470998877");
	await page.getByText("Nobody has “Anna 470998877”.").waitFor();
	expect(await page.getByRole("button", { name: /New contact/ }).count()).toBe(0);
});

test("each line has the time since the one before, and none a clock in its place", async () => {
	const { page, sandbox } = await visit();
	// As if the second request came hours later.
	await sandbox.request({ method: "GET", path: "/me?1" });
	const bug = JSON.parse(JSON.stringify(sandbox.bug({ keepContent: true })));
	for (const [i, hours] of [3, 50].entries()) {
		const [first] = bug.events;
		const realAt = new Date(Date.parse(first.realAt) + hours * 3_600_000).toISOString();
		const id = i + 2;
		bug.events.push({ ...first, id, action: id, realAt, query: `${id}`, correlationId: `sandbox-0000010${i}` });
	}
	sandbox.import(bug);
	await shows(requests(page), "?3");
	await page.getByRole("tab", { name: "Events" }).click();
	const gaps = () => page.getByRole("log", { name: "Events" }).locator("time.gap").allTextContents();
	await expect.poll(async () => (await gaps()).length).toBe(4);
	const [, third, second, first] = await gaps();
	expect([third, second, first]).toEqual(["+47 h", "+3 h", ""]);
});
