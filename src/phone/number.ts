import type { PhoneNumber } from "libphonenumber-js/core/es6";
import type { CountryCode } from "../../generated/phone-metadata.js";
import { homeCountries, isPossible, type PhonePlan, parse, planOf, planOfCountry } from "./plan.ts";
import { type PhoneText, splitAfter, type TextProblem } from "./spelling.ts";
import { isOneNumber, isWeak } from "./two-numbers.ts";

/** Why a text is not a phone number. */
export type NumberProblem = TextProblem | "two-numbers" | "unknown-country" | "not-valid-here";

/** A phone number with `+`, or why there is none. */
export type NumberReading = { phone: string; problem?: never } | { phone?: never; problem: NumberProblem };

/** Reads an international number, or a local one of the default country. */
export function readNumber({ text, prefix }: PhoneText, defaultCountry: CountryCode): NumberReading {
	const country = prefix ? undefined : defaultCountry;
	// A comma or a second plus only separates numbers.
	const reading: NumberReading = /[+,]/.test(text) ? { problem: "marks" } : readDigits(text, country);
	return reading.problem && beginsWithNumber(text, country) ? { problem: "two-numbers" } : reading;
}

/** Whether the digits before a mark, or before a group with a zero in front, are a number by themselves. */
function beginsWithNumber(text: string, country: CountryCode | undefined): boolean {
	const marks = [...text.matchAll(/\D+0?/g)].filter(([mark]) => !isWeak(mark));
	return marks.some(({ index }) => readDigits(text.slice(0, index), country).phone);
}

/** Reads a local number of a country, or an international one. */
function readDigits(text: string, country: CountryCode | undefined): NumberReading {
	const digits = text.replace(/\D/g, "");
	const plan = country ? planOfCountry(country) : planOf(digits);
	// A code has up to three digits: +3 and +35 can still become one.
	if (!plan) return { problem: /^[1-9]\d?$/.test(digits) ? "too-short" : "unknown-country" };
	const read = country ? readLocal(digits, text, plan, country) : readInternational(digits, text, plan);
	if (typeof read === "string") return { problem: read };
	const { national, abroad = plan } = read;
	const phone = `+${abroad.code}${national}`;
	if (phone.length < 8) return { problem: "too-short" };
	// Indonesian numbers can be longer than E.164 allows. A second trunk zero would be removed when the result is read again.
	if (phone.length > 16) return { problem: "too-long" };
	if (!isPossible(phone)) return { problem: "not-valid-here" };
	const [, written] = splitAfter(digits.length - national.length, text);
	return isOneNumber(national, written, abroad) ? { phone } : { problem: "two-numbers" };
}

/**
 * The digits behind country code and trunk zero, or why they are no number. `abroad` is the plan of a local number with
 * another country code than its country.
 */
type National = { national: string; abroad?: PhonePlan } | NumberProblem;

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
	const bare = digits.replace(/^0/, "");
	const hasZero = bare !== digits;
	const behindCode = mobileBehindCode(digits, plan);
	if (behindCode !== undefined) return { national: behindCode };
	// A Belgian mobile read in Luxembourg: 32470123456 is valid as a landline there.
	if (homeCountries.some((home) => mobileBehindCode(digits, planOfCountry(home)) !== undefined))
		return "not-valid-here";
	// 04921 12345 is in Emden: no Belgian mobile is written with a gap behind five digits.
	if (country === "BE" && /^\D*04\d{3}\b/.test(text)) return "not-valid-here";
	if (isFrenchIn(country, text, bare)) return "not-valid-here";
	const overseas = country === "FR" && hasZero ? overseasPlan(bare) : undefined;
	if (overseas) {
		// 0508 replaces the country code of Saint-Pierre-et-Miquelon, whose old numbers have six digits.
		const national = bare.replace(/^508/, "");
		return parse(`+${overseas.code}${national}`)?.isValid() ? { national, abroad: overseas } : "not-valid-here";
	}
	// Spreadsheets remove the zero. Of the home countries, only Belgium has mobiles that look like no neighbour's without it.
	if (plan.isSurelyMobile(bare) && (hasZero === plan.trunkZero || country === "BE")) return { national: bare };

	const number = parse(digits, country);
	// The digits of a US number may begin with 011 and another country's code.
	if (number?.countryCallingCode !== plan.code) return localProblem(digits, country, plan);
	if (!number.isValid()) return localProblem(number.nationalNumber, country, plan);
	return isWrittenAsLocal(digits, text, number, country) ? { national: number.nationalNumber } : "not-valid-here";
}

/** The mobile number in digits that begin with the country code of the plan, as in 32470123456 or 32 (0)470 12 34 56. */
function mobileBehindCode(digits: string, plan: PhonePlan | undefined): string | undefined {
	if (!plan || !digits.startsWith(plan.code)) return undefined;
	const behind = digits.slice(plan.code.length);
	const national = plan.trunkZero ? behind.replace(/^0/, "") : behind;
	return plan.isSurelyMobile(national) ? national : undefined;
}

/**
 * Whether a number that may be local in the country is written in five pairs, as the French write theirs. For example,
 * 04 94 78 89 66 is in Toulon, and 0494 78 89 66 is a Belgian mobile. Dutch mobiles are written in pairs too.
 */
function isFrenchIn(country: CountryCode, text: string, national: string): boolean {
	const isInPairs = /^\D*(?:0\D*)?\d(?:\D+\d\d){4}\D*$/.test(text);
	if (!isInPairs || !["BE", "NL", "DE"].includes(country)) return false;
	if (country === "NL" && planOfCountry(country)?.isSurelyMobile(national)) return false;
	return parse(`+33${national}`)?.isValid() === true || overseasPlan(national) !== undefined;
}

/** The beginnings of numbers in the French overseas territories, which have country codes of their own. */
const overseasPrefixes: Readonly<Record<string, RegExp>> = {
	262: /^(?:26[2389]|639|69[23]|7092|7093[5-9])/, // Réunion, Mayotte
	508: /^(?:508|708)/, // Saint-Pierre-et-Miquelon
	590: /^(?:590|5987|69[01]|7090)/, // Guadeloupe, Saint-Barthélemy, Saint-Martin
	594: /^(?:594|5988|694|7093[0-4])/, // Guyane
	596: /^(?:596|5989|69[67]|7091)/, // Martinique
};

/** The plan of the overseas territory in which people in France dial these digits behind the zero. */
function overseasPlan(national: string): PhonePlan | undefined {
	const code = Object.keys(overseasPrefixes).find((each) => overseasPrefixes[each]?.test(national));
	return code === undefined ? undefined : planOf(code);
}

function lengthProblem(national: string, { lengths }: PhonePlan): NumberProblem {
	return national.length > (lengths.at(-1) ?? 0) ? "too-long" : "too-short";
}

/** Whether a valid local number is written as in its own country, and not as in a neighbour's. */
function isWrittenAsLocal(digits: string, text: string, number: PhoneNumber, country: CountryCode): boolean {
	const isBelgian = country === "BE";
	const type = isBelgian || !homeCountries.includes(country) ? number.getType() : undefined;
	// Spreadsheets remove the zero of a mobile. No neighbour writes a number that looks like it.
	if (type === "MOBILE") return true;
	const national = number.nationalNumber;
	const written = number.formatNational({ nationalPrefix: false });
	const area = written.search(/ |$/) - 1;
	const prefix = digits.slice(0, -national.length);
	const [first = "", second = ""] = text.match(/\d+/g) ?? [];
	// Without its trunk zero a number may be a neighbour's, lack its area code, or be a short code. For
	// example, 26 12 34 56 is a whole number in Luxembourg, and 323 555 1234 in Italy.
	const hasTrunkZero = /^\D*0/.test(written) && !national.startsWith("0");
	const lacksZero = hasTrunkZero && !digits.startsWith("0") && !prefix.endsWith("0");
	const hasCode = prefix === number.countryCallingCode && (!type || (first === prefix && second.length === area));
	if (lacksZero && !hasCode) return false;
	if (!isBelgian || type !== "FIXED_LINE") return true;
	// German local numbers can be as long as Belgian ones. Their first gap shows them: 0241 12345 is in Aachen.
	const beforeGap = first.length - prefix.length;
	return beforeGap <= 0 || [area, 2, 8].includes(beforeGap);
}

/** Why digits are no local number of the country. */
function localProblem(national: string, country: CountryCode, plan: PhonePlan): NumberProblem {
	if (!plan.lengths.includes(national.length)) return lengthProblem(national, plan);
	// 0470 12 34 5 has the length of a landline, but is a mobile without its last digit.
	return parse(`${national}0`, country)?.isValid() ? "too-short" : "not-valid-here";
}
