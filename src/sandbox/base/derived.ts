/** A 32-bit hash. What looks random is hashed from counters, so that the same calls give the same answers. */
export function hash(text: string): number {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
	h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
	return (h ^ (h >>> 16)) >>> 0;
}

/** `length` hexadecimal digits that belong to `text`. */
export function hex(text: string, length: number): string {
	let digits = "";
	for (let part = 0; digits.length < length; part++) digits += eightDigits(hash(`${part}.${text}`));
	return digits.slice(0, length);
}

/** The UUID (version 4 in form) that belongs to `text`. */
export function uuid(text: string): string {
	const d = hex(text, 32);
	return `${d.slice(0, 8)}-${d.slice(8, 12)}-4${d.slice(13, 16)}-a${d.slice(17, 20)}-${d.slice(20)}`;
}

export function eightDigits(value: number): string {
	return (value >>> 0).toString(16).padStart(8, "0");
}

/** A row of numbers in [0, 1), the same for the same seed. */
export function dice(seed: string): () => number {
	let state = hash(seed);
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}
