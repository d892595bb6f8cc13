// What became of an old text is shown right, however little of the log is loaded.
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/index.ts";
import { axeFindings, messages, requests, shows, type Visit, visit } from "./visit.ts";

const [anna, bram, chloe] = ["+447700900101", "+447700900102", "+447700900103"];

const line = (page: Visit["page"], text: string) =>
	requests(page)
		.locator("li:has(details)")
		.filter({ has: page.locator("summary", { hasText: text }) })
		.first();

const send = (sandbox: Sandbox, to: string, body: string) =>
	sandbox.request({
		method: "POST",
		path: `/agencies/${sandbox.agency().id}/messages`,
		body: { to, body, operationId: body },
	});

/** So many requests that what happened before is not loaded. */
async function ages(sandbox: Sandbox): Promise<void> {
	for (let i = 0; i < 2_100; i++) await sandbox.request({ method: "GET", path: `/me?${i}` });
}

/** Long ago a text to Anna was declined, one to Bram was accepted and read, and one to Chloë is undone. */
async function longAgo() {
	const visited = await visit();
	const { page, sandbox } = visited;
	const agency = sandbox.agency();
	for (const [phone, name] of [
		[anna, "Anna"],
		[bram, "Bram"],
		[chloe, "Chloë"],
	] as const)
		agency.contact(phone, { name });
	await send(sandbox, anna, "garden one");
	await send(sandbox, bram, "garden two");
	const before = sandbox.snapshot();
	await send(sandbox, chloe, "garden three");
	await ages(sandbox);
	sandbox.restore(before);
	agency.contact(anna).declines();
	agency.contact(bram).accepts();
	for (const { id, author } of agency.contact(bram).state().messages) if (author === "api") sandbox.message(id).read();
	await ages(sandbox);
	await page.reload();
	await shows(requests(page), "me.get");
	return visited;
}

test("a search, the oldest requests, the phone and the list say what became of a text long ago", async () => {
	const { page } = await longAgo();
	await page.getByRole("button", { name: /Anna.*1 never sent/ }).waitFor();
	await page.getByLabel("Text in the log").fill("garden");
	await shows(line(page, "garden one"), "held → declined, never sent");
	await shows(line(page, "garden two"), "held → accepted, sent 09:00, read");
	await shows(line(page, "garden three"), "undone: restored to before it");
	await page.getByRole("button", { name: /Anna/ }).click();
	await expect.poll(() => messages(page).locator("s").allTextContents()).toEqual(["garden one"]);
	await shows(messages(page), "Anna declined");
	await line(page, "garden one")
		.getByRole("link", { name: /never sent/ })
		.click();
	await messages(page).locator("article:focus").filter({ hasText: "Never sent" }).waitFor();
	await page.getByLabel("Text in the log").fill("");
	await page.getByRole("button", { name: "Oldest first" }).click();
	await shows(line(page, "garden one"), "held → declined, never sent");
});

test("the filters look at the whole log, one after the other shows more, and no time is negative", async () => {
	const { page, sandbox } = await visit();
	sandbox.agency().contact(anna, { name: "Anna" }).writes("Hello");
	await send(sandbox, anna, "garden");
	for (let i = 0; i < 450; i++) await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: "none" });
	await ages(sandbox);
	await page.reload();
	await shows(requests(page), "me.get");
	const choose = page.getByLabel("Which requests");
	await choose.selectOption("Errors");
	await page.getByText("450 requests found, the newest 200 are shown.").waitFor();
	await page.getByRole("button", { name: "Load older" }).click();
	await page.getByText("450 requests found, the newest 400 are loaded.").waitFor();
	await page.getByRole("button", { name: "Oldest first" }).click();
	await page.getByText("450 requests found, the oldest 200 are shown.").waitFor();
	expect((await requests(page).locator("time.gap").allTextContents()).join()).not.toMatch(/-|NaN/);
	for (let i = 0; i < 2; i++) await page.getByRole("button", { name: "Load newer" }).click();
	await page.getByText("450 requests found.").waitFor();
	await expect.poll(() => page.getByRole("button", { name: "Load newer" }).count()).toBe(0);
	await choose.selectOption("Without reads that went well");
	await page.getByText("451 requests found, the oldest 200 are shown.").waitFor();
	await choose.selectOption("All requests");
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByLabel("only Anna").check();
	await page.getByText("1 request found.").waitFor();
	await shows(line(page, "garden"), "sent");
});

test("a filter that there is not, or that does not take the value, says which there are", async () => {
	const { page, client } = await visit();
	await client.me.get();
	await shows(requests(page), "me.get");
	await page.getByLabel("Text in the log").fill("foo:bar");
	await page.getByText("There is no filter foo. There are status, op, contact, agency, outcome, key.").waitFor();
	await page.getByLabel("Text in the log").fill("key:good");
	await page.getByText("key: takes one of valid, revoked, expired, unknown, absent, or the id of a key.").waitFor();
	expect(await axeFindings(page)).toEqual([]);
	await page.getByLabel("Text in the log").fill("key:valid");
	await page.getByText("1 request found.").waitFor();
	await page.getByRole("tab", { name: "Events" }).click();
	await page.getByLabel("Words in the loaded events").fill("status:401");
	await page.getByText("0 of the 1 event that is loaded.").waitFor();
});
