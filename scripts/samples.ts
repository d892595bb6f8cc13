/**
 * Checks the types of every sample: of the README, the guides, llms.txt and the TSDoc. An error names the document and
 * the line. test/readme.test.ts runs the samples.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exampleSamples, pageSamples } from "../test/samples.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiler = join(root, "node_modules/typescript-7/bin/tsc");

const samples = [...pageSamples, ...exampleSamples];
if (samples.length === 0) throw new Error("There are no samples.");

/** What the compiler says about the samples, written as files beside the helpers that they import. */
function compile() {
	const folder = mkdtempSync(join(root, "test", ".samples-"));
	try {
		for (const [index, { code }] of samples.entries())
			writeFileSync(join(folder, `${index}.ts`), `${code}\nexport {};\n`);
		const config = { extends: "../../tsconfig.json", include: ["*.ts"], exclude: [] };
		writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
		return spawnSync(process.execPath, [compiler, "--pretty", "false", "-p", "."], { cwd: folder, encoding: "utf8" });
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const { status, stdout, stderr } = compile();
// A line begins with the file, the line and the column, as in `3.ts(12,5): error …`.
for (const said of `${stdout}${stderr}`.split("\n").filter((line) => line !== "")) {
	const [, index = "", line = "", error = ""] = /^(\d+)\.ts\((\d+),\d+\): (.*)$/.exec(said) ?? [];
	const sample = samples[Number(index)];
	if (index === "" || !sample) console.error(said);
	else {
		const { name, code, places } = sample;
		const added = code.split("\n")[Number(line) - 1]?.trim();
		console.error(`${places[Number(line) - 1] ?? `${name}, in the code added to it (${added})`} - ${error}`);
	}
}
if (status === 0) console.log(`${samples.length} samples compile`);
else process.exitCode = 1;
