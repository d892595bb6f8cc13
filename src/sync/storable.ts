import { storableText } from "../shared/validation.ts";

/** `storableText`, which most texts need not. To look for that is many times faster than to look for what is replaced. */
export function storable(text: string): string {
	return /[\0\uD800-\uDFFF]/.test(text) ? storableText(text) : text;
}

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
				Reflect.set(part, name, storable(value));
		}
	}
}
