// What became of an old text is shown right, however little of the log is loaded.
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/index.ts";
import { messages, requests, shows, type Visit, visit } from "./visit.ts";

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
