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

/** The limits of the contract. */
export const limits = ${JSON.stringify(limits)} as const;
`;
}

/** Schemas that callers never see, because the client has types of its own for what it sends and for what it makes of the answer. */
const wireOnly = ["LookupRequest", "LookupEntry", "LookupResponse", "SendMessageRequest", "SendMessageResult"];

/** The types of the schemas that callers get. The bodies of errors have the names of the error classes. */
export function schemaNames(contract: Json): string {
	const { PartnerErrorBody, ...schemas } = contract.components.schemas;
	const bodies = (PartnerErrorBody.oneOf ?? PartnerErrorBody.anyOf).map(refName);
	const names = Object.keys(schemas).filter((name) => !bodies.includes(name) && !wireOnly.includes(name));
	return `${banner}
/** The schemas of openapi.json by their own names. Types only. */
export type {
${names.map((name) => `\t${name},`).join("\n")}
} from "./openapi.ts";
`;
}

/** The fields of each answer schema, for finding what an answer has that the contract does not know. */
export function shapeTable(contract: Json): string {
	const seen = new Map<string, string>();
	const visit = (name: string): void => {
		if (seen.has(name)) return;
		seen.set(name, "");
		const fields = Object.entries<Json>(contract.components.schemas[name].properties).map(
			([field, schema]) => `${field}: ${fieldOf(schema)}`,
		);
		seen.set(name, fields.join(", "));
	};
	const fieldOf = (schema: Json): string => {
		const inner = schema.items ?? schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
		const ref = refName(inner);
		if (ref) visit(ref);
		if (ref) return `{ shape: "${ref}" }`;
		if (inner.format === "date-time") return "time";
		const known = knownValues(inner);
		return known ? `{ known: ${JSON.stringify(known)} }` : "any";
	};
	for (const operation of operationsOf(contract)) visit(answerSchema(operation));
	const rows = [...seen].map(([name, fields]) => `\t${name}: { ${fields} },`);
	return `${banner}
/** What the contract knows about a field. */
export interface Field {
	/** Name of the schema of its value, or of its items. */
	shape?: string;
	/** The known values of its string, or of its items. */
	known?: readonly string[];
	/** A time: ISO 8601 in UTC. */
	time?: true;
}

const any: Field = {};
const time: Field = { time: true };

/** The fields of each answer schema. */
export const shapes: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
${rows.join("\n")}
};
`;
}
