// Plain words in the right place, and room for every finger.
import { expect, test } from "vitest";
import { serve } from "../../src/sandbox/server.ts";
import { axeFindings, messages, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("a text that the provider has queued is called sent, with a tick, and its status is one click away", async () => {
	const { page, sandbox } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	const sent = agency.staff.sends({ contact: phone, text: "This is Tom" });
	await page.getByRole("button", { name: /Anna/ }).click();
	const status = messages(page).locator("summary").last();
	await shows(status, "sent ✓");
	expect(await messages(page).getByText("queued").isVisible()).toBe(false);
	await status.click();
	await messages(page).getByText("queued").waitFor();
	sandbox.message(sent?.id ?? 0).set("accepted");
	await messages(page).getByText("accepted", { exact: true }).waitFor();
	await shows(status, "sent ✓");
	sandbox.message(sent?.id ?? 0).read();
	await shows(status, "read ✓✓");
});

test("Accept steps back once no text is held", async () => {
	const { page, sandbox } = await visit({ scenario: "held" });
	await page.getByRole("button", { name: /Anna/ }).click();
	const accept = messages(page).getByRole("button", { name: "Accept" });
	await shows(messages(page), "as Anna");
	const color = () => accept.evaluate((button) => getComputedStyle(button).backgroundColor);
	const before = await color();
	sandbox.clock.advance({ hours: 48 });
	await shows(messages(page), "no text is held");
	await expect.poll(color).not.toBe(before);
	await accept.click();
	await shows(messages(page), "accepted, and no text was held");
});

test.each([1440, 390])("at %i px a banner as wide as the page says that the sandbox is gone", async (width) => {
	const { page, server, sandbox } = await visit({}, { viewport: { width, height: 720 } });
	await expect.poll(() => page.getByRole("alert").count()).toBe(0);
	await server.close();
	const banner = page.getByRole("alert").getByText("The sandbox does not answer");
	await banner.waitFor();
	expect(await banner.boundingBox()).toMatchObject({ x: 0, y: 0, width });
	const again = await serve(sandbox, { port: Number(new URL(server.baseUrl).port), token: server.token });
	try {
		await banner.waitFor({ state: "detached" });
	} finally {
		await again.close();
	}
});

test("a number that is none is refused beside the search, until it is corrected", async () => {
	const { page } = await visit();
	const search = page.getByLabel("Search or new number");
	await search.fill("+4412345678901234567890");
	await page.getByRole("button", { name: "New contact" }).click();
	const refusal = page.getByRole("navigation", { name: "Conversations" }).getByRole("alert");
	await refusal.getByText("must be a phone number").waitFor();
	await expect.poll(() => page.getByRole("contentinfo").getByText("must be a phone number").count()).toBe(0);
	await search.fill("+447700900101");
	await refusal.waitFor({ state: "detached" });
});

test("j and k keep the chosen conversation in view, below the search", async () => {
	const { page } = await visit({ scenario: "busy" }, { viewport: { width: 1280, height: 500 } });
	await page
		.getByRole("button", { name: /Anna Peeters/ })
		.first()
		.waitFor();
	const list = page.getByRole("navigation", { name: "Conversations" });
	const [top, bottom] = [(await list.getByRole("searchbox").boundingBox())?.y ?? 0, 500 - 34];
	for (const key of ["j", "j", "j", "j", "j", "j", "j", "j", "k", "k", "k", "k", "k", "k"]) {
		const before = await list.locator("[aria-current=true]").count();
		await page.keyboard.press(key);
		if (before === 0) await list.locator("[aria-current=true]").waitFor();
		const box = await list.locator("[aria-current=true]").boundingBox();
		expect(box?.y).toBeGreaterThan(top + 30);
		expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bottom);
	}
});

test("the first key leads past the header and the list, to the phone", async () => {
	const { page } = await visit({ scenario: "held" });
	await page.keyboard.press("Tab");
	await page.getByRole("button", { name: "Skip to the phone" }).and(page.locator(":focus")).waitFor();
	await page.keyboard.press("Enter");
	await page.locator("main:focus").waitFor();
	expect(page.url()).not.toContain("#main");
});

test("the page has an icon of its own, which its content security policy allows", async () => {
	const { page } = await visit();
	const src = await page.locator("link[rel=icon]").getAttribute("href");
	const loads = `new Promise((resolve) => {
		Object.assign(new Image(), { src: "${src}", onload: () => resolve("loaded"), onerror: () => resolve("refused") });
	})`;
	expect(await page.evaluate(loads)).toBe("loaded");
});

const targets = "button, a, input, select, summary";

/** What is shown and can be pressed, but is less than 32 px high or wide. A checkbox has its label's size. */
const small = `[...document.querySelectorAll("${targets}")].flatMap((element) => {
	const { width, height } = (element.type === "checkbox" ? element.closest("label") : element).getBoundingClientRect();
	const isTarget = element.checkVisibility() && !element.closest("p") && width > 0;
	return isTarget && Math.min(width, height) < 32 ? [element.outerHTML.slice(0, 80) + " " + width + " x " + height] : [];
})`;

test.each([1440, 1024, 390])(
	"at %i px axe finds nothing, and every target is at least 32 px high and wide",
	async (width) => {
		const { page, sandbox, client } = await visit({ scenario: "held" }, { viewport: { width, height: 844 } });
		const agency = sandbox.agency();
		const looksGood = async () => {
			expect(await page.evaluate(small)).toEqual([]);
			expect(await axeFindings(page)).toEqual([]);
		};
		agency.contact("+447700900102", { name: "Bram" }).writes("Hello");
		agency.startFlow("+447700900102");
		await client.agency(agency.id).messages.send({ to: "+447700900102", body: "Hi" });
		sandbox.faults.add({ operation: "me.get", effect: "reset" });
		await page.getByRole("button", { name: /Bram/ }).waitFor();
		await looksGood();
		await page.getByRole("button", { name: /Bram/ }).click();
		await page.getByText("Staff, AI, flows and more").click();
		await messages(page).locator("summary").last().click();
		// On a narrow screen one writes as the contact, until one changes that.
		if (width < 900) await page.getByRole("button", { name: "as CRM" }).click();
		await page.getByLabel("operationId").fill("visit-1");
		await looksGood();
		if (width < 900) await page.getByRole("navigation", { name: "Panes" }).getByText("Requests").click();
		await requests(page).getByText("messages.send").click();
		await looksGood();
		for (const name of ["Settings…", "1 fault armed", "Scenario…", "Reset…"]) {
			if (width < 900) await page.getByRole("button", { name: "Menu" }).click();
			await page.getByRole("button", { name, exact: true }).click();
			await page.getByRole("dialog").waitFor();
			await looksGood();
			await page.keyboard.press("Escape");
		}
		if (width < 900) await page.getByRole("button", { name: "Menu" }).click();
		await page.getByRole("link", { name: "Stories" }).click();
		await page.getByRole("link", { name: "A held text is accepted" }).waitFor();
		await looksGood();
		await page.getByRole("link", { name: "A held text is accepted" }).click();
		await page.getByRole("region", { name: "Story: A held text is accepted" }).waitFor();
		await looksGood();
	},
);

test("at 1440 px the header is one row, with a violation and a fault too", async () => {
	const { page, server, sandbox } = await visit({}, { viewport: { width: 1440, height: 844 } });
	const height = () => page.getByRole("banner").evaluate((header) => header.clientHeight);
	const before = await height();
	await fetch(`${server.baseUrl}/nowhere`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	sandbox.faults.add({ operation: "me.get", effect: "reset" });
	await page.getByRole("button", { name: "1 violation" }).waitFor();
	await page.getByRole("button", { name: "1 fault armed" }).waitFor();
	expect(await height()).toBe(before);
	expect(before).toBeLessThan(60);
});

test("at 390 px nothing covers the header, while the phone is not shown", async () => {
	const { page } = await visit({}, { viewport: { width: 390, height: 844 } });
	const box = await page.getByLabel("Agency").boundingBox();
	const at = `document.elementFromPoint(${(box?.x ?? 0) + 5}, ${(box?.y ?? 0) + 10}).tagName`;
	expect(await page.evaluate(at)).toBe("SELECT");
});

test("the form for the token says where the token is, and has a margin on a small screen", async () => {
	const { page } = await visit({}, { viewport: { width: 390, height: 844 } });
	await page.evaluate("sessionStorage.clear()");
	await page.reload();
	await page.getByRole("main").getByText("#token=").waitFor();
	const box = await page.getByLabel("Control token").boundingBox();
	expect(box?.x).toBeGreaterThan(8);
	expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(382);
});

test("a search that finds nobody says what was searched, and is cleared by a button", async () => {
	const { page, sandbox } = await visit();
	const list = page.getByRole("navigation", { name: "Conversations" });
	await page.getByLabel("Search or new number").fill("12345");
	await page.keyboard.press("Enter");
	await shows(list, "Nobody has “12345”.");
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	await list.getByRole("button", { name: "Show all" }).click();
	await list.getByRole("button", { name: /Anna/ }).waitFor();
	expect(await page.getByLabel("Search or new number").inputValue()).toBe("");
});
