import { type E164, toE164 } from "../../phone/phone.ts";

export type { E164 };

/** The E.164 form of a number in any spelling, read in Belgium; undefined for what is no phone number. */
export function phoneFrom(text: string): E164 | undefined {
	try {
		return toE164(text);
	} catch {
		return undefined;
	}
}
