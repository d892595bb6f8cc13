import type { AgencyClient, PartnerError } from "messaging-conversations";
import { sleep } from "../shared/sleep.ts";
import { callable, fieldsOf, optional } from "../shared/validation.ts";
import { createAlerts } from "./alerts.ts";
import { type ChangeFeed, type ChangesOptions, feedFields, openFeed, pollOnce, publicFeed } from "./feed.ts";
import { nextDueAt } from "./followed.ts";
import { checkAgency, checkOptions, pausesFrom, timerMs } from "./input.ts";
import { type Change, never } from "./memory.ts";
import { poll, pollStatuses } from "./poll.ts";

/** Options of {@link watch}. */
export interface WatchOptions extends ChangesOptions {
	/**
	 * The pause after a poll that found something, in milliseconds. It grows by half with each poll that finds nothing.
	 * @default 15000
	 */
	minMs?: number | undefined;
	/**
	 * The longest pause, in milliseconds. A `Retry-After` of up to an hour is honoured beyond it, and a longer one counts as
	 * an hour.
	 * @default 300000
	 */
	maxMs?: number | undefined;
	/**
	 * Gets the errors that do not end the loop; it throws those that do. After an error that may pass (`retryable`) and after a 401 the pause doubles.
	 * It also gets the errors of single conversations that could not be read: `failures` has all of them. Each fact comes once,
	 * and again after it had passed. It may be async, and the loop waits for it no
	 * longer than for the pause. An error that it throws ends the loop.
	 */
	onError?: ((error: PartnerError) => unknown) | undefined;
	/** Ends the loop, without an error, once the current change is processed. */
	signal?: AbortSignal | undefined;
}

/** The feed that {@link watch} returns. */
export interface WatchFeed extends ChangeFeed {
	/** Polls immediately, for example after you send a message. */
	pollNow: () => void;
}

/** The longest Retry-After that is honoured. */
const longestRetryAfterMs = 3_600_000;

/**
 * Polls for as long as you iterate, and yields each conversation that has changed, as `changes` does. The pause between
 * polls adapts to the activity. Errors that may pass do not end the loop. Neither does a 401, because the key may be being
 * replaced: the loop ends after `maxMs` of nothing but 401s.
 *
 * `break`, `return` and `signal` end the loop at once, even during a pause or a request, and leave no timer and no request
 * behind. After a `break` or an error in the body, the current change comes again.
 *
 * Uses `conversations.list`, `conversations.get` and, for more than 100 new messages, `conversations.listMessages`.
 *
 * @throws PartnerInvalidInput at once if an option is invalid. The loop throws errors that will not pass, such as
 * PartnerForbidden after the agency's link has ended.
 * @example
 * import { watch } from "messaging-conversations/sync";
 *
 * const feed = watch(agency, { since: "beginning", onError: ({ message }) => console.error(message) });
 * for await (const { conversation, messages } of feed) {
 *   console.log(conversation.summary.contactName, messages.length, feed.checkpoint.length);
 *   break; // or never
 * }
 */
export function watch(agency: AgencyClient, options: WatchOptions): WatchFeed {
	checkAgency("watch", agency);
	const checked = checkOptions("watch", schema, options);
	const { onError = () => {}, signal } = checked;
	const { minMs, maxMs } = pausesFrom("watch", checked, { minMs: 15_000, maxMs: 300_000 });
	const feed = openFeed("watch", agency, checked);
	/** Ends the pause that comes or is under way, so that the next poll begins at once. */
	let polledNow = new AbortController();

	async function* polls(stop: AbortSignal, size: number): AsyncGenerator<Change[], void, undefined> {
		stop.addEventListener("abort", () => polledNow.abort());
		const alerts = createAlerts(() => true);
		let pauseMs = minMs;
		let wasAtOnce = false;
		let pollAt = performance.now();
		/** When the first of the 401s in a row came. */
		let unauthorizedSince: number | undefined;
		while (!stop.aborted) {
			const isPoll = polledNow.signal.aborted || performance.now() >= pollAt;
			polledNow = new AbortController();
			const errors: PartnerError[] = [];
			try {
				let found = false;
				for await (const batch of pollOnce(feed, size, stop, isPoll ? poll : pollStatuses)) {
					found = true;
					yield batch;
				}
				unauthorizedSince = undefined;
				// A poll of several pages may have taken long; a second one in a row says how busy the agency is.
				if (isPoll) {
					wasAtOnce = feed.isLong && found && !wasAtOnce;
					pauseMs = wasAtOnce ? 0 : found ? minMs : Math.max(minMs, 1.5 * pauseMs);
				}
			} catch (error) {
				if (stop.aborted) return;
				// Only an error of the client has these fields.
				const failed: PartnerError = Object(error);
				const isUnauthorized = failed._tag === "PartnerUnauthorized";
				unauthorizedSince = isUnauthorized ? (unauthorizedSince ?? performance.now()) : undefined;
				const isPassing = isUnauthorized ? performance.now() - Number(unauthorizedSince) < maxMs : failed.retryable;
				if (!isPassing) throw error;
				errors.push(failed);
			}
			for (const { error } of feed.failures) errors.push(error);
			pauseMs = Math.min(maxMs, errors[0] ? 2 * Math.max(minMs, pauseMs) : pauseMs);
			const leastMs = errors.map(({ retryAfterMs = minMs }) => Math.min(retryAfterMs, longestRetryAfterMs));
			if (isPoll) pollAt = performance.now() + Math.max(pauseMs * (0.9 + 0.2 * Math.random()), ...leastMs);
			const news = errors.filter((error) => alerts.isNew(error));
			if (isPoll) alerts.polled();
			const reported = Promise.all(news.map(async (error) => onError(error)));
			// A snapshot that was interrupted is finished before statuses are polled.
			const statusInMs = feed.memory.snapshot ? -never : nextDueAt(feed.memory.followed) - Date.now();
			const pause = sleep(Math.min(pollAt - performance.now(), Math.max(statusInMs, ...leastMs)), [polledNow.signal]);
			// Not waited for beyond the pause, because it may hang.
			await Promise.race([pause, reported.then(() => pause)]);
		}
	}

	return Object.assign(publicFeed(feed, signal, polls), { pollNow: () => polledNow.abort() });
}

const schema = fieldsOf<WatchOptions>({
	...feedFields,
	minMs: optional(timerMs(1)),
	maxMs: optional(timerMs(1)),
	onError: optional(callable<WatchOptions["onError"]>()),
});
