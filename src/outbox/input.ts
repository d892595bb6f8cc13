import { PartnerInvalidInput } from "messaging-conversations";
import {
	anyObject,
	anything,
	checkValue,
	hasMethods,
	isDate,
	object as objectOf,
	optional,
	type Schema,
	text as textRule,
} from "../shared/validation.ts";

/** Names the field and the rule, never the value. */
export function refuse(field: string, rule: string, operation: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** Milliseconds of a point in time. A text without a zone would be read in the zone of the machine. */
export function moment(field: string, value: unknown, operation: string): number {
	const isZoned = typeof value === "string" && value.length < 100 && /:.*(Z|[+-][\d:]+)$/.test(value);
	const ms = Number(new Date(isZoned || isDate(value) || typeof value === "number" ? value : ""));
	return Number.isNaN(ms) ? refuse(field, "must be a time with a zone", operation) : ms;
}

/** Throws unless the value satisfies a schema of the shared rules. */
function check<T>(schema: Schema<T>, field: string, value: unknown, operation: string): T {
	return checkValue(
		schema,
		value,
		field,
		(broken, rule) => new PartnerInvalidInput({ field: broken, rule, operation }),
	);
}

/** Text that can go over the wire and into a database. */
export function text(field: string, value: unknown, operation: string): string {
	return check(textRule, field, value, operation);
}

export function object(name: string, value: unknown, operation: string): asserts value is object {
	check(anyObject, name, value, operation);
}

/** An object with no other fields than these. */
export function fields(name: string, value: unknown, operation: string, ...known: string[]): void {
	check(objectOf(Object.fromEntries(known.map((field) => [field, optional(anything)]))), name, value, operation);
}

/** Whether the value has methods of these names. */
export function can(value: unknown, ...names: string[]): boolean {
	return hasMethods(value, ...names);
}
