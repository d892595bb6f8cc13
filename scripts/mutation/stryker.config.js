import { env } from "node:process";

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
	packageManager: "npm",
	testRunner: "vitest",
	vitest: { configFile: "scripts/mutation/vitest.config.ts", related: false },
	mutate: [`src/${env.MUTATED_MODULE}.ts`],
	ignorePatterns: ["/dist", "/docs", "/examples", "/reports", "/scripts/bench"],
	coverageAnalysis: "perTest",
	concurrency: 2,
	// Beside one and a half times what the tests take without a mutant. A time-out counts as caught, so a busy machine must not cause one.
	timeoutMS: 10_000,
	reporters: ["progress-append-only", "clear-text", "html", "json"],
	clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
	htmlReporter: { fileName: `reports/mutation/${env.MUTATION_REPORT}.html` },
	jsonReporter: { fileName: `reports/mutation/${env.MUTATION_REPORT}.json` },
};
