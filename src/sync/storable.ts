import { storableText } from "../shared/validation.ts";

/**
 * Makes all texts of a response storable, in place. `cursor` and `phoneNumber` stay as they are, because requests repeat
 * them. It uses no recursion, because fields that the contract does not list may be nested deeper than the stack.
 */
export function makeStorable(response: object): void {
	const parts = [response];
	for (let part = parts.pop(); part; part = parts.pop()) {
		for (const [name, value] of Object.entries(part)) {
			if (value && typeof value === "object") parts.push(value);
			else if (typeof value === "string" && name !== "cursor" && name !== "phoneNumber")
				Reflect.set(part, name, storableText(value));
		}
	}
}
