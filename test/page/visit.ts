import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, inject, onTestFinished } from "vitest";
import { type Client, createClient } from "../../src/index.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/index.ts";
import { type SandboxServer, serve } from "../../src/sandbox/server.ts";
import { longestWaitMs } from "../patience.ts";

const browser = await chromium.connect(inject("browser"));

/**
 * Opens an address in a window of its own. `wrong` collects what the page may not do: throw, breach its content security
 * policy, or ask anything of another machine.
 */
export async function openPage(url: string, wrong: string[], options: BrowserContextOptions = {}): Promise<Page> {
	const context = await browser.newContext({ viewport: { width: 1280, height: 760 }, ...options });
	context.setDefaultTimeout(longestWaitMs);
	onTestFinished(() => context.close());
	const page = await context.newPage();
	page.on("pageerror", (error) => wrong.push(String(error)));
	page.on("console", (message) => {
		// A lost connection, a refused token and a refused call are errors on the console, which no page can prevent.
		const isExpected = /ERR_|status of 40[01]/.test(message.text()) || message.location().url.includes("/api/v1/");
		if (message.type() === "error" && !isExpected) wrong.push(message.text());
	});
	page.on("request", (request) => {
		if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) wrong.push(request.url());
	});
	await page.goto(url);
	return page;
}

export interface Visit {
	readonly sandbox: Sandbox;
	readonly server: SandboxServer;
	readonly client: Client;
	readonly page: Page;
	/** Opens another page of the same sandbox. */
	open(options?: BrowserContextOptions): Promise<Page>;
}

/**
 * A sandbox with its page in a browser. When the test ends, the page must have thrown nothing, reported no breach of its
 * content security policy, and asked nothing of any other origin.
 */
export async function visit(options: SandboxOptions = {}, screen: BrowserContextOptions = {}): Promise<Visit> {
	const sandbox = createSandbox(options);
	const server = await serve(sandbox);
	const { baseUrl, apiKey, controlUrl, token } = server;
	const wrong: string[] = [];
	const open = (more: BrowserContextOptions = {}): Promise<Page> =>
		openPage(`${controlUrl}/ui/#token=${token}`, wrong, { ...screen, ...more });
	onTestFinished(async () => {
		await server.close();
		expect(wrong).toEqual([]);
	});
	const page = await open();
	await page.getByText("● connected").waitFor();
	return { sandbox, server, client: createClient({ baseUrl, apiKey }), page, open };
}

export const messages = (page: Page) => page.getByRole("log", { name: "Messages" });
export const requests = (page: Page) => page.getByRole("log", { name: "Requests" });

/** Waits until the element shows the text. */
export const shows = (element: ReturnType<Page["locator"]>, text: string) => element.getByText(text).first().waitFor();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What axe finds wrong with the page as it is, in light, and with its colours in dark. On the sandbox's page a contrast that
 * it cannot tell is a finding too: it looks again with the text in view, where something that scrolls cut it off, and without the page behind a
 * modal dialog, which it takes for what is below the text.
 */
export async function axeFindings(page: Page): Promise<string[]> {
	const found: string[] = [];
	for (const [colorScheme, options] of [
		["light", {}],
		["dark", { runOnly: ["color-contrast"] }],
	] as const) {
		await page.emulateMedia({ colorScheme });
		const findings: string[] = await page.evaluate(`(async () => {
			if (!globalThis.axe) { ${axe} }
			const { violations, incomplete } = await axe.run(${JSON.stringify(options)});
			const found = [...violations];
			const isOurs = location.pathname.startsWith("/_sandbox/ui/");
			const unclear = isOurs ? incomplete.filter(({ id }) => id === "color-contrast").flatMap(({ nodes }) => nodes) : [];
			const places = [...document.querySelectorAll("*")].map((each) => [each, each.scrollTop, each.scrollLeft]);
			const behind = unclear.length > 0 && document.querySelector("dialog:modal") ? [...document.querySelectorAll("#page > :not(dialog)")] : [];
			for (const each of behind) each.style.visibility = "hidden";
			for (const { target: [selector] } of unclear) {
				document.querySelector(selector).scrollIntoView({ block: "center", inline: "center" });
				const again = await axe.run(selector, { runOnly: ["color-contrast"] });
				found.push(...again.violations, ...again.incomplete);
			}
			for (const each of behind) each.style.visibility = "";
			if (unclear.length > 0) for (const [each, top, left] of places) each.scrollTo(left, top);
			return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary));
		})()`);
		found.push(...findings.map((finding) => `${colorScheme}: ${finding}`));
	}
	return found;
}

/** Writes the picture of a story for the guide, when SCREENSHOTS is set. */
export async function picture(page: Page, name: string): Promise<void> {
	if (!process.env.SCREENSHOTS) return;
	const path = new URL(`../../docs/images/${name}.png`, import.meta.url).pathname;
	await page.mouse.move(0, 0);
	await page.screenshot({ path, animations: "disabled" });
}

/** Writes the picture of two windows side by side, when SCREENSHOTS is set. */
export async function pictureOfBoth(left: Page, right: Page, name: string): Promise<void> {
	if (!process.env.SCREENSHOTS) return;
	const images = [];
	for (const page of [left, right]) {
		const size = page.viewportSize();
		await page.setViewportSize({ width: 790, height: 720 });
		const png = await page.screenshot({ animations: "disabled" });
		images.push(`<img src="data:image/png;base64,${png.toString("base64")}">`);
		if (size) await page.setViewportSize(size);
	}
	const desk = await browser.newPage({ viewport: { width: 1600, height: 732 } });
	await desk.setContent(`<style>
		body { margin: 6px; display: flex; gap: 8px; background: #5b6570 }
		img { border-radius: 6px }
	</style>${images.join("")}`);
	await picture(desk, name);
	await desk.close();
}
