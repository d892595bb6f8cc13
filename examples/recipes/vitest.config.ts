import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts", "vitest/**/*.test.ts", ...(process.env.RECIPES_PACKED ? ["long/**/*.test.ts"] : [])],
		globalSetup: "test/setup.ts",
		maxWorkers: 2,
		// A busy machine is slow, not wrong.
		testTimeout: 110_000,
		hookTimeout: 110_000,
	},
});
