import {
	getCountryCallingCode,
	Metadata,
	type PhoneNumber,
	parsePhoneNumberFromString,
} from "libphonenumber-js/core/es6";
import metadata, { type CountryCode } from "../../generated/phone-metadata.js";

/** The rules of a country calling code, from the tables of the phone library. */
export interface PhonePlan {
	/** Country calling code, for example `32`. */
	readonly code: string;
	/** Lengths that a national number can have, shortest first. The trunk zero does not count. */
	readonly lengths: readonly number[];
	/** Whether national numbers are written with a zero in front, as in Belgium but not in Spain. */
	readonly trunkZero: boolean;
	/**
	 * Whether `+`, the code and these digits are a number in E.164 that the library accepts unchanged.
	 * `false` means unknown, not invalid. The library takes thirty times as long to answer.
	 */
	readonly isSurelyPossible: (national: string) => boolean;
	/** Whether these digits are a valid mobile number. `false` means unknown, not invalid. */
	readonly isSurelyMobile: (national: string) => boolean;
}

/** Reads `+` and digits, or the digits of a local number. */
export function parse(text: string, defaultCountry?: CountryCode): PhoneNumber | undefined {
	// Without extract: false, the library finds a number in "call me 0470123456".
	return parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) }, metadata);
}

/** Null if no country has the code. */
const plans = new Map<string, PhonePlan | null>();

/** The plan for the digits of an international number, without `+`. */
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

/** The plan for local numbers of a country. */
export function planOfCountry(country: CountryCode): PhonePlan | undefined {
	return planOf(getCountryCallingCode(country, metadata));
}

/** The parts of the library's tables that its types leave out. */
interface Tables {
	hasCallingCode: (code: string) => true | undefined;
	getCountryCodesForCallingCode: (code: string) => readonly string[] | undefined;
	selectNumberingPlan: (countryOrCode: string) => { numberingPlan: NumberingPlan };
}

interface NumberingPlan {
	possibleLengths: () => readonly number[];
	nationalPrefixForParsing: () => string | undefined;
	formats: () => readonly unknown[];
	type: (name: "MOBILE") => { pattern: () => string } | undefined;
}

function createPlan(code: string): PhonePlan | null {
	const tables = new Metadata(metadata) as unknown as Tables;
	if (!tables.hasCallingCode(code)) return null;
	const select = (countryOrCode: string): NumberingPlan => tables.selectNumberingPlan(countryOrCode).numberingPlan;
	const plan = select(code);
	const lengths = plan.possibleLengths();
	const countries = tables.getCountryCodesForCallingCode(code) ?? [];
	const isShared = countries.length > 1;
	// Only the library knows which country of a shared code has the number.
	const shared = lengths.filter((length) => countries.every((name) => select(name).possibleLengths().includes(length)));
	// Digits that the library removes: the trunk zero, a carrier's code.
	const prefix = plan.nationalPrefixForParsing();
	const removed = prefix ? new RegExp(`^(?:${prefix})`) : undefined;
	const mobile = isShared ? undefined : plan.type("MOBILE")?.pattern();
	const isMobile = mobile ? new RegExp(`^(?:${mobile})$`) : undefined;
	return {
		code,
		lengths,
		trunkZero: plan.formats().length > 0,
		isSurelyPossible: (national) => shared.includes(national.length) && !removed?.test(national),
		isSurelyMobile: (national) => isMobile?.test(national) === true,
	};
}
