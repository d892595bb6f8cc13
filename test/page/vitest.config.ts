import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// One browser at a time, which is unpacked before the first test.
export default defineConfig({
	root: fileURLToPath(new URL("../..", import.meta.url)),
	test: { include: ["test/page/*.test.ts"], fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000 },
});
