import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import shared from "../../../vitest.config.ts";
import { patience } from "../../patience.ts";

export default defineConfig({
	...shared,
	root: fileURLToPath(new URL(".", import.meta.url)),
	test: {
		include: ["*.test.ts", "transactions/*.test.ts"],
		globalSetup: ["global-setup.ts"],
		...patience,
		maxWorkers: 2,
		// PGlite starts in half the time when its WebAssembly is compiled once.
		execArgv: ["--liftoff-only"],
	},
});
