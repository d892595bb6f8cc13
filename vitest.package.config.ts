import { defineConfig } from "vitest/config";

// What only the built and packed package can show; `npm run build` comes first.
export default defineConfig({
	test: { include: ["test/package/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 },
});
