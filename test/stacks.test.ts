import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

interface Stacks {
	/** By the name of the function that made the call. */
	stacks: Record<string, string>;
	/** The same where the engine's limit of frames is 0. */
	withoutFrames: Record<string, string>;
	/** How many errors a success has made, with their stacks. */
	captured: number;
}

let found: Stacks;

// The failing calls run in a process of their own.
beforeAll(async () => {
	const script = fileURLToPath(new URL("./stacks.ts", import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", script]);
	found = JSON.parse(stdout);
});

const isRefused = (name: string) => /^(refused\w*|badOptions|agency|createClient|toE164),/.test(name);

test("the caller's own function is in error.stack of the code that awaits or iterates, and a success captures no stack", () => {
	const { stacks, captured } = found;
	expect(Object.keys(stacks)).toHaveLength(50);
	for (const [name, stack] of Object.entries(stacks)) {
		const [words = "", ...frames] = stack.split("\n");
		const tag = name.startsWith("createClient") ? "PartnerConfigurationError" : "PartnerInvalidInput";
		const failed = name.startsWith("retried") ? "PartnerInternalError" : "PartnerForbidden";
		expect(words, name).toMatch(new RegExp(`^${isRefused(name) ? tag : failed}: `));
		const [own] = name.split(",");
		const called = frames.findIndex((frame) => frame.includes("stacks.ts") && frame.includes(`${own}`));
		expect(called, `${name}: ${stack}`).toBeGreaterThanOrEqual(0);
		// The engine keeps ten frames. At least three of them are for the caller.
		expect(called, `${name}: ${stack}`).toBeLessThanOrEqual(7);
	}
	expect(captured).toBe(0);
});

test("without stacks an error has its message alone", () => {
	const { withoutFrames } = found;
	expect(Object.keys(withoutFrames)).toHaveLength(50);
	for (const [name, stack] of Object.entries(withoutFrames)) expect(stack, name).toMatch(/^Partner[A-Za-z]+: .*$/);
});
