import { defineConfig } from "vitest/config";
import { patience } from "../../test/patience.ts";

export default defineConfig({
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
