/**
 * openapi.json → generated/: the types, the validators and the tables that both halves speak.
 *
 *   npm run generate                     write generated/
 *   npm run generate -- --check          fail when generated/ is stale
 *   npm run generate -- --from BASE_URL  refresh openapi.json from {BASE_URL}/openapi.json, say what changed, write
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { compareContracts } from "../src/cli/contract/compare.ts";
import { fresh } from "./fresh.ts";
import { describeChanges } from "./generate/changes.ts";
import { checks } from "./generate/checks.ts";
import { answerSchema, type Json, operationsOf, requestSchema } from "./generate/contract.ts";
import { phoneMetadata } from "./generate/phone.ts";
import { operationTable, schemaNames, shapeTable } from "./generate/tables.ts";
import { types } from "./generate/types.ts";

const root = new URL("..", import.meta.url);

const { values: flags } = parseArgs({ options: { check: { type: "boolean" }, from: { type: "string" } } });

if (flags.from) {
	const url = `${flags.from.replace(/\/+$/, "")}/openapi.json`;
	const answer = await fetch(url);
	if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
	const next: Json = await answer.json();
	const before = await readJson("openapi.json");
	for (const { at, what, canBreak } of compareContracts(before, next))
		console.log(`${canBreak ? "can break a call" : "harmless"}: ${at} ${what}`);
	const changes = describeChanges(before, next);
	console.log(changes.length ? changes.join("\n") : "openapi.json: no change");
	if (changes.length) await writeFile(new URL("openapi.json", root), `${JSON.stringify(next, null, 2)}\n`);
}

const contract: Json = await readJson("openapi.json");
const operations = operationsOf(contract);

const files: Record<string, string> = {
	"openapi.ts": await types(contract),
	"schemas.ts": schemaNames(contract),
	"operations.ts": operationTable(contract),
	"shapes.ts": shapeTable(contract),
	"answers.ts": checks(contract, "tolerant", operations.map(answerSchema)),
	"requests.ts": checks(contract, "exact", operations.filter((o) => o.requestBody).map(requestSchema)),
	...phoneMetadata(),
};
await fresh("generate", Object.fromEntries(Object.entries(files).map(([name, text]) => [`generated/${name}`, text])));

async function readJson(path: string): Promise<Json> {
	return JSON.parse(await readFile(new URL(path, root), "utf8"));
}
