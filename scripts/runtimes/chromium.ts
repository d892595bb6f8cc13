import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { tools } from "./consumer.ts";
import { type Trial, wrongIn } from "./row.ts";

const known = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executable = [process.env.CHROMIUM, ...known].find((path) => path !== undefined && existsSync(path));
const waitMs = 60_000;

/** Files of one site, on a free port of this machine. */
async function servePage(files: Readonly<Record<string, { type: string; text: string }>>) {
	const server = createServer(({ url = "" }, response) => {
		const file = files[url];
		response.writeHead(file ? 200 : 404, { "content-type": file?.type ?? "text/plain" }).end(file?.text);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address: AddressInfo | string | null = server.address();
	const port = typeof address === "object" && address !== null ? address.port : 0;
	return {
		url: `http://127.0.0.1:${port}/`,
		close() {
			server.close();
			server.closeAllConnections();
		},
	};
}

/** What the page says on its console until it has come to its end. */
async function visit(url: string): Promise<string[]> {
	const browser = await chromium.launch({
		...(executable ? { executablePath: executable } : {}),
		args: ["--no-sandbox"],
	});
	try {
		const page = await browser.newPage();
		const said: string[] = [];
		page.on("console", (message) => said.push(message.text()));
		page.on("pageerror", (error) => said.push(String(error.stack)));
		const end = page.waitForEvent("console", {
			predicate: (message) => message.text().startsWith("end"),
			timeout: waitMs,
		});
		// A page that never ends is reported with what it said until then.
		const ended = end.catch((error: unknown) => said.push(String(error)));
		await page.goto(url);
		await ended;
		return said;
	} finally {
		await browser.close();
	}
}

/** A page in headless Chromium; `CHROMIUM` names one that is elsewhere. */
export function chromiumTrials(consumer: string): Trial[] {
	return [
		{
			group: "chromium",
			runtime: "Chromium",
			form: "page, msw's service worker",
			missing: executable ? undefined : "no Chromium was found: set CHROMIUM to its path",
			run: async () => {
				const { outputFiles } = await build({
					entryPoints: [join(consumer, "page.js")],
					bundle: true,
					platform: "browser",
					format: "esm",
					write: false,
					logLevel: "error",
				});
				const script = { type: "text/javascript", text: outputFiles[0]?.text ?? "" };
				const worker = { ...script, text: readFileSync(join(tools, "msw/lib/mockServiceWorker.js"), "utf8") };
				const html =
					'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>';
				const site = await servePage({
					"/": { type: "text/html", text: html },
					"/page.js": script,
					"/mockServiceWorker.js": worker,
				});
				try {
					const said = await visit(site.url);
					const [refused, ...rest] = said.filter((line) => line.startsWith("ok "));
					const ok = said.includes("end") && refused === "ok a live key is refused";
					return wrongIn({ ok, stdout: rest.join("\n"), output: said.join("\n") });
				} finally {
					site.close();
				}
			},
		},
	];
}
