import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundledScript } from "../../scripts/generate/page.ts";
import { createSandbox } from "../../src/sandbox/index.ts";
import { pageFiles, pageHeaders } from "../../src/sandbox/server/page.ts";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The policy of the server's page, except that the page may ask no server. Browsers ignore frame-ancestors in a page. */
const policy = pageHeaders["content-security-policy"]
	?.replace("connect-src 'self'", "connect-src 'none'")
	.replace("frame-ancestors 'none'; ", "");

/** Commands and links that a reader would copy lead to a server, which the playground does not have. */
const noCopies = ".base, .copy { display: none }";

/** Writes the sandbox's page for the playground. It asks the sandbox of the page around it, and no server. */
export async function writeFrame(): Promise<void> {
	const { origin } = new URL(createSandbox().connection.baseUrl);
	const script = await bundledScript({ fetchFrom: pathOf("../playground/frame.ts"), origin });
	const files = Object.fromEntries([...pageFiles].map(([name, { body }]) => [name || "index.html", body]));
	const html = files["index.html"]?.replace(
		"<title>",
		`<meta http-equiv="content-security-policy" content="${policy}">\n<title>`,
	);
	mkdirSync(pathOf("../public/phone"), { recursive: true });
	for (const [name, body] of Object.entries({
		...files,
		"index.html": html ?? "",
		"page.js": script,
		"page.css": `${files["page.css"]}${noCopies}`,
	}))
		writeFileSync(pathOf(`../public/phone/${name}`), body);
}
