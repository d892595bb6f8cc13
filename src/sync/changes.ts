import type { AgencyClient } from "messaging-conversations";
import { fieldsOf } from "../shared/validation.ts";
import { type ChangeFeed, type ChangesOptions, feedFields, openFeed, pollOnce, publicFeed } from "./feed.ts";
import { checkAgency, checkOptions } from "./input.ts";
import { poll } from "./poll.ts";

/**
 * Polls once, and yields each conversation that has changed since a checkpoint, oldest change first, with its new
 * messages. A poll without a change is one request. Use it from cron, serverless functions and jobs of a queue.
 *
 * Save the change and `feed.checkpoint` in one transaction inside the body of your loop, and each message comes once. If
 * the body throws, the change comes again, from this feed or from a new one. `reconcile` and `statuses` deliver messages
 * again, so store messages with an upsert.
 *
 * A conversation that cannot be read does not block the others. The loop ends by throwing its error after the others were
 * delivered. Save `feed.checkpoint` then too, because it remembers the conversation. If ten reads in a row fail, and two
 * other conversations cannot be read either, the poll ends with the error. A conversation that is hidden or deleted is not
 * delivered: see `reconcile`.
 *
 * Uses `conversations.list`, `conversations.get` and, for more than 100 new messages, `conversations.listMessages`.
 *
 * @throws PartnerInvalidInput at once if an option is invalid, such as a checkpoint of another agency. The loop throws the
 * errors of the calls.
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
 * stored.set(agency.id, feed.checkpoint); // a poll without a change moves on too
 */
export function changes(agency: AgencyClient, options: ChangesOptions): ChangeFeed {
	checkAgency("changes", agency);
	const checked = checkOptions("changes", schema, options);
	const feed = openFeed("changes", agency, checked);
	return publicFeed(feed, checked.signal, async function* (stop, size) {
		yield* pollOnce(feed, size, stop, poll);
		for (const { error } of feed.failures) throw error;
	});
}

const schema = fieldsOf<ChangesOptions>(feedFields);
