import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patience } from "../../test/patience.ts";

const src = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

export default defineConfig({
	resolve: {
		// In an application of yours the package's name is enough; here it means this repository's sources.
		alias: [
			{ find: /^messaging-conversations$/, replacement: src("index.ts") },
			{ find: /^messaging-conversations\/sync$/, replacement: src("sync/index.ts") },
			{ find: /^messaging-conversations\/outbox$/, replacement: src("outbox/index.ts") },
			{ find: /^messaging-conversations\/sandbox$/, replacement: src("sandbox/index.ts") },
			{ find: /^messaging-conversations\/sandbox\/server$/, replacement: src("sandbox/server.ts") },
		],
	},
	test: {
		include: ["test/**/*.test.ts"],
		// They wait for polls, retries and workers that start; more at once starve each other on two cores.
		maxWorkers: 3,
		// PGlite starts in half the time when its WebAssembly is compiled once.
		execArgv: ["--liftoff-only"],
		...patience,
	},
});
