import type { PhoneNumber } from "libphonenumber-js/core/es6";
import metadata, { type CountryCode } from "../../generated/phone-metadata.js";
import { type Facts, PartnerInvalidInput } from "../client/errors.ts";
import { type PhonePlan, parse, planOf, planOfCountry } from "./phone-plan.ts";
import { isOneNumber, isWeak } from "./phone-single.ts";
import { readPhoneText, splitAfter } from "./phone-text.ts";

export type { CountryCode };

/** A phone number in E.164: `+`, country code and number, digits only. */
export type E164 = string & {
	/** Exists in the type only. It is no symbol, so that the types of the ESM and CommonJS builds are compatible. */
	readonly "~phone": "E164";
};

/** Options of {@link toE164}. */
export interface ToE164Options {
	/** Country whose local numbers are accepted: the country of a number without `+` or `00`. @default "BE" */
	defaultCountry?: CountryCode | undefined;
}

/**
 * Why a text is not a phone number.
 * - `empty`: null, undefined, or nothing but spaces and `+ - . / ( ) , ; & |`
 * - `letters`: a letter, an extension, or a sign that does not belong there: `"call me 0470123456"`
 * - `two-numbers`: two numbers, or a number and another ending: `"02 512 34 56 / 57"`
 * - `too-short`, `too-long`: for its country. Short codes such as `"112"` are too short
 * - `unknown-country`: no country has this code: `"+999 123 456 789"`
 * - `not-valid-here`: no local number of the default country, or another country's: `"06 12345678"` read in Belgium; or an
 *   international number with digits that only callers inside its country dial
 */
export type PhoneProblem =
	| "empty"
	| "letters"
	| "two-numbers"
	| "too-short"
	| "too-long"
	| "unknown-country"
	| "not-valid-here";

/** A phone number, or why there is none. */
export type PhoneReading = { phone: E164; reason?: never } | { phone?: never; reason: PhoneProblem };

/**
 * Converts a phone number as people write it to E.164. Accepts an international number (`+` or `00`) whose length is
 * possible in its country, and a local number that is valid in `defaultCountry`. Refuses text that could mean another
 * number, because a message to the wrong number reaches a stranger.
 *
 * @throws PartnerInvalidInput for anything else: letters, extensions, two numbers, short codes. The error does not contain the input.
 * @example
 * toE164("0470 12 34 56"); // "+32470123456"
 * toE164("+32 (0)470/12.34.56"); // "+32470123456"
 * toE164("06 12 34 56 78", { defaultCountry: "FR" }); // "+33612345678"
 */
export function toE164(input: string, options: ToE164Options = {}): E164 {
	const operation = "toE164";
	const refused = (field: string, rule: string) => new PartnerInvalidInput({ field, rule, operation });
	if (typeof options !== "object" || !options || Object.keys(options).some((key) => key !== "defaultCountry")) {
		throw refused("options", "must be an object with only defaultCountry");
	}
	const { defaultCountry = "BE" } = options;
	if (!isCountry(defaultCountry)) throw refused("defaultCountry", countryRule);
	return requirePhone(input, defaultCountry, "phoneNumber", { operation });
}

/** Whether `value` is a phone number in E.164. {@link toE164} returns exactly these values unchanged. */
export function isE164(value: unknown): value is E164 {
	if (typeof value !== "string" || !/^\+[1-9]\d{4,14}$/.test(value)) return false;
	const plan = planOf(value.slice(1));
	if (plan?.isSurelyPossible(value.slice(1 + plan.code.length))) return true;
	const number = parse(value);
	return number?.number === value && number.isPossible();
}

export const countryRule = 'must be a two-letter country code such as "BE"';

/** Whether `value` is a country code that {@link toE164} accepts as `defaultCountry`. */
export function isCountry(value: unknown): value is CountryCode {
	return typeof value === "string" && Object.hasOwn(metadata.countries, value);
}

/** {@link toE164} for a field of an operation. The error names the field and the problem, and has the given facts. */
export function requirePhone(input: unknown, defaultCountry: CountryCode, field: string, facts: Facts): E164 {
	if (typeof input !== "string") throw new PartnerInvalidInput({ ...facts, field, rule: "must be a string" });
	const { phone, reason } = readPhone(input, defaultCountry);
	if (phone !== undefined) return phone;
	const form = `must be one phone number, with + and the country code or as written inside ${defaultCountry}`;
	throw new PartnerInvalidInput({ ...facts, field, rule: `${form}: it ${problems[reason]}` });
}

const problems: Record<PhoneProblem, string> = {
	empty: "is empty",
	letters: "contains letters or signs that do not belong there",
	"two-numbers": "contains more than one number",
	"too-short": "is too short",
	"too-long": "is too long",
	"unknown-country": "begins with a country code that does not exist",
	"not-valid-here": "is not a valid local number there",
};

/** Reads a phone number as people write it. Null and undefined are `empty`, as a column without a value. */
export function readPhone(input: string | null | undefined, defaultCountry: CountryCode): PhoneReading {
	if (isE164(input)) return { phone: input };
	const read = readPhoneText(input ?? "");
	if (typeof read === "string") return { reason: read };
	const { text, international } = read;
	const country = international ? undefined : defaultCountry;
	// A comma or a second plus only separates numbers.
	const reading: PhoneReading = /[+,]/.test(text) ? { reason: "letters" } : readNumber(text, country);
	return reading.reason && beginsWithNumber(text, country) ? { reason: "two-numbers" } : reading;
}

/** Whether the digits before a mark, or before a group with a zero in front, are a number by themselves. */
function beginsWithNumber(text: string, country: CountryCode | undefined): boolean {
	const marks = [...text.matchAll(/\D+0?/g)].filter(([mark]) => !isWeak(mark));
	return marks.some(({ index }) => readNumber(text.slice(0, index), country).phone);
}

/** Reads a local number of a country, or an international one. */
function readNumber(text: string, country: CountryCode | undefined): PhoneReading {
	const digits = text.replace(/\D/g, "");
	const plan = country ? planOfCountry(country) : planOf(digits);
	// A code has up to three digits: +3 and +35 can still become one.
	if (!plan) return { reason: /^[1-9]\d?$/.test(digits) ? "too-short" : "unknown-country" };
	const read = country ? readLocal(digits, text, plan, country) : readInternational(digits, text, plan);
	if (typeof read === "string") return { reason: read };
	const phone = `+${plan.code}${read.national}`;
	// Indonesian numbers can be longer than E.164 allows. A second trunk zero would be removed when the result is read again.
	if (!isE164(phone)) return { reason: phone.length > 16 ? "too-long" : "not-valid-here" };
	const [, written] = splitAfter(digits.length - read.national.length, text);
	return isOneNumber(read.national, written, plan) ? { phone } : { reason: "two-numbers" };
}

/** The digits behind country code and trunk zero, or why they are no number. */
type National = { national: string } | PhoneProblem;

function readInternational(digits: string, text: string, plan: PhonePlan): National {
	const written = digits.slice(plan.code.length);
	let national = written;
	if (!plan.isSurelyPossible(written)) {
		const number = parse(`+${digits}`);
		national = number?.nationalNumber ?? written;
		if (!number?.isPossible()) return lengthProblem(national, plan);
		// No trunk prefix has more than two digits. The library also removes carrier codes, and replaces the 15 of
		// Argentine mobiles by a 9.
		if (!written.endsWith(national) || written.length > national.length + 2) return "not-valid-here";
	}
	if (national.startsWith("0")) {
		const [before, after] = splitAfter(plan.code.length + 1, text);
		const isInBrackets = /\(\D*\d+$/.test(before) && /^\D*\)/.test(after);
		// Italian numbers keep their zero, so (0) has two meanings. Only the one with the zero may be a valid number.
		const isValid = (each: string): boolean | undefined => parse(`+${plan.code}${each}`)?.isValid();
		if (isInBrackets && (!isValid(national) || isValid(national.slice(1)))) return "not-valid-here";
	}
	return { national };
}

function readLocal(digits: string, text: string, plan: PhonePlan, country: CountryCode): National {
	// 04921 12345 is in Emden: no Belgian mobile is written with a gap behind five digits.
	if (country === "BE" && /^\D*04\d{3}\b/.test(text)) return "not-valid-here";
	const bare = digits.replace(/^0/, "");
	if (plan.isSurelyMobile(bare)) return { national: bare };
	const number = parse(digits, country);
	// The digits of a US number may begin with 011 and another country's code.
	if (number?.countryCallingCode !== plan.code) return localProblem(digits, country, plan);
	if (!number.isValid()) return localProblem(number.nationalNumber, country, plan);
	return isWrittenAsLocal(digits, text, number) ? { national: number.nationalNumber } : "not-valid-here";
}

function lengthProblem(national: string, { lengths }: PhonePlan): PhoneProblem {
	return national.length > (lengths.at(-1) ?? 0) ? "too-long" : "too-short";
}

/** Whether a valid local number is written as in its own country, and not as in a neighbour's. */
function isWrittenAsLocal(digits: string, text: string, number: PhoneNumber): boolean {
	const type = number.getType();
	// Spreadsheets remove the zero of a mobile. No neighbour writes a number that looks like it.
	if (type === "MOBILE") return true;
	const national = number.nationalNumber;
	const written = number.formatNational({ nationalPrefix: false });
	const area = written.search(/ |$/) - 1;
	const prefix = digits.slice(0, -national.length);
	const [first = "", second = ""] = text.match(/\d+/g) ?? [];
	// Without its trunk zero a number may be a neighbour's (26 12 34 56 is a whole number in Luxembourg, 323 555 1234 in
	// Italy), lack its area code, or be a short code.
	const hasTrunkZero = /^\D*0/.test(written) && !national.startsWith("0");
	const lacksZero = hasTrunkZero && !digits.startsWith("0") && !prefix.endsWith("0");
	const hasCode = prefix === number.countryCallingCode && (!type || (first === prefix && second.length === area));
	if (lacksZero && !hasCode) return false;
	if (number.country !== "BE" || type !== "FIXED_LINE") return true;
	// German local numbers can be as long as Belgian ones. Their first gap shows them: 0241 12345 is in Aachen.
	const beforeGap = first.length - prefix.length;
	return beforeGap <= 0 || [area, 2, 8].includes(beforeGap);
}

/** Why digits are no local number of the country. */
function localProblem(national: string, country: CountryCode, plan: PhonePlan): PhoneProblem {
	if (!plan.lengths.includes(national.length)) return lengthProblem(national, plan);
	// 0470 12 34 5 has the length of a landline, but is a mobile without its last digit.
	return parse(`${national}0`, country)?.isValid() ? "too-short" : "not-valid-here";
}
