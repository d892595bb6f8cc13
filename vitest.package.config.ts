import { defineConfig } from "vitest/config";
import { patience } from "./test/patience.ts";

// What only the built and packed package can show; `npm run build` comes first.
export default defineConfig({
	test: { include: ["test/package/**/*.test.ts"], ...patience },
});
