// The tabs of a page with `tabs: true`, and the sidebar, on the site as it was built.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { groups } from "../../docs/.vitepress/groups.ts";
import { useSite } from "./site.ts";
import { axeFindings } from "./visit.ts";

const { open, urlOf } = useSite();

const tab = (page: Page, name: string) => page.getByRole("tab", { name, exact: true });
const panel = (page: Page, name: string) => page.locator(`.vp-doc section.tab[aria-label="${name}"]`);
const names = (page: Page) => page.getByRole("tab").allInnerTexts();

/** Waits until this tab is open, and expects every other one to be closed. */
async function opens(page: Page, name: string): Promise<void> {
	await page.locator('[role="tab"][aria-selected="true"]', { hasText: name }).waitFor();
	expect(await page.locator('[role="tab"][aria-selected="true"]').allInnerTexts()).toEqual([name]);
	const shown = await page
		.locator("section.tab:not([hidden])")
		.evaluateAll((sections) => sections.map((section) => section.getAttribute("aria-label")));
	expect(shown).toEqual([name]);
	const hidden = page.locator('section.tab[hidden="until-found"]');
	expect(await hidden.count()).toBe((await names(page)).length - 1);
}

/** Waits until the heading is at the top of the window, below the site's bar. */
const waitUntilAtTop = (page: Page, id: string) =>
	page.waitForFunction(
		`(() => { const { top } = document.getElementById(${JSON.stringify(id)}).getBoundingClientRect(); return top >= 0 && top < 200; })()`,
	);

test("a page shows the first of its parts, and another one when its tab is chosen", async () => {
	const page = await open("/frameworks.html");
	await opens(page, "Next.js");
	expect(await names(page)).toEqual(["Next.js", "Express", "Fastify", "NestJS", "Lambda", "Workers", "Kubernetes"]);
	await tab(page, "NestJS").click();
	await opens(page, "NestJS");
	await panel(page, "NestJS").getByText("enableShutdownHooks").first().waitFor();
	expect(await panel(page, "Express").getByText("The error handler stands").isVisible()).toBe(false);
	expect(new URL(page.url()).hash).toBe("#nestjs");
	const controls = await tab(page, "NestJS").getAttribute("aria-controls");
	expect(await panel(page, "NestJS").getAttribute("id")).toBe(controls);
	expect(await panel(page, "NestJS").getAttribute("role")).toBe("tabpanel");
});

test("the arrow keys, Home and End go from tab to tab, and round the ends", async () => {
	const page = await open("/frameworks.html");
	await tab(page, "Next.js").focus();
	for (const [key, name] of [
		["ArrowRight", "Express"],
		["End", "Kubernetes"],
		["ArrowRight", "Next.js"],
		["ArrowLeft", "Kubernetes"],
		["Home", "Next.js"],
	] as const) {
		await page.keyboard.press(key);
		await opens(page, name);
		expect(await tab(page, name).evaluate((button) => button === document.activeElement)).toBe(true);
	}
	// One stop for the Tab key
	expect(await page.locator('[role="tab"][tabindex="0"]').count()).toBe(1);
});

test("a link to a heading inside of a tab opens it, from another page, the address and the outline", async () => {
	const page = await open("/frameworks.html#the-outbox-on-a-schedule");
	await opens(page, "Lambda");
	await waitUntilAtTop(page, "the-outbox-on-a-schedule");
	await tab(page, "Fastify").click();
	await opens(page, "Fastify");
	const outline = page.locator(".VPDocAsideOutline");
	await outline.getByRole("link", { name: "Caching" }).click();
	await opens(page, "Next.js");
	await waitUntilAtTop(page, "caching");
	// The same link once more, after another tab was chosen
	await tab(page, "Fastify").click();
	await outline.getByRole("link", { name: "Caching" }).click();
	await opens(page, "Next.js");
	await page.goBack();
	await opens(page, "Fastify");
});

test("a link of another page opens the tab that it names", async () => {
	const page = await open("/first-send.html");
	await page.waitForFunction("document.querySelector('#app').__vue_app__");
	await page.locator(".VPContent").evaluate((content) => {
		content.insertAdjacentHTML("afterbegin", '<p><a href="/frameworks.html#workers">to Workers</a></p>');
	});
	await page.getByRole("link", { name: "to Workers" }).click();
	await opens(page, "Workers");
	await waitUntilAtTop(page, "workers");
});

test("a hit of the site's search opens the tab that it is in, by a click and by Enter", async () => {
	const page = await open("/frameworks.html");
	await opens(page, "Next.js");
	for (const choose of [
		(id: string) => page.locator(`.VPLocalSearchBox .result[href$="${id}"]`).click(),
		async () => page.keyboard.press("Enter"),
	]) {
		await tab(page, "Express").click();
		await page.keyboard.press("Control+k");
		await page.locator(".VPLocalSearchBox input").fill("outbox on a schedule");
		await page.locator('.VPLocalSearchBox li:first-child .result[href$="#the-outbox-on-a-schedule"]').waitFor();
		await choose("#the-outbox-on-a-schedule");
		await opens(page, "Lambda");
	}
});

test("what the browser's search finds in a closed tab opens it", async () => {
	const page = await open("/frameworks.html");
	await opens(page, "Next.js");
	// Chromium's own search has no place in a test. This is the event that it sends before it shows a match.
	await panel(page, "Kubernetes").evaluate((section) => section.dispatchEvent(new Event("beforematch")));
	await opens(page, "Kubernetes");
});

test("the chosen tab stays chosen on the next visit, unless the address names another one", async () => {
	const page = await open("/frameworks.html");
	await tab(page, "Express").click();
	await tab(page, "Lambda").click();
	await page.goto(urlOf("/first-send.html"));
	await page.goto(urlOf("/frameworks.html"));
	await opens(page, "Lambda");
	await page.goto(urlOf("/first-send.html"));
	await page.goto(urlOf("/frameworks.html#kubernetes"));
	await opens(page, "Kubernetes");
	// What was found, and not chosen, is not remembered.
	await page.goto(urlOf("/first-send.html"));
	await page.goto(urlOf("/frameworks.html"));
	await opens(page, "Lambda");
});

test.each(["not json", '{"a":1}', "[1,null]"])("storage with %s in it changes nothing", async (stored) => {
	const page = await open("/first-send.html");
	await page.evaluate((text) => localStorage.setItem("chosen-tabs", text), stored);
	await page.goto(urlOf("/frameworks.html"));
	await opens(page, "Next.js");
	await tab(page, "Fastify").click();
	await opens(page, "Fastify");
});

test("where nothing can be stored, the tabs still open", async () => {
	const page = await open("/frameworks.html");
	await opens(page, "Next.js");
	await page.evaluate("Storage.prototype.setItem = () => { throw new Error('full'); }");
	await tab(page, "Fastify").click();
	await opens(page, "Fastify");
});

test.each(["#nothing", "#frameworks"])("an address with %s opens the first tab", async (hash) => {
	const page = await open(`/frameworks.html${hash}`);
	await opens(page, "Next.js");
});

test("without JavaScript the page shows everything, one part below the other", async () => {
	const page = await open("/frameworks.html", { javaScriptEnabled: false });
	for (const name of ["Next.js", "Express", "Kubernetes"])
		await page.getByRole("heading", { level: 2, name }).waitFor({ state: "visible" });
	expect(await page.getByRole("tab").count()).toBe(0);
});

test("a page without tabs has its parts below one another", async () => {
	const page = await open("/first-send.html");
	await page.waitForFunction("document.querySelector('#app').__vue_app__");
	expect(await page.locator("section.tab, [role=tab]").count()).toBe(0);
});

test.each([1440, 390, 320])("at %s px the tabs fit, and axe finds nothing", async (width) => {
	const page = await open("/frameworks.html", { viewport: { width, height: 844 } });
	await tab(page, "Kubernetes").click();
	await opens(page, "Kubernetes");
	for (const button of await page.getByRole("tab").all()) {
		const box = await button.boundingBox();
		expect(box?.x).toBeGreaterThanOrEqual(0);
		expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
	}
	expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	const found = await axeFindings(page);
	expect(found.filter((finding) => !/empty-table-header|label-content-name-mismatch/.test(finding))).toEqual([]);
});

const openLines = (page: Page) =>
	page.locator(".VPSidebarItem.level-0:not(.collapsed) > .items .VPSidebarItem:visible");

test("the sidebar fits on one screen, and has one group open at a time", async () => {
	const page = await open("/first-send.html", { viewport: { width: 1440, height: 760 } });
	await page.locator(".VPSidebarItem.level-0.has-active").first().waitFor();
	const own = Object.keys(groups).filter((group) => group !== "Old");
	for (const group of own) {
		const item = page.locator(".VPSidebarItem.level-0", {
			has: page.locator(":scope > .item", { hasText: new RegExp(`^${group}$`) }),
		});
		// By its caret, which goes nowhere, and then by its name
		const caret = item.locator(":scope > .item > .caret");
		if ((await item.getAttribute("class"))?.includes("collapsed")) {
			await caret.click();
			await page.waitForFunction(
				`document.querySelectorAll(".VPSidebarItem.level-0.collapsible:not(.collapsed)").length <= 1`,
			);
		}
		await item.getByRole("link").first().click();
		await page.waitForFunction(
			`document.querySelectorAll(".VPSidebarItem.level-0.collapsible:not(.collapsed)").length <= 1`,
		);
		expect(await openLines(page).count(), group).toBeLessThanOrEqual(12);
	}
});

test("a group with one page is a plain link, and closed groups fit on one screen", async () => {
	const page = await open("/frameworks.html", { viewport: { width: 1440, height: 760 } });
	await page.locator(".VPSidebarItem.level-0.is-active, .VPSidebarItem.level-0.has-active").first().waitFor();
	const alone = page.locator(".VPSidebarItem.level-0", { hasText: /^Frameworks$/ });
	expect(await alone.locator(".caret").count()).toBe(0);
	expect(await alone.getByRole("link").count()).toBe(1);
	const sidebar = page.locator(".VPSidebar");
	expect(await sidebar.evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)).toBe(true);
});
