/**
 * `npm run bench:page [-- requests]`: what the sandbox's page costs the CRM under test, after 50,000 requests. While the page
 * does each thing, another process makes requests under test. Prints how long the thing took, how long one of those
 * requests waited at most, and how many nodes the page has. Writes nothing.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(new URL("../../../test/page/package.json", import.meta.url));
const { chromium: engine }: typeof import("playwright-core") = require("playwright-core");
const { default: chromium }: typeof import("@sparticuz/chromium") = await import(
	require.resolve("@sparticuz/chromium")
);

const count = Number(process.argv[2] ?? 50_000);
const children: ChildProcess[] = [];

async function started(file: string, ...args: string[]): Promise<[ChildProcess, Record<string, string>]> {
	const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ["--import", "tsx"] });
	children.push(child);
	const [first] = await once(child, "message");
	return [child, first];
}

async function told(child: ChildProcess, name: string): Promise<number> {
	const answered = once(child, "message");
	child.send(name);
	const [answer] = await answered;
	return answer[name];
}

const browser = await engine.launch({ executablePath: await chromium.executablePath(), args: ["--no-sandbox"] });
try {
	const [served, { controlUrl = "", token = "", apiKey = "", url = "" }] = await started("served.ts", String(count));
	const [asker] = await started("asker.ts", url, apiKey);
	const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
	page.setDefaultTimeout(600_000);

	const measure = async (name: string, act: () => Promise<unknown>): Promise<void> => {
		await new Promise((resolve) => setTimeout(resolve, 1_000));
		await told(asker, "longest");
		const start = performance.now();
		const note = await act();
		const took = performance.now() - start;
		const waited = await told(asker, "longest");
		const nodes = await page.locator("*").count();
		const rss = (await told(served, "maxRss")) / 1_024;
		console.log(
			`${name.padEnd(34)} ${took.toFixed(0).padStart(6)} ms, a request waited ${waited.toFixed(0).padStart(5)} ms, ${nodes} nodes, ${rss.toFixed(0)} MiB at most${note ? `, ${note}` : ""}`,
		);
	};
	const search = async (words: string): Promise<void> => {
		const answered = page.waitForResponse((response) => new URL(response.url()).searchParams.get("search") === words);
		await page.getByLabel("Text in the log").fill(words);
		await (await answered).finished();
	};
	const bug = async (query: string): Promise<string> => {
		const response = await fetch(`${controlUrl}/bug${query}`, { headers: { "x-sandbox-token": token } });
		if (!response.ok) throw new Error(await response.text());
		return `${((await response.text()).length / 1e6).toFixed(0)} MB`;
	};

	await measure("nothing, for five seconds", () => new Promise((resolve) => void setTimeout(resolve, 5_000, "")));
	await measure("open the page", async () => {
		await page.goto(`${controlUrl}/ui/#token=${token}`);
		await page.getByRole("log", { name: "Requests" }).getByRole("listitem").first().waitFor();
	});
	await measure("ten pages of the log", async () => {
		for (let at = 0; at < 10; at++) {
			await page.getByRole("tabpanel").getByRole("button", { name: "Load older" }).click();
			await page.waitForTimeout(300);
		}
	});
	await measure("search a word that is in all", () => search("flat"));
	await measure("search a word that is in one", () => search('"Text 1234 about"'));
	await measure("search with filters", () => search("op:send outcome:held"));
	await measure("search what is nowhere", () => search("nowhere-at-all"));
	await measure("a bug file", () => bug(""));
	await measure("a bug file that keeps its content", () => bug("?keepContent=true"));
} finally {
	for (const child of children) child.kill();
	await browser.close();
}
