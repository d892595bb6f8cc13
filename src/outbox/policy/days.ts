/*
 * The days of a time zone.
 */
import { formatOf } from "./quiet-hours.ts";

const minuteMs = 60_000;
/** No zone is further from UTC, and a day begins within an hour or so of midnight. */
const furthestMs = 16 * 3_600_000;

/** The day of a moment, such as `2026-03-01`. */
export function dayOf(at: number, timeZone: string): string {
	const parts = formatOf(timeZone).formatToParts(at);
	const part = (name: string): string => parts.find(({ type }) => type === name)?.value ?? "";
	return `${part("year").padStart(4, "0")}-${part("month").padStart(2, "0")}-${part("day").padStart(2, "0")}`;
}

/** The first moment of a day. It need not be midnight, which a change of the clock may leave out. */
export function startOfDay(day: string, timeZone: string): number {
	const midnight = Date.parse(`${day}T00:00:00Z`);
	let [before, from] = [midnight - furthestMs, midnight + furthestMs];
	while (from - before > minuteMs) {
		const between = before + Math.round((from - before) / 2 / minuteMs) * minuteMs;
		if (dayOf(between, timeZone) < day) before = between;
		else from = between;
	}
	return from;
}
