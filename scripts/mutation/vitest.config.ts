import { env } from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

export default defineConfig({
	...base,
	root: fileURLToPath(new URL("../..", import.meta.url)),
	test: {
		...base.test,
		include: (env.MUTATION_TESTS ?? "")
			.split(" ")
			.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
		typecheck: { enabled: false },
	},
});
