/*
 * Whether a message is one of the phrases of `phrases.ts`, and nothing else.
 */
import { type Clause, clausesOf } from "./clauses.ts";
import { languages } from "./phrases.ts";
import { withoutPlease } from "./words.ts";

type Kind = "optOut" | "wrongNumber" | "refusal";

/** "Moechte" is "möchte". */
const plain = (words: string): string => words.replace(/(?<=[aou])e/g, "");

const oneOf = (phrases: string[]): RegExp => new RegExp(`^(${plain(phrases.join("|"))})$`);

const phrases: Record<Kind, RegExp> = {
	optOut: oneOf(languages.flatMap(({ optOut, asked }) => [...optOut, ...asked])),
	wrongNumber: oneOf(languages.flatMap(({ wrongNumber }) => wrongNumber)),
	refusal: oneOf(languages.flatMap(({ refusal }) => refusal)),
};
/** Those that ask for it, even as a question. */
const asked = oneOf(languages.flatMap((each) => each.asked));
const no = oneOf(languages.flatMap((each) => each.no));

const longestFirst = (all: string[]): string => all.sort((one, other) => other.length - one.length).join("|");
const aside = plain(longestFirst(languages.flatMap(({ asides }) => asides)));
const asideBefore = new RegExp(`^(${aside})`);
const asideAfter = new RegExp(`(?<= )(${aside})$`);

const closing = longestFirst(languages.flatMap(({ closings }) => closings));
/** "Kind regards, Anna Peeters", and what stands before it. */
const closed = new RegExp(`[\\s,.!;–—-]+(${closing})([\\s,.!]+\\p{L}[^\\s,]*){0,3}[\\s,.!]*$`, "iu");
/** Up to three names on a line of their own, or after a dash. */
const signed = /(\n|\s[-–—~]+)\s*\p{Lu}[\p{L}'’.-]*( \p{Lu}[\p{L}'’.-]*){0,2}\s*$/u;

/** Characters. A phrase with a greeting and a name is never longer. */
const longest = 300;

/** Without a name at its end. */
export function withoutSignature(text: string): string {
	return text.length > longest ? text : text.normalize("NFC").trimEnd().replace(closed, "").replace(signed, "");
}

/** Without the lines that begin with ">": somebody else wrote them. */
export const withoutQuotes = (text: string): string => text.replace(/^[ \t]*>.*$/gm, "").trim();

/** A clause, then without the last aside at each end, and so on. */
function* cores(words: string): Generator<string> {
	for (let start = words; ; start = start.replace(asideBefore, "")) {
		for (let core = start; ; core = core.replace(asideAfter, "")) {
			yield core;
			if (!asideAfter.test(core)) break;
		}
		if (!asideBefore.test(start)) break;
	}
}

/** A clause in each way that it may be read: without "please", and without the name in "Hi Anna wrong number". */
function readingsOf({ words: spelt, written }: Clause): string[] {
	const words = plain(spelt);
	const isNamed = /^\S+ \p{Lu}/u.test(written) && asideBefore.test(words);
	const ways = [words, plain(withoutPlease(spelt)), ...(isNamed ? [words.replace(/^\S+ \S+ /, "")] : [])];
	return ways.flatMap((way) => [...cores(way)]);
}

/** "Dear Ms Jansen", before a phrase. */
const isOpening = ({ words }: Clause) => asideBefore.test(plain(words)) && words.split(" ").length <= 5;

/** Whether a message says what is in the table, and nothing else. A question does not, unless it asks for it, and neither does anything with a digit. */
export function isWhole(text: string, kind: Kind): boolean {
	const own = withoutSignature(withoutQuotes(text));
	if (own.length > longest || /\p{N}/u.test(own)) return false;
	let isFound = false;
	for (const clause of clausesOf(own)) {
		const isAsked = clause.after === "?";
		const readings = readingsOf(clause);
		const isSaid = (said: RegExp): boolean => !isAsked && readings.some((reading) => said.test(reading));
		const isPolite = kind === "optOut" && readings.some((reading) => asked.test(reading));
		if (isPolite || isSaid(phrases[kind])) isFound = true;
		else if (readings.includes("") || isSaid(no) || (kind === "wrongNumber" && isSaid(phrases.refusal))) continue;
		else if (isFound || isAsked || !isOpening(clause)) return false;
	}
	return isFound;
}
