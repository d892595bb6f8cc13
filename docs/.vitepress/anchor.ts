/** The anchor of a heading, as GitHub makes it: a link to a heading works in both places. */
export const anchorOf = (heading: string): string =>
	heading
		.trim()
		.toLowerCase()
		.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
		.replaceAll(" ", "-");
