import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { afterAll } from "vitest";
import type { Task } from "./worker.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
/** A checkout of an earlier version of the package that is built, whose workers run beside the new ones. */
export const { EARLIER: earlier } = process.env;

/** Compiles the worker once, because most of these processes soon die. Returns the file. */
function once(compile: (outfile: string) => Promise<unknown>, name: string): () => Promise<string> {
	// Where Node finds the packages that the worker imports.
	const outfile = `${folder}node_modules/${name}-${process.pid}.mjs`;
	process.once("exit", () => rmSync(outfile, { force: true }));
	let built: Promise<unknown> | undefined;
	return async () => {
		built ??= compile(outfile);
		await built;
		return outfile;
	};
}

const options: BuildOptions = {
	entryPoints: [`${folder}worker.ts`],
	bundle: true,
	platform: "node",
	format: "esm",
	target: "node20",
	sourcemap: "inline",
};
const bundle = once((outfile) => build({ ...options, outfile, packages: "external" }), "worker");
const earlierBundle = once(
	(outfile) =>
		build({
			...options,
			outfile,
			external: ["@electric-sql/pglite", "bullmq", "libsql", "mysql2", "mysql2/promise", "pg", "pg-boss"],
			alias: {
				"messaging-conversations": `${earlier}/dist/index.js`,
				"messaging-conversations/outbox": `${earlier}/dist/outbox/index.js`,
			},
		}),
	"earlier-worker",
);

/** Starts workers in processes of their own. Those that still run after the tests of the file are killed. */
export function useWorkers(): (task: Task) => Promise<ChildProcess> {
	const running = new Set<ChildProcess>();
	afterAll(() => {
		for (const child of running) child.kill("SIGKILL");
	});
	return async (task) => {
		const file = await (task.isEarlier ? earlierBundle() : bundle());
		const child = spawn(process.execPath, ["--liftoff-only", file], {
			env: { ...process.env, TASK: JSON.stringify(task) },
			stdio: ["ignore", "pipe", "pipe"],
		});
		child.stderr?.pipe(process.stderr, { end: false });
		running.add(child);
		child.once("exit", () => running.delete(child));
		return child;
	};
}
