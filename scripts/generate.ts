/**
 * Writes every generated file of the repository.
 *
 *   npm run generate                     write what is stale
 *   npm run generate -- page             only one part: contract, page, routes, licences, fidelity, performance, rules, reasons, options, commands, recipes or api
 *   npm run generate -- --check          write nothing, fail if a file is stale
 *   npm run generate -- --from BASE_URL  first take openapi.json from a service, and report what changed
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Json } from "./generate/contract.ts";
import { stale, write } from "./generate/files.ts";
import { refresh } from "./generate/refresh.ts";

const contract = new URL("../openapi.json", import.meta.url);

type Files = Readonly<Record<string, string>>;

/** The parts load their own tools, so that a single part starts fast. */
const parts: Readonly<Record<string, () => Promise<Files>>> = {
	contract: async () => (await import("./generate/contract-files.ts")).contractFiles(await readContract()),
	page: async () => (await import("./generate/page.ts")).sandboxPage(),
	routes: async () => (await import("./generate/routes.ts")).routeTables(),
	licences: async () => (await import("./generate/licences.ts")).licences(),
	fidelity: async () => (await import("./generate/fidelity.ts")).fidelity(),
	performance: async () => (await import("./generate/performance.ts")).performance(),
	rules: async () => (await import("./generate/rules.ts")).rules(),
	reasons: async () => (await import("./generate/reasons.ts")).reasonTables(),
	options: async () => (await import("./generate/options.ts")).optionTables(),
	commands: async () => (await import("./generate/commands.ts")).commandTables(),
	recipes: async () => (await import("./generate/recipes.ts")).recipes(),
	api: async () => (await import("./generate/api-reports.ts")).apiReports(),
};

const { values: flags, positionals } = parseArgs({
	options: { check: { type: "boolean" }, from: { type: "string" } },
	allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in parts));
if (unknown.length > 0) throw new Error(`unknown part ${unknown.join(", ")}: use ${Object.keys(parts).join(", ")}`);

if (flags.from) for (const line of await refresh(contract, flags.from)) console.log(line);

const staleFiles: string[] = [];
for (const [name, part] of Object.entries(parts)) {
	if (positionals.length > 0 && !positionals.includes(name)) continue;
	const files = await part();
	for (const path of await stale(files)) {
		staleFiles.push(path);
		if (!flags.check) await write(path, files[path] ?? "");
	}
}
if (staleFiles.length === 0) console.log("generated files: all are up to date");
else if (!flags.check) console.log(`wrote ${staleFiles.join(", ")}`);
else {
	console.error(`${staleFiles.join(", ")}: stale. If the change is intended, run \`npm run generate\`.`);
	process.exitCode = 1;
}

async function readContract(): Promise<Json> {
	return JSON.parse(await readFile(contract, "utf8"));
}
