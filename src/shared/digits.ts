const digit = /^\p{Nd}$/u;

/** The ASCII form of a digit of any script. Undefined for any other character. */
export function digitOf(character: string): string | undefined {
	if (!digit.test(character)) return undefined;
	const code = character.codePointAt(0) ?? 0;
	// Unicode places the ten digits of a script in a row, and some of these rows directly after one another.
	let zero = code;
	while (digit.test(String.fromCodePoint(zero - 1))) zero--;
	return String((code - zero) % 10);
}
