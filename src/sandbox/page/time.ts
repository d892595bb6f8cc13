const format = (options: Intl.DateTimeFormatOptions): ((at: string | number) => string) => {
	const formatter = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
	return (at) => formatter.format(new Date(at));
};

/** 10:12 */
export const minuteOf = format({ timeStyle: "short" });
/** 10:12:30 */
export const secondOf = format({ timeStyle: "medium" });
/** Tue, 6 Jan 2026 */
export const dayOf = format({ weekday: "short", day: "numeric", month: "short", year: "numeric" });

/** Tue, 6 Jan 2026, 10:12:30 */
export const instantOf = (at: string | number): string => `${dayOf(at)}, ${secondOf(at)}`;

/** The time of day, with the day when that is another than `now`'s. */
export const relativeTo = (at: string, now: number): string =>
	dayOf(at) === dayOf(now) ? minuteOf(at) : `${dayOf(at)} ${minuteOf(at)}`;

const minuteMs = 60_000;

/** A length of time: 22 h 46 min. */
export function lengthOf(ms: number): string {
	const minutes = Math.floor(Math.abs(ms) / minuteMs);
	const hours = Math.floor(minutes / 60);
	if (hours > 72) return `${Math.floor(hours / 24)} days`;
	return hours > 0 ? `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}` : `${minutes} min`;
}
