import { getCountryCallingCode, type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import metadata, { type CountryCode } from "../generated/phone-metadata.js";
import { type PartnerErrorFacts, PartnerInvalidInput, reading } from "./errors.ts";
import { stands } from "./phone-plan.ts";

export type { CountryCode };

/**
 * A phone number in E.164, `+` and digits. The brand is a plain key, not a symbol, so that the ESM and CommonJS types
 * of this package accept each other's.
 */
export type E164 = string & {
	/** For the compiler alone: no value has it. */
	readonly "~phone": "E164";
};

/** What {@link toE164} takes beside the number. */
export interface ToE164Options {
	/**
	 * Country in which a number without `+` or `00` is read.
	 * @default "BE"
	 */
	defaultCountry?: CountryCode | undefined;
}

/**
 * A phone number as people write it, in E.164. Takes an international number (`+` or `00`) whose length its country
 * can have, and a local number that is valid in `defaultCountry`. What could mean another number is refused: a text
 * that goes to the wrong number reaches a stranger.
 *
 * @throws PartnerInvalidInput for anything else: letters, extensions, two numbers, short codes. It never holds the value.
 * @example
 * toE164("0470 12 34 56"); // "+32470123456"
 * toE164("+32 (0)470/12.34.56"); // "+32470123456"
 * toE164("06 12 34 56 78", { defaultCountry: "FR" }); // "+33612345678"
 */
export function toE164(input: string, options: ToE164Options = {}): E164 {
	const operation = "toE164";
	if (typeof options !== "object" || options === null) {
		throw new PartnerInvalidInput({ field: "options", rule: "must be an object", operation });
	}
	const { defaultCountry = "BE" } = reading("options", operation, () => ({ ...options }));
	if (!isCountry(defaultCountry)) {
		throw new PartnerInvalidInput({ field: "defaultCountry", rule: countryRule, operation });
	}
	return requirePhone(input, defaultCountry, "phoneNumber", operation);
}

/** {@link toE164} for a field of a call, which the error names. */
export function requirePhone(
	input: unknown,
	defaultCountry: CountryCode,
	field: string,
	operation: PartnerErrorFacts["operation"],
): E164 {
	const phone = parsePhone(input, defaultCountry);
	if (phone !== undefined) return phone;
	const rule = `must be one phone number, with + and the country code or as written inside ${defaultCountry}`;
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** Whether `value` is a phone number that already is in E.164: exactly when {@link toE164} gives it back unchanged. */
export function isE164(value: unknown): value is E164 {
	if (typeof value !== "string" || !/^\+[1-9]\d{4,14}$/.test(value)) return false;
	if (stands(value)) return true;
	const phone = read(value);
	return phone !== undefined && phone.number === value && phone.isPossible();
}

export const countryRule = 'must be a two-letter country code such as "BE"';

/** Whether `value` is a country code that {@link toE164} knows. */
export function isCountry(value: unknown): value is CountryCode {
	return typeof value === "string" && Object.hasOwn(metadata.countries, value);
}

/** {@link toE164} for those who word their own refusal: undefined when the input is not, or not surely, one phone number. */
export function parsePhone(input: unknown, defaultCountry: CountryCode = "BE"): E164 | undefined {
	if (isE164(input)) return input;
	const text = typeof input === "string" ? plain(input) : undefined;
	if (text === undefined) return undefined;
	const number = text.startsWith("+") ? international(text.slice(1)) : national(text, defaultCountry);
	return isE164(number) ? number : undefined;
}

function international(text: string): string | undefined {
	const digits = text.replace(/\D/g, "");
	const phone = read(`+${digits}`);
	if (!phone?.isPossible() || !digits.endsWith(phone.nationalNumber)) return undefined;
	const code = phone.countryCallingCode;
	// No trunk prefix has more than two digits; what else the library takes off is a carrier's code.
	if (digits.length > code.length + 2 + phone.nationalNumber.length) return undefined;
	const gaps = text.split(/\d/);
	const bracketed = gaps[code.length]?.includes("(") && gaps[code.length + 1]?.includes(")");
	// A country that keeps its zero (Italy) leaves open what brackets round it mean: only one reading may be valid.
	if (bracketed && digits[code.length] === "0" && phone.number === `+${digits}`) {
		if (!phone.isValid() || read(`+${code}${digits.slice(code.length + 1)}`)?.isValid()) return undefined;
	}
	return isOne(text, phone) ? phone.number : undefined;
}

function national(text: string, country: CountryCode): string | undefined {
	const phone = isCountry(country) ? read(text.replace(/\D/g, ""), country) : undefined;
	if (!phone?.isValid() || phone.countryCallingCode !== getCountryCallingCode(country, metadata)) return undefined;
	return isLocal(text, phone) && isOne(text, phone) ? phone.number : undefined;
}

/** Whether a valid local number is also written like one of its country, and not like a neighbour's. */
function isLocal(text: string, phone: PhoneNumber): boolean {
	const type = phone.getType();
	if (type === "MOBILE") return true;
	const digits = text.replace(/\D/g, "");
	const prefix = digits.slice(0, -phone.nationalNumber.length);
	const [first = "", second = ""] = text.match(/\d+/g) ?? [];
	const area = areaLength(phone);
	if (!digits.startsWith("0") && !prefix.endsWith("0")) {
		// Without its trunk zero a number may be a neighbour's (26 12 34 56 is a whole number in Luxembourg, 323 555 1234 in
		// Italy), lack its area code or be a short code. Only a mobile stands by its own form: spreadsheets eat its zero.
		const written = phone.formatNational({ nationalPrefix: false }).replace(/\D/g, "");
		const hasTrunk = written.startsWith("0") && written !== phone.nationalNumber;
		const hasCode = prefix === phone.countryCallingCode;
		const asCode = hasCode && (type === undefined || (first === prefix && second.length === area));
		if (hasTrunk && !asCode) return false;
	}
	if (phone.country !== "BE" || type !== "FIXED_LINE") return true;
	// Germany's local numbers can be as long as Belgium's. The first gap tells them apart: 0241 12345 is in Aachen.
	const beforeGap = first.length - prefix.length;
	return beforeGap <= 0 || [area, 2, 8].includes(beforeGap);
}

/**
 * Whether the text cannot be two numbers, or a number and another ending of it ("02 512 34 56 / 57"), that together are
 * as long as one. A mark stronger than a space may follow the area code, and stand wherever the digits before it are no
 * number yet.
 */
function isOne(text: string, phone: PhoneNumber): boolean {
	const digits = text.replace(/\D/g, "");
	const start = Math.max(0, digits.length - phone.nationalNumber.length);
	let at = 0;
	let previous = "";
	for (const [, gap = "", group = ""] of text.matchAll(/(\D*)(\d+)/g)) {
		// A plain space between long groups is as strong: 12345 12346.
		const strong = !/^(?: *|\.)$/.test(gap) || (previous.length > 4 && group.length > 4);
		if ((strong || group.startsWith("0")) && at - start > areaLength(phone)) {
			if (gap.includes("(")) return false;
			if (isWhole(digits.slice(start, at), phone)) {
				if (strong && !isDashed(text, start)) return false;
				if (group.startsWith("0") && isWhole(digits.slice(at), phone, "isValid")) return false;
			}
		}
		at += group.length;
		previous = group;
	}
	return true;
}

/**
 * Whether these national digits are a number by themselves, as far as its country's own way of writing tells. An ending
 * that has a zero in front must be a valid one: 0678 is of a length that Iran has, and ends one mobile in ten.
 */
function isWhole(digits: string, all: PhoneNumber, how: "isPossible" | "isValid" = "isPossible"): boolean {
	const phone = read(`+${all.countryCallingCode}${digits}`);
	return phone?.[how]() === true && (areaLength(phone) > 0 || areaLength(all) === 0);
}

/** Whether the dash is how this writer groups digits: between all groups, none long, no short ending: 26-12-34-56. */
function isDashed(text: string, start: number): boolean {
	const local = new RegExp(`^(?:\\D*\\d){${start}}\\D*\\d{1,5}(?:-\\d{2,4})*-(\\d{2,4})-(\\d{2,4})$`);
	const [, before = "", last = ""] = text.match(local) ?? [];
	return last !== "" && last.length >= before.length;
}

/** Digits of the area code or its like, as the number's country groups them; 0 where it does not, or the metadata was spared it. */
function areaLength(phone: PhoneNumber): number {
	const groups = phone.formatInternational().split(" ");
	return groups.length > 2 ? (groups[1]?.length ?? 0) : 0;
}

function read(text: string, defaultCountry?: CountryCode): PhoneNumber | undefined {
	return parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) }, metadata);
}

// No number is that long, however it is written.
const longest = 64;

/** The input in `0-9 + - . / ( )`, space and line break, `00` as `+`; undefined when it holds anything else. */
function plain(input: string): string | undefined {
	const trimmed = input.trim();
	if (trimmed.length > longest) return undefined;
	let text = "";
	for (const character of trimmed) {
		const mark = "0123456789 +-./()".includes(character) ? character : markOf(character);
		if (mark === undefined) return undefined;
		text += mark;
	}
	text = text.trim().replace(/[. ]+$/, "");
	if (!/^[^()]*(?:\([^()]*\d[^()]*\)[^()]*)*$/.test(text)) return undefined;
	const prefix = text.match(/^(\(? *)(\+|0 *0)/);
	if (prefix) text = `${prefix[1]}${text.slice(prefix[0].length)}`.trim();
	if (text.includes("+") || !/[\d)]$/.test(text)) return undefined;
	// A spreadsheet's 470123456.0 is no longer the number that it was.
	if (/\.\d$/.test(text)) return undefined;
	if (prefix) return /^[ (]*[1-9]/.test(text) || (prefix[2] !== "+" && /^\D*[1-9]/.test(text)) ? `+${text}` : undefined;
	return /^\(? *\d/.test(text) ? text : undefined;
}

const marks: readonly (readonly [RegExp, string])[] = [
	// Invisible: zero-width, soft hyphen, byte order mark, marks of direction.
	[/[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/, ""],
	[/[\t-\r\u0085\u2028\u2029]/, "\n"],
	[/\s/, " "],
	[/[+\ufe62\uff0b]/, "+"],
	// Waves mean "to": no separator.
	[/[^\P{Pd}\u301c\u3030]|[\u2043\u2212]/u, "-"],
	[/[.\u00b7\u2024\u2027\u30fb\uff0e]/, "."],
	[/[/\u2044\u2215\uff0f]/, "/"],
	[/[(\uff08\ufe59]/, "("],
	[/[)\uff09\ufe5a]/, ")"],
];

function markOf(character: string): string | undefined {
	return /\p{Nd}/u.test(character) ? digitOf(character) : marks.find(([form]) => form.test(character))?.[1];
}

/** Unicode keeps the digits of a script in a row from zero to nine, some rows back to back. */
function digitOf(character: string): string {
	const code = character.codePointAt(0) ?? 0;
	let zero = code;
	while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
	return String((code - zero) % 10);
}
