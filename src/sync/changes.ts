import type { AgencyClient } from "messaging-conversations";
import { encode, never, stateFrom } from "./checkpoint.ts";
import { checkCall, checkWhole, refuse, type SyncFunction } from "./input.ts";
import { look } from "./look.ts";
import type { Change, Feed, UnreadConversation } from "./memory.ts";
import { abandoning } from "./signal.ts";
import type { Statuses } from "./statuses.ts";

/** Options that `changes` and `watch` have in common. */
export interface FeedOptions {
	/**
	 * The beginning of the feed: `"now"` hands over nothing of what is there already, `"beginning"` all conversations with all their
	 * messages, and a checkpoint goes on where the feed was that gave it.
	 */
	since: "now" | "beginning" | (string & {});
	/**
	 * How late a message may become visible after its own time, in milliseconds. A message that comes later is handed over
	 * by `reconcile`. The service's times may be coarse: their precision counts too.
	 * @default 120000
	 */
	lookbackMs?: number | undefined;
	/**
	 * Conversations that are read at once, while the loop is busy with an earlier one. They are handed over in their order.
	 * @default 4
	 */
	concurrency?: number | undefined;
	/**
	 * Follows outbound messages that were handed over without a final status. They are looked at again 10 s, 30 s, 2 min,
	 * 10 min, 1 h, 6 h and 24 h later by the local clock, with one `conversations.get` for each conversation, and are handed over again when
	 * their status has changed. `true` stops at `delivered`, `read`, `failed` and `undelivered`; `"read"` goes on after
	 * `delivered`. A checkpoint holds at most 1,000 of them.
	 * @default false
	 */
	statuses?: Statuses | undefined;
	/**
	 * Ends the loop with PartnerAbortError after the change in hand, also when others are read already. They are handed over
	 * by the next look.
	 */
	signal?: AbortSignal | undefined;
}

/** Options of {@link changes}. */
export interface ChangesOptions extends FeedOptions {}

/** The feed that {@link changes} returns. Each `for await` over it is one look, from where the last one ended. */
export interface ChangeFeed extends AsyncIterable<Change> {
	/**
	 * Place from which a later feed goes on: everything up to and including the change that the loop has in hand. Store it in the transaction that
	 * stores the change. Text of some 120 bytes for each conversation with messages in the lookback; it holds their phone
	 * numbers, and no message text. After an error in the body of the loop it counts a change that is not stored.
	 */
	readonly checkpoint: string;
	/**
	 * The conversations that could not be read in the latest look. The next looks read them again, for 24 hours: in turn,
	 * and ten failures in a row are enough for one look. At most 100 wait for that, others are left to `reconcile`.
	 */
	readonly failures: readonly UnreadConversation[];
	/** Conversations that the look has listed and not handed over yet: how far a first look is that takes long. */
	readonly left: number;
}

/**
 * Looks once at what has changed since a checkpoint, and hands over each conversation that has, oldest change first, with
 * its new messages. A look without a change is one request. Made for cron, serverless functions and jobs of a queue.
 *
 * Store the change and `feed.checkpoint` in one transaction, and the feed hands over each message once. `reconcile`
 * and `statuses` hand over messages again, so store messages with an upsert. After an error in the body of the loop make a
 * new feed from the stored checkpoint: this one goes on behind the change that was not stored.
 *
 * A conversation that cannot be read holds up no other one: the loop ends by throwing its error after all others were
 * handed over, and `feed.checkpoint`, to be stored then too, remembers it. When ten reads in a row fail and those of two
 * other conversations as well, the service is taken to be down, and the look ends with the error. A conversation that is
 * hidden or deleted is not handed over: see `reconcile`.
 *
 * Uses `conversations.list`, `conversations.get` and, for more than 100 new messages, `conversations.listMessages`.
 *
 * @throws PartnerInvalidInput at once when an option is not what it must be, as a checkpoint of another agency; what the
 * calls throw, from the loop
 * @example
 * import { changes } from "messaging-conversations/sync";
 *
 * const stored = new Map<string, string>(); // in place of your database
 * const feed = changes(agency, { since: stored.get(agency.id) ?? "beginning" });
 * for await (const { phoneNumber, conversation, messages } of feed) {
 *   console.log(conversation.summary.contactName, messages.length);
 *   stored.set(phoneNumber, JSON.stringify(messages)); // in one transaction
 *   stored.set(agency.id, feed.checkpoint);
 * }
 * stored.set(agency.id, feed.checkpoint); // a look without a change moves on too
 */
export function changes(agency: AgencyClient, options: ChangesOptions): ChangeFeed {
	const feed = openFeed("changes", agency, options, []);
	return publicFeed(feed, async function* (): AsyncGenerator<Change, void, undefined> {
		yield* lookOnce(feed, options.signal, look);
		for (const { error } of feed.failures) throw error;
	});
}

/** Checks the options that `changes` and `watch` have in common, and reads the checkpoint. */
export function openFeed(
	operation: SyncFunction,
	agency: AgencyClient,
	options: FeedOptions,
	ownNames: readonly string[],
): Feed {
	checkCall(operation, agency, options, ["since", "lookbackMs", "concurrency", "statuses", "signal", ...ownNames]);
	const { since, lookbackMs = 120_000, concurrency = 4, statuses = false } = options;
	checkWhole(operation, "lookbackMs", lookbackMs, 0);
	if (![true, false, "read"].includes(statuses)) refuse(operation, "statuses", 'must be true, false or "read"');
	return {
		operation,
		agency,
		lookbackMs,
		concurrency,
		statuses,
		state: stateFrom(operation, since, agency.id),
		now: never,
		failures: [],
		left: 0,
		isLong: false,
		isBusy: false,
		// Each look has its own.
		signal: AbortSignal.abort(),
	};
}

export function publicFeed(feed: Feed, iterate: () => AsyncIterator<Change, void, undefined>): ChangeFeed {
	return {
		get checkpoint() {
			return encode(feed.state);
		},
		get failures() {
			return feed.failures;
		},
		get left() {
			return feed.left;
		},
		[Symbol.asyncIterator]: iterate,
	};
}

/** Runs a look. No request is under way when it has ended, however it ends. */
export function lookOnce(
	feed: Feed,
	signal: AbortSignal | undefined,
	run: (feed: Feed) => AsyncGenerator<Change, void, undefined>,
): AsyncGenerator<Change, void, undefined> {
	if (feed.isBusy) refuse(feed.operation, "feed", "is in another loop");
	feed.isBusy = true;
	feed.failures = [];
	feed.isLong = false;
	return abandoning(signal, async function* (own) {
		feed.signal = own;
		try {
			yield* run(feed);
		} finally {
			feed.isBusy = false;
		}
	});
}
