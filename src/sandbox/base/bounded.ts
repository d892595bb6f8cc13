/** The newest items of a list, bounded by their number and by their weight. */
export interface Bounded<Item> {
	add(item: Item): void;
	dropNewest(): void;
	/** The items, the oldest first. It is the list itself, which later items join. */
	items(): readonly Item[];
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
	let total = 0;
	const add = (item: Item): void => {
		items.push(item);
		total += weigh(item);
		while (items.length > atMost || (total > weight && items.length > 1)) drop(items.shift());
	};
	const drop = (item: Item | undefined): void => {
		if (item !== undefined) total -= weigh(item);
	};
	return {
		add,
		dropNewest: () => drop(items.pop()),
		items: () => items,
		load(given) {
			items = [];
			total = 0;
			for (const item of given) add(item);
		},
	};
}
