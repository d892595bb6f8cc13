import type {
	AgencyClient,
	ConversationDetail,
	ConversationSummary,
	Message,
	PartnerError,
} from "messaging-conversations";
import { never } from "./checkpoint.ts";
import { fingerprintOf, instant, totalIn } from "./fingerprint.ts";
import { checkCall, refuse } from "./input.ts";
import { reads } from "./read.ts";
import { type Row, scan } from "./scan.ts";
import { forward } from "./signal.ts";

/** A conversation as the CRM holds it. */
export interface StoredConversation {
	/** The number as `changes`, `watch` or `reconcile` handed it over. */
	phoneNumber: string;
	/** `fingerprintOf` of what was handed over last; null or absent hands the conversation over again. */
	fingerprint?: string | null | undefined;
	/**
	 * How many messages of it the CRM holds. When the service has another number, all messages are handed over: also those
	 * that became visible after the feed had passed them by.
	 */
	messages?: number | null | undefined;
}

/** Options of {@link reconcile}. */
export interface ReconcileOptions {
	/** All conversations that the CRM holds of the agency, as rows that a database streams. Held in memory as texts. */
	stored: Iterable<StoredConversation> | AsyncIterable<StoredConversation>;
	/**
	 * Conversations that are read at once.
	 * @default 4
	 */
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
	/** All its messages, oldest first, when there are more or fewer than were stored; else empty. */
	messages: Message[];
}

/**
 * Compares all conversations with what is stored, and hands over those that differ: names, AI state, visibility, late
 * messages, and what is gone. Made for the night: it lists everything, 100 conversations a request, reads each one that
 * differs, and asks about what is stored and not listed, 100 numbers a request. Interrupted, it is begun again.
 *
 * A conversation that cannot be read holds up no other one: the loop ends by throwing its error after all others were
 * handed over. Uses `conversations.list`, `conversations.get`, `conversations.listMessages` and `conversations.lookup`.
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
	const given: unknown = stored;
	if (typeof given !== "object" || given === null || !(Symbol.iterator in given || Symbol.asyncIterator in given)) {
		refuse("reconcile", "stored", "must be an iterable of rows");
	}
	return { [Symbol.asyncIterator]: () => walk(agency, { stored, concurrency }, signal) };
}

interface Held {
	fingerprint: string | null;
	/** How many messages are held; NaN when that is not known. */
	messages: number;
	isListed: boolean;
}

/** Rows that move up while the list is read are newer than its beginning, but for this. */
const lookbackMs = 120_000;

async function* walk(
	agency: AgencyClient,
	{ stored, concurrency }: { stored: ReconcileOptions["stored"]; concurrency: number },
	outer: AbortSignal | undefined,
): AsyncGenerator<Reconciled, void, undefined> {
	const abandon = new AbortController();
	const release = forward(outer, abandon);
	const { signal } = abandon;
	const held = await collect(stored);
	/** Conversations with more messages than are held. */
	const grown = new Set<string>();
	let failed: PartnerError | undefined;

	const differs = (row: ConversationSummary): boolean => {
		const before = held.get(row.phoneNumber);
		if (before) before.isListed = true;
		const hasGrown = !(before && before.messages >= row.totalMessages);
		if (hasGrown) grown.add(row.phoneNumber);
		return hasGrown || before?.fingerprint !== fingerprintOf(row);
	};
	async function* handOver(rows: readonly Row[]): AsyncGenerator<Reconciled, void, undefined> {
		const options = ({ phoneNumber }: Row) =>
			grown.has(phoneNumber) ? { from: never } : { from: -never, pageSize: 1 };
		for await (const { row, read, error } of reads(agency, rows, { options, concurrency, signal })) {
			const { phoneNumber } = row;
			failed ??= error;
			if (read) {
				const messages = grown.has(phoneNumber) ? read.messages.map(({ message }) => message).reverse() : [];
				yield { phoneNumber, conversation: read.conversation, messages };
			} else if (!error && held.has(phoneNumber)) yield { phoneNumber, conversation: null, messages: [] };
		}
	}

	try {
		const { rows } = await scan(agency, { floor: () => never, wants: differs, lookbackMs, signal });
		yield* handOver(rows);
		const missing = [...held].filter(([, { isListed }]) => !isListed).map(([phoneNumber]) => phoneNumber);
		const moved: Row[] = [];
		for (const { input, phoneNumber, conversation } of await agency.conversations.lookup(missing, { signal })) {
			if (phoneNumber === null) continue; // What is no number by itself was not asked about.
			if (conversation === null) yield { phoneNumber: input, conversation, messages: [] };
			else if (differs(conversation)) moved.push({ phoneNumber: input, at: instant(conversation.lastMessageAt) });
		}
		yield* handOver(moved);
		if (failed) throw failed;
	} finally {
		release();
		abandon.abort();
	}
}

async function collect(stored: ReconcileOptions["stored"]): Promise<Map<string, Held>> {
	const held = new Map<string, Held>();
	let index = 0;
	for await (const { phoneNumber, fingerprint, messages } of stored) {
		if (typeof phoneNumber !== "string") refuse("reconcile", `stored[${index}].phoneNumber`, "must be a string");
		const total = messages ?? totalIn(fingerprint ?? "");
		held.set(phoneNumber, { fingerprint: fingerprint ?? null, messages: total, isListed: false });
		index++;
	}
	return held;
}
