import { type Haystack, haystackOf, indexesOf } from "./haystack.ts";

/** A place in a list of conversations (R45): time of the last message, then that message, then the thread's number. */
export interface Rank {
	/** Milliseconds; {@link never} without a message. */
	readonly at: number;
	readonly messageId: number;
	/** Of the thread, in order of creation. */
	readonly serial: number;
}

/** Earlier than any message, so that threads without one come last (R45). */
export const never = -8.64e15;

export function compareRanks(a: Rank, b: Rank): number {
	return a.at - b.at || a.messageId - b.messageId || a.serial - b.serial;
}

/** What the index reads of a conversation. */
export interface Listed {
	readonly phone: string;
	readonly name: string | null;
	readonly rank: Rank;
}

/** What a search asks for: any of these texts, in a phone number or in a name. */
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

/** An item with what a search reads of it. */
interface Entry<Item extends Listed> {
	readonly item: Item;
	readonly phone: string;
	/** Folded; empty for null, which no search matches (R54). */
	name: string;
}

/** From here on one merge costs less than moving each item. */
const manyChanges = 32;

/**
 * Sorts when it is read, not when something changes: whoever changes 100,000 conversations pays nothing, and the next
 * page one merge, and the next search a text of all numbers or names.
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

/** R54: case does not count, accents do. */
export function fold(name: string): string {
	return name.normalize("NFC").toLowerCase();
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
