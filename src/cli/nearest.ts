/** Returns the known word that a mistyped word is nearest to, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
	const typed = plain(word);
	const words = known.map((each) => ({ each, plain: plain(each) }));
	const same = words.find((other) => other.plain === typed);
	const begun = words.find((other) => typed.length > 1 && other.plain.startsWith(typed));
	const longer = words.find((other) => other.plain.length > 2 && typed.startsWith(other.plain));
	const [near] = words
		.map((other) => ({ ...other, edits: editsBetween(typed, other.plain) }))
		.filter(({ edits }) => edits <= Math.floor(typed.length / 2))
		.sort((a, b) => a.edits - b.edits);
	const part = words.find((other) => other.plain.split("-").includes(typed));
	return (same ?? begun ?? longer ?? near ?? part)?.each;
}

/** `allowHost` and `ALLOW_HOST` as `allow-host`. */
const plain = (word: string): string =>
	word
		.replace(/([a-z])([A-Z])/g, "$1-$2")
		.replaceAll("_", "-")
		.toLowerCase();

/** How many letters have to be added, removed, replaced, or swapped with the next one. */
function editsBetween(from: string, to: string): number {
	let before: number[] = [];
	let row = Array.from({ length: to.length + 1 }, (_, at) => at);
	for (let at = 0; at < from.length; at++) {
		const next = [at + 1];
		for (let index = 0; index < to.length; index++) {
			const [replaced = 0, removed = 0, added = 0] = [row[index], row[index + 1], next[index]];
			const isSwapped = index > 0 && from[at] === to[index - 1] && from[at - 1] === to[index];
			const swapped = isSwapped ? (before[index - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY;
			next.push(Math.min(replaced + (from[at] === to[index] ? 0 : 1), removed + 1, added + 1, swapped));
		}
		before = row;
		row = next;
	}
	return row[to.length] ?? 0;
}
