import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "generate-"));
for (const part of ["openapi.json", "package.json", "tsconfig.json", "generated", "scripts", "src/cli/contract"]) {
	cpSync(join(root, part), join(copy, part), { recursive: true, filter: (path) => !/\/(bench|runtimes)\b/.test(path) });
}
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
afterAll(() => rmSync(copy, { recursive: true }));

const generate = (...flags: string[]) =>
	spawnSync(process.execPath, ["--import", "tsx", "scripts/generate.ts", "contract", ...flags], {
		cwd: copy,
		encoding: "utf8",
	});

interface Schema {
	required: string[];
	properties: Record<string, object>;
}

/** Changes the contract's schema of an agency. */
function edit(change: (agency: Schema) => void): void {
	const contract = JSON.parse(readFileSync(join(copy, "openapi.json"), "utf8"));
	change(contract.components.schemas.Agency);
	writeFileSync(join(copy, "openapi.json"), JSON.stringify(contract));
}

test("generated/ is what openapi.json makes", () => {
	const { status, stdout } = generate("--check");
	expect(stdout).toContain("up to date");
	expect(status).toBe(0);
}, 60_000);

test("--check fails when the contract has changed, and writes nothing", () => {
	const before = readFileSync(join(copy, "generated/answers.ts"), "utf8");
	edit((agency) => agency.required.pop());
	const { status, stderr } = generate("--check");
	expect(status).toBe(1);
	expect(stderr).toContain("answers.ts");
	expect(readFileSync(join(copy, "generated/answers.ts"), "utf8")).toBe(before);
}, 60_000);

test("a rule that the compiler of checks does not know stops the generation", () => {
	edit((agency) => Object.assign(agency.properties.id ?? {}, { pattern: "^agy_" }));
	expect(generate().stderr).toContain("Agency.id: the compiler of checks does not know pattern");
}, 60_000);

test("--from takes the contract that a service publishes, and says what changed and whether it can break a call", async () => {
	edit((agency) => delete agency.properties.name);
	const server = await serve(createSandbox(), { port: 0 });
	try {
		// Asynchronously: the script asks this process, which must be free to answer.
		const flags = ["--import", "tsx", "scripts/generate.ts", "contract", "--from", server.baseUrl];
		const { stdout: told } = await promisify(execFile)(process.execPath, flags, { cwd: copy });
		expect(told).toContain("harmless: Agency.name is a new field");
		expect(told).toContain("- /components/schemas/Agency/properties/id/pattern");
		expect(told).toContain("/components/schemas/Agency/required");
	} finally {
		await server.close();
	}
	const contract = JSON.parse(readFileSync(join(copy, "openapi.json"), "utf8"));
	expect(contract).toEqual(JSON.parse(readFileSync(join(root, "openapi.json"), "utf8")));
}, 60_000);
