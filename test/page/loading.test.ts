// The page loads what it shows part by part, and stays light beside many conversations.
import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { messages, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("84 sends beside 10,000 conversations move less than 500 kB, and the page shows the last of them", async () => {
	const { page, sandbox, client, server } = await visit();
	const before = createSandbox();
	const numbers = Array.from({ length: 10_000 }, (_, i) => `+4477000${10_000 + i}`);
	for (const number of numbers) before.agency().contact(number).writes("Is the flat still free?");
	before.agency().contact(phone, { name: "Anna" }).writes("Hello");
	sandbox.restore(before.snapshot());
	const network = await page.context().newCDPSession(page);
	let bytes = 0;
	network.on("Network.dataReceived", ({ dataLength }) => (bytes += dataLength));
	await network.send("Network.enable");
	await page.reload(); // so that the stream of events is counted too
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Hello");
	const atStart = bytes;
	const { messages: texts } = client.agency(sandbox.agency().id);
	for (let i = 0; i < 84; i++) {
		// One in two to the conversation that is shown, the others to old ones.
		await texts.send({ to: i % 2 === 0 ? phone : (numbers[i] ?? phone), body: `Text ${i}` });
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	await fetch(`${server.baseUrl}/agencies/${sandbox.agency().id}/conversations`, {
		headers: { authorization: `Bearer ${server.apiKey}` },
	});
	await shows(requests(page), "conversations.list");
	await shows(messages(page), "Text 82");
	await shows(page.getByRole("navigation", { name: "Conversations" }), "API: Text 83");
	expect(bytes - atStart).toBeGreaterThan(50_000); // else nothing was counted
	expect(bytes - atStart).toBeLessThan(500_000);
});

test("a list and a thread load older lines, in their order, and leave what is read in its place", async () => {
	const { page, sandbox } = await visit({ scenario: "busy" });
	const list = page.getByRole("navigation", { name: "Conversations" });
	await expect.poll(() => list.getByRole("listitem").count()).toBe(100);
	// A conversation that was not loaded comes to the top, and one further down does not show before its turn.
	const [oldest, second] = sandbox.agency().conversations().reverse();
	sandbox.agency().staff.setAi({ contact: second?.phoneNumber ?? "", on: false });
	sandbox
		.agency()
		.contact(oldest?.phoneNumber ?? "")
		.writes("Me again");
	await shows(list, "Me again");
	await list.getByRole("button", { name: "Load older" }).click();
	await expect.poll(() => list.getByRole("listitem").count()).toBe(200);
	await list.getByRole("button", { name: "Load older" }).click();
	await expect.poll(() => list.getByRole("listitem").count()).toBe(250);
	const shown = await list.locator("li b").allTextContents();
	expect(shown).toEqual(
		sandbox
			.agency()
			.conversations()
			.map(({ name }) => name),
	);
	await list.getByRole("button", { name: "AI: Answer 1" }).click();
	await shows(messages(page), "Answer 1");
	await messages(page).getByText("Answer 99", { exact: true }).scrollIntoViewIfNeeded();
	await messages(page).evaluate((log) => (log.scrollTop = 0));
	const place = async () => (await messages(page).getByText("Question 100", { exact: true }).boundingBox())?.y ?? 0;
	const before = await place();
	await messages(page).getByRole("button", { name: "Load older" }).click();
	await shows(messages(page), "Question 130");
	expect(Math.abs((await place()) - before)).toBeLessThan(60); // the button is gone
	const texts = await messages(page)
		.getByText(/^(Question|Answer) \d+$/)
		.allTextContents();
	expect(texts).toEqual(Array.from({ length: 130 }, (_, i) => `${i % 2 === 0 ? "Question" : "Answer"} ${130 - i}`));
});

test("a search finds conversations that were not loaded", async () => {
	const { page, sandbox } = await visit({ scenario: "busy" });
	const list = page.getByRole("navigation", { name: "Conversations" });
	await expect.poll(() => list.getByRole("listitem").count()).toBe(100);
	const oldest = sandbox.agency().conversations().at(-1);
	await page.getByLabel("Search or new number").fill(oldest?.phoneNumber ?? "");
	await expect.poll(() => list.locator("li b").allTextContents()).toEqual([oldest?.name]);
	await page.getByLabel("Search or new number").fill("");
	await expect.poll(() => list.getByRole("listitem").count()).toBe(100);
});

test("many conversations that change at once are read as one list, and the clock closes their windows", async () => {
	const { page, sandbox } = await visit();
	const agency = sandbox.agency();
	for (let i = 0; i < 120; i++) agency.contact(`+4477000${10_000 + i}`, { name: `Contact ${i}` }).writes("Hello");
	const list = page.getByRole("navigation", { name: "Conversations" });
	await expect.poll(() => list.getByText("open 24 h").count()).toBe(100);
	await page.getByRole("button", { name: "+24 h" }).click();
	await expect.poll(() => list.getByText("window closed").count()).toBe(100);
});
