export const hourMs = 3_600_000;

/** R9 */
export const iso = (at: number): string => new Date(at).toISOString();
export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));

/** The sandbox's time. Only advancing moves it, and what falls due on the way happens at its own instant. */
export interface Clock {
	/** Now, in milliseconds since 1970. */
	now(): number;
	/** Runs `act` when the clock reaches `at`; acts of one instant run in the order in which they were scheduled. */
	schedule(at: number, act: () => void): void;
	/** Goes forward to `at`, complete on return. */
	advanceTo(at: number): void;
	/** Does `act` as if it were `at`: how scenarios write a past. Nothing falls due meanwhile. */
	during(at: number, act: () => void): void;
	/** Sets the time and forgets what was scheduled: for restoring a snapshot. */
	restart(at: number): void;
}

interface Due {
	readonly at: number;
	readonly order: number;
	readonly act: () => void;
}

export function createClock(start: number): Clock {
	let now = start;
	let scheduled = 0;
	const heap: Due[] = [];
	return {
		now: () => now,
		schedule: (at, act) => push(heap, { at, order: scheduled++, act }),
		advanceTo(at) {
			if (!(at >= now)) throw new RangeError("The sandbox's clock goes forward only.");
			for (let next = heap[0]; next && next.at <= at; next = heap[0]) {
				pop(heap);
				now = Math.max(now, next.at);
				next.act();
			}
			now = at;
		},
		during(at, act) {
			const present = now;
			now = at;
			try {
				act();
			} finally {
				now = present;
			}
		},
		restart(at) {
			now = at;
			heap.length = 0;
		},
	};
}

const sooner = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Due[], due: Due): void {
	let i = heap.push(due) - 1;
	while (i > 0) {
		const up = (i - 1) >> 1;
		const parent = heap[up];
		if (!parent || sooner(parent, due)) break;
		heap[i] = parent;
		i = up;
	}
	heap[i] = due;
}

function pop(heap: Due[]): void {
	const last = heap.pop();
	if (!last || heap.length === 0) return;
	let i = 0;
	for (;;) {
		const left = heap[2 * i + 1];
		const right = heap[2 * i + 2];
		const child = right && left && sooner(right, left) ? right : left;
		if (!child || sooner(last, child)) break;
		heap[i] = child;
		i = child === right ? 2 * i + 2 : 2 * i + 1;
	}
	heap[i] = last;
}

const zoned = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** The last instant of the clock: a year of four digits, and room for a window and an answer time after it. */
const endOfTime = Date.UTC(9990, 0, 1);

/** Milliseconds since 1970. A time without a zone would be another instant on another machine. */
export function instant(name: string, at: string | Date): number {
	const good = at instanceof Date || (typeof at === "string" && (zoned.test(at) || /^\d{4}-\d\d-\d\d$/.test(at)));
	const ms = good && hasItsDay(at) ? new Date(at).getTime() : Number.NaN;
	if (Number.isNaN(ms))
		throw new TypeError(`${name} must be an instant: an ISO 8601 string with a zone (…T09:00:00Z), or a Date.`);
	if (!isInstant(ms)) throw new RangeError(`${name} must be an instant from the year 1000 to the year 9989.`);
	return ms;
}

/** Whether the month has the day: Date reads 30 February as 2 March. */
function hasItsDay(at: string | Date): boolean {
	const [date, day] = (typeof at === "string" && /^.+?-\d\d-(\d\d)/.exec(at)) || [];
	return date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
}

/** Whether a number of milliseconds is a time that the sandbox can have. */
export const isInstant = (ms: unknown): ms is number =>
	typeof ms === "number" && Number.isInteger(ms) && ms >= Date.UTC(1000, 0, 1) && ms < endOfTime;
