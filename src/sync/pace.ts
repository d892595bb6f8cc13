import type { PartnerError } from "messaging-conversations";
import { type Memory, never } from "./memory.ts";

/** How long one agency rests after each poll. */
export interface Pace {
	/**
	 * The rest after a poll that delivered everything: the shorter, the more happens at the agency.
	 * @param clockBefore the service's time at the poll before
	 */
	afterPoll: (memory: Memory, clockBefore: number, changes: number) => number;
	/** The rest after another poll. It doubles with each. */
	afterFailure: (errors: readonly PartnerError[]) => number;
}

/** The longest Retry-After that is honoured. */
export const longestRetryAfterMs = 3_600_000;
/** The longest rest of an agency that answers 403. */
const longestForbiddenMs = 900_000;
/** An agency's activity is the number of its polls that found something, of which half are forgotten after this time. */
const halfLifeMs = 420_000;
/** With an activity of 1, the rest is a fifth of the time since something was found; with 3 or more a fifteenth. */
const rests = { perActivity: 5, mostActivity: 3 };

export function createPace({ minMs, maxMs }: { minMs: number; maxMs: number }): Pace {
	/** When a poll last found something. */
	let changedAt = never;
	let activity = 0;
	/** Polls in a row that did not deliver everything. */
	let failures = 0;
	/** No poll of this process has delivered everything yet. */
	let isNew = true;

	/** The first poll of an agency says nothing, because it finds everything that is there. */
	function noteActivity({ clock, position }: Memory, clockBefore: number, changes: number): void {
		const now = performance.now();
		const isFirst = clockBefore === never;
		// Another process has polled the agency. The service's times say when something happened.
		if (isNew && !isFirst && position !== "now" && clock > position)
			[changedAt, activity] = [now - (clock - position), 1];
		if (changes === 0 || isFirst) return;
		activity = 1 + activity * 2 ** ((changedAt - now) / halfLifeMs);
		changedAt = now;
	}

	return {
		afterPoll(memory, clockBefore, changes) {
			failures = 0;
			noteActivity(memory, clockBefore, changes);
			isNew = false;
			const part = rests.perActivity * Math.min(activity, rests.mostActivity);
			return Math.min(maxMs, Math.max(minMs, part === 0 ? maxMs : (performance.now() - changedAt) / part));
		},
		afterFailure(errors) {
			const isForbidden = errors.some(({ _tag }) => _tag === "PartnerForbidden");
			const mostMs = isForbidden ? Math.max(maxMs, longestForbiddenMs) : maxMs;
			const askedMs = errors.map(({ retryAfterMs = 0 }) => Math.min(retryAfterMs, longestRetryAfterMs));
			return Math.max(Math.min(mostMs, minMs * 2 ** failures++), ...askedMs);
		},
	};
}
