import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

// What runs on a newer Node than the package's floor, in a process of its own.
export default defineConfig({ ...config, test: { ...config.test, include: ["newer/*.test.ts"] } });
