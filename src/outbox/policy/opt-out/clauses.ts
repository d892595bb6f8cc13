/** The words between two marks. */
export interface Clause {
	/** As they were written, each followed by one space. */
	written: string;
	/** In small letters. A dash if they are too many for a request. */
	words: string;
	/** The mark before and after it: `.` (the ends of the text, a new line), `!`, `?` or `,` (anything else). */
	before: string;
	after: string;
}

/** Characters. A request is never longer, and what is matched stays short. */
const longestText = 4_096;
const longestClause = 120;

const marks = ["", ",", "!", ".", "?"]; // the weakest first

/** Without accents, invisible characters, ornamental letters, quotes, apostrophes, and hyphens in words. */
const fold = (text: string) =>
	text
		.replace(/[´’‘ʼ`′]/g, "'")
		.replace(/[\p{M}\p{Cf}\p{DI}\u2800]+/gu, "")
		.normalize("NFKD")
		.replace(/\p{M}+/gu, "")
		.replace(/(https?:|www\.)\S*/gi, " url ")
		.replace(/\b(\p{L})\.(?=\p{L}\b)/gu, "$1") // S.T.O.P.
		.replace(/\b(aub|svp|stp|AUB|SVP|STP)\.(?= \p{Ll})/gu, "$1") // "stop a.u.b. met"
		.replace(/["“”„«»*_~]/g, "")
		.replace(/\b([djlmn])' ?(?=\p{L})/giu, "$1e ") // m'écrire
		.replace(/'/g, "")
		.replace(/(\p{L})[-‐](?=(me|moi|nous|vous|nos)\b)/giu, "$1 ") // laissez-moi
		.replace(/(\p{L})[-‐](?=\p{L})/gu, "$1")
		.replace(/(\p{L})\1{2,}/gu, "$1")
		.replace(/ß/g, "ss")
		.replace(/ł/gi, "l");

/** The words of a phrase without marks, as a clause has them. */
export const wordsOf = (phrase: string): string =>
	fold(phrase)
		.toLowerCase()
		.replace(/[^\p{L}]+/gu, " ")
		.replace(/^ | $/g, "")
		.replace(/(?<=.)$/, " ");

/** The clauses of a text in their order. */
export function clausesOf(text: string): Clause[] {
	const trimmed = text.trim();
	if (trimmed.length > longestText) return [];
	// Nothing but a stop sign, and hands perhaps.
	const isSign = trimmed.includes("🛑") && !/[\p{L}\p{N}?]/u.test(trimmed);
	const folded = isSign ? "stop" : fold(trimmed);
	const spelt = /^\P{L}*\p{L}( +\p{L}){2,}\P{L}*$/u.test(folded) ? folded.replace(/ /g, "") : folded; // S T O P
	const clauses: { tokens: string[]; before: string }[] = [];
	let mark = ".";
	for (const token of spelt.match(/[\p{L}\p{N}]+|[^\s:]|\n/gu) ?? []) {
		const last = clauses.at(-1)?.tokens ?? [];
		if (/[\p{L}\p{N}]/u.test(token)) {
			if (mark === "") last.push(token);
			else clauses.push({ tokens: [token], before: mark });
			mark = "";
		} else if (token !== "," || mark !== "" || !/^auf(horen)?$/i.test(last.at(-1) ?? "")) {
			// German has a comma between "Hören Sie auf" and what to stop.
			const next = marks.includes(token) ? token : /[\n;]/.test(token) ? "." : ",";
			if (marks.indexOf(next) > marks.indexOf(mark)) mark = next;
		}
	}
	return clauses.map(({ tokens, before }, index) => {
		const written = `${tokens.join(" ")} `;
		const words = written.length > longestClause ? "-" : written.toLowerCase();
		return { written, words, before, after: clauses[index + 1]?.before ?? (mark === "?" ? "?" : ".") };
	});
}
