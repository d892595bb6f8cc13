import { digitOf } from "../shared/digits.ts";

/** The text of a phone field in ASCII. */
export interface PhoneText {
	/** `+` or `00` if a country code follows, nothing if the number is local. */
	readonly prefix: "+" | "00" | "";
	/** What follows, up to the last digit: digits, spaces, line breaks and `+ - . / ( ) ,`. The comma replaces `; & |` too. */
	readonly text: string;
}

/** Why a text cannot be a phone number in any country. `marks`: a character that no number has, or one in the wrong place. */
export type TextProblem = "empty" | "letters" | "marks" | "too-short" | "too-long";

/** A number of 15 digits with a space after each digit, brackets and a trunk zero is half as long. */
const longest = 64;

/** Converts the text of a phone field to ASCII, or returns why it cannot be a phone number. */
export function readPhoneText(input: string): PhoneText | TextProblem {
	const trimmed = withoutAdditions(input);
	// Only the beginning is converted, because the input may be megabytes long.
	const beginning = trimmed.slice(0, longest);
	const ascii = beginning.replace(/[^\d +\-./()]/gu, toAscii).trim();
	if (ascii.includes("?")) return /\p{L}/u.test(beginning) ? "letters" : "marks";
	if (trimmed.length > longest) return "too-long";

	const [, written = ""] = /^\(? *(\+|0 *0)/.exec(ascii) ?? [];
	const prefix = written.startsWith("0") ? "00" : written === "+" ? "+" : "";
	const rest = ascii.replace(written, "");
	const [text] = /.*\d/s.exec(rest) ?? [];
	if (text === undefined) return prefix === "00" ? "too-short" : "empty";
	// 00 is also followed by other marks, as in 00-32-470-12-34-56 or 00/32/470.
	const start = prefix === "00" ? /^[^\d+,]*\d/ : /^[ (]*\d/;
	// Brackets are closed, are not nested and contain a digit.
	const brackets = /^[^()]*(?:\([^()]*\d[^()]*\)[^()]*)*$/;
	// One digit after a dot belongs to a decimal number.
	const end = /(?:^|[^.])\d[ .)]*$/;
	if (!start.test(rest) || !brackets.test(ascii) || !end.test(rest)) return "marks";
	return { prefix, text };
}

/** Removes what programs add to a number: an apostrophe before it, a URI scheme, and `.0` behind it. */
function withoutAdditions(input: string): string {
	// Spreadsheets write an apostrophe before a text of digits. Twilio writes `whatsapp:+447700900123`.
	// A mark that reverses what follows is left, so that it is refused below.
	const start = /^(?:(?![\u202d\u202e])[\s\p{Cf}])*['\u2019]?(?:(?![\u202d\u202e])[\s\p{Cf}])*(?:(?:tel|whatsapp):)?/iu;
	const text = input.replace(start, "").trim();
	// A spreadsheet that took the digits for a number writes 470123456.0. From the sixteenth digit on it rounds them.
	return text.replace(/^([1-9]\d{3,14})[.,]0$/, "$1");
}

/** Splits a text after its first digits, such as country code and trunk zero. */
export function splitAfter(count: number, text: string): [string, string] {
	let end = 0;
	for (let left = count; left > 0; end++) if (/\d/.test(text.charAt(end))) left--;
	return [text.slice(0, end), text.slice(end)];
}

const marks: readonly (readonly [RegExp, string])[] = [
	// What sets the order of digits can show another number than it holds.
	[/[\u202b\u202d\u202e\u2067]/, "?"],
	// Zero-width characters, soft hyphen, byte order mark, direction marks.
	[/[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202c\u2060-\u2069\ufeff]/, ""],
	[/[\t-\r\u0085\u2028\u2029]/, "\n"],
	[/\s/, " "],
	[/[\ufe62\uff0b]/, "+"],
	// Every dash but the waves, which mean "to" in a range.
	[/[^\P{Pd}\u301c\u3030]|[\u2043\u2212]/u, "-"],
	[/[\u00b7\u2024\u2027\u30fb\uff0e]/, "."],
	[/[\u2044\u2215\uff0f]/, "/"],
	[/[\uff08\ufe59]/, "("],
	[/[\uff09\ufe5a]/, ")"],
	[/[,;&|\uff0c\uff1b]/, ","],
];

/** The ASCII form of a character, `?` if no phone number contains it. */
function toAscii(character: string): string {
	const digit = digitOf(character);
	return digit ?? marks.find(([form]) => form.test(character))?.[1] ?? "?";
}
