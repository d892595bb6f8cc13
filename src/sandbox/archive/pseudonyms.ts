import { phoneFrom } from "../base/contract.ts";
import { eightDigits, hex, uuid } from "../base/derived.ts";

/*
 * Pseudonyms for personal content: the same one each time. None of them is anything that was there before.
 */

/** Ranges of numbers that Ofcom keeps for drama, so that they ring no phone. The first digits, and how many digits follow. */
const ranges: readonly (readonly [start: string, digits: number])[] = [
	["+447700900", 3],
	["+442079460", 3],
	["+441134960", 3],
	["+441144960", 3],
	["+441154960", 3],
	["+441164960", 3],
	["+441174960", 3],
	["+441184960", 3],
	["+441214960", 3],
	["+441314960", 3],
	["+441414960", 3],
	["+441514960", 3],
	["+441614960", 3],
	["+441914980", 3],
	["+441632960", 3],
];

function* numbers(): Generator<string> {
	for (const [start, digits] of ranges)
		for (let last = 0; last < 10 ** digits; last++) yield `${start}${String(last).padStart(digits, "0")}`;
}

const filler = "sample text in the place of another one of the same length ".repeat(4);

/** The number of a fault or a breakpoint up to which it is nobody's. */
const mostOfIds = 99_999;

export interface Pseudonyms {
	/** A number for a number in any spelling; a text that is none gets a text. */
	phone(given: string): string;
	/** `kind` is what the name is of, such as "Contact". */
	name(kind: string, given: string): string;
	/** A text of the same length. White space stays. Short texts are only told apart while there are enough of that length. */
	text(given: string): string;
	operationId(given: string): string;
	/** The name of a field that the contract does not know. */
	field(given: string): string;
	/** The code of a template, a flow or a button. */
	code(given: string): string;
	/** A language of nobody: a private tag of BCP 47. */
	language(given: string): string;
	uuid(given: string): string;
	/** The id of an agency. */
	agencyId(given: string): string;
	/** The correlation id of a request. */
	correlationId(given: string): string;
	/** A small number in the place of a long one: of a fault, which has no other name. */
	fault(given: string): string;
	/** The pseudonym that a text has already. */
	known(given: string): string | undefined;
}

/** The texts and numbers that were there: no pseudonym may be one of them by chance. */
export interface Taken {
	/** Notes those in a text of JSON. */
	note(json: string): void;
	readonly digitRuns: ReadonlySet<string>;
	readonly strings: ReadonlySet<string>;
}

/**
 * A string that may be a pseudonym, by how it begins. Only those are noted: most strings are times and ids, and to note all
 * took a third of the time.
 */
const likePseudonym = /"(?:t[\da-z]+[ ."]|(?:CRM|Agency|Contact) \d|op-\d|field\d|code_\d|agy_|sandbox-f)[^"\\]*"?/g;

/** Digits that may be those of a pseudonym, with the country code or without. */
const likeNumber = /(?<!\d)(?:44)?\d{10}(?!\d)/g;

export function createTaken(): Taken {
	const digitRuns = new Set<string>();
	// Short words are in any text. A longer one that is there by chance could be a real person's.
	const strings = new Set<string>();
	return {
		note(json) {
			for (const run of json.match(likeNumber) ?? []) digitRuns.add(run);
			for (const string of json.match(likePseudonym) ?? []) if (string.length > 8) strings.add(string);
		},
		digitRuns,
		strings,
	};
}

export function createPseudonyms({ digitRuns, strings }: Taken): Pseudonyms {
	const isTaken = (phone: string): boolean => digitRuns.has(phone.slice(1)) || digitRuns.has(phone.slice(3));
	const free = numbers();
	const maps = new Map<string, Map<string, string>>();
	const remembered = (kind: string, given: string, make: (count: number) => string): string => {
		const map = maps.get(kind) ?? new Map<string, string>();
		maps.set(kind, map);
		const made = map.get(given) ?? make(map.size + 1);
		map.set(given, made);
		return made;
	};
	const nextNumber = (): string => {
		for (let next = free.next(); !next.done; next = free.next()) if (!isTaken(next.value)) return next.value;
		throw new RangeError("There are more contacts than numbers that nobody has: a bug file holds at most 15,000.");
	};
	const unlikeBefore = (make: (count: number) => string, count: number): string => {
		let made = make(count);
		for (let further = count; strings.has(`"${made}"`); ) made = make((further += 100_000));
		return made;
	};
	const text = (given: string): string => {
		if (given.trim() === "") return given;
		const { length } = given;
		if (length < shortestLong) return remembered(`text ${length}`, given, (count) => shortText(count, length));
		return remembered("text", given, (count) => unlikeBefore((number) => textOf(number, length), count));
	};
	/** Of each spelling once, because reading one takes long, and each segment of a path may be one. */
	const phones = new Map<string, string>();
	const phone = (given: string): string => {
		const known = phones.get(given);
		if (known !== undefined) return known;
		const read = mayBePhone(given) ? phoneFrom(given) : undefined;
		const made = read === undefined ? text(given) : remembered("phone", read, nextNumber);
		phones.set(given, made);
		return made;
	};
	return {
		phone,
		name: (kind, given) =>
			given.trim() === ""
				? given
				: remembered(kind, given, (count) => unlikeBefore((number) => `${kind} ${number}`, count)),
		text,
		operationId: (given) =>
			given === ""
				? given
				: remembered("operationId", given, (count) => unlikeBefore((number) => `op-${number}`, count)),
		field: (given) => remembered("field", given, (count) => unlikeBefore((number) => `field${number}`, count)),
		code: (given) =>
			given === "" ? given : remembered("code", given, (count) => unlikeBefore((number) => `code_${number}`, count)),
		language: (given) => (given === "" ? given : remembered("language", given, (count) => `x-${count}`)),
		uuid: (given) => remembered("uuid", given.toLowerCase(), (count) => uuid(`pseudonym ${count}`)),
		agencyId: (given) =>
			remembered("agencyId", given, (count) =>
				unlikeBefore((number) => `agy_${hex(`pseudonym ${number}`, 16)}`, count),
			),
		correlationId: (given) =>
			remembered("correlationId", given, (count) =>
				unlikeBefore((number) => `sandbox-${eightDigits(0xf000_0000 + number)}`, count),
			),
		fault: (given) => remembered("fault", given, (count) => String(mostOfIds + count)),
		known: (given) =>
			[...maps]
				.filter(([kind]) => !kind.startsWith("text"))
				.map(([, map]) => map.get(given))
				.find(Boolean),
	};
}

/** No number has fewer digits. */
const mayBePhone = (text: string): boolean => (text.match(/\p{Nd}/gu)?.length ?? 0) >= 5;

/** Shorter than this, a text has no room for its number and more. */
const shortestLong = 6;
const letters = "abcdefghijklmnopqrstuvwxyz";

/** The number in letters, in so many places. */
const shortText = (number: number, length: number): string =>
	Array.from(
		{ length },
		(_, place) => letters[Math.floor(number / letters.length ** (length - 1 - place)) % letters.length],
	).join("");

/** A text that begins with its number, so that two are never the same. */
function textOf(number: number, length: number): string {
	const label = `t${number.toString(36)}`;
	if (length <= label.length) return label;
	const long = `${label} ${filler.repeat(Math.ceil(length / filler.length))}`;
	return `${long.slice(0, length - 1)}.`;
}
