import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";
import { bundleCommand, type Ended, processRun } from "./process.ts";

/** How a command ended, and which local variables held a secret when something was thrown in it. */
export interface Watched extends Ended {
	readonly found: readonly string[];
	/** How many frames of the command were read. */
	readonly pauses: number;
}

/** Gives how to run the command in a process whose local variables are read as an error reporter reads them. */
export async function watchedCommand(
	secrets: readonly string[],
	deepest: number,
): Promise<(args: readonly string[], env: Record<string, string>, cwd?: string) => Promise<Watched>> {
	const folder = mkdtempSync(join(tmpdir(), "watched-"));
	afterAll(() => rmSync(folder, { recursive: true }));
	const outfile = join(folder, "watch.mjs");
	await build({
		entryPoints: [fileURLToPath(new URL("watch-variables.ts", import.meta.url))],
		outfile,
		bundle: true,
		format: "esm",
		platform: "node",
	});
	const [node = "", ...command] = await bundleCommand();
	let runs = 0;
	return async (args, env, cwd) => {
		const into = join(folder, `${runs++}.json`);
		const watching = { WATCHED_SECRETS: JSON.stringify(secrets), WATCHED_DEPTH: `${deepest}`, WATCHED_INTO: into };
		const run = processRun([node, "--import", pathToFileURL(outfile).href, ...command], cwd);
		const ended = await run(args, { ...env, ...watching });
		return { ...ended, ...JSON.parse(readFileSync(into, "utf8")) };
	};
}
