import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import shared from "../../../vitest.config.ts";

export default defineConfig({
	...shared,
	root: fileURLToPath(new URL(".", import.meta.url)),
	test: {
		include: ["*.test.ts"],
		globalSetup: ["global-setup.ts"],
		// A busy machine is slow, not wrong.
		testTimeout: 280_000,
		hookTimeout: 120_000,
		maxWorkers: 2,
		// PGlite starts in half the time when its WebAssembly is compiled once.
		execArgv: ["--liftoff-only"],
	},
});
