import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles the sources of the command, because a loader of TypeScript would cost each run seconds, and gives how to run it. */
export async function bundleCommand(): Promise<string[]> {
	const outfile = join(mkdtempSync(join(tmpdir(), "cli-")), "cli.mjs");
	const root = fileURLToPath(new URL("../..", import.meta.url));
	await build({
		absWorkingDir: root,
		entryPoints: ["src/cli/cli.ts"],
		outfile,
		bundle: true,
		format: "esm",
		platform: "node",
		mainFields: ["module", "main"],
	});
	return [process.execPath, outfile];
}
