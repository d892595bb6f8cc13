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
	return `${banner}
// biome-ignore-all lint: generated
type Check = (value: any) => string | undefined;
${[...emitted.values()].join("\n")}
export const ${view === "tolerant" ? "answers" : "requests"} = { ${names.join(", ")} } satisfies Record<string, Check>;
`;

	function emit(name: string): void {
		if (emitted.has(name)) return;
		const {
			properties,
			required = [],
			additionalProperties,
			type,
			description: _prose,
			...rest
		} = contract.components.schemas[name];
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
