import { checks } from "./checks.ts";
import { answerSchema, type Json, operationsOf, requestSchema } from "./contract.ts";
import { phoneMetadata } from "./phone.ts";
import { operationTable, schemaNames, shapeTable } from "./tables.ts";
import { types } from "./types.ts";

/** The texts of generated/ for a contract, by their paths in the repository. */
export async function generatedFiles(contract: Json): Promise<Record<string, string>> {
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
