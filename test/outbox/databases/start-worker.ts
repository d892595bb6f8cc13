import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";
import type { Task } from "./worker.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Compiles a program once, because most of these processes soon die. */
async function compile(name: string): Promise<string> {
	// Where Node finds the packages that it imports.
	const outfile = `${folder}node_modules/${name}-${process.pid}.mjs`;
	process.once("exit", () => rmSync(outfile, { force: true }));
	await build({
		entryPoints: [`${folder}${name}.ts`],
		outfile,
		bundle: true,
		packages: "external",
		platform: "node",
		format: "esm",
		target: "node20",
		sourcemap: "inline",
	});
	return outfile;
}

/** Starts workers in processes of their own. Those that still run after the tests of the file are killed. */
export const useWorkers = (): ((task: Task) => Promise<ChildProcess>) => useProgram<Task>("worker");

/** The same for another program of this folder, which gets its task as JSON in `TASK`. */
export function useProgram<Given>(name: string): (task: Given, options?: readonly string[]) => Promise<ChildProcess> {
	const running = new Set<ChildProcess>();
	let built: Promise<string> | undefined;
	afterAll(() => {
		for (const child of running) child.kill("SIGKILL");
	});
	return async (task, options = []) => {
		built ??= compile(name);
		const child = spawn(process.execPath, ["--liftoff-only", ...options, await built], {
			env: { ...process.env, TASK: JSON.stringify(task) },
			stdio: ["ignore", "pipe", "pipe"],
		});
		child.stderr?.pipe(process.stderr, { end: false });
		running.add(child);
		child.once("exit", () => running.delete(child));
		return child;
	};
}
