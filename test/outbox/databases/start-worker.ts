import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Task } from "./worker.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
/** Where Node finds the packages that the worker imports. */
const bundle = `${folder}node_modules/worker-${process.pid}.mjs`;
process.once("exit", () => rmSync(bundle, { force: true }));

let built: Promise<unknown> | undefined;

/** Starts a worker in a process of its own. It is compiled once, because most of these workers soon die. */
export async function startWorker(task: Task): Promise<ChildProcess> {
	built ??= build({
		entryPoints: [`${folder}worker.ts`],
		outfile: bundle,
		bundle: true,
		packages: "external",
		platform: "node",
		format: "esm",
		target: "node20",
		sourcemap: "inline",
	});
	await built;
	return spawn(process.execPath, ["--liftoff-only", bundle], {
		env: { ...process.env, TASK: JSON.stringify(task) },
		stdio: ["ignore", "pipe", "inherit"],
	});
}
