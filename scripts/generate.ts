/**
 * openapi.json → generated/: the types, the validators and the tables that both halves speak.
 *
 *   npm run generate                     write generated/
 *   npm run generate -- --check          fail when generated/ is stale
 *   npm run generate -- --from BASE_URL  refresh openapi.json from {BASE_URL}/openapi.json, say what changed, write
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { fresh } from "./fresh.ts";
import { generatedFiles } from "./generate/files.ts";
import { refresh } from "./generate/refresh.ts";

const contract = new URL("../openapi.json", import.meta.url);

const { values: flags } = parseArgs({ options: { check: { type: "boolean" }, from: { type: "string" } } });

if (flags.from) for (const line of await refresh(contract, flags.from)) console.log(line);
await fresh("generate", await generatedFiles(JSON.parse(await readFile(contract, "utf8"))));
