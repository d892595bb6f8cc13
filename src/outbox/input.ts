import { PartnerConfigurationError, PartnerInvalidInput } from "messaging-conversations";
import { protocolProblem } from "../shared/protocol.ts";
import {
	anyObject,
	checkValue,
	hasMethods,
	isDate,
	overwrite,
	refine,
	rule,
	type Schema,
	text as textRule,
} from "../shared/validation.ts";

/** Names the field and the rule, never the value. */
export function refuse(field: string, rule: string, operation: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** Throws if a client or an agency is of another protocol than this outbox. */
export function checkProtocol(field: string, value: unknown, operation: string): void {
	const rule = protocolProblem(value);
	if (rule !== undefined) throw new PartnerConfigurationError({ field, rule, operation });
}

/** Such as `2026-01-05T09:00:00Z` or `2026-01-05 10:00+01:00`. Other forms are read differently by different runtimes. */
const zonedTime = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)$/;
/** In March 1973. A smaller number is one of seconds, or of a field that was empty. */
const earliestMs = 1e11;

/** Milliseconds of a point in time, or what is wrong with it. A text without a zone would be read in the zone of the machine. */
function readTime(value: unknown): number | string {
	const [, day = ""] = (typeof value === "string" && zonedTime.exec(value)) || [];
	const isTime = day !== "" || isDate(value) || typeof value === "number";
	const ms = Number(new Date(isTime ? (value as string | number | Date) : ""));
	if (Number.isNaN(ms) || !isDay(day)) return "must be a time with a zone, such as 2026-01-05T09:00:00Z";
	if (ms < earliestMs) return "must be a time in milliseconds, after 1973: multiply a time in seconds by 1000";
	return ms;
}

/** Whether it is a point in time. */
export const isTime = (value: unknown): boolean => typeof readTime(value) === "number";

/** A point in time. */
export const time: Schema<Date | string | number> = rule<Date | string | number>(
	(value) => typeof readTime(value) === "number",
	(value) => String(readTime(value)),
);

/** Milliseconds of a point in time. */
export function moment(field: string, value: unknown, operation: string): number {
	return Number(readTime(check(time, field, value, operation)));
}

/** Whether a day exists: runtimes read the 30th of February as the 2nd of March. */
function isDay(day: string): boolean {
	const midnight = new Date(`${day}T00:00:00Z`);
	return day === "" || (!Number.isNaN(midnight.getTime()) && midnight.toJSON().startsWith(day));
}

/** A copy of a value that satisfies a schema. Otherwise it throws an error that names the field and the rule. */
export function check<T>(schema: Schema<T>, field: string, value: unknown, operation: string): T {
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

/** Whether the value has methods of these names. */
export function can(value: unknown, ...names: string[]): boolean {
	return hasMethods(value, ...names);
}

/** The longest name of a person, and the longest reason that people give. */
export const longestName = 100;
export const longestReason = 200;

/** Text on one line, without characters that steer a terminal or turn the direction of what follows. */
export const line = (most: number): Schema<string> =>
	textRule.check(
		overwrite((given) => given.trim()),
		refine((value) => value.length <= most, `must have at most ${most} characters`),
		refine(
			(value) => !/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(value),
			"must be one line without control characters",
		),
	);
