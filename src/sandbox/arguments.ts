import { isRecord } from "./strict.ts";

/** The fields of a JSON object, each read as what it must be; what it is not throws with the field's name. */
export interface Arguments {
	string(name: string): string;
	boolean(name: string): boolean;
	strings(name: string): string[];
	stringOrNull(name: string): string | null;
	has(name: string): boolean;
	/** The whole object, for a control that checks it itself. */
	readonly all: Readonly<Record<string, unknown>>;
}

/** `takes` are the fields that there may be. */
export function argumentsFrom(body: string, takes: readonly string[]): Arguments {
	const all: unknown = body.trim() === "" ? {} : JSON.parse(body);
	if (!isRecord(all)) throw new TypeError("The body must be a JSON object.");
	const unknown = Object.keys(all).find((name) => !takes.includes(name));
	if (unknown !== undefined)
		throw new TypeError(`There is no "${unknown}" here; the body takes ${takes.join(", ") || "nothing"}.`);
	const wrong = (name: string, what: string): TypeError => new TypeError(`${name} must be ${what}.`);
	return {
		all,
		has: (name) => all[name] !== undefined,
		string(name) {
			const value = all[name];
			if (typeof value !== "string") throw wrong(name, "a string");
			return value;
		},
		stringOrNull(name) {
			const value = all[name];
			if (typeof value !== "string" && value !== null) throw wrong(name, "a string or null");
			return value;
		},
		boolean(name) {
			const value = all[name];
			if (typeof value !== "boolean") throw wrong(name, "true or false");
			return value;
		},
		strings(name) {
			const value = all[name];
			if (!Array.isArray(value) || !value.every((item): item is string => typeof item === "string"))
				throw wrong(name, "an array of strings");
			return value;
		},
	};
}
