import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patience } from "../../test/patience.ts";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
	resolve: {
		// The action of Next.js lies outside of this folder, and Next.js brings `server-only`.
		alias: [
			{
				find: /^messaging-conversations$/,
				replacement: pathOf(
					"node_modules/messaging-conversations/dist/index.js",
				),
			},
			{ find: /^server-only$/, replacement: pathOf("test/nothing.ts") },
		],
	},
	test: {
		include: [
			"test/**/*.test.ts",
			"vitest/**/*.test.ts",
			...(process.env.RECIPES_PACKED ? ["long/**/*.test.ts"] : []),
		],
		globalSetup: "test/setup.ts",
		maxWorkers: 3, // they wait for polls and retries
		silent: "passed-only",
		...patience,
	},
});
