import { hash } from "../base/derived.ts";

/*
 * Cursors (R51): opaque, of varying length, and good for one list only. Each carries its position and a checksum of
 * position and list, so that a cursor that was built, edited or taken from another list is refused (R50).
 */

/** The lists that cursors of an agency's conversations, and of one conversation's messages are good for (R50, R79). */
export const listName = (agencyId: string): string => `conversations ${agencyId}`;
export const messagesName = (agencyId: string, phone: string): string => `messages ${agencyId} ${phone}`;

/** The cursor of a position, written as whole numbers, in the list that goes by this name. */
export function encodeCursor(list: string, position: readonly number[]): string {
	const numbers = position.join(".");
	// Digits, dots and signs give only letters that base64url has too.
	return btoa(`${hash(`${list} ${numbers}`)}.${numbers}`).replace(/=+$/, "");
}

/** The position of a cursor; undefined when the list never gave it out. */
export function decodeCursor(list: string, cursor: string): number[] | undefined {
	const position = textOf(cursor).split(".").slice(1).map(Number);
	// A position has one cursor only: any other text that decodes to it was edited.
	return encodeCursor(list, position) === cursor ? position : undefined;
}

function textOf(base64: string): string {
	try {
		return atob(base64);
	} catch {
		return "";
	}
}

/** The position in a cursor of any list; undefined for a text that is none. */
export function positionIn(cursor: string): number[] | undefined {
	const [sum = "", ...numbers] = textOf(cursor).split(".");
	const isPosition = /^\d+$/.test(sum) && numbers.length > 0 && numbers.every((number) => /^-?\d{1,16}$/.test(number));
	return isPosition ? numbers.map(Number) : undefined;
}
