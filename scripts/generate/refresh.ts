import { readFile, writeFile } from "node:fs/promises";
import { compareContracts } from "../../src/cli/contract/compare.ts";
import { describeChanges } from "./changes.ts";
import type { Json } from "./contract.ts";

/** Replaces the contract in a file with the one that a service publishes. Returns what changed, in lines to print. */
export async function refresh(file: URL, baseUrl: string): Promise<string[]> {
	const url = `${baseUrl.replace(/\/+$/, "")}/openapi.json`;
	const answer = await fetch(url);
	if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
	const next: Json = await answer.json();
	const before: Json = JSON.parse(await readFile(file, "utf8"));
	const effects = compareContracts(before, next).map(
		({ at, what, canBreak }) => `${canBreak ? "can break a call" : "harmless"}: ${at} ${what}`,
	);
	const changes = describeChanges(before, next);
	if (changes.length) await writeFile(file, `${JSON.stringify(next, null, 2)}\n`);
	return [...effects, ...(changes.length ? changes : ["openapi.json: no change"])];
}
