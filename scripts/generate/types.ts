import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { banner, type Json, knownValues } from "./contract.ts";

/** Types. A set of known strings stays open: the service may add a value, and an answer that has it is good. */
export async function types(contract: Json): Promise<string> {
	const nodes = await openapiTS(JSON.stringify(described(contract)), {
		alphabetize: false,
		transform(schema: Json) {
			const values = knownValues(schema);
			if (!values) return undefined;
			const literal = (value: string) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(value));
			const open = ts.factory.createParenthesizedType(
				ts.factory.createIntersectionTypeNode([
					ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
					ts.factory.createTypeLiteralNode([]),
				]),
			);
			const none = schema.type.includes("null") ? [ts.factory.createLiteralTypeNode(ts.factory.createNull())] : [];
			return ts.factory.createUnionTypeNode([...values.map(literal), open, ...none]);
		},
	});
	return banner + astToString(nodes.flatMap(hoist)).replaceAll(/components\["schemas"\]\["(\w+)"\]/g, "$1");
}

/** Hovers that say more than the description in openapi.json, by schema and field. */
const hovers: Record<string, Record<string, string>> = {
	Message: {
		id: "Identifies the message: an integer that no other message has. As far as the service shows, a newer message has a higher one.",
		messageSid:
			"Messaging provider's message identifier. For a text sent through the API, the `messageId` of its send.",
	},
	SendMessageResult: {
		messageId: "Provider message id of the sent text, the `messageSid` of its message; null when queued.",
	},
};

/** Adds the hovers above. A field that is only a reference gets the description of the schema that it refers to. */
function described(contract: Json): Json {
	const copy: Json = structuredClone(contract);
	for (const [schema, fields] of Object.entries(hovers)) {
		const { properties } = copy.components.schemas[schema];
		for (const [field, description] of Object.entries(fields)) properties[field].description = description;
	}
	for (const { properties = {} } of Object.values<Json>(copy.components.schemas)) {
		for (const field of Object.values<Json>(properties)) {
			const name = field.$ref?.split("/").at(-1);
			if (name) field.description ??= contract.components.schemas[name].description;
		}
	}
	return copy;
}

/** Each schema as an exported interface of its own name, so that a hover shows the name and not a path. */
function hoist(node: ts.Node): ts.Node[] {
	if (!ts.isInterfaceDeclaration(node) || node.name.text !== "components") return [node];
	const hoisted: ts.Node[] = [];
	const exported = [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)];
	const members = node.members.map((member) => {
		if (!ts.isPropertySignature(member) || !ts.isIdentifier(member.name) || member.name.text !== "schemas")
			return member;
		if (!member.type || !ts.isTypeLiteralNode(member.type)) throw new Error("components.schemas has changed its form");
		const named = member.type.members.map((schema) => {
			if (!ts.isPropertySignature(schema) || !ts.isIdentifier(schema.name) || !schema.type)
				throw new Error("not a schema");
			const { name, type } = schema;
			const declaration = ts.isTypeLiteralNode(type)
				? ts.factory.createInterfaceDeclaration(exported, name, undefined, undefined, type.members)
				: ts.factory.createTypeAliasDeclaration(exported, name, undefined, type);
			hoisted.push(ts.setSyntheticLeadingComments(declaration, ts.getSyntheticLeadingComments(schema)));
			return ts.factory.createPropertySignature(undefined, name, undefined, ts.factory.createTypeReferenceNode(name));
		});
		return ts.factory.createPropertySignature(undefined, "schemas", undefined, ts.factory.createTypeLiteralNode(named));
	});
	return [ts.factory.createInterfaceDeclaration(exported, "components", undefined, undefined, members), ...hoisted];
}
