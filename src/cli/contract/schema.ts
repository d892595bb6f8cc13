/** A part of a JSON document of unknown form. */
export type Json = Readonly<Record<string, unknown>>;

/** The rules of a schema in one form, however it writes them. */
export interface Schema {
	/** JSON types. Empty when the schema takes any value. */
	readonly types: ReadonlySet<string>;
	/** The values that it lists, if it does. */
	readonly values: readonly unknown[] | undefined;
	readonly fields: ReadonlyMap<string, unknown>;
	readonly required: ReadonlySet<string>;
	readonly items: unknown;
	/** Keywords that narrow a value further, such as `maximum`. */
	readonly limits: Json;
}

const limitNames = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"];

export function isJson(value: unknown): value is Json {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The part of a document at a path; an empty object where there is none. */
export function part(value: unknown, ...path: readonly string[]): Json {
	let at = value;
	for (const name of path) at = isJson(at) ? at[name] : undefined;
	return isJson(at) ? at : {};
}

/** Follows `$ref` to the part of the document that it names. */
export function resolve(document: Json, value: unknown): Json {
	let at = part(value);
	for (let hops = 0; typeof at.$ref === "string" && hops < 20; hops++) {
		const path = at.$ref.replace(/^#\//, "").split("/");
		at = part(document, ...path.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")));
	}
	return at;
}

/** Name of the schema that a `$ref` names. */
export function nameOf(schema: unknown): string | undefined {
	const { $ref } = part(schema);
	return typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
}

/** Levels of `allOf`, `anyOf` and `oneOf` that are read. A schema can refer to itself there. */
const mostLevels = 8;

/** Reads a schema. Generators write the same one in many ways: `anyOf` with null, `nullable`, `const`, `allOf`. */
export function readSchema(document: Json, given: unknown, level = 0): Schema {
	const schema = resolve(document, given);
	const read = (list: unknown): Schema[] =>
		level === mostLevels ? [] : listIn(list).map((each) => readSchema(document, each, level + 1));
	const whole = [ownSchema(schema), ...read(schema.allOf)].reduce(both);
	const alternatives = read(schema.anyOf ?? schema.oneOf);
	return alternatives.length === 0 ? whole : both(whole, alternatives.reduce(either));
}

function ownSchema(schema: Json): Schema {
	const listed = listIn(schema["x-known-values"] ?? schema.enum);
	const values = "const" in schema ? [schema.const] : listed.length > 0 ? listed : undefined;
	const declared = [schema.type].flat().filter((type) => typeof type === "string");
	const fields = new Map(Object.entries(part(schema.properties)));
	const implied = fields.size > 0 ? ["object"] : "items" in schema ? ["array"] : (values ?? []).map(typeOf);
	return {
		types: new Set([...(declared.length > 0 ? declared : implied), ...(schema.nullable === true ? ["null"] : [])]),
		values,
		fields,
		required: new Set(listIn(schema.required).map(String)),
		items: schema.items,
		limits: Object.fromEntries(Object.entries(schema).filter(([name]) => limitNames.includes(name))),
	};
}

function typeOf(value: unknown): string {
	return value === null ? "null" : typeof value;
}

/** The schema of values that satisfy both. A schema without types takes the types of the other one. */
function both(a: Schema, b: Schema): Schema {
	const [left, right] = [[...a.types], [...b.types]];
	const common = left.filter((type) => b.types.has(type));
	return {
		types: new Set(left.length === 0 ? right : right.length === 0 ? left : common.length > 0 ? common : right),
		values: b.values ?? a.values,
		fields: new Map([...a.fields, ...b.fields]),
		required: new Set([...a.required, ...b.required]),
		items: b.items ?? a.items,
		limits: { ...a.limits, ...b.limits },
	};
}

/** The schema of values that satisfy one of the two. A schema of null alone only adds the type. */
function either(a: Schema, b: Schema): Schema {
	const isNull = (schema: Schema): boolean => schema.types.size === 1 && schema.types.has("null");
	if (isNull(b)) return { ...a, types: new Set([...a.types, "null"]) };
	if (isNull(a)) return either(b, a);
	const isAny = a.types.size === 0 || b.types.size === 0;
	return {
		types: isAny ? new Set() : new Set([...a.types, ...b.types]),
		values: a.values && b.values && [...a.values, ...b.values],
		fields: new Map([...a.fields, ...b.fields]),
		required: new Set([...a.required].filter((name) => b.required.has(name))),
		items: a.items ?? b.items,
		limits: Object.fromEntries(Object.entries(a.limits).filter(([name, limit]) => b.limits[name] === limit)),
	};
}

function listIn(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}
