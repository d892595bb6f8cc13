import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patience } from "../patience.ts";

export default defineConfig({
	root: fileURLToPath(new URL("../..", import.meta.url)),
	test: {
		include: ["test/page/*.test.ts"],
		globalSetup: "test/page/browser.ts",
		// More windows at a time starve each other on two cores.
		maxWorkers: 2,
		isolate: false,
		...patience,
	},
});
