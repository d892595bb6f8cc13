/** A run of digits and what separates it from the run before. */
export interface DigitGroup {
	/** Spaces, line breaks and `+ - . / ( ) ,` only. */
	readonly gap: string;
	readonly digits: string;
}

/** A phone number as somebody wrote it, in ASCII and split into groups of digits. */
export interface PhoneText {
	/** Whether it began with `+` or `00`. The groups do not include this prefix. */
	readonly international: boolean;
	readonly groups: readonly DigitGroup[];
	/** Whether it contains a character that only separates one number from the next: `,`, `;`, `&`, `|` or a second `+`. */
	readonly separated: boolean;
}

/** A number of 15 digits with a space after each digit, brackets and a trunk zero is half as long. */
const longest = 64;

/**
 * Splits the text of a phone field into groups of digits, or returns why it cannot be a phone number in any country.
 * `letters` includes a sign that no phone number has, and a bracket, dash or dot in the wrong place.
 */
export function readPhoneText(input: string): PhoneText | "empty" | "letters" | "too-short" | "too-long" {
	const trimmed = input.trim();
	// Only the beginning is converted, because the input may be megabytes long.
	const text = trimmed
		.slice(0, longest)
		.replace(/[^\d +\-./()]/gu, toAscii)
		.trim();
	if (text.includes("?")) return "letters";
	if (trimmed.length > longest) return "too-long";

	const [, prefix = ""] = /^\(? *(\+|0 *0)/.exec(text) ?? [];
	const rest = text.replace(prefix, "");
	// Gaps and digits in turn: an odd number of parts, gaps at both ends.
	const parts = rest.split(/(\d+)/);
	if (parts.length === 1) return prefix.startsWith("0") ? "too-short" : "empty";
	const groups: DigitGroup[] = [];
	for (let at = 1; at < parts.length; at += 2) groups.push({ gap: parts[at - 1] ?? "", digits: parts[at] ?? "" });
	if (!isPunctuated(text, prefix, parts)) return "letters";
	return { international: prefix !== "", groups, separated: /[+,]/.test(rest) };
}

/** Whether marks stand only where people put them in a phone number. */
function isPunctuated(text: string, prefix: string, parts: readonly string[]): boolean {
	// Brackets are closed, are not nested and contain a digit.
	if (/[()]/.test(text) && !/^[^()]*(?:\([^()]*\d[^()]*\)[^()]*)*$/.test(text)) return false;
	// 00 is also followed by other marks, as in 00-32-470-12-34-56 or 00/32/470.
	const lead = prefix.startsWith("0") ? /^[^+,]*$/ : /^[ (]*$/;
	if (!lead.test(parts[0] ?? "") || !/^[ .)]*$/.test(parts.at(-1) ?? "")) return false;
	// A spreadsheet writes 470123456.0, and may have rounded the digits before.
	return !/\.\d[ .)]*$/.test(text);
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

/** The ASCII form of a character, `?` if no phone number contains it. */
function toAscii(character: string): string {
	if (/\p{Nd}/u.test(character)) return digitOf(character);
	return marks.find(([form]) => form.test(character))?.[1] ?? "?";
}

/** Unicode places the ten digits of a script in a row, and some of these rows directly after one another. */
function digitOf(character: string): string {
	const code = character.codePointAt(0) ?? 0;
	let zero = code;
	while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
	return String((code - zero) % 10);
}
