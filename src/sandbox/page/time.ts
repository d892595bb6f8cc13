const format = (options: Intl.DateTimeFormatOptions): ((at: string | number) => string) => {
	const formatter = new Intl.DateTimeFormat("en-GB", options);
	return (at) => formatter.format(new Date(at));
};

/** The user's own time: 6 Jan 2026, 10:12:30 */
export const realInstantOf = format({ dateStyle: "medium", timeStyle: "medium" });

const timeZone = "UTC";

/** 10:12 */
export const minuteOf = format({ timeStyle: "short", timeZone });
/** 10:12:30 */
export const secondOf = format({ timeStyle: "medium", timeZone });
/** Tue, 6 Jan 2026 */
export const dayOf = format({ weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone });

/** Tue, 6 Jan 2026, 10:12:30 */
export const instantOf = (at: string | number): string => `${dayOf(at)}, ${secondOf(at)}`;

/** The time of day, with the day when that is another than `now`'s. */
export const relativeTo = (at: string, now: number): string =>
	dayOf(at) === dayOf(now) ? minuteOf(at) : `${dayOf(at)} ${minuteOf(at)}`;

const minuteMs = 60_000;

/** How long a line came after the one before, in real time: +0.84 s, +2 h 5 min. Nothing for the first line. */
export function gapOf(realAt: string, before: string | undefined): string {
	if (before === undefined) return "";
	const ms = Date.parse(realAt) - Date.parse(before);
	return `+${ms < 60 * minuteMs ? secondsOf(ms) : lengthOf(ms)}`;
}

/** 0.84 s, 12 s, 7 min 23 s */
export function secondsOf(ms: number): string {
	const seconds = Math.round(ms / 1000);
	if (seconds >= 120) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	return `${(ms / 1000).toFixed(ms < 9_950 ? 2 : 0)} s`;
}

/** A length of time: 22 h 46 min. */
export function lengthOf(ms: number): string {
	const minutes = Math.floor(Math.abs(ms) / minuteMs);
	const hours = Math.floor(minutes / 60);
	if (hours > 72) return `${Math.floor(hours / 24)} days`;
	return hours > 0 ? `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}` : `${minutes} min`;
}
