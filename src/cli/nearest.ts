/** Returns the known word that a mistyped word is nearest to, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
	const begun = known.find((each) => word.length > 1 && each.startsWith(word));
	if (begun !== undefined) return begun;
	const [best] = known
		.map((each) => ({ each, edits: editsBetween(word, each) }))
		.filter(({ edits }) => edits <= Math.ceil(word.length / 2))
		.sort((a, b) => a.edits - b.edits);
	return best?.each;
}

/** Levenshtein distance: letters added, removed or replaced. */
function editsBetween(from: string, to: string): number {
	let row = Array.from({ length: to.length + 1 }, (_, at) => at);
	for (const [at, letter] of [...from].entries()) {
		const next = [at + 1];
		for (const [index, other] of [...to].entries()) {
			const [replaced = 0, removed = 0, added = 0] = [row[index], row[index + 1], next[index]];
			next.push(Math.min(replaced + (letter === other ? 0 : 1), removed + 1, added + 1));
		}
		row = next;
	}
	return row[to.length] ?? 0;
}
