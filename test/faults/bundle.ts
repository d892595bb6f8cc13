import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface Bundle {
	/** A script that Node runs as it is. */
	readonly path: string;
	readonly remove: () => void;
}

/** Bundles a module with everything that it imports, because a loader of TypeScript costs each process a second. */
export async function bundle(module: URL): Promise<Bundle> {
	const folder = mkdtempSync(join(tmpdir(), "faults-"));
	const path = join(folder, "bundle.mjs");
	const remove = () => rmSync(folder, { recursive: true });
	await build({
		entryPoints: [fileURLToPath(module)],
		outfile: path,
		bundle: true,
		format: "esm",
		platform: "node",
		mainFields: ["module", "main"],
	});
	return { path, remove };
}
