/**
 * Keeps at least the last `capacity` entries, and at most twice as many. Two maps take turns, because deleting the oldest
 * entry of one map at each insertion costs more than everything else a call does.
 */
export function createRecent<Value>(capacity: number) {
	let latest = new Map<string, Value>();
	let earlier = new Map<string, Value>();
	return {
		get: (key: string): Value | undefined => latest.get(key) ?? earlier.get(key),
		set(key: string, value: Value): void {
			latest.set(key, value);
			if (latest.size < capacity) return;
			earlier = latest;
			latest = new Map();
		},
		/** Removes an entry if it still has this value. */
		remove(key: string, value: Value): void {
			for (const map of [latest, earlier]) if (map.get(key) === value) map.delete(key);
		},
	};
}

/** The latest entries of many. */
export type Recent<Value> = ReturnType<typeof createRecent<Value>>;
