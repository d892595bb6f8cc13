/** How many bytes of a bug file are read. */
export const longestBug = 100_000_000;

/** Bytes that are no text in UTF-8, or too long for one. Its message says what they are, and follows the name of the file. */
export class EncodingError extends Error {}

/** Reads bytes as text, without the byte order mark that editors of Windows write. */
export function textFrom(bytes: Uint8Array): string {
	const hasMark = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
	// PowerShell writes UTF-16 by itself. Without its mark it shows by the zero in each plain letter.
	if (hasMark || bytes.includes(0)) throw new EncodingError("is in UTF-16. Save it as UTF-8.");
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		throw new EncodingError("is not in UTF-8. Save it as UTF-8.");
	}
}
