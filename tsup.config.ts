import { defineConfig, type Options } from "tsup";

// One file an entry, the runtime libraries in it: what a package costs at start is the number of its files.
const shared: Options = {
	target: "es2022",
	platform: "neutral",
	outDir: "dist",
	splitting: false,
	treeshake: true,
	dts: true,
	removeNodeProtocol: false,
	esbuildOptions(options) {
		options.mainFields = ["module", "main"];
	},
	// The package itself too: `./sync` uses the client of the main entry, and has no copy of it.
	external: ["msw", /^node:/, "messaging-conversations"],
	noExternal: ["openapi-fetch", "p-retry", "is-network-error", "zod", "libphonenumber-js"],
};

export default defineConfig([
	{
		...shared,
		format: ["esm", "cjs"],
		entry: {
			index: "src/index.ts",
			node: "src/node.ts",
			"sync/index": "src/sync/index.ts",
			"outbox/index": "src/outbox/index.ts",
			"sandbox/index": "src/sandbox/index.ts",
			"sandbox/msw": "src/sandbox/msw.ts",
			"sandbox/server": "src/sandbox/server.ts",
		},
	},
	{ ...shared, format: ["esm"], entry: { cli: "src/cli/cli.ts" }, dts: false },
]);
