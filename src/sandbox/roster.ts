import { compareRanks, createOrdered, never, type Rank } from "./order.ts";
import { createGrams, fold, type Needle } from "./search.ts";

/** What a roster needs to know of a thread. */
export interface Listed {
	readonly serial: number;
	readonly phone: string;
	readonly name: string | null;
	readonly listed: boolean;
	readonly rank: Rank;
}

export interface PageRequest {
	readonly after: Rank | undefined;
	readonly count: number;
	readonly needle: Needle | undefined;
}

/** An agency's conversations, kept in list order and searchable, so that no request sorts or scans them all. */
export interface Roster<T extends Listed> {
	/** Takes note of a thread, listed or not, that may be listed and searched later. */
	note(thread: T): void;
	/** Takes note of a thread's new name. */
	noteName(thread: T): void;
	/** Changes a thread in a way that may change its rank or whether it is listed. */
	move(thread: T, change: () => void): void;
	/** The next threads in list order, at most `count`. */
	page(request: PageRequest): T[];
}

export function createRoster<T extends Listed>(): Roster<T> {
	const order = createOrdered<T>();
	const noted: T[] = [];
	const phones = createGrams();
	const names = createGrams();

	/** Ranks by serial, in two rows of numbers: who looks at many candidates looks here first, as these lie together. */
	const times: number[] = [];
	const messageIds: number[] = [];
	/** Names as they are searched, by serial. */
	const folded: (string | undefined)[] = [];

	const noteName = (thread: T): void => {
		const name = thread.name === null ? undefined : fold(thread.name);
		folded[thread.serial] = name;
		if (name !== undefined) names.add(name, thread.serial);
	};

	const noteRank = ({ serial, rank }: T): void => {
		times[serial] = rank.at;
		messageIds[serial] = rank.messageId;
	};

	const matcher = (needle: Needle): ((thread: T) => boolean) => {
		return (thread) => {
			const name = folded[thread.serial]; // R54: null names never match
			return (
				needle.phones.some((text) => thread.phone.includes(text)) ||
				(name !== undefined && needle.names.some((text) => name.includes(text)))
			);
		};
	};

	const scan = (after: Rank | undefined, count: number, limit: number, matches: (thread: T) => boolean) => {
		const found: T[] = [];
		let seen = 0;
		order.descend(after, (thread) => {
			if (matches(thread)) found.push(thread);
			return found.length < count && ++seen < limit;
		});
		return { found, complete: found.length >= count || seen < limit };
	};

	return {
		note(thread) {
			noted[thread.serial] = thread;
			noteRank(thread);
			phones.add(thread.phone, thread.serial);
			noteName(thread);
			if (thread.listed) order.add(thread);
		},
		noteName,
		move(thread, change) {
			if (thread.listed) order.remove(thread);
			change();
			noteRank(thread);
			if (thread.listed) order.add(thread);
		},
		page({ after, count, needle }) {
			if (!needle) return scan(after, count, Number.POSITIVE_INFINITY, () => true).found;
			const matches = matcher(needle);
			const candidates = [...needle.phones.map(phones.candidates), ...needle.names.map(names.candidates)];
			const total = candidates.reduce((sum, list) => sum + list.length, 0);
			// Few candidates: look at each. Many: the page fills soon by going down the list; when it does not, the
			// needle is rarer than its parts, and looking at each candidate is the lesser work after all.
			if (total > fewCandidates(order.size, count)) {
				const walk = scan(after, count, fewCandidates(order.size, count) * 4, matches);
				if (walk.complete) return walk.found;
			}
			return best({ candidates, noted, times, messageIds, after, count, matches });
		},
	};
}

const fewCandidates = (size: number, count: number): number => Math.max(64, Math.sqrt(size * count));

interface Choice<T extends Listed> extends Omit<PageRequest, "needle"> {
	readonly candidates: readonly (readonly number[])[];
	readonly noted: readonly T[];
	readonly times: readonly number[];
	readonly messageIds: readonly number[];
	readonly matches: (thread: T) => boolean;
}

/** The `count` highest below `after` that match, highest first. */
function best<T extends Listed>({ candidates, noted, times, messageIds, after, count, matches }: Choice<T>): T[] {
	const top: T[] = [];
	for (const list of candidates) {
		// From the end: the threads that came last are more often the ones that moved last.
		for (let i = list.length - 1; i >= 0; i--) {
			const number = list[i] ?? 0;
			const time = times[number] ?? never;
			const last = top[count - 1];
			if (last && (time < last.rank.at || (time === last.rank.at && (messageIds[number] ?? 0) < last.rank.messageId)))
				continue;
			if (after && time > after.at) continue;
			const thread = noted[number];
			if (!thread?.listed || (after && compareRanks(thread.rank, after) >= 0)) continue;
			if ((last && compareRanks(thread.rank, last.rank) <= 0) || !matches(thread)) continue;
			const place = placeIn(top, thread.rank);
			if (top[place] === thread) continue;
			top.splice(place, 0, thread);
			if (top.length > count) top.pop();
		}
	}
	return top;
}

function placeIn(top: readonly Listed[], rank: Rank): number {
	let low = 0;
	let high = top.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const item = top[middle];
		if (item && compareRanks(item.rank, rank) > 0) low = middle + 1;
		else high = middle;
	}
	return low;
}
