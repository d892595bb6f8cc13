import chromium from "@sparticuz/chromium";
import { chromium as engine } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
	interface ProvidedContext {
		/** Where the browser of this run listens. */
		browser: string;
	}
}

/** Starts the browser that all tests share. Each of their windows has cookies, storage and a cache of its own. */
export default async function startBrowser(project: TestProject): Promise<() => Promise<void>> {
	const browser = await engine.launchServer({
		executablePath: await chromium.executablePath(),
		args: ["--no-sandbox"],
	});
	project.provide("browser", browser.wsEndpoint());
	return () => browser.close();
}
