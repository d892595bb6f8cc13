/**
 * A text of the caller without keys and phone numbers, so that it can be shown. It may be a path, with escapes. A text without
 * either is returned unchanged.
 */
export function masked(text: string): string {
	const plain = unescaped(text);
	const result = plain
		.split("/")
		.map((segment) => (/_live\./i.test(segment) ? "{key}" : segment))
		.join("/")
		// Six digits or more, whatever is between them but letters.
		.replace(/\+?\p{Nd}(?:[^\p{L}\p{Nd}]*\p{Nd}){5,}/gu, "{phone}");
	return result === plain ? text : result.replace(/\p{C}+/gu, " ");
}

const mostEscapes = 3;

/** Without escapes, even if these were escaped again. */
function unescaped(text: string, left = mostEscapes): string {
	const plain = text.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
		try {
			return decodeURIComponent(escapes);
		} catch {
			return escapes;
		}
	});
	return plain === text || left === 1 ? plain : unescaped(plain, left - 1);
}
