import { type Haystack, haystackOf, indexesOf } from "./haystack.ts";

/** A place in a list of conversations (R45): time of the last message, then that message, then the thread's number. */
export interface Rank {
	/** Milliseconds; {@link never} without a message. */
	readonly at: number;
	readonly messageId: number;
	/** Number of the thread, in order of creation. */
	readonly serial: number;
}

/** Earlier than any message, so that threads without one come last (R45). */
export const never = -8.64e15;

export function compareRanks(a: Rank, b: Rank): number {
	return a.at - b.at || a.messageId - b.messageId || a.serial - b.serial;
}

/** The fields of a conversation that the index reads. */
export interface Listed {
	readonly phone: string;
	readonly name: string | null;
	readonly rank: Rank;
}

/** The texts of a search. A conversation matches with any of them, in its phone number or its name. */
export interface Needle {
	/** R53: the digits, when there are three or more. */
	readonly phones: readonly string[];
	/** R54: the text as written and (R55: beside a number) without digits and separators; from three letters on. */
	readonly names: readonly string[];
}

export interface PageRequest {
	readonly after: Rank | undefined;
	readonly count: number;
	readonly needle: Needle | undefined;
}

/** An agency's conversations in list order. */
export interface ConversationIndex<Item extends Listed> {
	/** Call it after a change of an item's rank, name or visibility. */
	changed(item: Item): void;
	/** The next items in list order, at most `count`. */
	page(request: PageRequest): Item[];
}

/** An item with the fields that a search reads. */
interface Entry<Item extends Listed> {
	readonly item: Item;
	readonly phone: string;
	/** Folded; empty for null, which no search matches (R54). */
	name: string;
}

/** With this many changes one merge costs less than moving each item. */
const manyChanges = 32;

/**
 * Sorts when it is read and not when something changes: 100,000 changes cost one merge at the next page, and the next
 * search builds one text of all numbers or names.
 */
export function createConversationIndex<Item extends Listed>(
	isListed: (item: Item) => boolean,
): ConversationIndex<Item> {
	/** The newest first. */
	let ordered: Entry<Item>[] = [];
	const entries = new Map<Item, Entry<Item>>();
	const changed = new Set<Entry<Item>>();
	/** In the order of `ordered`, once a search has needed them. */
	let phones: Haystack | undefined;
	let names: Haystack | undefined;

	const settle = (): void => {
		if (changed.size === 0) return;
		for (const entry of changed) entry.name = fold(entry.item.name ?? "");
		const listed = [...changed].filter(({ item }) => isListed(item));
		if (changed.size < manyChanges) {
			for (const entry of changed) {
				const place = ordered.indexOf(entry);
				if (place >= 0) ordered.splice(place, 1);
			}
			for (const entry of listed) ordered.splice(placeBelow(ordered, entry.item.rank), 0, entry);
		} else {
			const still = ordered.filter((entry) => !changed.has(entry));
			ordered = merged(
				still,
				listed.sort((a, b) => compareRanks(b.item.rank, a.item.rank)),
			);
		}
		changed.clear();
		phones = undefined;
		names = undefined;
	};

	const search = (needle: Needle, from: number, count: number): Item[] => {
		const found = new Set<number>();
		for (const part of needle.phones) {
			phones ??= haystackOf(ordered.map(({ phone }) => phone));
			for (const index of indexesOf(phones, part, from, count)) found.add(index);
		}
		for (const part of needle.names) {
			names ??= haystackOf(ordered.map(({ name }) => name));
			for (const index of indexesOf(names, part, from, count)) found.add(index);
		}
		const first = [...found].sort((a, b) => a - b).slice(0, count);
		return first.flatMap((index) => ordered[index]?.item ?? []);
	};

	return {
		changed(item) {
			const known = entries.get(item);
			const entry = known ?? { item, phone: item.phone, name: "" };
			if (!known) entries.set(item, entry);
			changed.add(entry);
		},
		page({ after, count, needle }) {
			settle();
			const from = after ? placeBelow(ordered, after) : 0;
			if (needle) return search(needle, from, count);
			return ordered.slice(from, from + count).map(({ item }) => item);
		},
	};
}

/** R54: case does not count, accents do. A sigma is another letter at the end of a word, which a part of a name may cut. */
export function fold(name: string): string {
	return name.normalize("NFC").toLowerCase().replaceAll("ς", "σ");
}

/** Two lists in descending order as one. */
function merged<Item extends Listed>(a: readonly Entry<Item>[], b: readonly Entry<Item>[]): Entry<Item>[] {
	const all: Entry<Item>[] = [];
	let next = 0;
	for (const entry of a) {
		for (let other = b[next]; other && compareRanks(other.item.rank, entry.item.rank) > 0; other = b[++next])
			all.push(other);
		all.push(entry);
	}
	return [...all, ...b.slice(next)];
}

/** The index of the first entry below `rank`. */
function placeBelow(ordered: readonly Entry<Listed>[], rank: Rank): number {
	let low = 0;
	let high = ordered.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const entry = ordered[middle];
		if (entry && compareRanks(entry.item.rank, rank) >= 0) low = middle + 1;
		else high = middle;
	}
	return low;
}
