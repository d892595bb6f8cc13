import { hash } from "../base/derived.ts";

/*
 * Cursors (R51): opaque, of varying length, and good for one list only. Each carries its position, scrambled, after a
 * checksum of position and list, so that a cursor that was built, edited or taken from another list is refused (R50).
 */

/** The lists that cursors of an agency's conversations, and of one conversation's messages are good for (R50, R79). */
export const listName = (agencyId: string): string => `conversations ${agencyId}`;
export const messagesName = (agencyId: string, phone: string): string => `messages ${agencyId} ${phone}`;

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The cursor of a position, written as whole numbers, in the list that goes by this name. */
export function encodeCursor(list: string, position: readonly number[]): string {
	let plain = "";
	for (const number of position) plain += `${number.toString(36)} `;
	const check = hash(`${list} ${plain}`);
	plain = `${plain.slice(0, -1)}${"    ".slice(check % 5)}`;
	let [state, bits, held] = [check | 1, 0, 0];
	let text = "";
	const put = (byte: number): void => {
		held = (held << 8) | byte;
		for (bits += 8; bits >= 6; bits -= 6) text += alphabet[(held >>> (bits - 6)) & 63];
		held &= 63;
	};
	for (let shift = 0; shift < 32; shift += 8) put((check >>> shift) & 255);
	for (let i = 0; i < plain.length; i++) {
		state = scramble(state);
		put(plain.charCodeAt(i) ^ (state >>> 24));
	}
	return bits > 0 ? text + alphabet[(held << (6 - bits)) & 63] : text;
}

/** The position of a cursor; undefined when the list never gave it out. */
export function decodeCursor(list: string, text: string): number[] | undefined {
	const bytes: number[] = [];
	let [bits, held] = [0, 0];
	for (const letter of text) {
		const value = alphabet.indexOf(letter);
		if (value < 0) return undefined;
		held = ((held << 6) | value) & 0xffff;
		bits += 6;
		if (bits >= 8) bytes.push((held >>> (bits -= 8)) & 255);
	}
	const [a = 0, b = 0, c = 0, d = 0, ...masked] = bytes;
	let state = (a | (b << 8) | (c << 16) | (d << 24) | 1) >>> 0;
	let plain = "";
	for (const byte of masked) {
		state = scramble(state);
		plain += String.fromCharCode(byte ^ (state >>> 24));
	}
	const position = plain
		.trimEnd()
		.split(" ")
		.map((number) => Number.parseInt(number, 36));
	// A position has one cursor only: any other text that decodes to it was edited.
	return position.every(Number.isSafeInteger) && encodeCursor(list, position) === text ? position : undefined;
}

const scramble = (state: number): number => (Math.imul(state, 1664525) + 1013904223) | 0;
