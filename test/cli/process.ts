import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";

/** Bundles the sources of the command, because a loader of TypeScript would cost each run seconds, and gives how to run it. */
export async function bundleCommand(): Promise<string[]> {
	const folder = mkdtempSync(join(tmpdir(), "cli-"));
	afterAll(() => rmSync(folder, { recursive: true }));
	const outfile = join(folder, "cli.mjs");
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
