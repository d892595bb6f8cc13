import { build } from "esbuild";

/**
 * One file a function, with the client in it. `node_modules` is not deployed.
 */
export async function bundle(outdir: string): Promise<void> {
	await build({
		entryPoints: ["lambda/handler.ts", "lambda/run-once.ts"],
		outdir,
		outExtension: { ".js": ".mjs" },
		bundle: true,
		platform: "node",
		target: "node20",
		format: "esm",
		// Some dependencies of pg are CommonJS, and call `require`, which ES
		// modules don't have.
		banner: {
			js: `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`,
		},
		minify: true,
		// With NODE_OPTIONS=--enable-source-maps the stacks name your files
		sourcemap: true,
	});
}
