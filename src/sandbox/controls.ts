import { type Clock, hourMs } from "./clock.ts";
import type { Fault, FaultBook, FaultOptions } from "./faults.ts";
import { aNumber, assertValid, fields, optional } from "./strict.ts";

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
			clock.advanceTo(instant(new Date(clock.now() + by)));
		},
		advanceTo: (at) => clock.advanceTo(instant(at)),
	};
}

const zoned = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** Milliseconds since 1970. A time without a zone would be another instant on another machine. */
export function instant(at: string | Date): number {
	const good = at instanceof Date || (typeof at === "string" && (zoned.test(at) || /^\d{4}-\d\d-\d\d$/.test(at)));
	const ms = good ? new Date(at).getTime() : Number.NaN;
	if (Number.isNaN(ms)) throw new TypeError("An instant is an ISO 8601 string with a zone (…T09:00:00Z), or a Date.");
	return ms;
}

/** A fault that was added. */
export interface FaultControl {
	/** How many requests it has hit. */
	readonly hits: number;
	/** How many it will still hit; 0 once it is taken back. */
	readonly remaining: number;
	/** Takes it back; `hits` stays. @example fault.remove(); */
	remove(): void;
}

/** Faults to come: counted, never random; after key and scope, so that none hides a 401. */
export interface FaultsControl {
	/**
	 * Adds a fault. The first added is the first to hit; one request meets at most one before and one after it ran.
	 * @example sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	 * @example sandbox.faults.add({ times: 2, effect: { status: 503, retryAfter: 1 } });
	 */
	add(options: FaultOptions): FaultControl;
	/** Takes all back. @example sandbox.faults.clear(); */
	clear(): void;
	/**
	 * Faults that still wait to hit: at the end of a test there should be none.
	 * @example expect(sandbox.faults.unused()).toEqual([]);
	 */
	unused(): Pick<Fault, "operation" | "phase" | "effect" | "hits" | "remaining">[];
}

export function createFaultsControl(book: FaultBook): FaultsControl {
	return {
		add(options) {
			const added = book.add(options);
			let last = added;
			// A restored sandbox has faults of its own: by number they are the same.
			const current = (): Fault | undefined => {
				const found = book.find(added.id);
				if (found) last = found;
				return found;
			};
			return {
				get hits() {
					return (current() ?? last).hits;
				},
				get remaining() {
					const found = current();
					return found ? (found.remaining ?? Number.POSITIVE_INFINITY) : 0;
				},
				remove() {
					current();
					book.remove(added.id);
				},
			};
		},
		clear: () => book.clear(),
		unused: () =>
			book
				.all()
				.filter((fault) => fault.remaining !== 0)
				.map(({ operation, phase, effect, hits, remaining }) => ({ operation, phase, effect, hits, remaining })),
	};
}
