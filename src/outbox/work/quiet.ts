/*
 * The quiet hours of the agencies, each in its time zone.
 */
import { minutesFrom, type QuietHours, quietUntil, type ZonedHours } from "../policy/quiet-hours.ts";
import type { OutboxStore } from "../store.ts";
import { askTimeZone } from "./hooks.ts";

/** The quiet hours of the agencies. */
export interface QuietClock {
	/** Those of an agency; null if the outbox has none. @throws PartnerConfigurationError without a time zone */
	hours: (agencyId: string) => Promise<ZonedHours | null>;
}

/** How long a time zone is taken for that of the agency. */
const keepMs = 60_000;

export function createQuietClock(hours: QuietHours | undefined, now: () => number): QuietClock {
	const zones = new Map<string, { zone: Promise<string>; askedAt: number; at: number }>();
	function zoneOf(agencyId: string, given: QuietHours["timeZone"]): Promise<string> | string {
		if (typeof given === "string") return given;
		const known = zones.get(agencyId);
		const isFresh = known && performance.now() - known.askedAt < keepMs && Math.abs(now() - known.at) < keepMs;
		if (isFresh) return known.zone;
		const zone = askTimeZone(given, agencyId);
		zones.set(agencyId, { zone, askedAt: performance.now(), at: now() });
		zone.catch(() => zones.delete(agencyId));
		return zone;
	}
	return {
		async hours(agencyId) {
			if (!hours) return null;
			const [from = 0, to = 0] = [minutesFrom(hours.from), minutesFrom(hours.to)];
			return { from, to, timeZone: await zoneOf(agencyId, hours.timeZone) };
		},
	};
}

/** How often what sleeps is compared with the quiet hours of now. */
const compareMs = 10 * 60_000;

/**
 * Awakens the texts that wait for another end of the quiet hours than that of now, because the hours or a time zone were corrected
 * since. The first worker with the new ones does it when it starts, and all of them from time to time, for a time zone that your
 * function reads anew.
 */
export function createAlarm(store: Pick<OutboxStore, "asleep" | "awaken">, quiet: QuietClock, now: () => number) {
	let comparedAt: { at: number; measuredAt: number } | undefined;
	return async (): Promise<void> => {
		const [at, measuredAt] = [now(), performance.now()];
		const isRecent =
			comparedAt && Math.abs(at - comparedAt.at) < compareMs && measuredAt - comparedAt.measuredAt < compareMs;
		if (isRecent) return;
		comparedAt = { at, measuredAt };
		const ends = new Map<string, number | undefined>();
		for (const sleep of await store.asleep()) {
			if (sleep.until <= at) continue;
			const { agencyId } = sleep;
			try {
				if (!ends.has(agencyId)) ends.set(agencyId, quietUntil(at, await quiet.hours(agencyId)));
			} catch {
				// The text that is due tells of it.
				continue;
			}
			if (ends.get(agencyId) !== sleep.until) await store.awaken(sleep, at);
		}
	};
}
