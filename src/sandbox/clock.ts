import { aNumber, assertValid, fields, optional } from "./strict.ts";

export const hourMs = 3_600_000;

/** The sandbox's time. It stands still until advanced, and what falls due on the way happens at its own instant. */
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

/** How far to go; what is given is added up. */
export interface Advance {
	/** Hours, whole or not. */
	readonly hours?: number;
	/** Minutes, whole or not. */
	readonly minutes?: number;
	/** Milliseconds. */
	readonly ms?: number;
}

/** The sandbox's time: it stands still until it is moved, and goes forward only. */
export interface ClockControl {
	/** A copy: changing it moves nothing. @example sandbox.clock.now().toISOString(); */
	now(): Date;
	/**
	 * Goes forward. What falls due on the way happens in order, each at its own instant, before this returns.
	 * @example sandbox.clock.advance({ hours: 25 });
	 */
	advance(by: Advance): void;
	/** @example sandbox.clock.advanceTo("2026-01-06T10:00:00Z"); */
	advanceTo(at: string | Date): void;
}

const advanceRule = fields<Advance>({ hours: optional(aNumber), minutes: optional(aNumber), ms: optional(aNumber) });

export function createClockControl(clock: Clock): ClockControl {
	return {
		now: () => new Date(clock.now()),
		advance(given) {
			assertValid("clock.advance", given, advanceRule);
			const { hours = 0, minutes = 0, ms = 0 } = given;
			const by = hours * hourMs + minutes * 60_000 + ms;
			if (by < 0) throw new RangeError("The sandbox's clock goes forward only.");
			clock.advanceTo(instant("clock.advance: the sum", new Date(clock.now() + by)));
		},
		advanceTo: (at) => clock.advanceTo(instant("clock.advanceTo: at", at)),
	};
}

const zoned = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** Milliseconds since 1970. A time without a zone would be another instant on another machine. */
export function instant(name: string, at: string | Date): number {
	const good = at instanceof Date || (typeof at === "string" && (zoned.test(at) || /^\d{4}-\d\d-\d\d$/.test(at)));
	const ms = good ? new Date(at).getTime() : Number.NaN;
	if (Number.isNaN(ms))
		throw new TypeError(`${name} must be an instant: an ISO 8601 string with a zone (…T09:00:00Z), or a Date.`);
	return ms;
}
