import type { AgencyClient, PartnerError } from "messaging-conversations";
import { observerOf, type RunningPoll } from "../shared/observer.ts";
import { onAbort } from "../shared/signals.ts";
import { checkedLater, type FieldsOf, oneOf, optional } from "../shared/validation.ts";
import { encode, memoryFrom } from "./checkpoint.ts";
import type { Statuses } from "./followed.ts";
import { checkPhoneNumber, checkWhole, commonFields, refuse, type SyncFunction, timerMs } from "./input.ts";
import type { Source } from "./list.ts";
import { type Change, forget, type Memory, never } from "./memory.ts";
import { abandoning } from "./signal.ts";

/** Options that `changes`, `watch` and `reconcile` have in common. */
export interface ReadOptions {
	/**
	 * Returns true for contacts that you want nothing of, such as one you have erased. It is asked before every read of a
	 * conversation, and at each poll about the numbers that the checkpoint holds: one that is skipped leaves it. May be async. Messages that are skipped count as delivered: if it returns false later, only newer
	 * messages come. If it throws, that counts as a failed read.
	 */
	skip?: ((phoneNumber: string) => boolean | Promise<boolean>) | undefined;
	/**
	 * Leaves texts as the service sent them. By default U+0000 and halves of a surrogate pair are replaced by U+FFFD, because
	 * most databases refuse them.
	 * @default false
	 */
	raw?: boolean | undefined;
	/**
	 * How many conversations of one agency are read at once, while your loop is busy with an earlier one; `requestsPerSecond` of
	 * `watchAgencies` limits all of them over time.
	 * @default 4
	 */
	concurrency?: number | undefined;
}

/** Options of `changes`, which `watch` takes too. */
export interface ChangesOptions extends ReadOptions {
	/**
	 * Where the feed starts: `"now"` skips existing messages, `"beginning"` delivers all conversations with all their
	 * messages, and a checkpoint continues where its feed was.
	 */
	since: "now" | "beginning" | (string & {});
	/**
	 * How late a message may become visible after its own time, in milliseconds: each poll reads so far back. A message that comes later is delivered by
	 * `reconcile`. The service's times may be coarse: their precision counts too.
	 * @default 120000
	 */
	lookbackMs?: number | undefined;
	/**
	 * Follows outbound messages that were delivered without a final status. They come again when their status, `deliveredAt`
	 * or `readAt` has changed. `true` stops at delivered, read, failed and undelivered; `"read"` continues after delivered.
	 *
	 * Messages with files are followed in the same way, whatever this option says, until `mediaStored` has a copy of each file.
	 *
	 * A conversation with such a message is read after 10 s, 30 s, 2 min, 10 min, 1 h, 6 h and 24 h by the local clock. That is
	 * one `conversations.get` each time. A checkpoint holds at most 1,000 messages that are followed.
	 * @default false
	 */
	statuses?: Statuses | undefined;
	/**
	 * Aborting ends the loop with `PartnerAbortError` once the current change is processed. Changes that were already read are
	 * delivered by the next poll.
	 */
	signal?: AbortSignal | undefined;
}

/** A conversation whose read failed. It does not block the others. */
export interface UnreadConversation {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** Why the read failed. */
	error: PartnerError;
	/**
	 * True if the feed gives the conversation up, so that `reconcile` has to deliver it. This happens after 24 hours of failed
	 * reads, or at once if 100 others wait for another read.
	 */
	leftToReconcile: boolean;
}

/** The feed that `changes` returns. Each `for await` over it is one poll. */
export interface ChangeFeed extends AsyncIterable<Change> {
	/**
	 * Resume token: pass it as `since` to continue after everything that was delivered. While the body of your loop runs, it
	 * includes the current change. Save both in one transaction, inside the body.
	 *
	 * A change counts as delivered when your loop asks for the next one. If you leave the loop by `break`, `return` or an
	 * error, the checkpoint moves back to before the current change. The next loop over this feed delivers it again.
	 *
	 * Opaque text of about 170 bytes for each conversation with messages in the lookback. It holds their phone numbers and no
	 * message text. Where these are thousands, store one for each of the `batches`.
	 */
	readonly checkpoint: string;
	/**
	 * The conversations that the latest poll could not read. The next polls try them again for 24 hours, in turn, and stop
	 * after ten failures in a row. At most 100 conversations wait for that. Others are left to `reconcile`.
	 */
	readonly failures: readonly UnreadConversation[];
	/** How many conversations the poll has listed and not delivered yet, such as for a progress bar. */
	readonly remaining: number;
	/**
	 * Removes a contact's number from the checkpoint, and from the poll that runs. It makes no request. The contact's messages
	 * until now count as delivered. Later ones are delivered, unless `skip` answers true. Save `feed.checkpoint` afterwards.
	 *
	 * @throws PartnerInvalidInput if the number is not in E.164
	 */
	erase: (phoneNumber: string) => void;
	/**
	 * Yields up to `size` changes at once, so that you store them and one checkpoint in one transaction. Use it where
	 * thousands of conversations change within minutes: each checkpoint then has hundreds of kilobytes. 100 is a good size.
	 *
	 * It is the same loop in every other respect. While the body runs, `feed.checkpoint` includes all changes of the batch. If
	 * you leave the loop at a batch, all of them come again. If a signal aborts while a batch is read, nothing of it is
	 * delivered, and the next poll reads it again.
	 *
	 * A batch is yielded as soon as `size` conversations were read, or all that were listed, even if some of them bring no
	 * change. So no change waits while `watch` pauses, or until statuses are read.
	 *
	 * @throws PartnerInvalidInput at once if the size is not a whole number from 1 to 10,000
	 * @example
	 * import { changes } from "messaging-conversations/sync";
	 *
	 * const stored = new Map<string, string>(); // in place of your database
	 * const feed = changes(agency, { since: stored.get(agency.id) ?? "beginning" });
	 * for await (const batch of feed.batches(100)) {
	 *   // in one transaction
	 *   for (const { phoneNumber, messages } of batch) stored.set(phoneNumber, JSON.stringify(messages));
	 *   stored.set(agency.id, feed.checkpoint);
	 * }
	 * stored.set(agency.id, feed.checkpoint); // a poll without a change moves on too
	 */
	batches: (size: number) => AsyncIterable<Change[]>;
}

/** A feed: its options, its memory, and how its latest poll went. */
export interface Feed extends Source {
	statuses: Statuses;
	memory: Memory;
	/** The service's time when it was last listed. */
	now: number;
	failures: UnreadConversation[];
	remaining: number;
	/** Contacts that were forgotten while the poll runs. */
	forgotten: Set<string>;
	/** The poll that runs, if a sandbox shows it. */
	shown?: RunningPoll | undefined;
	/** A loop runs over the feed. */
	isBusy: boolean;
}

/** The options of a feed that belong to no agency, checked. */
export interface FeedSettings extends Omit<Feed, "agency" | "memory" | "pace"> {}

/** The options that all feeds have in common. */
export const feedFields: FieldsOf<ChangesOptions> = {
	since: checkedLater(), // as a checkpoint
	lookbackMs: optional(timerMs(0)),
	statuses: optional(oneOf(true, false, "read")),
	...commonFields,
};

/** The settings of a feed, with the defaults of what is not given. */
export function feedSettings(operation: SyncFunction, options: Omit<ChangesOptions, "since">): FeedSettings {
	const { lookbackMs = 120_000, concurrency = 4, statuses = false, skip, raw = false } = options;
	return {
		operation,
		lookbackMs,
		concurrency,
		statuses,
		skip,
		raw,
		now: never,
		failures: [],
		remaining: 0,
		forgotten: new Set(),
		isLong: false,
		isBusy: false,
		// Each poll has its own.
		signal: AbortSignal.abort(),
	};
}

/** Opens the feed of one agency by its checked options, and reads the checkpoint. */
export function openFeed(operation: SyncFunction, agency: AgencyClient, options: ChangesOptions): Feed {
	const memory = memoryFrom(operation, "since", options.since, agency.id);
	return { ...feedSettings(operation, options), agency, memory };
}

/** Removes a contact from the memory, and from a poll that runs. */
export function forgetIn(feed: Feed, phoneNumber: string): void {
	forget(feed.memory, phoneNumber);
	if (feed.isBusy) feed.forgotten.add(phoneNumber);
}

/**
 * The feed that a caller gets.
 * @param run yields changes, up to `size` at once
 */
export function publicFeed(
	feed: Feed,
	outer: AbortSignal | undefined,
	run: (signal: AbortSignal, size: number) => AsyncIterable<Change[]>,
): ChangeFeed {
	return {
		get checkpoint() {
			return encode(feed.memory);
		},
		get failures() {
			return feed.failures;
		},
		get remaining() {
			return feed.remaining;
		},
		erase(phoneNumber) {
			checkPhoneNumber(phoneNumber);
			forgetIn(feed, phoneNumber);
		},
		batches(size) {
			checkWhole("batches", "size", size, 1, 10_000);
			return { [Symbol.asyncIterator]: () => abandoning(outer, (signal) => run(signal, size)) };
		},
		[Symbol.asyncIterator]: () => abandoning(outer, (signal) => oneByOne(run(signal, 1))),
	};
}

/** Yields each change for itself. */
export async function* oneByOne(batches: AsyncIterable<Change[]>): AsyncGenerator<Change, void, undefined> {
	for await (const batch of batches) for (const change of batch) yield change;
}

/** Runs a poll, with up to `size` changes at once. When it has ended, in whatever way, no request is under way. */
export async function* pollOnce(
	feed: Feed,
	size: number,
	outer: AbortSignal,
	run: (feed: Feed, size: number) => AsyncGenerator<Change[], void, undefined>,
): AsyncGenerator<Change[], void, undefined> {
	if (feed.isBusy) refuse(feed.operation, "feed", "is in another loop");
	feed.isBusy = true;
	feed.failures = [];
	feed.isLong = false;
	const own = new AbortController();
	const removeListener = onAbort(outer, () => own.abort());
	if (outer.aborted) own.abort();
	feed.signal = own.signal;
	feed.shown = observerOf(feed.agency)?.poll(feed.operation, feed.agency.id);
	let failure: unknown;
	try {
		yield* run(feed, size);
	} catch (error) {
		failure = error;
		throw error;
	} finally {
		removeListener();
		own.abort();
		feed.shown?.ended(feed, failure);
		feed.isBusy = false;
		feed.forgotten.clear();
	}
}
