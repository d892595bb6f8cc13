/** What a `search` asks for: any of these texts, in a phone number or in a name. */
export interface Needle {
	/** R53: the digits, when there are three or more. */
	readonly phones: readonly string[];
	/** R54: as it is written, and (R55: beside a number) without digits and separators; from three letters on. */
	readonly names: readonly string[];
}

/** R53 to R55: the digits and the letters of a search, each counted on its own. */
export function needleFrom(search: string): Needle {
	const digits = search.replace(/[^0-9]/g, "");
	const letters = search.match(/\p{L}/gu)?.length ?? 0;
	const whole = fold(search.trim());
	const wordsAlone = whole
		.replace(/[0-9+()/]/g, " ")
		.replace(/\s+/g, " ")
		.replace(/^[\s.-]+|[\s.-]+$/g, "");
	return {
		phones: digits.length >= 3 ? [digits] : [],
		names: letters >= 3 ? [...new Set([whole, wordsAlone])].filter((name) => name.length >= 3) : [],
	};
}

/** R54: case does not count, accents do. */
export function fold(name: string): string {
	return name.normalize("NFC").toLowerCase();
}

/** Which entries may contain a text, by the runs of three characters that they contain. */
export interface Grams {
	/** Notes that entry `number` contains `text`. A text that an entry no longer has stays noted: matches are verified. */
	add(text: string, number: number): void;
	/** The fewest entries among which every match of `needle` is, with others and perhaps twice. */
	candidates(needle: string): readonly number[];
}

export function createGrams(): Grams {
	const entries = new Map<string, number[]>();
	return {
		add(text, number) {
			for (let i = 0; i + 3 <= text.length; i++) {
				const gram = text.slice(i, i + 3);
				const known = entries.get(gram);
				if (!known) entries.set(gram, [number]);
				else if (known[known.length - 1] !== number) known.push(number);
			}
		},
		candidates(needle) {
			let fewest: readonly number[] | undefined;
			for (let i = 0; i + 3 <= needle.length; i++) {
				const found = entries.get(needle.slice(i, i + 3));
				if (!found) return [];
				if (!fewest || found.length < fewest.length) fewest = found;
			}
			return fewest ?? [];
		},
	};
}
