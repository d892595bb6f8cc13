import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";

/** How a run of the command ended. */
export interface Ended {
	readonly code: unknown;
	readonly out: string;
	readonly err: string;
}

/** Runs the command to its end, with these variables in its environment. */
export type Run = (args: readonly string[], env?: Record<string, string>) => Promise<Ended>;

/**
 * Runs the command in a process of its own.
 *
 * @param command the program, and its arguments before those of the run
 * @param cwd the folder in which it runs
 */
export function processRun([file = "", ...before]: readonly string[], cwd?: string): Run {
	return async (args, env) => {
		const child = spawn(file, [...before, ...args], {
			...(cwd !== undefined && { cwd }),
			env: { ...process.env, ...env },
		});
		let [out, err] = ["", ""];
		child.stdout.on("data", (chunk) => (out += chunk));
		child.stderr.on("data", (chunk) => (err += chunk));
		const [code] = await once(child, "close");
		return { code, out, err };
	};
}

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
