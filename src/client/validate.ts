import * as z from "zod/v4/core";
import { type Facts, type PartnerConfigurationError, PartnerInvalidInput } from "./errors.ts";

/** A schema of zod. Its core is used without the methods on top of it, which nobody here calls. */
export type Schema<T> = z.$ZodType<T>;
/** A schema of a field that may be absent. */
type Optional<T> = Schema<T | undefined> & { _zod: { optin: "optional"; optout: "optional" } };
/** The type of the values that satisfy a schema. */
export type ValueOf<S> = z.output<S>;

type Parse = z.$ZodTypeInternals["parse"];

const Base: z.$constructor<z.$ZodType> = z.$ZodType;
/** A schema made of its parse function. */
const Custom = z.$constructor<z.$ZodType, z.$ZodTypeDef & { parse: Parse }>("Custom", (schema, def) => {
	Base.init(schema, def);
	schema._zod.parse = def.parse;
});

/** A schema from a test and the rule in words that an error names. */
export function rule<T>(test: (value: unknown) => boolean, words: string): Schema<T> {
	const parse: Parse = (payload) => {
		const { value: input, issues } = payload;
		if (!test(input)) issues.push({ code: "custom", message: words, input });
		return payload;
	};
	return new Custom({ type: "custom", parse }) as Schema<T>;
}

/** A field that may be absent or undefined. */
export function optional<T>(inner: Schema<T>): Optional<T> {
	const parse: Parse = (payload, context) => (payload.value === undefined ? payload : inner._zod.run(payload, context));
	const schema = new Custom({ type: "custom", parse });
	schema._zod.optin = "optional";
	schema._zod.optout = "optional";
	return schema as Optional<T>;
}

/** A value that may be `false` too. */
export function orFalse<T>(inner: Schema<T>): Schema<T | false> {
	const parse: Parse = (payload, context) => (payload.value === false ? payload : inner._zod.run(payload, context));
	return new Custom({ type: "custom", parse }) as Schema<T | false>;
}

/** An object with these fields and no others. */
export function object<Shape extends z.$ZodShape>(shape: Shape): z.$ZodObject<Shape, z.$strict> {
	const catchall = new z.$ZodNever({ type: "never" });
	return new z.$ZodObject({ type: "object", shape, catchall }) as z.$ZodObject<Shape, z.$strict>;
}

export function isWhole(value: unknown, min: number, max = Number.POSITIVE_INFINITY): boolean {
	return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** A whole number from `min` to `max`. */
export function whole(min: number, max: number): Schema<number> {
	return rule<number>((value) => isWhole(value, min, max), `must be a whole number from ${min} to ${max}`);
}

/** A timer of more than 2^31 − 1 ms would fire at once. */
export const milliseconds: Schema<number> = whole(1, 2 ** 31 - 1);

/** Whether a value is text that can go over the wire. A lone surrogate, as cutting an emoji in two leaves it, cannot. */
export function isWellFormed(value: unknown): value is string {
	return typeof value === "string" && !/\p{Surrogate}/u.test(value);
}

export const text: Schema<string> = rule<string>(
	(value) => isWellFormed(value) && value.trim() !== "",
	"must be well-formed text that is not blank",
);

export const flag: Schema<boolean> = rule<boolean>((value) => typeof value === "boolean", "must be true or false");

/** Any value. */
export const anything: Schema<unknown> = rule<unknown>(() => true, "");

/** An agency id, which becomes a part of a path. */
export const agencyIdText: Schema<string> = rule<string>(
	(value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(value),
	"must be 1 to 128 letters, digits, - or _, as me.get returns it",
);

export function callable<T>(): Schema<T> {
	return rule<T>((value) => typeof value === "function", "must be a function");
}

/** Whether a value has methods of these names. Not by `instanceof`: under Jest, an AbortSignal is of another realm. */
export function hasMethods(value: unknown, ...names: string[]): value is object {
	const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
	return isHolder && names.every((name) => typeof Reflect.get(value, name) === "function");
}

/** The class of error that refuses a value. */
type Refusal = typeof PartnerInvalidInput | typeof PartnerConfigurationError;

/**
 * Returns a copy of a value that satisfies its schema, or throws an error that names the field and the rule and never
 * shows the value.
 *
 * @param field name of the value itself; its fields have their own names
 * @param facts of the call, for the error
 */
export function checkInput<T>(
	schema: Schema<T>,
	value: unknown,
	field: string,
	facts: Facts,
	Refused: Refusal = PartnerInvalidInput,
): T {
	const checked = schema._zod.run({ value, issues: [] }, {});
	if (checked instanceof Promise) throw new TypeError("a schema here never waits");
	const [issue] = checked.issues;
	// The only place where a value gets the type of its schema, which has accepted it.
	if (!issue) return checked.value as T;
	const path = (issue.path ?? []).map(String).join(".");
	throw new Refused({ ...facts, field: path || field, rule: wordsOf(issue) });
}

function wordsOf(issue: z.$ZodRawIssue): string {
	if (issue.code === "unrecognized_keys") return `has a field that it does not take${namesOf(issue.keys)}`;
	return issue.message ?? "must be an object";
}

/** Names that look like fields. Anything else could be a value, such as a phone number. */
function namesOf(keys: readonly string[]): string {
	const shown = keys.filter((key) => /^[A-Za-z_]\w{0,39}$/.test(key) && !/\d{6}/.test(key));
	return shown.length > 0 ? `: ${shown.join(", ")}` : "";
}
