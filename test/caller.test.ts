import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** The stacks of calls that failed in a process of their own, by the name of the function that made them. */
async function stacksOf(...flags: string[]): Promise<[string, string][]> {
	const script = fileURLToPath(new URL("./stacks.ts", import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--import", "tsx", script]);
	const stacks: [string, string][] = Object.entries(JSON.parse(stdout));
	expect(stacks.length).toBe(36);
	return stacks;
}

test.for([[], ["--no-async-stack-traces"]])(
	"the caller's own file stands on top of error.stack, whoever waits for the call and however (%j)",
	async (flags) => {
		for (const [name, stack] of await stacksOf(...flags)) {
			const [, first = ""] = stack.split("\n");
			expect(first, `${name}: ${stack}`).toContain("stacks.ts");
		}
	},
);

test("without stacks an error has its message alone", async () => {
	for (const [name, stack] of await stacksOf("--stack-trace-limit=0")) {
		expect(stack, name).toMatch(/^Partner[A-Za-z]+: .*$/);
	}
});
