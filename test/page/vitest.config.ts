import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import root from "../../vitest.config.ts";
import { patience } from "../patience.ts";

export default defineConfig({
	// The outbox and the feed import the client by the package's name.
	resolve: root.resolve ?? {},
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
