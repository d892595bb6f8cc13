/** A phone number as somebody wrote it. */
export interface PhoneText {
	/** Whether it began with `+` or `00`. */
	readonly international: boolean;
	/** What follows, up to the last digit: digits, spaces, line breaks and `+ - . / ( ) ,`. The comma replaces `; & |` too. */
	readonly text: string;
}

/** A number of 15 digits with a space after each digit, brackets and a trunk zero is half as long. */
const longest = 64;

/**
 * Converts the text of a phone field to ASCII, or returns why it cannot be a phone number in any country. `letters`
 * includes a sign that no phone number has, and a bracket, dash or dot in the wrong place.
 */
export function readPhoneText(input: string): PhoneText | "empty" | "letters" | "too-short" | "too-long" {
	const trimmed = input.trim();
	// Only the beginning is converted, because the input may be megabytes long.
	const beginning = trimmed.slice(0, longest);
	const ascii = beginning.replace(/[^\d +\-./()]/gu, toAscii).trim();
	if (ascii.includes("?")) return "letters";
	if (trimmed.length > longest) return "too-long";

	const [, prefix = ""] = /^\(? *(\+|0 *0)/.exec(ascii) ?? [];
	const rest = ascii.replace(prefix, "");
	const hasZeros = prefix.startsWith("0");
	const [text] = /.*\d/s.exec(rest) ?? [];
	if (text === undefined) return hasZeros ? "too-short" : "empty";
	// 00 is also followed by other marks, as in 00-32-470-12-34-56 or 00/32/470.
	const start = hasZeros ? /^[^\d+,]*\d/ : /^[ (]*\d/;
	// Brackets are closed, are not nested and contain a digit.
	const brackets = /^[^()]*(?:\([^()]*\d[^()]*\)[^()]*)*$/;
	// A spreadsheet writes 470123456.0, and may have rounded the digits before.
	const end = /(?:^|[^.])\d[ .)]*$/;
	if (!start.test(rest) || !brackets.test(ascii) || !end.test(rest)) return "letters";
	return { international: prefix !== "", text };
}

/** Splits a text after its first digits, such as country code and trunk zero. */
export function splitAfter(count: number, text: string): [string, string] {
	let end = 0;
	for (let left = count; left > 0; end++) if (/\d/.test(text.charAt(end))) left--;
	return [text.slice(0, end), text.slice(end)];
}

const marks: readonly (readonly [RegExp, string])[] = [
	// Zero-width characters, soft hyphen, byte order mark, direction marks.
	[/[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/, ""],
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

const digit = /\p{Nd}/u;

/** The ASCII form of a character, `?` if no phone number contains it. */
function toAscii(character: string): string {
	if (!digit.test(character)) return marks.find(([form]) => form.test(character))?.[1] ?? "?";
	const code = character.codePointAt(0) ?? 0;
	// Unicode places the ten digits of a script in a row, and some of these rows directly after one another.
	let zero = code;
	while (digit.test(String.fromCodePoint(zero - 1))) zero--;
	return String((code - zero) % 10);
}
