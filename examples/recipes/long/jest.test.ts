// The Jest suites of the recipe, as CommonJS and as ES modules.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = async (...args: string[]) => {
	const jest = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--rootDir", "jest"];
	const { VITEST: _, ...env } = process.env;
	const { stdout } = await promisify(execFile)(process.execPath, [...jest, "--json", "-i", ...args], { env });
	return JSON.parse(stdout);
};

test("the suites pass in Jest", async () => {
	expect(await run()).toMatchObject({ success: true, numPassedTestSuites: 2, numPassedTests: 7 });
});
