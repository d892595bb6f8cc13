/*
 * Whether an answer is a copy that something in front of the service has kept, or that a part of the service which lags behind has
 * given. Its `Date` alone says nothing: the clocks of two machines differ.
 */
import { createRecent, type Recent } from "./recent.ts";

/** The headers of an answer. */
interface ReceivedHeaders {
	get: (name: string) => string | null | undefined;
}

/** What an answer shows of a conversation, as far as a later one must show it too. */
interface Content {
	/** `lastMessageAt`, in milliseconds; 0 without one. */
	lastMessageAt: number;
	/** The ids of the messages that were read, the newest first. */
	ids: readonly string[];
}

/** What is remembered of a conversation. */
interface Known {
	/** As in {@link Content}. */
	lastMessageAt: number;
	newestId: string | undefined;
	/** What was known from elsewhere when a lookup said that this is the truth. It does not count any more. */
	overruledAt: number;
}

/** What a client has seen of the service, for all its agencies. */
export interface Answers {
	/**
	 * Notes the correlation id of an answer, and the URL of its request without the query. Returns whether the id was seen before with
	 * this URL, which has had another one too: something that sets one id for all answers repeats it as well.
	 */
	note: (id: string | null | undefined, url: string) => boolean;
	/** Whether an id was seen before, with the same URL alone. One that two URLs had is no id of one answer. */
	isRepeated: (id: string | null | undefined) => boolean;
	/** Notes the message of a text that was just sent. A later reading of the conversation must show it, or something newer. */
	sent: (name: string, messageSid: string) => void;
	/** What the conversations were when they were read last, by agency and number. */
	known: Recent<Known>;
}

const mostIds = 10_000;
const mostConversations = 10_000;

export function createAnswers(): Answers {
	/** How often each id was seen with its URL; undefined for an id that two URLs had. */
	const seen = createRecent<{ url: string; times: number } | "shared">(mostIds);
	/** The id of the first answer to each URL, and whether another one had another id. */
	const first = createRecent<{ id: string; isVaried: boolean }>(mostIds);
	const known = createRecent<Known>(mostConversations);
	const isRepeated = (id: string | null | undefined): boolean => {
		const found = id ? seen.get(id) : undefined;
		return found !== undefined && found !== "shared" && found.times > 1;
	};
	return {
		note(id, url) {
			if (!id) return false;
			const { id: firstId, isVaried } = first.get(url) ?? { id, isVaried: false };
			first.set(url, { id: firstId, isVaried: isVaried || firstId !== id });
			const before = seen.get(id);
			if (before === undefined) seen.set(id, { url, times: 1 });
			else seen.set(id, before === "shared" || before.url !== url ? "shared" : { url, times: before.times + 1 });
			return isVaried && isRepeated(id);
		},
		isRepeated,
		sent(name, messageSid) {
			const before = known.get(name);
			if (before) known.set(name, { ...before, newestId: messageSid });
		},
		known,
	};
}

// Registered, because client, outbox and sync are bundles of their own.
const key: unique symbol = /* @__PURE__ */ Symbol.for("messaging-conversations/answers");

/** What the client that made this agency has seen. Nothing is known of an agency from elsewhere. */
export const answersOf = (agency: unknown): Answers => Object(agency)[key] ?? createAnswers();

/** Makes an agency of a client carry what the client has seen. */
export const withAnswers = <Of extends object>(of: Of, answers: Answers): Of =>
	Object.defineProperty(of, key, { value: answers, configurable: true });

/** A copy that is older than this, in seconds, is no reading. */
const longestAge = 10;

/** Whether something in front of the service has kept an answer for longer than that. */
export function isAged(headers: ReceivedHeaders): boolean {
	const ages = (headers.get("age") ?? "").split(",").map(Number);
	return ages.some((age) => age > longestAge);
}

/** What the error of such an answer says, after the operation. */
export const onlyCopy = "the answer is an old copy, such as one from a cache in front of the service";

/** Whether an answer is proven to be a copy, by its headers or because the conversation was known to be further. */
export function isCopy(
	answers: Answers,
	headers: ReceivedHeaders,
	content?: Content,
	known?: Partial<Known> | undefined,
): boolean {
	if (isAged(headers) || answers.isRepeated(headers.get("x-correlation-id"))) return true;
	return content !== undefined && known !== undefined && isBehind(content, known);
}

function isBehind({ lastMessageAt, ids }: Content, { lastMessageAt: latest = 0, newestId }: Partial<Known>): boolean {
	if (lastMessageAt < latest) return true;
	return newestId !== undefined && lastMessageAt <= latest && !ids.includes(newestId);
}

/** What a lookup says of a conversation. */
interface Summary {
	lastMessageAt: string | null;
	totalMessages: number;
}

/** In milliseconds; 0 without a time. */
const timeOf = (time: string | null): number => Date.parse(time ?? "") || 0;

/** What an answer shows. */
function contentOf({ conversation, messagePage }: Answer["data"]): Content {
	const ids = messagePage.messages.map(({ messageSid }) => messageSid);
	return { lastMessageAt: timeOf(conversation.summary.lastMessageAt), ids };
}

/** Whether a summary of a conversation is as a lookup says, which no cache answers. */
export function fits(found: Summary | null | undefined, shown: Summary): boolean {
	if (!found) return false;
	return timeOf(found.lastMessageAt) === timeOf(shown.lastMessageAt) && found.totalMessages === shown.totalMessages;
}

/** One answer about a conversation. */
interface Answer {
	data: {
		conversation: { summary: Summary };
		messagePage: { messages: readonly { messageSid: string }[] };
	};
	response: { headers: ReceivedHeaders };
}

/** How a conversation is read. */
interface Reads<Answered extends Answer> {
	/** Reads it. The second time something else in the URL is asked for. Undefined after a 404. */
	read: (isAgain: boolean) => Promise<Answered | undefined>;
	/** Looks it up, by a POST. */
	lookUp: () => Promise<Summary | null | undefined>;
	/** The error of a conversation that only copies show. */
	stale: () => Error;
	/** The time of the newest message that is known from elsewhere, in milliseconds. */
	knownAt?: number | undefined;
	/** Whether only the newest message is read. Another one of the same time may then be missing. */
	isShort?: boolean;
}

/**
 * Reads a conversation, and once more if the answer is a copy. If that is one too, a lookup decides: what it says is the truth and
 * replaces what was known, because messages can be deleted for good.
 *
 * @param name of the conversation, by agency and number
 */
export async function readFresh<Answered extends Answer>(
	answers: Answers,
	name: string,
	reads: Reads<Answered>,
): Promise<Answered | undefined> {
	const { read, lookUp, stale, knownAt = 0, isShort = false } = reads;
	const before = answers.known.get(name);
	const overruledAt = before?.overruledAt ?? 0;
	const latest = Math.max(before?.lastMessageAt ?? 0, knownAt > overruledAt ? knownAt : 0);
	const known = { lastMessageAt: latest, newestId: isShort ? undefined : before?.newestId };
	const isStale = ({ data, response }: Answer): boolean => isCopy(answers, response.headers, contentOf(data), known);
	const accept = (answer: Answered, isTruth = false): Answered => {
		const { ids, lastMessageAt } = contentOf(answer.data);
		const overruled = isTruth ? Math.max(overruledAt, knownAt) : overruledAt;
		answers.known.set(name, { lastMessageAt, newestId: ids[0], overruledAt: overruled });
		return answer;
	};
	const first = await read(false);
	if (first && !isStale(first)) return accept(first);
	// A 404 may be a copy too, or come from something in front of the service. A lookup, which no cache answers, says what is true.
	const isThere = first !== undefined || Boolean(await lookUp());
	if (!isThere) {
		if (before) answers.known.remove(name, before);
		return undefined;
	}
	const second = await read(true);
	if (second && !isStale(second)) return accept(second);
	const found = await lookUp();
	// The lookup may have shown that the ids of answers say nothing.
	if (second && !isStale(second)) return accept(second);
	if (second && fits(found, second.data.conversation.summary)) return accept(second, true);
	if (second || found) throw stale();
	if (before) answers.known.remove(name, before);
	return undefined;
}
