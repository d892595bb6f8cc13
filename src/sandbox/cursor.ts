import { hash } from "./noise.ts";

/**
 * Cursors (R51): opaque, of varying length, and good for one list only. Each carries what it stands for in disguise,
 * with a check over it, so that a cursor that was built, edited or taken from elsewhere is told apart.
 */
export type Cursor =
	| {
			readonly kind: "conversations";
			readonly agencyId: string;
			readonly at: number;
			readonly messageId: number;
			readonly serial: number;
	  }
	| { readonly kind: "messages"; readonly agencyId: string; readonly phone: string; readonly messageId: number };

export function encodeCursor(cursor: Cursor): string {
	const plain =
		cursor.kind === "conversations"
			? `c ${cursor.agencyId} ${cursor.at} ${cursor.messageId} ${cursor.serial}`
			: `m ${cursor.agencyId} ${cursor.phone} ${cursor.messageId}`;
	const check = hash(`cursor ${plain}`);
	return base64url(
		String.fromCharCode(check & 255, (check >> 8) & 255, (check >> 16) & 255, check >>> 24) +
			mask(`${plain}${" ".repeat(check % 5)}`, check),
	);
}

/** What a cursor stands for; undefined when the service never gave it out (R50). */
export function decodeCursor(text: string): Cursor | undefined {
	const bytes = fromBase64url(text);
	if (bytes === undefined || bytes.length < 5) return undefined;
	const byte = (i: number): number => bytes.charCodeAt(i);
	const check = (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
	const cursor = parse(mask(bytes.slice(4), check).trimEnd());
	return cursor && encodeCursor(cursor) === text ? cursor : undefined;
}

function parse(plain: string): Cursor | undefined {
	const [kind, agencyId, third, fourth, fifth] = plain.split(" ");
	if (agencyId === undefined || third === undefined || fourth === undefined) return undefined;
	if (kind === "c" && fifth !== undefined)
		return { kind: "conversations", agencyId, at: Number(third), messageId: Number(fourth), serial: Number(fifth) };
	if (kind === "m") return { kind: "messages", agencyId, phone: third, messageId: Number(fourth) };
	return undefined;
}

function mask(text: string, key: number): string {
	let state = key | 1;
	let out = "";
	for (let i = 0; i < text.length; i++) {
		state = (Math.imul(state, 1664525) + 1013904223) | 0;
		out += String.fromCharCode((text.charCodeAt(i) ^ (state >>> 24)) & 255);
	}
	return out;
}

const base64url = (bytes: string): string => btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function fromBase64url(text: string): string | undefined {
	if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
	try {
		return atob(text.replace(/-/g, "+").replace(/_/g, "/"));
	} catch {
		return undefined;
	}
}
