import { build } from "esbuild";

/** Bundles a program of test/ to run on the packed client in place of `src/`. */
export async function bundleOnPacked(entry: string, outfile: string): Promise<void> {
	await build({
		entryPoints: [entry],
		outfile,
		bundle: true,
		platform: "node",
		format: "esm",
		logLevel: "error",
		plugins: [
			{
				name: "packed",
				setup({ onResolve }) {
					onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: "messaging-conversations", external: true }));
					onResolve({ filter: /\/src\/node\.ts$/ }, () => ({ path: "messaging-conversations/node", external: true }));
				},
			},
		],
	});
}
