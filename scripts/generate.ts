/**
 * openapi.json → generated/: the types, the validators and the tables that both halves speak.
 *
 *   npm run generate                     write generated/
 *   npm run generate -- --check          fail when generated/ is stale
 *   npm run generate -- --from BASE_URL  refresh openapi.json from {BASE_URL}/openapi.json, say what changed, write
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { describeChanges } from "./changes.ts";

// biome-ignore lint/suspicious/noExplicitAny: a JSON document of unknown depth; its form is checked by the OpenAPI linter
type Json = any;

const root = new URL("..", import.meta.url);
const require = createRequire(import.meta.url);
const banner = "// Generated from openapi.json by `npm run generate`. Do not edit.\n";

const { values: flags } = parseArgs({ options: { check: { type: "boolean" }, from: { type: "string" } } });

if (flags.from) {
	const url = `${flags.from.replace(/\/+$/, "")}/openapi.json`;
	const answer = await fetch(url);
	if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
	const next: Json = await answer.json();
	const changes = describeChanges(await readJson("openapi.json"), next);
	console.log(changes.length ? changes.join("\n") : "openapi.json: no change");
	if (changes.length) await writeFile(new URL("openapi.json", root), `${JSON.stringify(next, null, 2)}\n`);
}

const contract: Json = await readJson("openapi.json");
const schemas: Record<string, Json> = contract.components.schemas;
const operations = Object.entries<Json>(contract.paths).flatMap(([path, item]) =>
	["get", "post"].filter((method) => item[method]).map((method) => ({ method, path, ...item[method] })),
);

const files: Record<string, string> = {
	"openapi.ts": await types(),
	"operations.ts": operationTable(),
	"shapes.ts": shapeTable(),
	"answers.ts": checks("tolerant", operations.map(answerSchema)),
	"requests.ts": checks("exact", operations.filter((o) => o.requestBody).map(requestSchema)),
	...phoneMetadata(),
};

const stale: string[] = [];
await mkdir(new URL("generated/", root), { recursive: true });
for (const [name, text] of Object.entries(files)) {
	const url = new URL(`generated/${name}`, root);
	const old = await readFile(url, "utf8").catch(() => undefined);
	if (old === text) continue;
	stale.push(name);
	if (!flags.check) await writeFile(url, text);
}
if (flags.check && stale.length) {
	console.error(`generated/ is stale: ${stale.join(", ")}. Run \`npm run generate\`.`);
	process.exitCode = 1;
} else console.log(stale.length ? `generated/: wrote ${stale.join(", ")}` : "generated/ is fresh");

async function readJson(path: string): Promise<Json> {
	return JSON.parse(await readFile(new URL(path, root), "utf8"));
}

function refName(schema: Json): string | undefined {
	return schema?.$ref?.split("/").pop();
}

function answerSchema(operation: Json): string {
	return refName(operation.responses[200].content["application/json"].schema) as string;
}

function requestSchema(operation: Json): string {
	return refName(operation.requestBody.content["application/json"].schema) as string;
}

/** The values that a string field is known to take, whether the contract lists them as all or as examples. */
function knownValues(schema: Json): string[] | undefined {
	return schema?.["x-known-values"] ?? schema?.enum;
}

/** Types. A set of known strings stays open: the service may add a value, and an answer that has it is good. */
async function types(): Promise<string> {
	const nodes = await openapiTS(JSON.stringify(contract), {
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

/** What the client must know of an operation beyond its types: where it is, and which refusals it can answer. */
function operationTable(): string {
	const rows = operations.map((o) => {
		const statuses = Object.keys(o.responses)
			.map(Number)
			.filter((status) => status >= 400);
		const request = o.requestBody ? `, request: ${JSON.stringify(requestSchema(o))}` : "";
		return `\t${JSON.stringify(o.operationId)}: { method: ${JSON.stringify(o.method.toUpperCase())}, path: ${JSON.stringify(o.path)}, answer: ${JSON.stringify(answerSchema(o))}${request}, refusals: ${JSON.stringify(statuses)} },`;
	});
	const { minimum, maximum, default: preset } = contract.components.parameters.pageSize.schema;
	const numbers = schemas.LookupRequest.properties.phoneNumbers;
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
function shapeTable(): string {
	const seen = new Map<string, Json>();
	const visit = (name: string): void => {
		if (seen.has(name)) return;
		const shape: Json = {};
		seen.set(name, shape);
		for (const [field, schema] of Object.entries<Json>(schemas[name].properties)) {
			const inner = schema.items ?? schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
			const ref = refName(inner);
			if (ref) visit(ref);
			shape[field] = ref ? { shape: ref } : knownValues(inner) ? { known: knownValues(inner) } : {};
			if (inner.type?.includes?.("integer")) shape[field] = { integer: true };
		}
	};
	for (const operation of operations) visit(answerSchema(operation));
	const rows = [...seen].map(([name, shape]) => `\t${name}: ${JSON.stringify(shape)},`);
	return `${banner}
/** What the contract knows of a field: the shape of its object (or of its items), its known values, whether it counts. */
export interface FieldShape { readonly shape?: string; readonly known?: readonly string[]; readonly integer?: boolean }

export const shapes: Readonly<Record<string, Readonly<Record<string, FieldShape>>>> = {
${rows.join("\n")}
};
`;
}

/**
 * Checks compiled ahead of time, one function a schema: no schema and no compiler at run time, no eval, so they run on
 * workers too. A check returns nothing when the value is good, else where it breaks. Written out here rather than by
 * ajv because ajv's standalone code is four times the size of everything else in the client; the tests hold it
 * against ajv.
 *
 * `tolerant` reads an answer: what is missing or ill-typed breaks, what is new does not. `exact` reads a request as the
 * service does: to the letter, with the rule that was broken.
 */
function checks(view: "tolerant" | "exact", names: string[]): string {
	const emitted = new Map<string, string>();
	for (const name of names) emit(name);
	return `${banner}
// biome-ignore-all lint: generated
type Check = (value: any) => string | undefined;
${[...emitted.values()].join("\n")}
export const ${view === "tolerant" ? "answers" : "requests"} = { ${names.join(", ")} } satisfies Record<string, Check>;
`;

	function emit(name: string): void {
		if (emitted.has(name)) return;
		const { properties, required = [], additionalProperties, type, description: _prose, ...rest } = schemas[name];
		only(name, rest);
		if (type !== "object") throw new Error(`${name}: only objects are compiled`);
		const lines = [
			`if (typeof v !== "object" || v === null || Array.isArray(v)) return ${say("", "must be an object")};`,
		];
		if (view === "exact" && additionalProperties === false) {
			const known = Object.keys(properties)
				.map((field) => `k !== ${JSON.stringify(field)}`)
				.join(" && ");
			lines.push(`for (const k in v) if (${known}) return \`/\${k}: is not a field of this request\`;`);
		}
		for (const [field, schema] of Object.entries<Json>(properties)) {
			const at = `v.${field}`;
			const body = property(name, field, schema, at);
			lines.push(required.includes(field) ? body : `if (${at} !== undefined) { ${body} }`);
		}
		emitted.set(
			name,
			`const ${name}: Check = (v) => {\n\tlet e: string | undefined;\n\t${lines.join("\n\t")}\n\treturn e;\n};`,
		);
	}

	function property(owner: string, field: string, schema: Json, at: string): string {
		const path = `/${field}`;
		const inner = schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
		const ref = refName(inner);
		if (ref) {
			emit(ref);
			const call = `if ((e = ${ref}(${at}))) return ${JSON.stringify(path)} + e;`;
			return inner === schema ? call : `if (${at} !== null) { ${call} }`;
		}
		const {
			type,
			items,
			description: _prose,
			"x-known-values": _known,
			enum: _enum,
			format,
			minItems,
			maxItems,
			...rest
		} = schema;
		only(`${owner}.${field}`, rest);
		const types: string[] = [type].flat();
		const bad = types.map((t) => notOfType(t, at)).join(" && ");
		const text = [`if (${bad}) return ${say(path, `must be ${types.map(phrase).join(" or ")}`)};`];
		if (view === "exact" && format === "uuid") {
			text.push(
				`if (typeof ${at} === "string" && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(${at})) return ${say(path, "must be a UUID")};`,
			);
		}
		if (view === "exact" && minItems !== undefined) {
			text.push(
				`if (${at}.length < ${minItems} || ${at}.length > ${maxItems}) return ${say(path, `must have ${minItems} to ${maxItems} items`)};`,
			);
		}
		if (items) {
			const loop = `for (let i = 0; i < ${at}.length; i++) ${item(`${owner}.${field}[]`, path, items, `${at}[i]`)}`;
			text.push(types.includes("null") ? `if (${at} !== null) ${loop}` : loop);
		}
		return text.join(" ");
	}

	function item(owner: string, path: string, schema: Json, at: string): string {
		const ref = refName(schema);
		if (ref) {
			emit(ref);
			return `if ((e = ${ref}(${at}))) return \`${path}/\${i}\${e}\`;`;
		}
		const { type, minLength, maxLength, "x-known-values": _known, description: _prose, ...rest } = schema;
		only(owner, rest);
		const broken = (rule: string) => (view === "exact" ? `\`${path}/\${i}: ${rule}\`` : `\`${path}/\${i}\``);
		const length = view === "exact" && minLength !== undefined;
		return `{ if (${notOfType(type, at)}) return ${broken(`must be ${phrase(type)}`)};${length ? ` if (${at}.length < ${minLength} || ${at}.length > ${maxLength}) return ${broken(`must be ${minLength} to ${maxLength} characters long`)};` : ""} }`;
	}

	function say(path: string, rule: string): string {
		return JSON.stringify(view === "exact" ? `${path}: ${rule}` : path || "/");
	}
}

/** A keyword that the compiler does not know must stop the generation, not pass for checked. */
function only(owner: string, rest: Json): void {
	const unknown = Object.keys(rest);
	if (unknown.length) throw new Error(`${owner}: the compiler of checks does not know ${unknown.join(", ")}`);
}

function notOfType(type: string, at: string): string {
	if (type === "null") return `${at} !== null`;
	if (type === "array") return `!Array.isArray(${at})`;
	if (type === "integer") return `!Number.isInteger(${at})`;
	return `typeof ${at} !== ${JSON.stringify(type)}`;
}

function phrase(type: string): string {
	return type === "null" ? "null" : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

/**
 * The phone library's small set for every country, with Belgium's entry taken from its full set: a Belgian local
 * number is accepted only when it is valid there by type, and only the full set tells types apart.
 */
function phoneMetadata(): Record<string, string> {
	const small: Json = require("libphonenumber-js/metadata.min.json");
	const full: Json = require("libphonenumber-js/metadata.max.json");
	if (small.version !== full.version) throw new Error("libphonenumber-js: its metadata sets differ in version");
	const metadata = { ...small, countries: { ...small.countries, BE: full.countries.BE } };
	return {
		"phone-metadata.js": `${banner}export default ${JSON.stringify(metadata)};\n`,
		"phone-metadata.d.ts": `${banner}import type { MetadataJson } from "libphonenumber-js/core";

/** Two-letter country codes (ISO 3166-1), those whose numbers are known. */
export type CountryCode = ${Object.keys(metadata.countries)
			.map((code) => JSON.stringify(code))
			.join(" | ")};

declare const metadata: MetadataJson;
export default metadata;
`,
	};
}
