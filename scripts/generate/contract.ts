/** The contract as the generators read it. */

// biome-ignore lint/suspicious/noExplicitAny: a JSON document of unknown depth; its form is checked by the OpenAPI linter
export type Json = any;

export const banner = "// Generated from openapi.json by `npm run generate`. Do not edit.\n";

/** The operations of a contract, each with its path and method. */
export function operationsOf(contract: Json): Json[] {
	return Object.entries<Json>(contract.paths).flatMap(([path, item]) =>
		["get", "post"].filter((method) => item[method]).map((method) => ({ method, path, ...item[method] })),
	);
}

/** Name of the schema that a `$ref` points to. */
export function refName(schema: Json): string | undefined {
	return schema?.$ref?.split("/").pop();
}

/** Name of the schema of an operation's good answer. */
export function answerSchema(operation: Json): string {
	return refName(operation.responses[200].content["application/json"].schema) as string;
}

/** Name of the schema of an operation's request body. */
export function requestSchema(operation: Json): string {
	return refName(operation.requestBody.content["application/json"].schema) as string;
}

/** The values that a string field is known to take, whether the contract lists them as all or as examples. */
export function knownValues(schema: Json): string[] | undefined {
	return schema?.["x-known-values"] ?? schema?.enum;
}
