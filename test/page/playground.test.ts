// The docs site as it was built, with the sandbox in the browser.
import type { BrowserContextOptions, FrameLocator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { useSite } from "./site.ts";
import { axeFindings, shows } from "./visit.ts";

const { open, urlOf } = useSite();

/** Opens the playground, and cuts the network off once the page is there. */
async function openOffline(options?: BrowserContextOptions): Promise<{ page: Page; phone: FrameLocator }> {
	const page = await open("/playground.html", options);
	const phone = page.frameLocator('iframe[title="The sandbox\'s page"]');
	// A low frame does not show it.
	await phone.getByText("● connected").waitFor({ state: "attached" });
	await page.context().setOffline(true);
	return { page, phone };
}

const guideOf = (phone: FrameLocator, title: string) => phone.getByRole("region", { name: `Story: ${title}` });
const textsOf = (phone: FrameLocator, body: string) =>
	phone.getByRole("log", { name: "Messages" }).getByText(body, { exact: true });

const [first, second] = ["Would Thursday at 14:00 suit you?", "Or would Friday at 10:00 be better?"];

/** What the code of each step returns, in part. */
const stories = [
	{
		title: "A held text is accepted",
		end: "It went out at once",
		results: ['"queued": true', '"held": []', '"queued": false'],
		arrived: [first, second],
	},
	{
		title: "A held text is refused",
		end: "the tap on No opened the window",
		results: ['"queued": true', "[]", '"queued": false'],
		arrived: [second],
	},
	{
		title: "A held text expires",
		end: "Nothing was held any more",
		results: ['"queued": true', "[]", '"2026-01-08T09:00:00'],
		arrived: [],
	},
	{
		title: "A held text is replaced",
		end: "got the second text only",
		results: ['"queued": true', `"replaced": "${first}"`, `"body": "${second}"`],
		arrived: [second],
	},
	// The client repeats the send by itself, so that two clicks play three steps.
	{ title: "An answer is lost", end: "still has one text", results: ["1", '"texts": 1'], arrived: [first] },
];

test("offline, the code of the five stories runs beside the phone, which shows what it does", async () => {
	const { page, phone } = await openOffline();
	for (const { title, end, results, arrived } of stories) {
		await page.getByRole("button", { name: title }).click();
		await shows(guideOf(phone, title), "step 1 of 3");
		for (const [index, result] of results.entries()) {
			await page.getByRole("button", { name: `Run step ${index + 1}` }).click();
			await shows(page.getByRole("article", { name: `Step ${index + 1}` }).getByRole("status"), result);
		}
		await shows(guideOf(phone, title), end);
		for (const body of [first, second])
			expect(await textsOf(phone, body).and(phone.locator(":not(s)")).count(), `${title}: ${body}`).toBe(
				arrived.includes(body) ? 1 : 0,
			);
	}
});

test("offline, the outbox and the feed take the texts that the reader writes", async () => {
	const { page, phone } = await openOffline();
	await page.getByLabel("first").fill("See you at nine?");
	await page.getByRole("button", { name: "The outbox sends two texts" }).click();
	for (const step of [1, 2, 3]) {
		await page.getByRole("button", { name: `Run step ${step}` }).click();
		await page
			.getByRole("article", { name: `Step ${step}` })
			.getByRole("status")
			.waitFor();
	}
	await shows(page.getByRole("article", { name: "Step 3" }).getByRole("status"), '"body": "See you at nine?"');
	await textsOf(phone, "See you at nine?").first().waitFor();
	await page.getByRole("button", { name: "The change feed" }).click();
	await page.getByRole("button", { name: "Run step 1" }).click();
	await shows(page.getByRole("article", { name: "Step 1" }).getByRole("status"), "See you at nine?");
	await page.getByRole("button", { name: "Start again" }).click();
	expect(await page.getByRole("status").count()).toBe(0);
});

test("a step that goes on from another one says so until that one was played, on either side", async () => {
	const { page, phone } = await openOffline();
	const step = (number: number) => page.getByRole("article", { name: `Step ${number}` }).getByRole("status");
	for (const title of ["A held text is replaced", "The outbox sends two texts"]) {
		await page.getByRole("button", { name: title }).click();
		await page.getByRole("button", { name: "Run step 3" }).click();
		await shows(step(3), "Run step 1 first");
	}
	await page.getByRole("button", { name: "A held text is replaced" }).click();
	const guide = guideOf(phone, "A held text is replaced");
	await guide.getByRole("button", { name: "Send as the CRM" }).click();
	await shows(guide, "step 2 of 3");
	await page.getByRole("button", { name: "Run step 3" }).click();
	await shows(step(3), "Run step 2 first");
	await page.getByRole("button", { name: "Run step 2" }).click();
	await shows(step(2), '"sent"');
	await page.getByRole("button", { name: "Run step 3" }).click();
	await shows(step(3), second);
});

test("at 390 px the phone stays in view beside the last step", async () => {
	const { page } = await openOffline({ viewport: { width: 390, height: 844 } });
	await page.getByRole("button", { name: "Run step 3" }).scrollIntoViewIfNeeded();
	const box = await page.locator('iframe[title="The sandbox\'s page"]').boundingBox();
	expect(box?.y).toBeGreaterThanOrEqual(0);
	expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
});

test("offline, a story that is chosen on the phone can be played on both sides", async () => {
	const { page, phone } = await openOffline();
	await guideOf(phone, "A held text is accepted").getByRole("link", { name: "All stories" }).click();
	await phone.getByRole("link", { name: "A held text is replaced" }).click();
	const guide = guideOf(phone, "A held text is replaced");
	await guide.getByRole("button", { name: "Send as the CRM" }).click();
	await shows(guide, "step 2 of 3");
	await page.getByRole("button", { name: "Run step 2" }).click();
	await shows(page.getByRole("article", { name: "Step 2" }).getByRole("status"), `"replaced": "${first}"`);
	await guide.getByRole("button", { name: "Accept as Omar" }).click();
	await shows(guide, "got the second text only");
	await phone.getByRole("button", { name: "Requests" }).click();
	await shows(phone.getByRole("log", { name: "Requests" }), "conversations.get");
});

test.each([
	{ width: 1440, height: 900 },
	{ width: 390, height: 844 },
])("at $width px pages and playground fit the window, and axe finds nothing, in light and in dark", async (screen) => {
	const { page } = await openOffline({ viewport: screen });
	await page.getByRole("button", { name: "Run step 1" }).click();
	await page.getByRole("article", { name: "Step 1" }).getByRole("status").waitFor();
	const found = await axeFindings(page);
	await page.context().setOffline(false);
	for (const path of ["/", "/first-send.html"]) {
		await page.goto(urlOf(path));
		if (screen.width > 1_000) found.push(...(await axeFindings(page)));
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	}
	// The head of a Markdown table may begin with an empty cell, and the theme's search button shows its shortcut.
	expect(found.filter((finding) => !/empty-table-header|label-content-name-mismatch/.test(finding))).toEqual([]);
});

test("the search finds what people look for, and the guide to it first", async () => {
	const page = await open("/");
	await page.waitForFunction("document.querySelector('#app').__vue_app__"); // until then, nothing hears the keys
	const guides = {
		idempotency: "errors-and-retries",
		"rate limit": "runbook",
		401: "runbook",
		403: "runbook",
		429: "runbook",
		stuck: "runbook",
		backup: "runbook",
		unsubscribe: "consent",
		STOP: "consent",
		twice: "limits",
		"never arrived": "not-sent",
		"24 hours": "sending",
		duplicate: "runbook",
		gdpr: "personal-data",
		erase: "personal-data",
		attachment: "reading",
		image: "reading",
		pagination: "reading",
		cursor: "reading",
		media: "mirroring",
		webhook: "mirroring",
		websocket: "mirroring",
		mock: "testing",
		sandbox: "sandbox",
		pricing: "not-supported",
		timezone: "consent",
		failover: "runbook",
		audit: "personal-data",
		"Next.js": "frameworks",
		Prisma: "databases",
	};
	for (const [term, guide] of Object.entries(guides)) {
		await page.keyboard.press("Control+k");
		const box = page.locator(".VPLocalSearchBox");
		await box.locator("input").fill(term);
		await box.locator(`li:first-child .result[href*="/${guide}"]`).waitFor();
		await page.keyboard.press("Escape");
	}
});

test("at 1440 px no line of code continues below, and at 390 px the landing page has its name whole", async () => {
	for (const path of ["/durable-sends.html", "/frameworks.html"]) {
		const page = await open(path);
		// The text of a line, because its box is as wide as the code.
		const broken = await page.evaluate(`[...document.querySelectorAll(".vp-doc pre .line")].filter((line) => {
			const text = document.createRange();
			text.selectNodeContents(line);
			return text.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(line).lineHeight);
		}).map(({ textContent }) => textContent)`);
		expect(broken).toEqual([]);
	}
	const landing = await open("/", { viewport: { width: 390, height: 844 } });
	const end = await landing.evaluate(`(() => {
		const text = document.createRange();
		text.selectNodeContents(document.querySelector(".VPHero .name"));
		return text.getBoundingClientRect().right;
	})()`);
	expect(end).toBeLessThanOrEqual(390 - 24);
});

test("at 390 px a line of code scrolls, and no name in it is broken", async () => {
	const page = await open("/durable-sends.html", { viewport: { width: 390, height: 844 } });
	const found = await page.evaluate(`[...document.querySelectorAll(".vp-doc pre")].map((pre) => {
		const [line] = pre.querySelectorAll(".line");
		const text = document.createRange();
		text.selectNodeContents(line);
		return {
			isBroken: text.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(line).lineHeight),
			scrolls: pre.scrollWidth > pre.clientWidth,
		};
	})`);
	expect(found).toContainEqual({ isBroken: false, scrolls: true });
	expect(found).not.toContainEqual(expect.objectContaining({ isBroken: true }));
});

test("at 320 px no page scrolls sideways", async () => {
	const page = await open("/", { viewport: { width: 320, height: 640 } });
	for (const path of [
		"/",
		"/durable-sends.html",
		"/options.html",
		"/faults.html",
		"/frameworks.html",
		"/limits.html",
	]) {
		await page.goto(urlOf(path));
		expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), path).toBeLessThanOrEqual(0);
	}
});
