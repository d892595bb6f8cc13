/**
 * A value that no log and no error reporter shows by itself. Reporters such as Sentry store the local variables of each frame in
 * which an error is thrown, and the fields of the objects in them. So a key is kept in here, and no frame that can throw has it
 * in a variable of its own.
 */
export class Secret<Value> {
	readonly #value: Value;

	constructor(value: Value) {
		this.#value = value;
	}

	/** Pass what it returns on at once. */
	reveal(): Value {
		return this.#value;
	}
}
