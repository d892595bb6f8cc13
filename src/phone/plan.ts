import { getCountryCallingCode, type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import metadata, { type CountryCode } from "../../generated/phone-metadata.js";

/** The countries whose numbers are checked by the full tables of the phone library. The other tables are smaller. */
export const homeCountries: readonly CountryCode[] = ["BE", "NL", "FR", "LU", "DE"];

/**
 * The rules of a country calling code, from the tables of the phone library, which takes thirty times as long to answer.
 * `false` of the last two means unknown, not invalid.
 */
export interface PhonePlan {
	/** Country calling code, for example `32`. */
	readonly code: string;
	/** Whether the code belongs to a home country. */
	readonly isHome: boolean;
	/** Lengths that a national number can have, shortest first. The trunk zero does not count. */
	readonly lengths: readonly number[];
	/** Whether national numbers are written with a zero in front, as in Belgium but not in Spain. */
	readonly trunkZero: boolean;
	/** Whether the library accepts `+`, the code and these digits unchanged. */
	readonly isSurelyPossible: (national: string) => boolean;
	/** Whether these digits are a valid mobile number. */
	readonly isSurelyMobile: (national: string) => boolean;
}

/** Reads `+` and digits, or the digits of a local number. */
export function parse(text: string, defaultCountry?: CountryCode): PhoneNumber | undefined {
	// Without extract: false, the library finds a number in "call me 0470123456".
	return parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) }, metadata);
}

/** Whether the library accepts `+` and these digits unchanged, and finds their length possible in the country. */
export function isPossible(phone: string): boolean {
	const plan = planOf(phone.slice(1));
	if (plan?.isSurelyPossible(phone.slice(1 + plan.code.length))) return true;
	const number = parse(phone);
	return number?.number === phone && number.isPossible();
}

/** Whether a number is valid by the tables: by its type in a home country, by its form elsewhere. */
export function isValid(phone: string): boolean {
	const number = parse(phone);
	return number?.number === phone && number.isValid();
}

/** The plan for local numbers of a country. */
export function planOfCountry(country: CountryCode): PhonePlan | undefined {
	return planOf(getCountryCallingCode(country, metadata));
}

/** Null if no country has the code. */
const plans = new Map<string, PhonePlan | null>();

/** The plan for the digits of an international number, without `+`. Undefined if no country has their code. */
export function planOf(digits: string): PhonePlan | undefined {
	// Trying three lengths is unambiguous, because no calling code begins with another one.
	for (let length = 1; length <= 3; length++) {
		const code = digits.slice(0, length);
		let plan = plans.get(code);
		if (plan === undefined) {
			plan = createPlan(code);
			plans.set(code, plan);
		}
		if (plan) return plan;
	}
	return undefined;
}

/** The columns of the tables that are read here. The library types a table as `any[]`, so each value has its type here. */
const column = { lengths: 3, formats: 4, trunkPrefix: 5, removedPrefix: 7, types: 11 };

function createPlan(code: string): PhonePlan | null {
	const names = metadata.country_calling_codes[code] ?? [];
	const countries = names.map((country) => metadata.countries[country] ?? []);
	const main = countries[0] ?? metadata.nonGeographic[code];
	if (!main) return null;
	const lengths: readonly number[] = main[column.lengths];
	const lengthsOfEach: readonly (readonly number[])[] = countries.map((country) => country[column.lengths]);
	// Only the library knows which country of a shared code has the number.
	const shared = lengths.filter((length) => lengthsOfEach.every((each) => each.includes(length)));
	// Digits that the library removes: the trunk zero, a carrier's code.
	const prefix: string | undefined = main[column.removedPrefix] || main[column.trunkPrefix];
	const removed = prefix ? new RegExp(`^(?:${prefix})`) : undefined;
	const mobile: string | undefined = countries.length > 1 ? undefined : main[column.types]?.[1]?.[0];
	const isMobile = mobile ? new RegExp(`^(?:${mobile})$`) : undefined;
	return {
		code,
		isHome: names.some((country) => homeCountries.includes(country)),
		lengths,
		trunkZero: Boolean(main[column.formats]),
		isSurelyPossible: (national) => shared.includes(national.length) && !removed?.test(national),
		isSurelyMobile: (national) => isMobile?.test(national) === true,
	};
}
