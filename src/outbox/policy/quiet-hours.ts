/*
 * The hours of a day in which contacts get no text unasked, by the clock on the contact's wall.
 */

/** Hours of each day in which no notice and no marketing text begins. */
export interface QuietHours {
	/** When they begin, such as `20:00`. */
	from: string;
	/** When they end, such as `08:00`. Before `from` it is on the next day. */
	to: string;
	/** Time zone of the contacts, such as `Europe/Brussels`, or a function that returns the time zone of an agency. */
	timeZone: string | ((agencyId: string) => string | Promise<string>);
}

/** The hours of one time zone. Both times in minutes since midnight. */
export interface ZonedHours {
	from: number;
	to: number;
	timeZone: string;
}

const minuteMs = 60_000;
const minutesOfDay = 1440;

/** Minutes since midnight of a time such as `08:30`. Undefined for anything else. */
export function minutesFrom(time: unknown): number | undefined {
	const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(String(time)) ?? [];
	return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** The instant at which the quiet hours end, in milliseconds since 1970. Undefined if it is not in them, or if there are none. */
export function quietUntil(at: number, hours: ZonedHours | null): number | undefined {
	if (!hours || !isQuiet(at, hours)) return undefined;
	const minute = Math.floor(at / minuteMs) * minuteMs;
	const offset = offsetOf(minute, hours.timeZone);
	const end = minute + untilEnd(minute, hours) * minuteMs;
	if (offsetOf(end, hours.timeZone) === offset) return end;
	// The clock is changed before they end, and it may jump over the end or come to it twice.
	let first = minute;
	while (isQuiet(first, hours)) first += minuteMs;
	return first;
}

/** When the quiet hours begin, to the minute, if that is within so long. Undefined if it is not, or if there are none. */
export function quietFrom(at: number, withinMs: number, hours: ZonedHours | null): number | undefined {
	if (!hours) return undefined;
	for (let minute = Math.ceil(at / minuteMs) * minuteMs; minute <= at + withinMs; minute += minuteMs)
		if (isQuiet(minute, hours)) return minute;
	return undefined;
}

function isQuiet(at: number, { from, to, timeZone }: ZonedHours): boolean {
	const now = wallMinutes(at, timeZone);
	return from < to ? now >= from && now < to : now >= from || now < to;
}

function untilEnd(at: number, { to, timeZone }: ZonedHours): number {
	return (to - wallMinutes(at, timeZone) + minutesOfDay) % minutesOfDay || minutesOfDay;
}

function wallMinutes(at: number, timeZone: string): number {
	const minutes = Math.floor(at / minuteMs) + offsetOf(at, timeZone);
	return ((minutes % minutesOfDay) + minutesOfDay) % minutesOfDay;
}

/** How far a zone is ahead of UTC, in minutes. */
function offsetOf(at: number, timeZone: string): number {
	const parts = Object.fromEntries(
		formatOf(timeZone)
			.formatToParts(at)
			.map(({ type, value }) => [type, Number(value)]),
	) as Record<"year" | "month" | "day" | "hour" | "minute", number>;
	const wall = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute);
	return Math.round((wall - Math.floor(at / minuteMs) * minuteMs) / minuteMs);
}

/** By zone, because making one takes a thousand times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

export function formatOf(timeZone: string): Intl.DateTimeFormat {
	const known = formats.get(timeZone);
	if (known) return known;
	const format = new Intl.DateTimeFormat("en-US", {
		timeZone,
		hourCycle: "h23",
		calendar: "iso8601",
		numberingSystem: "latn",
		year: "numeric",
		month: "numeric",
		day: "numeric",
		hour: "numeric",
		minute: "numeric",
	});
	formats.set(timeZone, format);
	return format;
}

/** Whether the runtime knows a time zone of this name. */
export function isTimeZone(value: unknown): value is string {
	try {
		return typeof value === "string" && value !== "" && formatOf(value) !== undefined;
	} catch {
		return false;
	}
}
