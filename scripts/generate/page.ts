import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const source = fileURLToPath(new URL("../../src/sandbox/page/", import.meta.url));

/** generated/page.ts: the sandbox's page as text, so that a server reads nothing from the disk. */
export async function sandboxPage(): Promise<Record<string, string>> {
	const { outputFiles } = await build({
		absWorkingDir: source,
		entryPoints: ["main.tsx", "page.css"],
		outdir: source,
		bundle: true,
		minify: true,
		charset: "utf8",
		format: "esm",
		// Calls of h are shorter than those of the JSX runtime, for which the types are.
		tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment" } },
		inject: [fileURLToPath(import.meta.resolve("preact"))],
		target: ["chrome123", "firefox120", "safari17.5"],
		legalComments: "none",
		write: false,
	});
	const textOf = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))?.text.trim() ?? "";
	const text = `// Generated from src/sandbox/page by \`npm run generate\`.

/** The script of the sandbox's page. */
export const script: string = ${JSON.stringify(textOf(".js"))};

/** The style of the sandbox's page. */
export const style: string = ${JSON.stringify(textOf(".css"))};
`;

	return { "generated/page.ts": text };
}
