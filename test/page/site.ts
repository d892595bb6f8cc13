import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { openPage } from "./visit.ts";

const built = fileURLToPath(new URL("../../docs/.vitepress/dist", import.meta.url));

const types: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
};

/** Serves the built docs site to the tests of a file, as any static host does. */
export function useSite() {
	let server: Server;
	let origin: string;
	beforeAll(async () => {
		server = createServer(answer);
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	});
	afterAll(() => {
		server.closeAllConnections();
		server.close();
	});
	return {
		urlOf: (path: string): string => `${origin}${path}`,
		/** Opens a page. When the test ends, it must have thrown nothing and asked nothing of another site. */
		async open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
			const wrong: string[] = [];
			const page = await openPage(`${origin}${path}`, wrong, { viewport: { width: 1440, height: 900 }, ...options });
			onTestFinished(() => expect(wrong).toEqual([]));
			return page;
		},
	};
}

async function answer({ url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
	const path = decodeURI(new URL(url, "http://site").pathname);
	const file = join(built, path.endsWith("/") ? `${path}index.html` : path);
	try {
		const content = await readFile(file);
		response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(content);
	} catch {
		response.writeHead(404).end();
	}
}
