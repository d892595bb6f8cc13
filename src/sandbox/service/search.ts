import { fold, type Needle } from "../world/conversation-index.ts";

/** R53 to R55: the digits and the letters of a search, each counted on its own. */
export function needleFrom(search: string): Needle {
	const digits = search.replace(/[^0-9]/g, "");
	const letters = search.match(/\p{L}/gu)?.length ?? 0;
	const whole = fold(search.trim());
	const words = whole.replace(/[0-9+()/]/g, " ").replace(/\s+/g, " ");
	// From the first to the last sign that is neither space, dot nor dash.
	const wordsAlone = words.match(/[^\s.-](?:.*[^\s.-])?/s)?.[0] ?? "";
	const names = wordsAlone.length >= 3 && whole.includes(wordsAlone) ? [wordsAlone] : [whole, wordsAlone];
	return {
		phones: digits.length >= 3 ? [digits] : [],
		names: letters >= 3 ? names.filter((name) => name.length >= 3) : [], // a name with the whole has the words too
	};
}
