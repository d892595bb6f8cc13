import { isRecord } from "../base/input.ts";

/*
 * A file names its format and carries the number of the format. A file of another number is refused, because this version would
 * show something else than what was there.
 */

interface Format {
	readonly format: string;
	readonly version: number;
}

/** Of the world in a snapshot and in the file of `--state`. */
export const worldFormat = { format: "messaging-conversations-sandbox", version: 1 } as const;
export const bugFormat = { format: "messaging-conversations-bug", version: 1 } as const;

/** Throws a TypeError if a file has another format, or a later number. A file whose number is none is for its schema. */
export function assertFormat(file: unknown, { format, version }: Format, name: string, other: string): void {
	if (!isRecord(file) || file.format !== format) throw new TypeError(other);
	if (Number.isSafeInteger(file.version) && Number(file.version) > version)
		throw new TypeError(
			`${name} was made by a later version of messaging-conversations. Update the package in this program to open it.`,
		);
}
