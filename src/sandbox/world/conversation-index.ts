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

/**
 * Sorts when it is read, not when something changes: whoever changes 100,000 conversations pays nothing, and the next
 * page one merge. A search reads the items in order, which takes a few milliseconds for 100,000.
 */
export function createConversationIndex<Item extends Listed>(
	isListed: (item: Item) => boolean,
): ConversationIndex<Item> {
	/** The newest first. */
	let ordered: Item[] = [];
	const changed = new Set<Item>();
	/** Names as they are searched. */
	const folded = new Map<Item, string>();

	const settle = (): void => {
		if (changed.size === 0) return;
		for (const item of changed) {
			if (item.name === null) folded.delete(item);
			else folded.set(item, fold(item.name));
		}
		const moved = [...changed].filter(isListed).sort((a, b) => compareRanks(b.rank, a.rank));
		ordered = merged(
			ordered.filter((item) => !changed.has(item)),
			moved,
		);
		changed.clear();
	};

	const matches = (item: Item, { phones, names }: Needle): boolean => {
		if (phones.some((text) => item.phone.includes(text))) return true;
		if (names.length === 0) return false;
		const name = folded.get(item);
		return name !== undefined && names.some((text) => name.includes(text)); // R54: null names never match
	};

	return {
		changed: (item) => void changed.add(item),
		page({ after, count, needle }) {
			settle();
			const found: Item[] = [];
			for (let i = after ? placeBelow(ordered, after) : 0; i < ordered.length && found.length < count; i++) {
				const item = ordered[i];
				if (item && (!needle || matches(item, needle))) found.push(item);
			}
			return found;
		},
	};
}

/** R54: case does not count, accents do. */
export function fold(name: string): string {
	return name.normalize("NFC").toLowerCase();
}

/** Two lists in descending order as one. */
function merged<Item extends Listed>(a: readonly Item[], b: readonly Item[]): Item[] {
	const all: Item[] = [];
	let next = 0;
	for (const item of a) {
		for (let other = b[next]; other && compareRanks(other.rank, item.rank) > 0; other = b[++next]) all.push(other);
		all.push(item);
	}
	for (; next < b.length; next++) {
		const item = b[next];
		if (item) all.push(item);
	}
	return all;
}

/** The index of the first item below `rank`. */
function placeBelow(ordered: readonly Listed[], rank: Rank): number {
	let low = 0;
	let high = ordered.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const item = ordered[middle];
		if (item && compareRanks(item.rank, rank) >= 0) low = middle + 1;
		else high = middle;
	}
	return low;
}
