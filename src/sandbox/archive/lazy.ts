/*
 * A value whose long lists are made item by item, while they are written as JSON: as a whole it would take seconds in one go.
 */

/** A list whose items are made when they are written. */
interface LazyList {
	readonly items: Iterable<unknown>;
	/** Makes an item, which may have lists of this kind itself. */
	make(item: never): unknown;
}

class Lazy {
	constructor(readonly list: LazyList) {}
}

class Parts {
	constructor(readonly fields: Readonly<Record<string, unknown>>) {}
}

export const lazyList = <Item>(items: Iterable<Item>, make: (item: Item) => unknown): unknown =>
	new Lazy({ items, make });

/** An object, some of whose fields have such lists. A field that is undefined is left out. */
export const partly = (fields: Readonly<Record<string, unknown>>): unknown => new Parts(fields);

/** Passes a value to `out` as JSON, in pieces. No piece ends within a string. Pauses after each item of a list. */
export function* writeLazy(value: unknown, out: (json: string) => void): Generator<void, void> {
	if (value instanceof Lazy) {
		let separator = "[";
		for (const item of value.list.items) {
			out(separator);
			separator = ",";
			yield* writeLazy(value.list.make(item as never), out);
			yield;
		}
		out(separator === "[" ? "[]" : "]");
	} else if (value instanceof Parts) {
		let separator = "{";
		for (const [name, field] of Object.entries(value.fields)) {
			if (field === undefined) continue;
			out(`${separator}${JSON.stringify(name)}:`);
			separator = ",";
			yield* writeLazy(field, out);
		}
		out(separator === "{" ? "{}" : "}");
	} else out(JSON.stringify(value));
}
