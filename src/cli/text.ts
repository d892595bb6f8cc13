import { readFileSync } from "node:fs";

/** A file that is not text in UTF-8. Its message says what it is, and follows the name of the file. */
export class EncodingError extends Error {}

/** Reads a file as text, without the byte order mark that editors of Windows write. */
export function readTextFile(path: string): string {
	const bytes = readFileSync(path);
	const hasMark = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
	// PowerShell writes UTF-16 by itself. Without its mark it shows by the zero in each plain letter.
	if (hasMark || bytes.includes(0)) throw new EncodingError("is in UTF-16. Save it as UTF-8.");
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		throw new EncodingError("is not in UTF-8. Save it as UTF-8.");
	}
}

/** On one line and without control characters, which could steer a terminal. */
export function printable(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

/** Returns the line to print before what happened at an instant: its date, if the line before was of another one. */
export function createDateLine(today: Date): (at: string) => string[] {
	let last = today.toISOString().slice(0, 10);
	return (at) => {
		const date = at.slice(0, 10);
		if (date === last) return [];
		last = date;
		return [`${date}, UTC`];
	};
}
