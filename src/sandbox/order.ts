/** A place in a list of conversations: R45, time of the last message, then that message, then the thread's own number. */
export interface Rank {
	/** Milliseconds; {@link never} without a message. */
	readonly at: number;
	readonly messageId: number;
	readonly serial: number;
}

/** Earlier than any message: null last (R45). */
export const never = -8.64e15;

/** Things kept in the order of their ranks. Every step costs about the square root of their number at most. */
export interface Ordered<T extends { readonly rank: Rank }> {
	readonly size: number;
	add(item: T): void;
	/** Takes an item out; its rank must be the one it was added with. */
	remove(item: T): void;
	/** Visits from the highest rank down, from below `after` when given, until `visit` returns false. */
	descend(after: Rank | undefined, visit: (item: T) => boolean): void;
}

export function compareRanks(a: Rank, b: Rank): number {
	return a.at - b.at || a.messageId - b.messageId || a.serial - b.serial;
}

const chunkSize = 512;

export function createOrdered<T extends { readonly rank: Rank }>(): Ordered<T> {
	const chunks: T[][] = [[]];
	let size = 0;

	/** The chunk in which a rank belongs: the last one that begins at or below it. */
	const chunkOf = (rank: Rank): number => {
		let low = 0;
		let high = chunks.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			const first = chunks[middle]?.[0];
			if (first && compareRanks(first.rank, rank) <= 0) low = middle;
			else high = middle - 1;
		}
		return low;
	};

	return {
		get size() {
			return size;
		},
		add(item) {
			const at = chunkOf(item.rank);
			const chunk = chunks[at] ?? [];
			chunk.splice(firstNotBelow(chunk, item.rank), 0, item);
			size++;
			if (chunk.length > chunkSize) chunks.splice(at + 1, 0, chunk.splice(chunkSize >> 1));
		},
		remove(item) {
			const at = chunkOf(item.rank);
			const chunk = chunks[at] ?? [];
			const place = firstNotBelow(chunk, item.rank);
			if (chunk[place] !== item) return;
			chunk.splice(place, 1);
			size--;
			if (chunk.length === 0 && chunks.length > 1) chunks.splice(at, 1);
		},
		descend(after, visit) {
			let at = after ? chunkOf(after) : chunks.length - 1;
			let chunk = chunks[at] ?? [];
			let place = after ? firstNotBelow(chunk, after) : chunk.length;
			while (chunk) {
				while (place-- > 0) {
					const item = chunk[place];
					if (item && !visit(item)) return;
				}
				const next = chunks[--at];
				if (!next) return;
				chunk = next;
				place = next.length;
			}
		},
	};
}

function firstNotBelow(chunk: readonly { readonly rank: Rank }[], rank: Rank): number {
	let low = 0;
	let high = chunk.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const item = chunk[middle];
		if (item && compareRanks(item.rank, rank) < 0) low = middle + 1;
		else high = middle;
	}
	return low;
}
