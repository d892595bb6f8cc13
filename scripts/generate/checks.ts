import { banner, type Json, refName } from "./contract.ts";

/**
 * Checks compiled ahead of time, one function a schema: no schema and no compiler at run time, no eval, so they run on
 * workers too. A check returns nothing when the value is good, else where it breaks. Written out here rather than by
 * ajv because ajv's standalone code is four times the size of everything else in the client; the tests hold it
 * against ajv.
 *
 * `tolerant` reads an answer: what is missing or ill-typed breaks, what is new does not. `exact` reads a request as the
 * service does: to the letter, with the rule that was broken.
 */
export function checks(contract: Json, view: "tolerant" | "exact", names: string[]): string {
	const emitted = new Map<string, string>();
	for (const name of names) emit(name);
	const body = [...emitted.values()].join("\n");
	const used = helpers.filter(([name]) => body.includes(`${name}(`)).map(([, code]) => code);
	return `${banner}
// biome-ignore-all lint: generated
type Check = (v: any) => string | undefined;
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
		const tests = [`noObject(v) ? ${say("", "must be an object")}`];
		const inner: string[] = [];
		if (view === "exact" && additionalProperties === false) {
			inner.push(`unknownField(v, ${JSON.stringify(Object.keys(properties))})`);
		}
		for (const [field, value] of Object.entries<Json>(properties)) {
			const at = `v.${field}`;
			const given = required.includes(field) ? "" : `${at} !== undefined && `;
			const found = property(name, field, value, at);
			tests.push(...found.tests.map(([bad, rule]) => `${given}${bad} ? ${say(`/${field}`, rule)}`));
			const absent = [given && `${at} === undefined`, found.nullable && `${at} === null`].filter(Boolean).join(" || ");
			if (found.inner) inner.push(absent ? `(${absent} ? undefined : ${found.inner})` : found.inner);
		}
		const lines = [...tests.map((test) => `${test} :`), inner.join(" ??\n\t") || "undefined"];
		emitted.set(name, `const ${name}: Check = (v) =>\n\t${lines.join("\n\t")};`);
	}

	function property(owner: string, field: string, schema: Json, at: string): Property {
		const path = JSON.stringify(`/${field}`);
		const inner = schema.anyOf?.find((s: Json) => s.$ref) ?? schema;
		const ref = refName(inner);
		if (ref) {
			emit(ref);
			return { tests: [], inner: `inside(${path}, ${ref}(${at}))`, nullable: inner !== schema };
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
		return { tests, inner: `each(${path}, ${at}, ${item(`${owner}.${field}[]`, items)})`, nullable };
	}

	function item(owner: string, schema: Json): string {
		const ref = refName(schema);
		if (ref) {
			emit(ref);
			return ref;
		}
		const { type, minLength, maxLength, "x-known-values": _known, description: _prose, ...rest } = schema;
		only(owner, rest);
		const broken = (rule: string) => JSON.stringify(view === "exact" ? `: ${rule}` : "");
		const length =
			view === "exact" && minLength !== undefined
				? `[...v].length < ${minLength} || [...v].length > ${maxLength} ? ${broken(`must be ${minLength} to ${maxLength} characters long`)} : `
				: "";
		return `(v) => ${notOfType([type])}(v) ? ${broken(`must be ${phrase(type)}`)} : ${length}undefined`;
	}

	function say(path: string, rule: string): string {
		return JSON.stringify(view === "exact" ? `${path}: ${rule}` : path);
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
	for (const k in v) if (!known.includes(k)) return \`/\${k}: is not a field of this request\`;
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
