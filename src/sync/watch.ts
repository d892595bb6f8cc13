import type { AgencyClient, PartnerError } from "messaging-conversations";
import { type ChangeFeed, type FeedOptions, lookOnce, openFeed, publicFeed } from "./changes.ts";
import { never } from "./checkpoint.ts";
import { checkWhole, refuse } from "./input.ts";
import { look, lookAtStatuses } from "./look.ts";
import type { Change } from "./memory.ts";
import { sleep } from "./retry.ts";
import { abandoning } from "./signal.ts";
import { nextDueAt } from "./statuses.ts";

/** Options of {@link watch}. */
export interface WatchOptions extends FeedOptions {
	/**
	 * The pause after a look that found something, in milliseconds. It grows by half with each look that finds nothing.
	 * @default 15000
	 */
	minMs?: number | undefined;
	/** The longest pause, in milliseconds. @default 300000 */
	maxMs?: number | undefined;
	/**
	 * Gets the errors that end no loop: those that may pass (`retryable`), after which the pause doubles, and those of single
	 * conversations that could not be read. An error that it throws ends the loop.
	 */
	onError?: ((error: PartnerError) => unknown) | undefined;
	/** Ends the loop after the change in hand, as `break` does. */
	signal?: AbortSignal | undefined;
}

/** The feed that {@link watch} returns. */
export interface WatchFeed extends ChangeFeed {
	/** Looks now instead of after the pause, as after a send of one's own. */
	nudge: () => void;
}

/**
 * Looks again and again, and hands over each conversation that has changed, as `changes` does. The pause between two looks
 * adapts to the activity, and errors that may pass do not end the loop. `break`, `return` and `signal` end it after the
 * change in hand, a pause or a request at once, and leave no timer and no request behind. After an error in the body of the
 * loop make a new feed from the stored checkpoint.
 *
 * @throws PartnerInvalidInput at once when an option is not what it must be; from the loop, what will not pass, as
 * PartnerForbidden when the agency's link has ended
 * @example
 * import { watch } from "messaging-conversations/sync";
 *
 * const feed = watch(agency, { since: "beginning", onError: ({ message }) => console.error(message) });
 * for await (const { conversation, messages } of feed) {
 *   console.log(conversation.summary.contactName, messages.length, feed.checkpoint.length);
 *   break; // or for ever
 * }
 */
export function watch(agency: AgencyClient, options: WatchOptions): WatchFeed {
	const feed = openFeed("watch", agency, options, ["minMs", "maxMs", "onError"]);
	const {
		maxMs = Math.max(300_000, options.minMs ?? 0),
		minMs = Math.min(15_000, maxMs),
		onError = () => {},
		signal,
	} = options;
	checkWhole("watch", "minMs", minMs, 1);
	checkWhole("watch", "maxMs", maxMs, minMs);
	if (typeof onError !== "function") refuse("watch", "onError", "must be a function");
	/** Ends the pause that comes or is under way, so that the next look is made at once. */
	let nudged = new AbortController();

	async function* looks(stop: AbortSignal): AsyncGenerator<Change, void, undefined> {
		stop.addEventListener("abort", () => nudged.abort());
		let pauseMs = minMs;
		let wasAtOnce = false;
		let lookAt = performance.now();
		while (!stop.aborted) {
			const isLook = nudged.signal.aborted || performance.now() >= lookAt;
			nudged = new AbortController();
			const errors: PartnerError[] = [];
			try {
				let found = false;
				for await (const change of lookOnce(feed, stop, isLook ? look : lookAtStatuses)) {
					found = true;
					yield change;
				}
				// A look of several pages may have taken long; a second one in a row says how busy the agency is.
				if (isLook) {
					wasAtOnce = feed.isLong && found && !wasAtOnce;
					pauseMs = wasAtOnce ? 0 : found ? minMs : Math.max(minMs, 1.5 * pauseMs);
				}
			} catch (error) {
				if (stop.aborted) return;
				// Only an error of the client has `retryable`.
				const failed: PartnerError = Object(error);
				if (!failed.retryable) throw error;
				errors.push(failed);
			}
			for (const { error } of feed.failures) errors.push(error);
			pauseMs = Math.min(maxMs, errors[0] ? 2 * Math.max(minMs, pauseMs) : pauseMs);
			const leastMs = errors.map(({ retryAfterMs = minMs }) => retryAfterMs);
			if (isLook) lookAt = performance.now() + Math.max(pauseMs * (0.9 + 0.2 * Math.random()), ...leastMs);
			for (const error of errors) onError(error);
			// A scan that is not through is gone on with before statuses are looked at.
			const statusInMs = feed.statuses && !feed.state.scan ? nextDueAt(feed.state.followed) - Date.now() : -never;
			await sleep(Math.min(lookAt - performance.now(), Math.max(statusInMs, ...leastMs)), nudged.signal);
		}
	}

	function iterate(): AsyncIterator<Change, void, undefined> {
		const stop = new AbortController();
		const inner = abandoning(signal, looks, stop);
		// A generator answers `return` only when its pause is over, so the pause is ended first.
		return {
			next: () => inner.next(),
			return(value) {
				stop.abort();
				return inner.return(value);
			},
		};
	}

	return Object.assign(publicFeed(feed, iterate), { nudge: () => nudged.abort() });
}
