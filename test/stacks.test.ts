import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { clientOf, failure, jsonResponse } from "./calls.ts";
import { agencyId, operationId, phone, text } from "./canned.ts";

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
			const [words = "", first = ""] = stack.split("\n");
			expect(words, name).toMatch(
				/^(refused|badOptions)/.test(name) ? /^PartnerInvalidInput: / : /^PartnerForbidden: /,
			);
			expect(first, `${name}: ${stack}`).toContain("stacks.ts");
		}
	},
);

test("without stacks an error has its message alone", async () => {
	for (const [name, stack] of await stacksOf("--stack-trace-limit=0")) {
		expect(stack, name).toMatch(/^Partner[A-Za-z]+: .*$/);
	}
});

test.for<[what: string, format: typeof Error.prepareStackTrace]>([
	["gives call sites", (_error, sites) => sites],
	["gives nothing", () => undefined],
	[
		"throws",
		() => {
			throw new Error("formatter");
		},
	],
])("a formatter of stacks that %s takes nothing from an error", async ([, format]) => {
	const fetch = async () => jsonResponse({}, { status: 409 });
	const { messages } = clientOf({ baseUrl: "http://127.0.0.1/api/v1" }, { fetch }).agency(agencyId);
	const own = Error.prepareStackTrace;
	Error.prepareStackTrace = format;
	const error = await failure(() => messages.send({ to: phone, body: text, operationId })).finally(() => {
		Error.prepareStackTrace = own;
	});
	expect(error).toMatchObject({ _tag: "PartnerConflict", status: 409, outcome: "not_sent", operationId });
});
