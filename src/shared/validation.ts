import * as z from "zod/mini";

/** A schema of zod. */
export type Schema<T> = z.ZodMiniType<T>;
/** The type of the values that satisfy a schema. */
export type ValueOf<S> = z.output<S>;

/** Any schema, as a field of another one. */
export type AnySchema = z.core.$ZodType;

/** A value that passes a test, and the rule in words that an error names. The words can depend on the value. */
export function rule<T>(
	test: (value: unknown) => boolean,
	words: string | ((value: unknown) => string),
): z.ZodMiniType<T> {
	return z.custom<T>(test, { error: ({ input }) => (typeof words === "string" ? words : words(input)) });
}

/** One of these values. */
export function oneOf<const Values extends readonly (string | boolean | null)[]>(
	...values: Values
): Schema<Values[number]> {
	const words = values.map((value) => JSON.stringify(value)).join(" or ");
	return rule((value) => values.some((each) => each === value), `must be ${words}`);
}

/** A field that may be absent or undefined. */
export const optional = z.optional;

/** Puts a copy in the place of a value that satisfies a schema: `schema.check(overwrite(copy))`. */
export const overwrite = z.overwrite;

/** A rule to add to a schema: `schema.check(refine(test, words))`. */
export const refine = z.refine;

/** A field that may be null. */
export const orNull = z.nullable;

/** A list whose items satisfy a schema. */
export function listOf<S extends AnySchema>(schema: S): z.ZodMiniArray<S> {
	return z.array(schema, "must be an array");
}

/** A value that satisfies one of these schemas. An error comes from the last one. */
export function either<const Schemas extends readonly AnySchema[]>(...schemas: Schemas): z.ZodMiniUnion<Schemas> {
	return z.union(schemas);
}

/** A list of a name and a value. */
export function pair<Name extends AnySchema, Value extends AnySchema>(
	name: Name,
	value: Value,
): z.ZodMiniTuple<[Name, Value]> {
	return z.tuple([name, value], "must be a name and a value");
}

/** An object one of whose fields names the schema that it satisfies. */
export function variant(field: string, schemas: Readonly<Record<string, AnySchema>>): z.ZodMiniType<object> {
	const names = Object.keys(schemas).map((name) => JSON.stringify(name));
	const unknown = { path: [field], words: `must be ${names.join(" or ")}` };
	return anyObject.check(({ value, issues }) => {
		const name = ownField(value, field);
		// An object may have no text of its own.
		const schema = typeof name === "object" ? undefined : new Map(Object.entries(schemas)).get(String(name));
		const error = schema && z.safeParse(schema, value).error;
		if (schema && !error) return;
		const { path, words } = error ? problemIn(error.issues, []) : unknown;
		issues.push({ code: "custom", path, message: words, input: value });
	});
}

/** A value that satisfies one schema if it is an object, and another one if it is not. */
export function objectOr<Whole extends object, Other>(
	whole: Schema<Whole>,
	other: Schema<Other>,
): Schema<Whole | Other> {
	return checkedLater<Whole | Other>().check(({ value, issues }) => {
		const { error } = z.safeParse<AnySchema>(typeof value === "object" ? whole : other, value);
		if (!error) return;
		const { path, words } = problemIn(error.issues, []);
		issues.push({ code: "custom", path, message: words, input: value });
	});
}

/** A value that may be `false` too. */
export function orFalse<S extends z.ZodMiniType>(schema: S): z.ZodMiniUnion<readonly [z.ZodMiniLiteral<false>, S]> {
	return z.union([z.literal(false), schema]);
}

/** An object with these fields and no others. Only own fields count, because a library can add to `Object.prototype`. */
export function object<Shape extends z.core.$ZodShape>(
	shape: Shape,
): z.ZodMiniPipe<z.ZodMiniType<z.input<z.ZodMiniObject<Shape>>>, z.ZodMiniObject<Shape>> {
	const names = Object.keys(shape);
	const known = z.custom<z.input<z.ZodMiniObject<Shape>>>((value) => fieldsProblem(value, names) === undefined, {
		error: ({ input }) => fieldsProblem(input, names) ?? "",
	});
	return z.pipe(known.check(overwrite((value) => ownFields(value, names))), z.object(shape) as never);
}

/** A schema for each field of `Whole`: the compiler finds one that is missing or has another type. */
export type FieldsOf<Whole> = { readonly [Field in keyof Whole]-?: Schema<Whole[Field]> };

/** An object of the fields of `Whole` and no others. */
export function fieldsOf<Whole extends object>(schemas: FieldsOf<Whole>): Schema<Whole> {
	// What zod infers from a mapped type is not `Whole` to the compiler.
	return object(schemas) as Schema<object> as Schema<Whole>;
}

/**
 * A copy of an object that may have these fields. Those that it does not have itself are undefined in the copy, so that
 * whoever reads them finds nothing that a library has added to `Object.prototype`.
 */
export function ownFields<Fields extends object>(value: Fields, names: readonly string[]): Fields {
	const own: Record<string, unknown> = {};
	for (const name of names) own[name] = ownField(value, name);
	return own as Fields;
}

/** A field that an object has itself. Undefined for anything else. */
export function ownField(value: unknown, name: string): unknown {
	return Object.hasOwn(Object(value), name) ? Object(value)[name] : undefined;
}

/** An object with any fields. */
export const anyObject: z.ZodMiniType<object> = /* @__PURE__ */ rule<object>(
	(value) => typeof value === "object" && value !== null,
	"must be an object",
);

/** What is wrong with a value that must be an object with some of these fields and no others. */
function fieldsProblem(value: unknown, names: readonly string[]): string | undefined {
	const known = () => names.join(", ") || "nothing";
	if (!isRecord(value)) {
		const name = isAbortSignal(value) ? "signal" : "tx";
		return `must be an object of ${known()}${names.includes(name) ? `. Pass it as { ${name} }` : ""}`;
	}
	const unknown = Object.keys(value).filter((key) => !names.includes(key));
	return unknown.length > 0 ? `takes ${known()}. It has a field that it does not take${namesOf(unknown)}` : undefined;
}

/**
 * Whether a value is an object with fields. One of a class without fields of its own is none: a signal, a transaction, a
 * Map or a `Headers` would pass for an empty object.
 */
export function isRecord(value: unknown): value is object {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
	return isPlain(value) || Object.keys(value).length > 0;
}

/** Whether an object is of no class. The objects of another realm have another `Object.prototype`. */
function isPlain(value: unknown): boolean {
	const prototype = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Names that look like fields. Anything else could be a value, such as a phone number. */
function namesOf(keys: readonly string[]): string {
	const shown = keys.filter((key) => /^[A-Za-z_]\w{0,39}$/.test(key) && !/\d{6}/.test(key));
	return shown.length > 0 ? `: ${shown.join(", ")}` : "";
}

/** Whether a value is a whole number from `min` to `max`. */
export function isWhole(value: unknown, min: number, max: number): boolean {
	return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** A whole number from `min` to `max`. */
export function whole(min: number, max: number): Schema<number> {
	return rule<number>((value) => isWhole(value, min, max), `must be a whole number from ${min} to ${max}`);
}

/** A timer of more than 2^31 − 1 ms would fire at once. */
export const milliseconds: Schema<number> = /* @__PURE__ */ whole(1, 2_147_483_647);

/** Whether a value is text that can go over the wire. A lone surrogate, as cutting an emoji in two leaves it, cannot. */
export function isWellFormed(value: unknown): value is string {
	return typeof value === "string" && !/\p{Surrogate}/u.test(value);
}

/** The text with U+FFFD for NULs and halves of a surrogate pair, which PostgreSQL and most other databases refuse. */
export function storableText(text: string): string {
	return text.replace(/\0|\p{Surrogate}/gu, "\uFFFD");
}

const wellFormed = /* @__PURE__ */ z.refine(
	isWellFormed,
	"must not hold half of an emoji. Cut the text with Array.from(text), and not with slice",
);

/** Text that can go over the wire. */
export const wireText: z.ZodMiniString = /* @__PURE__ */ z.string("must be a string").check(wellFormed);

/** Text that can be sent, and stored in a database. */
export const text: z.ZodMiniString = /* @__PURE__ */ z.string("must be a string").check(
	/* @__PURE__ */ z.refine((value) => value.trim() !== "", "must not be blank"),
	/* @__PURE__ */ z.refine((value) => !value.includes("\0"), "must have no NUL, because no database stores it"),
	wellFormed,
);

export const flag: z.ZodMiniBoolean = /* @__PURE__ */ z.boolean("must be true or false");

/** A value whose check needs more than the value itself, and comes later. */
export function checkedLater<T>(): Schema<T> {
	return z.custom<T>();
}

/** Any value. */
export const anything: z.ZodMiniUnknown = /* @__PURE__ */ z.unknown();

export function callable<T>(): z.ZodMiniType<T> {
	return rule<T>((value) => typeof value === "function", "must be a function");
}

/** Whether a value is a Date. Not by `instanceof`: under Jest, a Date can be of another realm. */
export function isDate(value: unknown): value is Date {
	return Object.prototype.toString.call(value) === "[object Date]";
}

/** Not by `instanceof`: under Jest, an AbortSignal is of another realm. */
function isAbortSignal(value: unknown): value is AbortSignal {
	return hasMethods(value, "addEventListener", "removeEventListener") && "aborted" in value;
}

export const abortSignal: z.ZodMiniType<AbortSignal> = /* @__PURE__ */ rule<AbortSignal>(
	isAbortSignal,
	"must be an AbortSignal, such as the signal of an AbortController",
);

/** Whether a value has methods of these names. */
export function hasMethods(value: unknown, ...names: string[]): value is object {
	const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
	return isHolder && names.every((name) => typeof Reflect.get(value, name) === "function");
}

/**
 * Returns a copy of a value that satisfies its schema. Otherwise it throws what `refuse` makes of the field and the rule
 * that it breaks. Neither shows the value.
 *
 * @param field name of the value itself; its fields have their own names
 */
export function checkValue<T>(
	schema: z.ZodMiniType<T>,
	value: unknown,
	field: string,
	refuse: (field: string, rule: string) => Error,
): T {
	const checked = z.safeParse(schema, value);
	if (checked.success) return checked.data;
	const { path, words } = problemIn(checked.error.issues, []);
	const error = refuse(placeOf(path) || field, words);
	// The engine keeps ten frames, and this package's own take the place of the caller's.
	Error.captureStackTrace?.(error, checkValue);
	throw error;
}

/** The place of a field, such as `retry.attempts` or `agencies[0].id`. */
function placeOf(path: readonly PropertyKey[]): string {
	return path
		.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
		.join("")
		.replace(/^\./, "");
}

interface AnyIssue {
	path: readonly PropertyKey[];
	message: string;
	errors?: readonly (readonly AnyIssue[])[];
}

/** The first problem. In a union the last branch's, because the others are single values. */
function problemIn(issues: readonly unknown[], above: readonly PropertyKey[]): { path: PropertyKey[]; words: string } {
	const { path, message, errors } = issues[0] as AnyIssue;
	const at = [...above, ...path];
	const branch = errors?.at(-1);
	return branch && branch.length > 0 ? problemIn(branch, at) : { path: at, words: message };
}
