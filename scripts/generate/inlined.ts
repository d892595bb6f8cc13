import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import config from "../../tsup.config.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = "src/sandbox/page/main.tsx";

/** The packages of which the build contains anything: what runs at a user's beside this one. By their names, sorted. */
export async function inlined(): Promise<string[]> {
	const parts = Array.isArray(config) ? config : [];
	// The page is in the build as text, which generated/page.ts holds.
	const entries = [...parts.flatMap(({ entry }) => Object.values(entry ?? {})), page];
	const { metafile } = await build({
		absWorkingDir: root,
		entryPoints: entries,
		outdir: "dist",
		bundle: true,
		format: "esm",
		platform: "neutral",
		mainFields: ["module", "main"],
		external: ["msw", "node:*", "messaging-conversations"],
		metafile: true,
		write: false,
	});
	const names = Object.values(metafile.outputs).flatMap(({ inputs }) =>
		Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => {
			const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
			return name !== undefined && bytesInOutput > 0 ? [name] : [];
		}),
	);
	return [...new Set(names)].sort();
}
