import { checks } from "./checks.ts";
import { answerSchema, type Json, operationsOf, requestSchema } from "./contract.ts";
import { phoneMetadata } from "./phone.ts";
import { operationTable, schemaNames, shapeTable } from "./tables.ts";
import { types } from "./types.ts";

/** generated/: the types, validators and tables of the contract, which client and sandbox share, and the phone metadata. */
export async function contractFiles(contract: Json): Promise<Record<string, string>> {
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
	return Object.fromEntries(Object.entries(files).map(([name, text]) => [`generated/${name}`, text]));
}
