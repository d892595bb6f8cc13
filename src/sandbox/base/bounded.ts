/** A list that forgets its oldest items: at most so many, and only as heavy together as allowed. */
export interface Bounded<Item> {
	/** How many items were forgotten since it was last filled. */
	readonly dropped: number;
	readonly length: number;
	add(item: Item): void;
	dropNewest(): void;
	at(index: number): Item | undefined;
	/** The items, the oldest first. */
	items(): readonly Item[];
	/** The items from one index up to another one. */
	slice(from: number, to: number): readonly Item[];
	dropOldest(): void;
	load(items: readonly Item[], dropped?: number): void;
}

/** The limits of a {@link Bounded} list. */
export interface BoundedOptions<Item> {
	readonly atMost: number;
	/** How much the items may weigh together; the newest is kept whatever it weighs. */
	readonly weight: number;
	weigh(item: Item): number;
	/** Called with each item that is forgotten. */
	onDrop?(item: Item): void;
}

/** How many forgotten places may wait at the front, because to move a long list at each item would take long. */
const mostGaps = 4_096;

export function createBounded<Item>({ atMost, weight, weigh, onDrop }: BoundedOptions<Item>): Bounded<Item> {
	let items: (Item | undefined)[] = [];
	/** Where the oldest item is. Before it are places of forgotten ones. */
	let first = 0;
	let total = 0;
	let dropped = 0;
	const length = (): number => items.length - first;
	const slice = (from: number, to: number): Item[] => items.slice(first + from, first + Math.max(to, 0)) as Item[];
	const add = (item: Item): void => {
		items.push(item);
		total += weigh(item);
		while (length() > atMost || (total > weight && length() > 1)) dropOldest();
	};
	const dropOldest = (): void => {
		const item = items[first] as Item;
		items[first] = undefined;
		first++;
		dropped++;
		total -= weigh(item);
		onDrop?.(item);
		if (first < mostGaps) return;
		items = items.slice(first);
		first = 0;
	};
	return {
		get dropped() {
			return dropped;
		},
		get length() {
			return length();
		},
		add,
		dropNewest() {
			if (length() > 0) total -= weigh(items.pop() as Item);
		},
		at: (index) => items[first + index],
		items: () => slice(0, length()),
		slice,
		dropOldest: () => void (length() > 0 && dropOldest()),
		load(given, before = 0) {
			items = [];
			first = 0;
			total = 0;
			dropped = before;
			for (const item of given) add(item);
		},
	};
}
