import { join } from "node:path";
import { build } from "esbuild";
import webpack from "webpack";
import { child } from "./child.ts";
import type { Service } from "./consumer.ts";
import { entryPoints, nodeOf, nodes, versionOf } from "./engines.ts";
import { type Trial, wrongIn } from "./row.ts";

type Format = "esm" | "cjs";

interface Bundler {
	name: "esbuild" | "webpack";
	/** Writes the entry and all that it imports as one minified file. */
	bundle: (entry: string, folder: string, file: string, format: Format) => Promise<void>;
}

const bundlers: readonly Bundler[] = [
	{
		name: "esbuild",
		async bundle(entry, folder, file, format) {
			await build({
				entryPoints: [entry],
				outfile: join(folder, file),
				bundle: true,
				minify: true,
				platform: "node",
				format,
				logLevel: "error",
			});
		},
	},
	{
		name: "webpack",
		bundle: (entry, folder, file, format) =>
			new Promise((resolve, reject) => {
				const esm = format === "esm";
				const compiler = webpack({
					mode: "production",
					target: "node20",
					context: folder,
					entry,
					output: {
						path: folder,
						filename: file,
						module: esm,
						library: { type: esm ? "module" : "commonjs2" },
						chunkFormat: esm ? "module" : "commonjs",
					},
					experiments: { outputModule: esm },
				});
				compiler.run((error, stats) => {
					compiler.close(() => {
						const loud = stats?.hasErrors() || stats?.hasWarnings();
						if (error || loud)
							reject(error ?? new Error(stats?.toString({ all: false, errors: true, warnings: true })));
						else resolve();
					});
				});
			}),
	},
];

/** Bundled and minified, where classes lose their names and `import.meta` its file; run on the oldest and newest Node. */
export function bundleTrials(consumer: string, { baseUrl, apiKey, controlUrl, token }: Service): Trial[] {
	const [oldest, newest] = [nodes[0], nodes[nodes.length - 1] ?? nodes[0]];
	return bundlers.flatMap(({ name, bundle }) =>
		(["esm", "cjs"] as const).flatMap((format) =>
			(["main", "entry-points"] as const).map((program) => ({
				group: "bundlers",
				runtime: `${name} ${versionOf(name)}`,
				form: `${format === "esm" ? "ESM" : "CommonJS"}${program === "entry-points" ? ", own sandbox" : ""}, Node ${oldest} and ${newest}`,
				run: async () => {
					const [ending, file] = [format === "esm" ? "mjs" : "cjs", `${program}.${name}`];
					await bundle(join(consumer, `${program}.${ending}`), join(consumer, "bundled"), `${file}.${ending}`, format);
					const args = program === "main" ? [baseUrl, apiKey, controlUrl, token] : [];
					for (const line of [oldest, newest]) {
						const ended = await child(nodeOf(line), [join("bundled", `${file}.${ending}`), ...args], { cwd: consumer });
						const wrong = wrongIn(ended, program === "entry-points" ? entryPoints : [""]);
						if (wrong !== undefined) return wrong;
					}
					return undefined;
				},
			})),
		),
	);
}
