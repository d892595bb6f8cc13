import { readFileSync } from "node:fs";

/** Reads a file as text, without the byte order mark that editors of Windows write. */
export function readTextFile(path: string): string {
	return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
}

/** On one line and without control characters, which could steer a terminal. */
export function printable(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}
