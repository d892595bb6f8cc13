import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patience } from "./test/patience.ts";

const src = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
	resolve: {
		// The samples import the package by its name; here the name means the sources.
		alias: [
			{ find: /^messaging-conversations$/, replacement: src("index.ts") },
			{ find: /^messaging-conversations\/node$/, replacement: src("node.ts") },
			{ find: /^messaging-conversations\/sync$/, replacement: src("sync/index.ts") },
			{ find: /^messaging-conversations\/outbox$/, replacement: src("outbox/index.ts") },
			{ find: /^messaging-conversations\/sandbox$/, replacement: src("sandbox/index.ts") },
			{ find: /^messaging-conversations\/sandbox\/(msw|server)$/, replacement: src("sandbox/$1.ts") },
		],
	},
	test: {
		include: ["test/**/*.test.ts"],
		exclude: ["test/{package,page}/**", "test/outbox/databases/**", "**/node_modules/**"],
		// More workers than cores, because many files wait for a moment.
		maxWorkers: Math.ceil(availableParallelism() * 1.5),
		// The files of a worker share their modules, which hold no state. Loading them for each file took a quarter of the run.
		isolate: false,
		...patience,
		typecheck: {
			enabled: true,
			include: ["test/**/*.test-d.ts"],
			tsconfig: "./tsconfig.json",
			checker: "node_modules/typescript-7/bin/tsc",
		},
	},
});
