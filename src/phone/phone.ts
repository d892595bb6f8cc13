import metadata, { type CountryCode } from "../../generated/phone-metadata.js";
import { type Facts, PartnerInvalidInput } from "../client/errors.ts";
import { rule, type Schema } from "../shared/validation.ts";
import { type NumberProblem, readNumber } from "./number.ts";
import { isValid, planOf } from "./plan.ts";
import { readPhoneText } from "./spelling.ts";

export type { CountryCode };

/** A phone number in E.164: `+`, country code and number, digits only. */
export type E164 = string & {
	/** Exists in the type only. It is not a symbol, so that the types of the ESM and CommonJS builds are compatible. */
	readonly "~phone": "E164";
};

/** Options of {@link toE164}. */
export interface ToE164Options {
	/** Country whose local numbers are accepted: the country of a number without `+` or `00`. @default "BE" */
	defaultCountry?: CountryCode | undefined;
	/**
	 * Accepts a number that the tables do not list. It has a country code that they lack, or it is one of Belgium, the
	 * Netherlands, France, Luxembourg or Germany. Use it for a code or a range that is newer than this package.
	 * @default false
	 */
	allowUnlistedNumber?: boolean | undefined;
}

const noOptions: ToE164Options = { defaultCountry: undefined, allowUnlistedNumber: undefined };

/**
 * Why a text is not a phone number.
 * - `empty`: null, undefined, or nothing but spaces and `+ - . / ( ) , ; & |`
 * - `letters`: a letter, an extension, or a sign that does not belong there: `"call me 0470123456"`
 * - `two-numbers`: two numbers, or a number and another ending: `"02 512 34 56 / 57"`
 * - `too-short`, `too-long`: for its country. Short codes such as `"112"` are too short
 * - `unknown-country`: no country has this code: `"+999 123 456 789"`
 * - `not-valid-here`: not a local number of the default country, or possibly another country's: `"06 12345678"` read in
 *   Belgium. Or an international number with digits that only callers inside its country dial
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
export type PhoneReading<Problem = PhoneProblem> = { phone: E164; reason?: never } | { phone?: never; reason: Problem };

/**
 * Converts a phone number as people write it to E.164, so that you can send to it. Accepts a number in E.164, an
 * international number (`+` or `00`) whose length is possible in its country, and a local number that is valid in
 * `defaultCountry`. Numbers of Belgium, the Netherlands, France, Luxembourg and Germany must exist by the numbering plan of
 * their country, so that a lost digit is noticed. Refuses text that could mean another number, because a message to the
 * wrong number reaches a stranger.
 *
 * @throws PartnerInvalidInput for anything else: letters, extensions, two numbers, short codes. The error does not contain the input.
 * @example
 * toE164("0470 12 34 56"); // "+32470123456"
 * toE164("+32 (0)470/12.34.56"); // "+32470123456"
 * toE164("06 12 34 56 78", { defaultCountry: "FR" }); // "+33612345678"
 */
export function toE164(phoneNumber: string, options: ToE164Options = {}): E164 {
	const operation = "toE164";
	const refused = (field: string, rule: string) => new PartnerInvalidInput({ field, rule, operation });
	// By hand, so that a bundle that only reads numbers leaves zod out.
	const known = ["defaultCountry", "allowUnlistedNumber"];
	if (typeof options !== "object" || !options || Object.keys(options).some((key) => !known.includes(key))) {
		throw refused("options", "must be an object with only defaultCountry and allowUnlistedNumber");
	}
	// Own fields only, because a library can add to `Object.prototype`.
	const { defaultCountry = "BE", allowUnlistedNumber = false } = { ...noOptions, ...options };
	if (!isCountry(defaultCountry)) throw refused("defaultCountry", countryRule);
	if (typeof allowUnlistedNumber !== "boolean") throw refused("allowUnlistedNumber", "must be true or false");
	return requireRecipient(phoneNumber, { defaultCountry, allowUnlistedNumber }, "phoneNumber", { operation });
}

/** Whether `value` is a phone number in E.164 that you can send to. {@link toE164} returns exactly these values unchanged. */
export function isE164(value: unknown): value is E164 {
	return isE164Form(value) && checkRecipient(value, false).phone === value;
}

/** Whether `value` is a country code that {@link toE164} accepts as `defaultCountry`. */
export function isCountry(value: unknown): value is CountryCode {
	return typeof value === "string" && Object.hasOwn(metadata.countries, value);
}

const countryRule = 'must be a two-letter country code such as "BE"';

/** The same as a rule of an option. */
export const country: Schema<CountryCode> = rule<CountryCode>(isCountry, countryRule);

/** Whether a value has the form of E.164: what the service gives, and accepts. */
function isE164Form(value: unknown): value is E164 {
	return typeof value === "string" && /^\+[1-9]\d{6,14}$/.test(value);
}

/**
 * Reads the number of a contact whose conversation is read. E.164 is accepted by its form alone, because numbers that the
 * service gives must be readable: it lists Mexicans as +521…, and new ranges are in no table. Null and undefined are `empty`.
 */
export function readPhone(input: string | null | undefined, defaultCountry: CountryCode): PhoneReading {
	const { phone, reason } = read(input ?? "", defaultCountry);
	if (phone !== undefined) return { phone };
	return { reason: reason === "marks" ? "letters" : reason };
}

/** How the number of a text's recipient is read. */
interface RecipientOptions {
	defaultCountry: CountryCode;
	/** Accepts a number that the tables of its country do not list. */
	allowUnlistedNumber: boolean;
}

/** Why a text cannot be sent to a number. */
type RecipientProblem = NumberProblem | "kept-zero" | "unlisted";

/** Reads the number of a text's recipient. It is stricter than {@link readPhone}, because a wrong number texts a stranger. */
export function readRecipient(input: string, options: RecipientOptions): PhoneReading<RecipientProblem> {
	const reading = read(input, options.defaultCountry);
	return reading.phone === undefined ? reading : checkRecipient(reading.phone, options.allowUnlistedNumber);
}

function read(input: string, defaultCountry: CountryCode): PhoneReading<NumberProblem> {
	if (isE164Form(input)) return { phone: input };
	const text = readPhoneText(input);
	if (typeof text === "string") return { reason: text };
	const compact = text.prefix + text.text;
	if (isE164Form(compact)) return { phone: compact };
	const { phone, problem } = readNumber(text, defaultCountry);
	// Numbers that are read from text have the form of E.164.
	return phone === undefined ? { reason: problem } : { phone: phone as E164 };
}

/** Checks a number in the form of E.164, and removes a trunk zero that was kept after the country code. */
function checkRecipient(phone: E164, allowUnlistedNumber: boolean): PhoneReading<RecipientProblem> {
	const plan = planOf(phone.slice(1));
	if (!plan) return allowUnlistedNumber ? { phone } : { reason: "unknown-country" };
	const national = phone.slice(1 + plan.code.length);
	const hasZero = national.startsWith("0");
	// Most numbers. The library would take longer.
	if (plan.isSurelyMobile(national)) return { phone };
	if (!plan.isHome && !hasZero && plan.isSurelyPossible(national)) return { phone };
	if (isValid(phone)) return { phone };
	const withoutZero = withoutTrunkPrefix(phone, plan.code);
	if (withoutZero) return { phone: withoutZero };
	if (allowUnlistedNumber) return { phone };
	if (hasZero) return { reason: "kept-zero" };
	return plan.isHome ? { reason: "unlisted" } : { phone };
}

/** The number without the zero that only callers inside its country dial, if it is valid without it: +352 0621 123 456. */
function withoutTrunkPrefix(phone: E164, code: string): E164 | undefined {
	// The library knows other prefixes too, such as 06 in Hungary, but none of countries without one, such as Luxembourg.
	const read = readNumber({ prefix: "+", text: phone.slice(1) }, "BE").phone;
	const withoutZero = `+${code}${phone.slice(1 + code.length).replace(/^0/, "")}`;
	return [read, withoutZero].find((each) => isE164Form(each) && each !== phone && isValid(each)) as E164 | undefined;
}

/** {@link readPhone} for a field of an operation. The error names the field and the problem, and has the given facts. */
export function requirePhone(input: unknown, defaultCountry: CountryCode, field: string, facts: Facts): E164 {
	return required(input, (text) => read(text, defaultCountry), defaultCountry, field, facts);
}

/** {@link readRecipient} for a field of an operation. The error names the field and the problem, and has the given facts. */
export function requireRecipient(input: unknown, options: RecipientOptions, field: string, facts: Facts): E164 {
	return required(input, (text) => readRecipient(text, options), options.defaultCountry, field, facts);
}

function required(
	input: unknown,
	reader: (text: string) => PhoneReading<RecipientProblem>,
	defaultCountry: CountryCode,
	field: string,
	facts: Facts,
): E164 {
	if (typeof input !== "string") throw new PartnerInvalidInput({ ...facts, field, rule: "must be a string" });
	const { phone, reason } = reader(input);
	if (phone !== undefined) return phone;
	const [nationality, example] = localNumbers[defaultCountry] ?? [];
	const local = nationality ? `a ${nationality} local number (${example})` : `a local number of ${defaultCountry}`;
	const remedy = remedies[reason] ?? `Use E.164 (+447700900123) or ${local}.`;
	const rule = `not a phone number: it ${problems[reason]}. ${remedy}`;
	throw new PartnerInvalidInput({ ...facts, field, rule });
}

const localNumbers: { readonly [Country in CountryCode]?: readonly [nationality: string, example: string] } = {
	BE: ["Belgian", "0470 12 34 56"],
	NL: ["Dutch", "06 12345678"],
	FR: ["French", "06 12 34 56 78"],
	LU: ["Luxembourg", "621 123 456"],
	DE: ["German", "0151 23456789"],
};

const problems: Readonly<Record<RecipientProblem, string>> = {
	empty: "is empty",
	letters: "contains letters",
	marks: "contains a character that phone numbers do not have, or has one in the wrong place",
	"two-numbers": "contains two numbers, or a number and another ending",
	"too-short": "is too short",
	"too-long": "is too long",
	"unknown-country": "begins with a country code that does not exist",
	"not-valid-here": "is not valid in its country, or could be a number in another one",
	"kept-zero": "has a zero after the country code",
	unlisted: "is not valid in its country",
};

const remedies: { readonly [Problem in RecipientProblem]?: string } = {
	"two-numbers": "Pass one number, without an extension.",
	"unknown-country": "Check its first digits. If the code is new, pass allowUnlistedNumber: true.",
	// Numbers of some countries begin with a zero, such as Italy.
	"kept-zero": "Check its digits, and remove a zero that is dialled only inside the country.",
	unlisted: "Check its digits. If its range is new, pass allowUnlistedNumber: true.",
};
