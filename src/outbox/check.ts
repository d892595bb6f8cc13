import { PartnerInvalidInput } from "messaging-conversations";

/** Names the field and the rule, never the value. */
export function refuse(field: string, rule: string, operation: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** Milliseconds of a point in time. A text without a zone would be read in the zone of the machine. */
export function moment(field: string, value: unknown, operation: string): number {
	const isZoned = typeof value === "string" && /:.*(Z|[+-][\d:]+)$/.test(value);
	const ms = Number(new Date(isZoned || value instanceof Date || typeof value === "number" ? value : ""));
	return Number.isNaN(ms) ? refuse(field, "must be a time with a zone", operation) : ms;
}

/** Text that can go over the wire and into a database. */
export function text(field: string, value: unknown, operation: string): string {
	if (typeof value === "string" && value.trim() !== "" && !/[\p{Surrogate}\0]/u.test(value)) return value;
	return refuse(field, "must be well-formed text that is not blank and has no NUL", operation);
}

/** A whole number from 1 to the most milliseconds that a timer can wait. */
export function whole(field: string, value: unknown, operation: string): void {
	if (Number.isInteger(value) && Number(value) >= 1 && Number(value) < 2 ** 31) return;
	refuse(field, `must be a whole number from 1 to ${2 ** 31 - 1}`, operation);
}

export function object(name: string, value: unknown, operation: string): asserts value is object {
	if (typeof value !== "object" || value === null) refuse(name, "must be an object", operation);
}

/** An object with no other fields than these. */
export function fields(name: string, value: unknown, operation: string, ...known: string[]): void {
	object(name, value, operation);
	const extra = Object.keys(value).find((key) => !known.includes(key));
	if (extra === undefined) return;
	// A name that does not look like a field can be a value, such as a phone number.
	const shown = /^(?!.*\d{6})[a-z_]\w{0,39}$/i.test(extra) ? `: ${extra}` : "";
	refuse(name, `has a field that it does not take${shown}`, operation);
}

/** Whether the value has methods of these names. */
export function can(value: unknown, ...names: string[]): boolean {
	return names.every((name) => typeof Reflect.get(Object(value), name) === "function");
}
