/*
 * What a synchronous library of SQLite has at once, and every other one later. A synchronous transaction has ended before anything
 * that is awaited, so that only an error that is thrown at once rolls it back.
 */

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Goes on with a value at once if it is there. */
export function after<Value, Result>(
	value: Awaitable<Value>,
	act: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
	return value instanceof Promise ? value.then(act) : act(value);
}
