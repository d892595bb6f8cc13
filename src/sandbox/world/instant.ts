export const hourMs = 3_600_000;

/** R9 */
export const iso = (at: number): string => new Date(at).toISOString();
export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));

const zoned = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** The last instant of the clock: a year of four digits, and room for a window and an answer time after it. */
const endOfTime = Date.UTC(9990, 0, 1);

/** Milliseconds since 1970. A time without a zone would be another instant on another machine. */
export function instant(name: string, at: string | Date): number {
	const good =
		Object.prototype.toString.call(at) === "[object Date]" ||
		(typeof at === "string" && (zoned.test(at) || /^\d{4}-\d\d-\d\d$/.test(at)));
	const ms = good && hasItsDay(at) ? new Date(at).getTime() : Number.NaN;
	if (Number.isNaN(ms))
		throw new TypeError(
			`${name} must be an instant: an ISO 8601 string with a zone (…T09:00:00Z), a day (midnight in UTC), or a valid Date.`,
		);
	return inRange(name, ms);
}

/** Throws unless the sandbox can have the time. */
export function inRange(name: string, ms: number): number {
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
