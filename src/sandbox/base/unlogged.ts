/**
 * Leaves fields out of an object's JSON, because loggers write it. For the same reason they should be getters, which
 * `console.log` doesn't call.
 */
export function withoutInJson<Fields extends object>(
	object: Fields,
	...names: readonly (keyof Fields & string)[]
): Fields {
	const isShown = (name: string): boolean => !names.some((each) => each === name);
	const shownNames = Object.keys(object).filter(isShown);
	const toJson = () => Object.fromEntries(shownNames.map((name) => [name, Reflect.get(object, name)]));
	return Object.defineProperty(object, "toJSON", { value: toJson });
}
