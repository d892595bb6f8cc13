import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { child } from "../../../scripts/runtimes/child.ts";
import { buildAndPack } from "../../../scripts/runtimes/consumer.ts";
import { startServer } from "../../../test/postgres.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const installed = fileURLToPath(new URL("../node_modules/messaging-conversations", import.meta.url));
const entries = ["index", "node", "sync/index", "outbox/index", "sandbox/index", "sandbox/server"];
const programs = fileURLToPath(new URL("../node_modules/.programs", import.meta.url));
const bin = fileURLToPath(new URL("../node_modules/.bin/messaging-conversations", import.meta.url));

declare module "vitest" {
	interface ProvidedContext {
		postgres: string;
	}
}

/** Starts one PostgreSQL server for all tests. Its programs are installed with the other example applications. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	await Promise.all([install(), compile()]);
	const { create, close } = await startServer(new URL("../../apps/package.json", import.meta.url).href);
	project.provide("postgres", await create());
	return close;
}

/** Compiles the programs that the tests start. */
async function compile(): Promise<void> {
	await build({
		entryPoints: [
			"web/main-express.ts",
			"web/main-fastify.ts",
			"nestjs/main.ts",
			"kubernetes/worker.ts",
			"mirror/mirror.ts",
		],
		outdir: programs,
		outExtension: { ".js": ".mjs" },
		bundle: true,
		packages: "external",
		format: "esm",
		target: "node20",
		logLevel: "error",
	});
}

/**
 * Puts the package into node_modules, where its users have it: bundlers, Jest and child processes then find it by its
 * name. In CI it is built from the sources in half a second. `npm run test:long -- recipes` installs the packed one.
 */
async function install(): Promise<void> {
	rmSync(installed, { recursive: true, force: true });
	mkdirSync(installed, { recursive: true });
	rmSync(bin, { force: true });
	symlinkSync("../messaging-conversations/dist/cli.js", bin);
	if (process.env.RECIPES_PACKED) return unpack();
	copyFileSync(join(root, "package.json"), join(installed, "package.json"));
	const inDist = (...names: string[]) => names.map((name) => ({ in: join(root, `src/${name}.ts`), out: name }));
	const esm = [...inDist(...entries), { in: join(root, "src/cli/cli.ts"), out: "cli" }];
	await Promise.all(
		[
			{ format: "esm" as const, entryPoints: esm },
			{ format: "cjs" as const, entryPoints: inDist(...entries), outExtension: { ".js": ".cjs" } },
		].map((format) =>
			build({
				...format,
				outdir: join(installed, "dist"),
				bundle: true,
				external: ["messaging-conversations", "node:*"],
				platform: "neutral",
				mainFields: ["module", "main"],
				target: "es2022",
				logLevel: "error",
			}),
		),
	);
	chmodSync(join(installed, "dist/cli.js"), 0o755);
}

async function unpack(): Promise<void> {
	const work = mkdtempSync(join(tmpdir(), "recipes-"));
	try {
		const options = ["-C", installed, "--strip-components", "1"];
		const { ok, output } = await child("tar", ["-xzf", await buildAndPack(work), ...options], { cwd: work });
		if (!ok) throw new Error(output);
	} finally {
		rmSync(work, { recursive: true });
	}
}
