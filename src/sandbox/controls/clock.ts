import { optional } from "../../shared/validation.ts";
import { aNumber, assertValid, fields } from "../base/input.ts";
import { hourMs, inRange, instant, iso } from "../world/instant.ts";
import { advanceTo } from "../world/thread.ts";
import type { World } from "../world/world.ts";

/** The time to advance by. The given units are added up. */
export interface Advance {
	/** Days of 24 hours, whole or not. */
	readonly days?: number | undefined;
	/** Hours, whole or not. */
	readonly hours?: number | undefined;
	/** Minutes, whole or not. */
	readonly minutes?: number | undefined;
	/** Milliseconds. */
	readonly ms?: number | undefined;
}

/** The sandbox's time: it does not run until it is moved, and goes forward only. */
export interface ClockControl {
	/** A copy: changing it moves nothing. @example sandbox.clock.now().toISOString(); */
	now(): Date;
	/**
	 * Goes forward. Fires everything that's due, in order and each at its own instant, before this returns.
	 * @example sandbox.clock.advance({ hours: 25 });
	 */
	advance(by: Advance): void;
	/**
	 * Goes forward to a Date, an ISO 8601 time with a zone, or the midnight in UTC of a day (`2026-01-06`), as
	 * {@link advance} does. An earlier time throws.
	 * @example sandbox.clock.advanceTo("2026-01-06T10:00:00Z");
	 */
	advanceTo(at: string | Date): void;
}

const advanceRule = fields<Advance>({
	days: optional(aNumber),
	hours: optional(aNumber),
	minutes: optional(aNumber),
	ms: optional(aNumber),
});

export function createClockControl(world: World): ClockControl {
	const moveTo = (to: number): void =>
		world.events.together(null, () => {
			const from = world.now;
			if (to < from) throw new RangeError("The sandbox's clock goes forward only.");
			advanceTo(world, to);
			if (to > from) world.events.add({ type: "clock.moved", from: iso(from), to: iso(to) });
		});
	return {
		now: () => new Date(world.now),
		advance(given) {
			assertValid("clock.advance", given, advanceRule);
			if (Object.values(given).every((time) => time === undefined))
				throw new TypeError("clock.advance must have days, hours, minutes or ms.");
			const { days = 0, hours = 0, minutes = 0, ms = 0 } = given;
			const by = (days * 24 + hours) * hourMs + minutes * 60_000 + ms;
			if (by < 0) throw new RangeError("The sandbox's clock goes forward only.");
			moveTo(inRange("clock.advance: the time after it", Math.trunc(world.now + by)));
		},
		advanceTo: (at) => moveTo(instant("clock.advanceTo: at", at)),
	};
}
