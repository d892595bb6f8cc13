import { banner, type Json, refName } from "./contract.ts";

/**
 * Checks compiled ahead of time, one function for each schema: no schema and no compiler at run time, no eval, so that
 * they run on workers too. They are not compiled by ajv, because its standalone code is four times the size of everything
 * else in the client; the tests compare them with ajv.
 *
 * `tolerant` checks a response and returns whether it is broken: a missing or ill-typed field breaks it, a new one does
 * not. `exact` checks a request as the service does, and returns the path and the rule that is broken, or undefined.
 */
export function checks(contract: Json, view: "tolerant" | "exact", names: string[]): string {
	const emitted = new Map<string, string>();
	for (const name of names) emit(name);
	const body = [...emitted.values()].join("\n");
	const used = helpers.filter(([name]) => new RegExp(`\\b${name}\\b`).test(body)).map(([, code]) => code);
	return `${banner}
// biome-ignore-all lint: generated
type Check = (v: any) => ${view === "tolerant" ? "boolean" : "string | undefined"};
${used.join("\n")}
${body}
export const ${view === "tolerant" ? "answers" : "requests"} = { ${names.join(", ")} } satisfies Record<string, Check>;
`;

	function emit(name: string): void {
		if (emitted.has(name)) return;
		const schema = contract.components.schemas[name];
		const { properties, required = [], additionalProperties, type, description: _prose, ...rest } = schema;
		only(name, rest);
		if (type !== "object") throw new Error(`${name}: only objects are compiled`);
		// Tests of the fields themselves, then of what is inside them: a chain of each.
		const tests = [clause("noObject(v)", "", "must be an object")];
		const inner: string[] = [];
		if (view === "exact" && additionalProperties === false) {
			inner.push(`unknownField(v, ${JSON.stringify(Object.keys(properties))})`);
		}
		for (const [field, value] of Object.entries<Json>(properties)) {
			const at = `v.${field}`;
			const given = required.includes(field) ? "" : `${at} !== undefined && `;
			const found = property(name, field, value, at);
			tests.push(...found.tests.map(([bad, rule]) => clause(given + bad, `/${field}`, rule)));
			if (found.inner) inner.push(whenPresent(found.inner, at, given !== "", found.nullable));
		}
		const chain =
			view === "tolerant"
				? [...tests, ...inner].join(" ||\n\t")
				: [...tests, inner.join(" ??\n\t") || "undefined"].join(" :\n\t");
		emitted.set(name, `const ${name}: Check = (v) =>\n\t${chain};`);
	}

	/** The check of what is inside a field that may be absent or null. */
	function whenPresent(check: string, at: string, isOptional: boolean, isNullable: boolean): string {
		const present = [isOptional && `${at} !== undefined`, isNullable && `${at} !== null`].filter(Boolean).join(" && ");
		if (!present) return check;
		return view === "exact" ? `(${present} ? ${check} : undefined)` : `${present} && ${check}`;
	}

	/** A test that is true for a bad value, and in the exact view the rule that it breaks. */
	function clause(bad: string, path: string, rule: string): string {
		return view === "exact" ? `${bad} ? ${JSON.stringify(`${path}: ${rule}`)}` : bad;
	}

	function property(owner: string, field: string, schema: Json, at: string): Property {
		const path = JSON.stringify(`/${field}`);
		const inner = schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
		const ref = refName(inner);
		if (ref) {
			emit(ref);
			const check = view === "exact" ? `inside(${path}, ${ref}(${at}))` : `${ref}(${at})`;
			return { tests: [], inner: check, nullable: inner !== schema };
		}
		const { type, items, format, minItems, maxItems, ...others } = schema;
		const { description: _prose, "x-known-values": _known, enum: _enum, ...rest } = others;
		only(`${owner}.${field}`, rest);
		const types: string[] = [type].flat();
		const nullable = types.includes("null");
		const tests: Property["tests"] = [[`${notOfType(types)}(${at})`, `must be ${types.map(phrase).join(" or ")}`]];
		if (view === "exact" && format === "uuid") tests.push([`noUuid(${at})`, "must be a UUID"]);
		if (view === "exact" && minItems !== undefined) {
			const bad = `(${at}.length < ${minItems} || ${at}.length > ${maxItems})`;
			tests.push([bad, `must have ${minItems} to ${maxItems} items`]);
		}
		if (!items) return { tests, inner: undefined, nullable };
		const check = item(`${owner}.${field}[]`, items);
		return { tests, inner: view === "exact" ? `each(${path}, ${at}, ${check})` : `${at}.some(${check})`, nullable };
	}

	function item(owner: string, schema: Json): string {
		const ref = refName(schema);
		if (ref) {
			emit(ref);
			return ref;
		}
		const { type, minLength, maxLength, "x-known-values": _known, description: _prose, ...rest } = schema;
		only(owner, rest);
		if (view === "tolerant") return notOfType([type]);
		const length =
			minLength === undefined
				? ""
				: `[...v].length < ${minLength} || [...v].length > ${maxLength} ? ": must be ${minLength} to ${maxLength} characters long" : `;
		return `(v) => ${notOfType([type])}(v) ? ": must be ${phrase(type)}" : ${length}undefined`;
	}
}

interface Property {
	/** What is bad, as an expression, and the rule that it breaks. */
	tests: [bad: string, rule: string][];
	/** The check of what is inside. */
	inner: string | undefined;
	nullable: boolean;
}

/** What the checks call, each emitted where it is used. */
const helpers: [name: string, code: string][] = [
	["noObject", `const noObject = (v: any) => typeof v !== "object" || v === null || Array.isArray(v);`],
	...Object.entries({
		String: `typeof v !== "string"`,
		Number: `typeof v !== "number"`,
		Boolean: `typeof v !== "boolean"`,
		Integer: "!Number.isInteger(v)",
		Array: "!Array.isArray(v)",
	}).flatMap(([type, bad]): [name: string, code: string][] => [
		[`no${type}`, `const no${type} = (v: any) => ${bad};`],
		[`no${type}OrNull`, `const no${type}OrNull = (v: any) => v !== null && ${bad};`],
	]),
	["noUuid", `const noUuid = (v: any) => v !== null && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(v);`],
	["inside", "const inside = (path: string, e: string | undefined) => (e === undefined ? e : path + e);"],
	[
		"each",
		`const each = (path: string, list: any[], check: Check) => {
	for (let i = 0; i < list.length; i++) {
		const e = check(list[i]);
		if (e !== undefined) return \`\${path}/\${i}\${e}\`;
	}
	return undefined;
};`,
	],
	[
		"unknownField",
		`const unknownField = (v: object, known: string[]) => {
	for (const k of Object.keys(v)) if (!known.includes(k)) return \`/\${k}: is not a field of this request\`;
	return undefined;
};`,
	],
];

/** A keyword that the compiler does not know must stop the generation, not pass for checked. */
function only(owner: string, rest: Json): void {
	const unknown = Object.keys(rest);
	if (unknown.length) throw new Error(`${owner}: the compiler of checks does not know ${unknown.join(", ")}`);
}

/** Name of the helper that finds a value to be of none of the types. */
function notOfType(types: string[]): string {
	return `no${types.map((type) => type.charAt(0).toUpperCase() + type.slice(1)).join("Or")}`;
}

function phrase(type: string): string {
	return type === "null" ? "null" : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}
