import type {
	AgencyClient,
	ConversationDetail,
	ConversationSummary,
	Message,
	PartnerError,
} from "messaging-conversations";
import { never } from "./checkpoint.ts";
import { fingerprintOf, totalIn } from "./fingerprint.ts";
import { checkCall, refuse } from "./input.ts";
import { mostInARow, reads } from "./read.ts";
import { type Row, type Source, scan } from "./scan.ts";
import { abandoning } from "./signal.ts";

/** A conversation as the CRM holds it. */
export interface StoredConversation {
	/** The number as `changes`, `watch` or `reconcile` handed it over. */
	phoneNumber: string;
	/** `fingerprintOf` of what was handed over last; null or absent hands the conversation over again. */
	fingerprint?: string | null | undefined;
	/**
	 * How many messages of it the CRM holds. When the service has more or fewer, all messages are handed over: also those
	 * that became visible after the feed had passed them by.
	 * @default the number that the fingerprint was made with
	 */
	messages?: number | null | undefined;
}

/** Options of {@link reconcile}. */
export interface ReconcileOptions {
	/** All conversations that the CRM holds of the agency, as rows that a database streams. Held in memory as texts. */
	stored: Iterable<StoredConversation> | AsyncIterable<StoredConversation>;
	/** Conversations that are read at once. @default 4 */
	concurrency?: number | undefined;
	/** Aborts with PartnerAbortError. */
	signal?: AbortSignal | undefined;
}

/** A conversation that is not as it is stored. */
export interface Reconciled {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** The conversation as it is now; null when it is deleted or hidden, which cannot be told apart. */
	conversation: ConversationDetail | null;
	/** All its messages, oldest first, when there are more or fewer than were stored; else empty. Upsert them. */
	messages: Message[];
}

/**
 * Compares all conversations with what is stored, and hands over those that differ: names, AI state, visibility, late
 * messages, and what is gone. Made for the night: it lists everything, 100 conversations a request, reads each one that
 * differs, and asks about what is stored and not listed, 100 numbers a request. Interrupted, it is begun again.
 *
 * A conversation that cannot be read holds up no other one: the loop ends by throwing the first error after all others
 * were handed over. It asks for the list after every ten failed reads in a row, and ends at once when that fails too.
 *
 * Uses `conversations.list`, `conversations.get`, `conversations.listMessages` and `conversations.lookup`.
 *
 * @throws PartnerInvalidInput at once when an option is not what it must be; what the calls throw, from the loop
 * @example
 * import { fingerprintOf, reconcile } from "messaging-conversations/sync";
 *
 * const stored = new Map<string, string>(); // in place of your database: numbers with fingerprints
 * const rows = [...stored].map(([phoneNumber, fingerprint]) => ({ phoneNumber, fingerprint }));
 * for await (const { phoneNumber, conversation } of reconcile(agency, { stored: rows })) {
 *   if (conversation) stored.set(phoneNumber, fingerprintOf(conversation));
 *   else stored.delete(phoneNumber);
 * }
 */
export function reconcile(agency: AgencyClient, options: ReconcileOptions): AsyncIterable<Reconciled> {
	checkCall("reconcile", agency, options, ["stored", "concurrency", "signal"]);
	const { stored, concurrency = 4, signal } = options;
	if (Object(stored) !== stored || !(Symbol.asyncIterator in stored || Symbol.iterator in stored))
		refuse("reconcile", "stored", "must be iterable");
	return {
		[Symbol.asyncIterator]: () =>
			abandoning(signal, (own) => walk({ agency, concurrency, lookbackMs, isLong: false, signal: own }, stored)),
	};
}

interface Held {
	fingerprint: string | null | undefined;
	/** How many messages are held; NaN when that is not known. */
	messages: number;
}

/** Rows that move up while the list is read are at most this much older than its first row. */
const lookbackMs = 120_000;

async function* walk(source: Source, stored: ReconcileOptions["stored"]): AsyncGenerator<Reconciled, void, undefined> {
	const { agency, signal } = source;
	const held = new Map<string, Held>();
	let index = 0;
	for await (const row of stored) {
		const { phoneNumber, fingerprint, messages } = row ?? {};
		if (typeof phoneNumber !== "string") refuse("reconcile", `stored[${index}].phoneNumber`, "must be a string");
		held.set(phoneNumber, { fingerprint, messages: messages ?? totalIn(fingerprint ?? "") });
		index++;
	}
	const unlisted = new Set(held.keys());
	/** Conversations with more or fewer messages than are held. */
	const recounted = new Set<string>();
	let failed: PartnerError | undefined;

	const differs = (row: ConversationSummary): boolean => {
		const before = held.get(row.phoneNumber);
		unlisted.delete(row.phoneNumber);
		const isRecounted = before?.messages !== row.totalMessages;
		if (isRecounted) recounted.add(row.phoneNumber);
		return isRecounted || before?.fingerprint !== fingerprintOf(row);
	};
	/** Goes past any number of failed reads, and throws when the list fails too: then the service is down. */
	const goesOn = async (inARow: number): Promise<boolean> => {
		if (inARow % mostInARow === 0) await agency.conversations.list({ pageSize: 1, signal }).page();
		return true;
	};
	async function* handOver(rows: readonly Row[]): AsyncGenerator<Reconciled, void, undefined> {
		const from = ({ phoneNumber }: Row) => (recounted.has(phoneNumber) ? never : -never);
		for await (const { row, read, error, isOutage } of reads(source, rows, from, goesOn)) {
			const { phoneNumber } = row;
			if (isOutage) throw error;
			failed ??= error;
			if (read) {
				const { conversation, messages } = read;
				const all = recounted.has(phoneNumber) ? messages.map(({ message }) => message).reverse() : [];
				yield { phoneNumber, conversation, messages: all };
			} else if (!error && held.has(phoneNumber)) yield { phoneNumber, conversation: null, messages: [] };
		}
	}

	const { rows } = await scan(source, never, differs);
	yield* handOver(rows);
	const moved: Row[] = [];
	for (const { input, phoneNumber, conversation } of await agency.conversations.lookup([...unlisted], { signal })) {
		if (conversation && differs(conversation)) moved.push({ phoneNumber: input, at: never });
		// Without a number the stored text is not a phone number, so that it was not looked up.
		if (!conversation && phoneNumber) yield { phoneNumber: input, conversation, messages: [] };
	}
	yield* handOver(moved);
	if (failed) throw failed;
}
