import { answerSchema, banner, type Json, knownValues, operationsOf, refName, requestSchema } from "./contract.ts";

/** What the client must know of an operation beyond its types: where it is, and which refusals it can answer. */
export function operationTable(contract: Json): string {
	const rows = operationsOf(contract).map((o) => {
		const statuses = Object.keys(o.responses)
			.map(Number)
			.filter((status) => status >= 400);
		const request = o.requestBody ? `, request: ${JSON.stringify(requestSchema(o))}` : "";
		return `\t${JSON.stringify(o.operationId)}: { method: ${JSON.stringify(o.method.toUpperCase())}, path: ${JSON.stringify(o.path)}, answer: ${JSON.stringify(answerSchema(o))}${request}, refusals: ${JSON.stringify(statuses)} },`;
	});
	const { minimum, maximum, default: preset } = contract.components.parameters.pageSize.schema;
	const numbers = contract.components.schemas.LookupRequest.properties.phoneNumbers;
	const limits = {
		pageSize: { min: minimum, max: maximum, default: preset },
		phoneNumbers: { min: numbers.minItems, max: numbers.maxItems },
		phoneNumber: { min: numbers.items.minLength, max: numbers.items.maxLength },
	};
	return `${banner}
/** The operations of the contract: method, path template, schemas, and the statuses listed beside 200. */
export const operationTable = {
${rows.join("\n")}
} as const;

/** The limits of the contract (spec §8). */
export const limits = ${JSON.stringify(limits)} as const;
`;
}

/** Each answer schema as a table of its fields, for telling what an answer has that the contract does not know. */
export function shapeTable(contract: Json): string {
	const seen = new Map<string, Json>();
	const visit = (name: string): void => {
		if (seen.has(name)) return;
		const shape: Json = {};
		seen.set(name, shape);
		for (const [field, schema] of Object.entries<Json>(contract.components.schemas[name].properties)) {
			const inner = schema.items ?? schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
			const ref = refName(inner);
			if (ref) visit(ref);
			shape[field] = ref ? { shape: ref } : knownValues(inner) ? { known: knownValues(inner) } : {};
			if (inner.type?.includes?.("integer")) shape[field] = { integer: true };
		}
	};
	for (const operation of operationsOf(contract)) visit(answerSchema(operation));
	const rows = [...seen].map(([name, shape]) => `\t${name}: ${JSON.stringify(shape)},`);
	return `${banner}
/** What the contract knows of a field: the shape of its object (or of its items), its known values, whether it counts. */
export interface FieldShape { readonly shape?: string; readonly known?: readonly string[]; readonly integer?: boolean }

export const shapes: Readonly<Record<string, Readonly<Record<string, FieldShape>>>> = {
${rows.join("\n")}
};
`;
}
