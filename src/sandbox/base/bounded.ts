/** The newest items of a list, bounded by their number and by their weight. */
export interface Bounded<Item> {
	add(item: Item): void;
	dropNewest(): void;
	/** The items, the oldest first. */
	items(): Item[];
	load(items: readonly Item[]): void;
}

/** The limits of a {@link Bounded} list. */
export interface BoundedOptions<Item> {
	readonly atMost: number;
	/** How much the items may weigh together; the newest is kept whatever it weighs. */
	readonly weight: number;
	weigh(item: Item): number;
}

export function createBounded<Item>({ atMost, weight, weigh }: BoundedOptions<Item>): Bounded<Item> {
	let items: Item[] = [];
	let first = 0;
	let total = 0;
	const add = (item: Item): void => {
		items.push(item);
		total += weigh(item);
		while (items.length - first > atMost || (total > weight && items.length - first > 1)) {
			const oldest = items[first++];
			if (oldest !== undefined) total -= weigh(oldest);
		}
		// In blocks, because removing items one by one would move the whole list each time.
		if (first > 1_000 && first * 2 > items.length) {
			items = items.slice(first);
			first = 0;
		}
	};
	return {
		add,
		dropNewest() {
			const newest = items.length > first ? items.pop() : undefined;
			if (newest !== undefined) total -= weigh(newest);
		},
		items: () => items.slice(first),
		load(given) {
			items = [];
			first = 0;
			total = 0;
			for (const item of given) add(item);
		},
	};
}
