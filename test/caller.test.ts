import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** The stacks of calls that failed in a process of their own, by the name of the function that made them. */
async function stacksOf(...flags: string[]): Promise<[string, string][]> {
	const script = fileURLToPath(new URL("./stacks.ts", import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, [...flags, "--import", "tsx", script]);
	const stacks: [string, string][] = Object.entries(JSON.parse(stdout));
	expect(stacks.length).toBe(30);
	return stacks;
}

test("the caller's own function and file stand in error.stack, however it waits", async () => {
	for (const [name, stack] of await stacksOf()) {
		const frame = stack.split("\n").find((line) => line.includes("stacks.ts"));
		expect(frame, `${name}: ${stack}`).toContain(name.split(",")[0]);
	}
});

test("they stand there too where the engine does not tell who waits", async () => {
	for (const [name, stack] of await stacksOf("--no-async-stack-traces")) {
		const frame = stack.split("\n").find((line) => line.includes("stacks.ts"));
		expect(frame, `${name}: ${stack}`).toMatch(/^ {4}at /);
	}
});

test("without stacks an error has its message alone", async () => {
	for (const [name, stack] of await stacksOf("--stack-trace-limit=0")) {
		expect(stack, name).toMatch(/^Partner[A-Za-z]+: .*$/);
	}
});
