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

/** rolldown makes it half a kilobyte smaller in gzip than esbuild does. */
async function bundledScript(): Promise<string> {
	const bundle = await rolldown({
		input: `${source}main.tsx`,
		platform: "browser",
		transform: {
			target,
			// Calls of h are shorter than those of the JSX runtime, for which the types are.
			jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
			inject: { h: ["preact", "h"], Fragment: ["preact", "Fragment"] },
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
