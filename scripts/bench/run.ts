/**
 * `npm run bench [-- rounds] [parts]`: the package as users have it against the field, on one loopback server in a
 * process of its own. Prints tables and leaves nothing behind.
 */
import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { createClient as generate } from "@hey-api/openapi-ts";
import { type BuildOptions, build } from "esbuild";
import { saveFigures } from "./figures.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
// Beside the field's packages, so that what is built there finds them.
const work = `${here}node_modules/.bench/`;
const parts = ["calls", "stripe", "walks", "starts", "heap"] as const;
const [rounds = "30", ...asked] = process.argv.slice(2);

const bundled: BuildOptions = { bundle: true, format: "esm", platform: "node", target: "es2022", logLevel: "error" };
const phone = /phone-metadata|libphonenumber-js/;

async function prepare(): Promise<void> {
	await rm(work, { recursive: true, force: true });
	await mkdir(`${work}build`, { recursive: true });
	// As in the package's own package.json: without it Node parses each file twice to find out.
	await writeFile(`${work}package.json`, JSON.stringify({ type: "module", sideEffects: false }));
	await generate({
		input: `${root}openapi.json`,
		output: { path: `${work}build/hey-api`, clean: true },
		plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
		logs: { level: "silent" },
	});
	const package_ = { ...bundled, outdir: `${work}build`, mainFields: ["module", "main"] };
	await build({ ...package_, entryPoints: [`${root}src/index.ts`, `${root}src/node.ts`] });
	await build({
		...bundled,
		entryPoints: { "without-phone": `${root}src/index.ts` },
		outdir: `${work}build`,
		plugins: [
			{
				name: "without-phone",
				setup({ onResolve, onLoad }) {
					onResolve({ filter: phone }, ({ path }) => ({ path, namespace: "none" }));
					onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {}" }));
				},
			},
		],
	});
	await build({
		...bundled,
		stdin: {
			contents: `export * from "./client.gen.ts"; export * from "./sdk.gen.ts";`,
			resolveDir: `${work}build/hey-api`,
		},
		outfile: `${work}build/hey-api.js`,
	});
	await build({
		...bundled,
		entryPoints: [...parts, "turn", "server"].map((part) => `${here}${part}.ts`),
		outdir: work,
		plugins: [
			{
				name: "as-installed",
				setup({ onResolve }) {
					// The generated client is bundled as its users would; all else is as it was installed or built.
					onResolve({ filter: /^\.\/build\/hey-api\// }, ({ path }) => ({ path: `${work}${path.slice(2)}` }));
					onResolve({ filter: /^\.\/build\// }, ({ path }) => ({ path, external: true }));
					onResolve({ filter: /^[a-z@]/ }, ({ path, kind }) =>
						kind === "entry-point" ? null : { path, external: true },
					);
				},
			},
		],
	});
}

async function finished(child: ChildProcess): Promise<void> {
	const [code] = await once(child, "exit");
	if (code !== 0) throw new Error(`a part ended with ${code}`);
}

await prepare();
const notes = `${work}figures.jsonl`;
process.env.BENCH_FIGURES = notes;
const server = fork(`${work}server.js`, { stdio: "inherit" });
try {
	const [baseUrl] = await once(server, "message");
	console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${rounds} rounds`);
	for (const part of parts) {
		if (asked.length > 0 && !asked.includes(part)) continue;
		await finished(
			spawn(process.execPath, ["--expose-gc", `${work}${part}.js`, baseUrl, rounds], { stdio: "inherit" }),
		);
	}
	saveFigures(notes, `${root}contributing/performance.json`, {
		date: new Date().toISOString().slice(0, 10),
		node: `Node ${process.version}`,
		machine: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
		rounds: Number(rounds),
		version: `commit ${execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim()}`,
	});
} finally {
	server.disconnect();
	await rm(work, { recursive: true, force: true });
}
