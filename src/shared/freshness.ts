/*
 * How old something is that was read. A process can be stopped, or its machine can sleep, at any moment, so both clocks count.
 */

/** A time on both clocks, because either can stand still or jump. */
export interface Moment {
	/** On the clock of `performance.now()`. */
	at: number;
	/** On the system clock. */
	date: number;
}

export function thisMoment(): Moment {
	return { at: performance.now(), date: Date.now() };
}

/** The time that has passed since a moment, by the clock that says more. */
export function msSince({ at, date }: Moment): number {
	return Math.max(performance.now() - at, Date.now() - date);
}

/** How long after a read a request that relies on it may begin. */
export const freshMs = 10_000;

const beatMs = 1_000;
/** The reads that are under way. */
let reads = 0;
let timer: ReturnType<typeof setInterval> | undefined;
let lastBeat = thisMoment();
/** How much time had passed at each beat since the one before. */
let gaps: { at: number; ms: number }[] = [];

function beat(): void {
	const ms = msSince(lastBeat);
	lastBeat = thisMoment();
	gaps = [...gaps.slice(-300), { at: lastBeat.at, ms }];
}

/** A read that is watched. */
export interface ReadWatch {
	/** Call it once, when the read has ended. */
	end: () => void;
	/** How old what was read is. */
	ageMs: () => number;
}

/**
 * Begins to watch a read. An answer can lie unread in a process that is stopped, which shows in the beats of a timer. A slow answer of
 * the service is no such thing.
 */
export function watchRead(): ReadWatch {
	if (reads++ === 0) {
		[lastBeat, gaps] = [thisMoment(), []];
		timer = setInterval(beat, beatMs);
		// Node and Bun would wait for it before they exit.
		Object(timer).unref?.();
	}
	const began = thisMoment();
	let unreadMs = 0;
	let ended = began;
	return {
		end() {
			beat();
			if (--reads === 0) clearInterval(timer);
			const longestMs = Math.max(...gaps.filter(({ at }) => at >= began.at).map(({ ms }) => ms));
			unreadMs = Math.min(longestMs, msSince(began));
			ended = thisMoment();
		},
		ageMs: () => unreadMs + msSince(ended),
	};
}
