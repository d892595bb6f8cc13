import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { expect, onTestFinished, test } from "vitest";
import { commandTables } from "../scripts/generate/commands.ts";
import { contractFiles } from "../scripts/generate/contract-files.ts";
import { optionTables } from "../scripts/generate/options.ts";
import { refresh } from "../scripts/generate/refresh.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Schema {
	required: string[];
	properties: Record<string, object>;
}

/** The contract with another schema of an agency. */
function contractWith(change: (agency: Schema) => void) {
	const contract = JSON.parse(read("openapi.json"));
	change(contract.components.schemas.Agency);
	return contract;
}

function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "generate-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	return folder;
}

test("generated/ is what openapi.json makes", async () => {
	const files = Object.entries(await contractFiles(JSON.parse(read("openapi.json"))));
	expect(files).not.toEqual([]);
	for (const [path, text] of files) expect(read(path), path).toBe(text);
});

test("the pages of options and commands say what hovers and helps say", async () => {
	const files = Object.entries({ ...(await optionTables()), ...(await commandTables()) });
	expect(files.length).toBeGreaterThan(1);
	for (const [path, text] of files) expect(read(path), path).toBe(text);
});

test("--check fails when the contract has changed, and writes nothing", () => {
	const copy = temporaryFolder();
	for (const part of ["package.json", "tsconfig.json", "generated", "scripts", "src/cli/contract"]) {
		cpSync(join(root, part), join(copy, part), {
			recursive: true,
			filter: (path) => !/\/(bench|runtimes)\b/.test(path),
		});
	}
	symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
	writeFileSync(join(copy, "openapi.json"), JSON.stringify(contractWith((agency) => agency.required.pop())));
	const flags = ["--import", "tsx", "scripts/generate.ts", "contract", "--check"];
	const { status, stderr } = spawnSync(process.execPath, flags, { cwd: copy, encoding: "utf8" });
	expect(status).toBe(1);
	expect(stderr).toContain("answers.ts");
	expect(readFileSync(join(copy, "generated/answers.ts"), "utf8")).toBe(read("generated/answers.ts"));
});

test("a rule that the compiler of checks does not know stops the generation", async () => {
	const contract = contractWith((agency) => Object.assign(agency.properties.id ?? {}, { pattern: "^agy_" }));
	await expect(contractFiles(contract)).rejects.toThrow("Agency.id: the compiler of checks does not know pattern");
});

test("--from takes the contract that a service publishes, and says what changed and whether it can break a call", async () => {
	const file = join(temporaryFolder(), "openapi.json");
	const contract = contractWith((agency) => {
		Object.assign(agency.properties.id ?? {}, { pattern: "^agy_" });
		agency.required.pop();
		delete agency.properties.name;
	});
	writeFileSync(file, JSON.stringify(contract));
	const server = await serve(createSandbox(), { port: 0 });
	onTestFinished(() => server.close());
	const reported = await refresh(pathToFileURL(file), server.baseUrl);
	expect(reported).toContain("harmless: Agency.name is a new field");
	expect(reported).toContain("- /components/schemas/Agency/properties/id/pattern");
	expect(reported.join("\n")).toContain("/components/schemas/Agency/required");
	expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(read("openapi.json")));
	expect(await refresh(pathToFileURL(file), server.baseUrl)).toEqual(["openapi.json: no change"]);
});
