// Each send says what decided it: the window, consent, the AI, the held text, and the rule. Violations lead to their request.
import { expect, test } from "vitest";
import { axeFindings, picture, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

const line = (page: Visit["page"], text: string) =>
	requests(page)
		.locator("li:has(details)")
		.filter({ has: page.locator("summary", { hasText: text }) })
		.first();

async function declined() {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { sandbox, client, page } = visited;
	const agency = sandbox.agency();
	const anna = agency.contact(phone, { name: "Anna" });
	const { messages } = client.agency(agency.id);
	await messages.send({ to: phone, body: "Would Thursday suit you?", operationId: "visit-1" });
	anna.declines();
	await messages.send({ to: phone, body: "Would Friday suit you?", operationId: "visit-2" });
	await page.getByRole("button", { name: /Anna/ }).click();
	return { ...visited, anna, messages };
}

test("a send's row says what decided it, also after a No, and its rule opens in one click", async () => {
	const { page } = await declined();
	await shows(line(page, "Thursday"), "The window was closed: the contact had never written.");
	await shows(line(page, "Thursday"), "So it was held, and consent was asked. The AI was on, and is off now.");
	await line(page, "Thursday").getByRole("button", { name: "Rule R113" }).waitFor();
	await shows(line(page, "Friday"), "a “No” opens the window like any other message. So it was sent at once.");
	await picture(page, "why");
	expect(await axeFindings(page)).toEqual([]);
	await line(page, "Friday").getByRole("button", { name: "Rule R112" }).click();
	const dialog = page.getByRole("dialog", { name: "Rule R112" });
	await shows(dialog, "With an open window, the text is sent at once.");
	await shows(dialog, "docs/fidelity.md#r112");
	expect(await axeFindings(page)).toEqual([]);
	await page.keyboard.press("Escape");
	await dialog.waitFor({ state: "detached" });
	expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Rule R112");
});

test("a violation leads to its request in one click, from another tab, past filters, and with older ones to load", async () => {
	const { page, sandbox, server } = await declined();
	await fetch(`${server.baseUrl}/agencies/${server.agencyId}/messages`, {
		method: "POST",
		headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
		body: JSON.stringify({ to: phone, body: "Another text", operationId: "visit-2" }),
	});
	await shows(line(page, "Another text"), "violation");
	await line(page, "Another text").getByRole("button", { name: "Rule R134" }).first().waitFor();
	await page.getByLabel("Which requests").selectOption("me.get");
	await page.getByRole("tab", { name: "Events" }).click();
	const show = async () => {
		await page.getByRole("button", { name: "1 violation" }).click();
		await page.getByRole("dialog").getByRole("link", { name: /^POST/ }).click();
		await shows(line(page, "Another text"), "X-Correlation-Id");
	};
	await show();
	expect(await page.getByRole("tab", { name: "Requests" }).getAttribute("aria-selected")).toBe("true");
	expect(await page.getByRole("dialog").count()).toBe(0);
	for (let i = 0; i < 2_100; i++) sandbox.agency().contact(phone).writes(`line ${i}.`);
	await page.goto("about:blank");
	await page.goto(`${server.controlUrl}/ui/#token=${server.token}`);
	await page.getByText("● connected").waitFor();
	expect(await line(page, "Another text").count()).toBe(0);
	await show();
	await page.getByRole("main", { name: "Phone of Anna" }).waitFor();
});

test("a story begins with one look at who is there", async () => {
	const { page, sandbox } = await visit({ scenario: "busy" });
	const taken = sandbox.agency().contact("+447700900201", { name: "Anna" });
	const reads: string[] = [];
	page.on("request", (request) => {
		if (/\/_sandbox\/(contacts|conversations)/.test(request.url()) && request.method() === "GET")
			reads.push(request.url());
	});
	const before = new Set(
		sandbox
			.agency()
			.contacts()
			.map(({ phoneNumber }) => phoneNumber),
	);
	await page.goto(`${page.url().replace(/#.*/, "")}#/stories/replaced`);
	await page.getByRole("heading", { name: "A held text is replaced" }).waitFor();
	expect(reads.filter((url) => url.endsWith("/contacts"))).toHaveLength(1);
	const [made] = sandbox
		.agency()
		.contacts()
		.filter(({ phoneNumber }) => !before.has(phoneNumber));
	expect(made?.name).toBe("Omar");
	expect(made?.phoneNumber).not.toBe(taken.phoneNumber);
	// The contact that the story made is read as it is shown. Nobody else is.
	expect(reads.filter((url) => /conversations\/%?\+?\d/.test(url) && !url.includes(made?.phoneNumber ?? ""))).toEqual(
		[],
	);
});
