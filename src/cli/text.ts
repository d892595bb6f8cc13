import { readFileSync, statSync } from "node:fs";
import { EncodingError, textFrom } from "../sandbox/base/encoding.ts";

/** Node has no longer texts than some 536 MB. */
const longestText = 500_000_000;

/** Reads a file as text in UTF-8. Throws an `EncodingError` if it is none, or too long. */
export function readTextFile(path: string, most = longestText): string {
	if (statSync(path).size > most) throw new EncodingError(`is too long. It may have ${most / 1_000_000} MB.`);
	return textFrom(readFileSync(path));
}

/** On one line and without control characters, which could steer a terminal. */
export function printable(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/**
 * What a command prints, without what could steer a terminal: only lines, tabs and this package's own colours are left. A text
 * from outside still goes through {@link printable}, so that it gets no colour and no line of its own.
 */
export function harmless(text: string): string {
	return text.replace(/\p{Cc}\[(?:3[1236]|90|39)m|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
		found.startsWith("\u001b[") || found === "\n" || found === "\t" ? found : " ",
	);
}

/** JSON on one line, with escapes in place of what could steer a terminal. JSON itself escapes the characters below U+0020. */
export function jsonLine(value: unknown): string {
	const escaped = (character: string): string =>
		Array.from(
			{ length: character.length },
			(_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
		).join("");
	return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Returns the line to print before what happened at an instant: its date, if the line before was of another one. */
export function createDateLine(today: Date): (at: string) => string[] {
	let last = today.toISOString().slice(0, 10);
	return (at) => {
		const date = printable(at).slice(0, 10);
		if (date === last) return [];
		last = date;
		return [`${date}, UTC`];
	};
}
