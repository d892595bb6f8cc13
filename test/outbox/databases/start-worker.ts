import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";
import type { Task } from "./worker.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));

// Where Node finds the packages that the worker imports.
const outfile = `${folder}node_modules/worker-${process.pid}.mjs`;
process.once("exit", () => rmSync(outfile, { force: true }));
let built: Promise<unknown> | undefined;

/** Compiles the worker once, because most of these processes soon die. */
function compile(): Promise<unknown> {
	built ??= build({
		entryPoints: [`${folder}worker.ts`],
		outfile,
		bundle: true,
		packages: "external",
		platform: "node",
		format: "esm",
		target: "node20",
		sourcemap: "inline",
	});
	return built;
}

/** Starts workers in processes of their own. Those that still run after the tests of the file are killed. */
export function useWorkers(): (task: Task) => Promise<ChildProcess> {
	const running = new Set<ChildProcess>();
	afterAll(() => {
		for (const child of running) child.kill("SIGKILL");
	});
	return async (task) => {
		await compile();
		const child = spawn(process.execPath, ["--liftoff-only", outfile], {
			env: { ...process.env, TASK: JSON.stringify(task) },
			stdio: ["ignore", "pipe", "pipe"],
		});
		child.stderr?.pipe(process.stderr, { end: false });
		running.add(child);
		child.once("exit", () => running.delete(child));
		return child;
	};
}
