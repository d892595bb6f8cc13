/*
 * Rules for what controls are given. A slip must not pass in silence, because the test that makes it proves nothing.
 */

/** Returns what is wrong with a value, beginning with where it is (".hours must be …"); undefined when it is good. */
export type Rule = (value: unknown) => string | undefined;

/** Throws a TypeError that names the control and the field. */
export function assertValid(control: string, value: unknown, rule: Rule): void {
	const failure = rule(value);
	if (failure !== undefined) throw new TypeError(`${control}${failure.replace(/^\./, ": ")}.`);
}

/** A rule that holds or not; `words` end the sentence that begins with "must be". */
export const must =
	(words: string, holds: (value: unknown) => boolean): Rule =>
	(value) =>
		holds(value) ? undefined : ` must be ${words}`;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

export const aString = must("a string", (value) => typeof value === "string");
export const aNumber = must("a finite number", (value) => Number.isFinite(value));
export const trueOrFalse = must("true or false", (value) => typeof value === "boolean");

/** A text in which there is something to read. */
export const someText = must("a string that is not empty", (value) => typeof value === "string" && value.trim() !== "");

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const aUuid = must("a UUID", (value) => typeof value === "string" && uuid.test(value));

export const wholeFrom = (lowest: number): Rule =>
	must(`a whole number, at least ${lowest}`, (value) => Number.isSafeInteger(value) && Number(value) >= lowest);

export const oneOf = (...values: readonly (string | boolean | null)[]): Rule =>
	must(values.map((value) => JSON.stringify(value)).join(" or "), (value) => values.some((each) => each === value));

const otherwise =
	(other: null | undefined, words: string, rule: Rule): Rule =>
	(value) =>
		value === other ? undefined : rule(value)?.replace(/^ must be .*$/, `$&${words}`);

export const orNull = (rule: Rule): Rule => otherwise(null, ", or null", rule);
export const optional = (rule: Rule): Rule => otherwise(undefined, "", rule);

export const listOf =
	(rule: Rule): Rule =>
	(value) => {
		if (!Array.isArray(value)) return " must be an array";
		for (const [index, item] of value.entries()) {
			const failure = rule(item);
			if (failure !== undefined) return `[${index}]${failure}`;
		}
		return undefined;
	};

/** An object of some of these fields and no other. */
export const partOf = <Whole extends object>(rules: { readonly [Field in keyof Whole]-?: Rule }): Rule => {
	const each = Object.entries<Rule>(rules).map(([name, rule]): [string, Rule] => [name, optional(rule)]);
	return fields<Record<string, unknown>>(Object.fromEntries(each));
};

/** An object of these fields and no other; the type asks for a rule for each. */
export const fields =
	<Whole extends object>(rules: { readonly [Field in keyof Whole]-?: Rule }): Rule =>
	(value) => {
		const known = Object.entries<Rule>(rules);
		const names = known.map(([name]) => name).join(", ") || "nothing";
		if (!isRecord(value)) return ` must be an object of ${names}`;
		const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules, name));
		if (unknown !== undefined) return ` has no field "${unknown}"; it has ${names}`;
		for (const [name, rule] of known) {
			const failure = rule(value[name]);
			if (failure !== undefined) return `.${name}${failure}`;
		}
		return undefined;
	};
