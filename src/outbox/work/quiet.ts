/*
 * When the quiet hours of an agency end.
 */
import { minutesFrom, type QuietHours, quietUntil } from "../policy/quiet-hours.ts";
import { askTimeZone } from "./hooks.ts";

/** The quiet hours of the agencies. */
export interface QuietClock {
	/** When they end, if a time is within them, in milliseconds. @throws PartnerConfigurationError without a time zone */
	end: (agencyId: string, at: number) => Promise<number | undefined>;
}

/** How long a time zone is taken for that of the agency. */
const keepMs = 60_000;

export function createQuietClock(hours: QuietHours | undefined): QuietClock {
	const zones = new Map<string, { zone: Promise<string>; askedAt: number }>();
	function zoneOf(agencyId: string, given: QuietHours["timeZone"]): Promise<string> | string {
		if (typeof given === "string") return given;
		const known = zones.get(agencyId);
		if (known && performance.now() - known.askedAt < keepMs) return known.zone;
		const zone = askTimeZone(given, agencyId);
		zones.set(agencyId, { zone, askedAt: performance.now() });
		zone.catch(() => zones.delete(agencyId));
		return zone;
	}
	return {
		async end(agencyId, at) {
			if (!hours) return undefined;
			const [from = 0, to = 0] = [minutesFrom(hours.from), minutesFrom(hours.to)];
			return quietUntil(at, { from, to, timeZone: await zoneOf(agencyId, hours.timeZone) });
		},
	};
}
