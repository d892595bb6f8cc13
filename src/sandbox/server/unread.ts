/** What a reader is sent: a response of node:http, or a stream in a browser. */
export interface Written {
	readonly destroyed: boolean;
	/** How many bytes are written that the reader has not read yet. */
	readonly writableLength: number;
	destroy(): unknown;
}

/** The responses that their readers have not read yet. */
export interface Unread {
	has(response: Written): boolean;
	/** Notes what is left to read of a response to which something was written. */
	add(response: Written): void;
	/** The reader has read what was written so far, or is gone. */
	remove(response: Written): void;
}

const mostBytes = 64 * 2 ** 20;

/**
 * One limit for the bytes that wait for all readers together. Above it the connections are cut that have waited longest,
 * but never the newest one: one answer may be longer than the limit.
 */
export function createUnread(): Unread {
	/** How many bytes wait, in the order in which the responses began to wait. */
	const waiting = new Map<Written, number>();
	let total = 0;
	const remove = (response: Written): void => {
		total -= waiting.get(response) ?? 0;
		waiting.delete(response);
	};
	return {
		has: (response) => waiting.has(response),
		add(response) {
			const bytes = response.writableLength;
			if (bytes === 0 || response.destroyed) return;
			remove(response);
			waiting.set(response, bytes);
			total += bytes;
			for (const [slowest] of waiting) {
				if (total <= mostBytes || slowest === response) break;
				remove(slowest);
				slowest.destroy();
			}
		},
		remove,
	};
}
