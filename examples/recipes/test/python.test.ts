// The Python client of the recipe against the sandbox's command.
import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("the suite passes with Python's standard library alone", async () => {
	if (!(await hasPython())) install();
	const { stderr } = await run("python3", ["-W", "error", "-B", "python/test_messaging.py"]);
	expect(stderr).toContain("Ran 7 tests");
	expect(stderr).toMatch(/\nOK\n$/);
});

const hasPython = () =>
	run("python3", ["--version"]).then(
		() => true,
		() => false,
	);

/** A test that is skipped where Python is missing would pass everywhere. */
function install(): void {
	if (process.getuid?.() !== 0) throw new Error("This test needs python3.");
	execFileSync("apt-get", ["install", "--yes", "--no-install-recommends", "python3"], { stdio: "inherit" });
}
