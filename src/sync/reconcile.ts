import type { AgencyClient, ConversationDetail, Message, PartnerError } from "messaging-conversations";
import { fieldsOf, rule } from "../shared/validation.ts";
import type { ReadOptions } from "./feed.ts";
import { fingerprintOf, totalIn } from "./fingerprint.ts";
import { checkAgency, checkOptions, commonFields, refuse } from "./input.ts";
import { emptyListing, list, type Source } from "./list.ts";
import { never } from "./memory.ts";
import { isSkipped, mostInARow, reads } from "./read.ts";
import { abandoning, itemsUntilAborted } from "./signal.ts";

/** A conversation as the CRM holds it. */
export interface StoredConversation {
	/** The number as `changes`, `watch` or `reconcile` delivered it. */
	phoneNumber: string;
	/** `fingerprintOf` of what was delivered last. If it is null or absent, the conversation is delivered again. */
	fingerprint?: string | null | undefined;
	/**
	 * How many messages of it the CRM holds. If the service has more or fewer, all messages are delivered. That includes
	 * those that became visible too late for the feed.
	 * @default the number that the fingerprint was made with
	 */
	messages?: number | null | undefined;
}

/** Options of {@link reconcile}. */
export interface ReconcileOptions extends ReadOptions {
	/** All conversations that the CRM holds of the agency, as rows that a database streams. Held in memory as texts. */
	stored: Iterable<StoredConversation> | AsyncIterable<StoredConversation>;
	/** Aborting ends the loop with `PartnerAbortError`. */
	signal?: AbortSignal | undefined;
}

/** A conversation that differs from what is stored. */
export interface Reconciled {
	/** The contact's number in E.164. */
	phoneNumber: string;
	/** The conversation as it is now. Null if it is deleted or hidden, which look the same. */
	conversation: ConversationDetail | null;
	/** All its messages, oldest first, if there are more or fewer than were stored; else empty. Upsert them. */
	messages: Message[];
}

/**
 * Compares all conversations with what is stored, and yields those that differ: names, AI state, visibility, late messages,
 * and what is gone. Run it at night. It lists everything, 100 conversations a request, reads each one that differs, and looks
 * up what is stored and not listed, 100 numbers a request. What a lookup does not know is read as well, so that only the
 * service's own 404 makes a conversation gone. If it is interrupted, start it again.
 *
 * A conversation that cannot be read does not block the others. The loop ends by throwing the first error after the others
 * were delivered. After every ten failed reads in a row it requests the list, and ends at once if that fails too.
 *
 * Uses `conversations.list`, `conversations.get`, `conversations.listMessages` and `conversations.lookup`.
 *
 * @throws PartnerInvalidInput at once if an option is invalid. The loop throws the errors of the calls.
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
	checkAgency("reconcile", agency);
	const { stored, concurrency = 4, skip, raw = false, signal } = checkOptions("reconcile", schema, options);
	const operation = "reconcile";
	const source = { operation, agency, concurrency, skip, raw, lookbackMs, isLong: false } as const;
	return {
		[Symbol.asyncIterator]: () => abandoning(signal, (own) => compare({ ...source, signal: own }, stored)),
	};
}

const isIterable = (value: unknown): boolean =>
	typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);

const schema = fieldsOf<ReconcileOptions>({
	stored: rule<ReconcileOptions["stored"]>(isIterable, "must be iterable"),
	...commonFields,
});

interface Held {
	fingerprint: string | null | undefined;
	/** How many messages are held; NaN when that is not known. */
	messages: number;
}

/** Rows that move up while the list is read are at most this much older than its first row. */
const lookbackMs = 120_000;

async function* compare(
	source: Source,
	stored: ReconcileOptions["stored"],
): AsyncGenerator<Reconciled, void, undefined> {
	const { agency, signal } = source;
	const held = new Map<string, Held>();
	let index = 0;
	// After an abort the list fails without a request.
	for await (const row of itemsUntilAborted(signal, stored)) {
		const { phoneNumber, fingerprint, messages } = row ?? {};
		if (typeof phoneNumber !== "string") refuse("reconcile", `stored[${index}].phoneNumber`, "must be a string");
		held.set(phoneNumber, { fingerprint, messages: messages ?? totalIn(fingerprint ?? "") });
		index++;
	}
	/** Conversations with more or fewer messages than are held. */
	const recounted = new Set<string>();
	let failed: PartnerError | undefined;

	const differs = ({ phoneNumber, fingerprint }: Listed): boolean => {
		const before = held.get(phoneNumber);
		const isRecounted = before?.messages !== totalIn(fingerprint);
		if (isRecounted) recounted.add(phoneNumber);
		return isRecounted || before?.fingerprint !== fingerprint;
	};
	/** Continues after any number of failed reads, and throws if the list fails too: then the service is down. */
	const continues = async (inARow: number): Promise<boolean> => {
		if (inARow % mostInARow === 0) await agency.conversations.list({ pageSize: 1, signal }).page();
		return true;
	};
	const isLeftOut = (phoneNumber: string): Promise<boolean> =>
		isSkipped(source, phoneNumber).catch((error: PartnerError) => {
			failed ??= error;
			return true;
		});
	async function* deliver(rows: Iterable<Listed>, isUnknown = false): AsyncGenerator<Reconciled, void, undefined> {
		const from = ({ phoneNumber }: Listed) => (recounted.has(phoneNumber) || isUnknown ? never : "newest");
		for await (const { item, read, error, isGone, isOutage } of reads(source, rows, from, continues, isUnknown)) {
			const { phoneNumber } = item;
			if (isOutage) throw error;
			failed ??= error;
			if (read) {
				const { conversation, messages } = read;
				if (isUnknown && !differs({ phoneNumber, fingerprint: fingerprintOf(conversation) })) continue;
				const all = recounted.has(phoneNumber) ? messages.map(({ message }) => message).reverse() : [];
				yield { phoneNumber, conversation, messages: all };
			} else if (isGone && held.has(phoneNumber)) yield gone(phoneNumber);
		}
	}

	const listing = emptyListing();
	await list(source, { startAt: () => never }, listing);
	// Each once, those with the oldest activity first.
	const differing = new Map(listing.rows.filter(differs).map((row) => [row.phoneNumber, row]));
	yield* deliver([...differing.values()].sort((a, b) => a.at - b.at));
	const unlisted = new Set(held.keys());
	for (const { phoneNumber } of listing.rows) unlisted.delete(phoneNumber);
	for (const phoneNumber of unlisted) if (await isLeftOut(phoneNumber)) unlisted.delete(phoneNumber);
	const moved: Listed[] = [];
	const unknown: Listed[] = [];
	for (const { input, phoneNumber, conversation } of await agency.conversations.lookup([...unlisted], { signal })) {
		const row = conversation && { phoneNumber: input, fingerprint: fingerprintOf(conversation) };
		if (row && differs(row)) moved.push(row);
		// Without a number the stored text is not a phone number, so that it was not looked up.
		if (!conversation && phoneNumber) unknown.push({ phoneNumber: input, fingerprint: "" });
	}
	yield* deliver(moved);
	// A conversation is deleted only if the service itself says so to a read too.
	yield* deliver(unknown, true);
	if (failed) throw failed;
}

interface Listed {
	phoneNumber: string;
	fingerprint: string;
}

function gone(phoneNumber: string): Reconciled {
	return { phoneNumber, conversation: null, messages: [] };
}
