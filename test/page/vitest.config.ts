import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
	root: fileURLToPath(new URL("../..", import.meta.url)),
	test: {
		include: ["test/page/*.test.ts"],
		globalSetup: "test/page/browser.ts",
		// More windows at a time starve each other on two cores.
		maxWorkers: 2,
		isolate: false,
		// A busy machine is slow, not wrong.
		testTimeout: 110_000,
		hookTimeout: 120_000,
	},
});
