/** A text by its letters and digits alone, however it was encoded, accented, spaced or written in capitals. */
export interface Spelled {
	letters: string;
	/** Where each letter stands in the text: from, to. */
	places: readonly (readonly [number, number])[];
}

/** What stands for a character in JSON, HTML and URLs. Of those for blanks and marks nothing is left. */
const escapes = String.raw`\\+(?:u([0-9a-f]{4})|[nrtbf])?|&#?\w{2,8};|(?:%[0-9a-f]{2})+`;
const escaped = new RegExp(escapes, "giu");
const piece = new RegExp(String.raw`${escapes}|[\s\S]`, "giu");

/** The letters alone, of a text of any length. */
export function lettersOf(text: string): string {
	return bare(text.replace(escaped, decode));
}

/** The letters with their places, of a text that is shown. */
export function spell(text: string): Spelled {
	let letters = "";
	const places: [number, number][] = [];
	for (const match of text.matchAll(piece)) {
		const [whole, unicode] = match;
		const found = bare(/^[\\&%]/.test(whole) ? decode(whole, unicode) : whole);
		letters += found;
		for (let count = found.length; count > 0; count--) places.push([match.index, match.index + whole.length]);
	}
	return { letters, places };
}

/** Its runs of so many letters. */
export function* runsOf(letters: string, length: number): Generator<string> {
	for (let at = 0; at + length <= letters.length; at++) yield letters.slice(at, at + length);
}

function bare(text: string): string {
	return text
		.normalize("NFKD")
		.toLowerCase()
		.replace(/[^\p{L}\p{Nd}]+/gu, "");
}

/** HTML names an accented letter by the letter itself and its accent, and a few by a name of their own. */
const entity = /^&(?:#x([0-9a-f]+)|#(\d+)|([a-z])(?:acute|grave|circ|uml|tilde|cedil|ring|caron)|(\w+));/i;
const named = new Map(Object.entries({ oslash: "ø", szlig: "ß", aelig: "æ", oelig: "œ" }));

function decode(whole: string, unicode?: string): string {
	try {
		if (unicode) return String.fromCharCode(Number.parseInt(unicode, 16));
		const [, hex, decimal, letter, name = ""] = entity.exec(whole) ?? [];
		if (hex || decimal) return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
		return letter ?? named.get(name.toLowerCase()) ?? decodeURIComponent(whole.replace(/^[\\&].*/s, ""));
	} catch {
		return "";
	}
}
