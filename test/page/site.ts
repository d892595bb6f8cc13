import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../../docs/.vitepress/dist", import.meta.url));

const types: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
};

/** Serves the built docs site, as any static host does. */
export async function serveSite(): Promise<{ server: Server; address: string }> {
	const server = createServer(async ({ url = "/" }, response) => {
		const path = decodeURI(new URL(url, "http://site").pathname);
		const file = join(built, path.endsWith("/") ? `${path}index.html` : path);
		try {
			const content = await readFile(file);
			response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(content);
		} catch {
			response.writeHead(404).end();
		}
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
