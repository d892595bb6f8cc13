import { PartnerConfigurationError } from "../../client/errors.ts";
import { protocolProblem } from "../../shared/protocol.ts";
import { isUuid } from "../../shared/uuid.ts";
import {
	type AnySchema,
	checkValue,
	hasMethods,
	object,
	optional,
	rule,
	type Schema,
} from "../../shared/validation.ts";

/** Throws a TypeError that names the control and the field. A mistake must not pass in silence, because its test would prove nothing. */
export function assertValid(control: string, value: unknown, schema: Schema<unknown>): void {
	checkValue(schema, value, "", (field, words) => {
		const place = field.replace(/^(?=\w)/, ": ");
		return new TypeError(`${control}${place} ${words}.`);
	});
}

/** An object of these fields and no other; the type asks for a schema for each. */
export function fields<Whole extends object>(
	schemas: { readonly [Field in keyof Whole]-?: AnySchema },
): Schema<unknown> {
	return object(schemas);
}

/** An object of some of these fields and no other. */
export function partOf<Whole extends object>(
	schemas: { readonly [Field in keyof Whole]-?: AnySchema },
): Schema<unknown> {
	const each = Object.entries<AnySchema>(schemas).map(([name, schema]) => [name, optional(schema)]);
	return object(Object.fromEntries(each));
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const isString = (value: unknown): value is string => typeof value === "string";
export const aString: Schema<string> = rule(isString, "must be a string");
export const stringOrNull: Schema<string | null> = rule(
	(value) => value === null || isString(value),
	"must be a string, or null",
);
/** A text in which there is something to read. */
export const someText: Schema<string> = rule(
	(value) => isString(value) && value.trim() !== "",
	"must be a string that is not empty",
);
export const aNumber: Schema<number> = rule(Number.isFinite, "must be a finite number");

/** What createSandbox() returns, or an object that passes its calls on. */
const aSandbox: Schema<object> = rule(
	(value) => hasMethods(value, "fetch", "subscribe"),
	"must be what createSandbox() returns",
);

/** Throws if it is no sandbox, or one of another protocol. */
export function checkSandbox(operation: string, sandbox: unknown): void {
	assertValid(`${operation}: sandbox`, sandbox, aSandbox);
	const rule = protocolProblem(sandbox);
	if (rule !== undefined) throw new PartnerConfigurationError({ operation, field: "sandbox", rule });
}

export const aUuid: Schema<string> = rule(isUuid, "must be a UUID");

export function wholeFrom(lowest: number): Schema<number> {
	const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= lowest;
	return rule(isWhole, `must be a whole number, at least ${lowest}`);
}
