/** Throws unless a store gave this value. A field that is undefined counts as missing. `what` is the call, in words. */
export function equal(what: string, actual: unknown, expected: unknown): void {
	report(what, actual, expected, true);
}

/** Throws unless a store gave at least this: objects may have more fields, lists no more items. */
export function like(what: string, actual: unknown, expected: unknown): void {
	report(what, actual, expected, false);
}

/** The error has `actual` and `expected`, of which test runners show the difference. */
function report(what: string, actual: unknown, expected: unknown, isExact: boolean): void {
	const found = difference(actual, expected, isExact, "");
	if (!found) return;
	const place = found.path === "" ? what : `${what}, at ${found.path}`;
	const message = `${place}: expected ${shown(found.expected)}, got ${shown(found.actual)}`;
	throw Object.assign(new Error(message), { actual, expected });
}

interface Difference {
	path: string;
	actual: unknown;
	expected: unknown;
}

/** The first difference. Lists of plain values, such as ids, are reported whole. */
function difference(actual: unknown, expected: unknown, isExact: boolean, path: string): Difference | undefined {
	const here: Difference = { path, actual, expected };
	if (!isObject(actual) || !isObject(expected)) return Object.is(actual, expected) ? undefined : here;
	if (Array.isArray(actual) || Array.isArray(expected)) {
		if (!Array.isArray(actual) || !Array.isArray(expected) || actual.length !== expected.length) return here;
	}
	for (const name of new Set([...Object.keys(expected), ...(isExact ? Object.keys(actual) : [])])) {
		const inner = Array.isArray(expected) ? `${path}[${name}]` : `${path}${path && "."}${name}`;
		const found = difference(Reflect.get(actual, name), Reflect.get(expected, name), isExact, inner);
		if (found) return Array.isArray(expected) && found.path === inner && !isObject(found.expected) ? here : found;
	}
	return undefined;
}

/** A Date is never equal to what is expected: a store returns plain values. */
function isObject(value: unknown): value is object {
	return value !== null && typeof value === "object" && !(value instanceof Date);
}

const longest = 500;

function shown(value: unknown): string {
	if (value === undefined) return "undefined";
	if (typeof value === "bigint") return `the bigint ${value}`;
	if (value instanceof Date) return "a Date";
	const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}n` : each));
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
