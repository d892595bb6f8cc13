/*
 * Two clocks: the service's, which messages have their times by, and the outbox's own (`own-clock.ts`), which texts and what comes by
 * telephone have theirs by. What is stored keeps its clock. Where the two have to be compared, the reading at hand says how far they
 * are apart, and that may be the mistake of one machine.
 */
import type { FactTime } from "./text.ts";

/** How far the two clocks are apart, as one answer shows it. */
export interface Offset {
	/** By how much the clock of the outbox is ahead of the service's, by the `Date` of the answer; 0 without one. */
	aheadMs: number;
	/** Whether the answer had a `Date`. */
	isMeasured: boolean;
}

export const unmeasured: Offset = { aheadMs: 0, isMeasured: false };

const minuteMs = 60_000;

/** A clock that is wrong by more is not trusted to end a text: it may be that of the one machine that has answered. */
export const wrongClockMs: number = 10 * minuteMs;

/** Times of the two clocks that are less than this apart can be in either order. */
export function toleranceMs({ aheadMs, isMeasured }: Offset): number {
	return Math.abs(aheadMs) + (isMeasured ? 1 : 5) * minuteMs;
}

/** What has to be added to a time of the service, at least and at most. The answer may come from a machine whose clock is wrong. */
export function aheadRange({ aheadMs }: Offset): [leastMs: number, mostMs: number] {
	return [Math.min(0, aheadMs), Math.max(0, aheadMs)];
}

/** The latest moment that this can have been by the clock of the outbox. */
export function latestByOwn({ service = 0, own = 0 }: FactTime, offset: Offset): number {
	const [, mostMs] = aheadRange(offset);
	return Math.max(own, service && service + mostMs);
}

/** Whether the first came after all of the second, whatever the clocks say. */
export function isSurelyAfter(first: FactTime, second: FactTime, offset: Offset): boolean {
	const marginMs = toleranceMs(offset);
	const { service = Number.NEGATIVE_INFINITY, own = Number.NEGATIVE_INFINITY } = first;
	const isAfter = (at: number | undefined, same: number, other: number): boolean =>
		at === undefined || same > at || other > at + marginMs;
	return isAfter(second.service, service, own) && isAfter(second.own, own, service);
}

/** The later time by each clock. */
export function laterOf(one: FactTime = {}, other: FactTime = {}): FactTime | undefined {
	const service = Math.max(one.service ?? 0, other.service ?? 0);
	const own = Math.max(one.own ?? 0, other.own ?? 0);
	if (service + own === 0) return undefined;
	return { ...(service > 0 && { service }), ...(own > 0 && { own }) };
}
