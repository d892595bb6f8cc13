/** Many short texts as one, because one search in a long text takes a fraction of a search in each. */
export interface Haystack {
	/** The texts without anything between them. */
	readonly text: string;
	/** The position at which each text begins, and as last item the position at which the last text ends. */
	readonly starts: readonly number[];
}

export function haystackOf(texts: readonly string[]): Haystack {
	const starts = [0];
	let end = 0;
	for (const text of texts) starts.push((end += text.length));
	return { text: texts.join(""), starts };
}

/** The indexes of the texts that contain `part`, in ascending order from `from` on, at most `count`. */
export function indexesOf({ text, starts }: Haystack, part: string, from: number, count: number): number[] {
	const found: number[] = [];
	for (let index = from; index + 1 < starts.length && found.length < count; index++) {
		const at = text.indexOf(part, starts[index]);
		if (at < 0) break;
		index = indexAt(starts, at);
		// A match that crosses into the next text is in neither of the two.
		if (at + part.length <= (starts[index + 1] ?? 0)) found.push(index);
	}
	return found;
}

/** The index of the text that has the character at `at`. */
function indexAt(starts: readonly number[], at: number): number {
	let low = 0;
	let high = starts.length - 1;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if ((starts[middle] ?? 0) <= at) low = middle;
		else high = middle;
	}
	return low;
}
