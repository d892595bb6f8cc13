import { type E164, readPhone } from "../../phone/phone.ts";

export type { E164 };

/** The E.164 form of a number in any spelling, read in Belgium; undefined for text that is not a phone number. */
export function phoneFrom(text: string): E164 | undefined {
	return readPhone(text, "BE").phone;
}
