import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts", "vitest/**/*.test.ts", ...(process.env.RECIPES_PACKED ? ["long/**/*.test.ts"] : [])],
		globalSetup: "test/setup.ts",
		maxWorkers: 3, // they wait for polls and retries
		silent: "passed-only",
		// A busy machine is slow, not wrong.
		expect: { poll: { timeout: 60_000 } },
		testTimeout: 110_000,
		hookTimeout: 110_000,
	},
});
