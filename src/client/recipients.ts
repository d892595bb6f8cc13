import { type CountryCode, type E164, readRecipient } from "../phone/phone.ts";
import { PartnerConfigurationError } from "./errors.ts";

/** The numbers that a client may send to, or a function that returns `true` for them. */
export type Recipients = readonly string[] | ((phone: E164) => boolean);

/**
 * Returns whether the client may send to a number. A function that throws, or returns anything but `true`, refuses.
 *
 * @throws PartnerConfigurationError when an entry of the list is not a phone number
 */
export function createRecipientCheck(
	given: Recipients | undefined,
	defaultCountry: CountryCode,
): (to: E164) => boolean {
	if (typeof given === "function") {
		return (phone) => {
			try {
				return given(phone) === true;
			} catch {
				return false;
			}
		};
	}
	const allowed = given?.map((entry: unknown, index) => {
		// As a send reads them, also one that allows an unlisted number.
		const options = { defaultCountry, allowUnlistedNumber: true };
		const phone = typeof entry === "string" ? readRecipient(entry, options).phone : undefined;
		if (phone !== undefined) return phone;
		const rule = "must be one phone number as a string";
		throw new PartnerConfigurationError({ field: `allowRecipients[${index}]`, rule });
	});
	const listed = allowed && new Set(allowed);
	return (phone) => listed === undefined || listed.has(phone);
}
