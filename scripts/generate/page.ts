import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { rolldown } from "rolldown";

const source = fileURLToPath(new URL("../../src/sandbox/page/", import.meta.url));
const target = ["chrome123", "firefox120", "safari17.5"];

/** generated/page.ts: the sandbox's page as text, so that a server reads nothing from the disk. */
export async function sandboxPage(): Promise<Record<string, string>> {
	const [script, style] = await Promise.all([bundledScript(), bundledStyle()]);
	const text = `// Generated from src/sandbox/page by \`npm run generate\`.

/** The script of the sandbox's page. */
export const script: string = ${JSON.stringify(script)};

/** The style of the sandbox's page. */
export const style: string = ${JSON.stringify(style)};
`;

	return { "generated/page.ts": text };
}

/** How a build of the script differs from the one that a server sends. */
export interface ScriptOptions {
	/** The module that exports the `fetch` that the page uses. @default the browser's own */
	readonly fetchFrom?: string;
	/** The origin of the sandbox that the page names. @default that of the page */
	readonly origin?: string;
}

/** The script of the page. rolldown makes it half a kilobyte smaller in gzip than esbuild does. */
export async function bundledScript({ fetchFrom, origin }: ScriptOptions = {}): Promise<string> {
	const bundle = await rolldown({
		input: `${source}main.tsx`,
		platform: "browser",
		transform: {
			target,
			// Calls of h are shorter than those of the JSX runtime, for which the types are.
			jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
			inject: {
				h: ["preact", "h"],
				Fragment: ["preact", "Fragment"],
				...(fetchFrom === undefined ? {} : { fetch: [fetchFrom, "fetch"] }),
			},
			...(origin === undefined ? {} : { define: { "location.origin": JSON.stringify(origin) } }),
		},
	});
	const { output } = await bundle.generate({ format: "esm", minify: true, comments: false });
	return output[0].code.trim();
}

async function bundledStyle(): Promise<string> {
	const options = { bundle: true, minify: true, write: false, target } as const;
	const { outputFiles } = await build({ entryPoints: [`${source}page.css`], ...options });
	return outputFiles[0]?.text.trim() ?? "";
}
