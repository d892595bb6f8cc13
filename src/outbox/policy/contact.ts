/*
 * What is known of a contact beyond their texts: whether they asked for no more of them.
 */
import type { Message } from "messaging-conversations";
import { hookError } from "../hook-error.ts";
import { aheadRange, backupSlackMs, declineIn, isTap, isWords, messagesSince, type Reading, timeOf } from "../match.ts";
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, OutboxText, Recipient } from "../text.ts";
import { isOptIn, isOptOut, isOptOutButton } from "./opt-out/opt-out.ts";
import { policies, purposeOf } from "./purpose.ts";

/** What a contact's message asks for. */
export type Asks = "out" | "in" | undefined;

/** Reads messages, each once. */
export interface OptOutReader {
	asks: (message: Message) => Asks;
}

const mostRemembered = 10_000;

/** Whether the contact wrote something with words. A photo, a location or an emoji has none, and a tap on a button neither. */
const hasWords = (message: Message): boolean => isWords(message) && /[\p{L}\p{N}]/u.test(message.body ?? "");

/**
 * @param optOut replaces the package's own function; false examines no message
 * @throws PartnerConfigurationError of `asks`, if that function throws or does not answer true or false
 */
export function createOptOutReader(optOut: ((message: Message) => boolean) | false | undefined): OptOutReader {
	const read = new Map<string, Asks>();
	const isOut = (message: Message): boolean => {
		if (!optOut) return isTap(message) ? isOptOutButton(message.body) : isOptOut(message.body);
		const rule = "must return true or false, must not throw, and must not be async";
		let answer: unknown;
		try {
			answer = optOut(message);
		} catch (error) {
			throw hookError("optOut", rule, error);
		}
		// A promise would count as true.
		if (typeof answer !== "boolean") throw hookError("optOut", rule);
		return answer;
	};
	const asked = (message: Message): Asks => {
		if (isOut(message)) return "out";
		return !isTap(message) && isOptIn(message.body) ? "in" : undefined;
	};
	return {
		asks(message) {
			if (optOut === false || message.direction !== "inbound") return undefined;
			const { messageSid } = message;
			if (!read.has(messageSid)) {
				if (read.size >= mostRemembered) read.clear();
				read.set(messageSid, asked(message));
			}
			return read.get(messageSid);
		},
	};
}

/** A contact, while their texts are worked on. */
export interface Contact {
	/** Takes in what a reading shows. Null if the conversation is unknown or hidden: then all that counts is what was stored. */
	learn: (reading: Pick<Reading, "messages" | "aheadMs"> | null) => Promise<void>;
	/** Stores what some of the contact's messages ask for. */
	hear: (messages: readonly Message[]) => Promise<void>;
	/** Whether the conversation was read, so that no later message can be missed that can be known. */
	isUpToDate: () => boolean;
	/** Whether they want no texts, as far as the newest messages say. */
	hasOptedOut: () => Promise<boolean>;
	/** Stores what became of a text that the service held. */
	note: (facts: ContactFacts) => Promise<void>;
	/** Why an earlier text that was declined, or got no answer, ends a waiting one. Null if none does. */
	endedBy: (text: OutboxText) => Promise<EndedBy | null>;
	/** The opt-out that came after a text was enqueued, whatever came after it. Null if there was none. */
	optOutAfter: (text: OutboxText) => Promise<OptOut | null>;
	/** Why a text may not be sent: the contact has opted out. Null if it may. */
	optOutOf: (text: OutboxText, reading: Reading | null, isOpen: boolean) => Promise<OptOut | null>;
}

/** The reason why an earlier text ends a waiting one. */
export type EndedBy = "earlier_text_declined" | "earlier_text_unanswered";

/** The opt-out that stops a text. */
export interface OptOut {
	at: number;
	/** The contact's message, if it is among those that were read. */
	messageSid: string | null;
}

/** The newest message that asks, of those that do. One without a time has that of its newer neighbour. */
function newestAsk(
	messages: readonly Message[],
	asks: (message: Message) => Asks,
	wanted: Asks,
	at: (message: Message) => number,
) {
	let time = 0;
	for (const message of messages) {
		time = at(message) || time;
		if (asks(message) === wanted) return { at: time, messageSid: message.messageSid };
	}
	return undefined;
}

export function createContact(
	store: Pick<OutboxStore, "facts" | "note">,
	{ asks }: OptOutReader,
	recipient: Recipient,
	now: () => number,
): Contact {
	let known: Promise<ContactFacts> | undefined;
	/** The message of the newest opt-out, once it was read. */
	let named: string | null = null;
	const facts = (): Promise<ContactFacts> => {
		known ??= store.facts(recipient);
		return known;
	};
	let isUpToDate = false;
	/** When the contact last wrote words, at the earliest. */
	let wroteAt = 0;
	/** The same of anything but a tap on a button: a photo answers too. */
	let answeredAt = 0;
	let ahead = 0;
	/** By the clock of the outbox; 0 without a time. */
	const at = ({ createdAt }: Message): number => {
		const time = timeOf(createdAt);
		return time && time + ahead;
	};
	async function note(found: ContactFacts): Promise<void> {
		await store.note(recipient, found);
		const before = await facts();
		const later = (fact: keyof ContactFacts) => Math.max(before[fact] ?? 0, found[fact] ?? 0) || undefined;
		known = Promise.resolve({
			optedOut: later("optedOut"),
			optedIn: later("optedIn"),
			declined: later("declined"),
			ignored: later("ignored"),
			ignoredMarketing: later("ignoredMarketing"),
		});
	}
	async function hear(messages: readonly Message[]): Promise<void> {
		const out = newestAsk(messages, asks, "out", at);
		const back = newestAsk(messages, asks, "in", at);
		if (!out && !back) return;
		const { optedOut = 0, optedIn = 0 } = await facts();
		const found: ContactFacts = {};
		// One without a time is new if the other one was newer so far.
		const outAt = out && (out.at || (optedOut > optedIn ? 0 : now()));
		const backAt = back && (back.at || (optedIn > optedOut ? 0 : now()));
		if (out && outAt !== undefined && outAt >= optedOut) named = out.messageSid;
		if (outAt && outAt > optedOut) found.optedOut = outAt;
		if (backAt && backAt > optedIn) found.optedIn = backAt;
		if (Object.keys(found).length > 0) await note(found);
	}
	/** A text got no answer in time, and the contact taps a button later. Nothing went out meanwhile that the tap could belong to. */
	async function hearLateDecline(messages: readonly Message[]): Promise<void> {
		const sent = messages.findIndex(({ direction }) => direction === "outbound");
		const since = sent < 0 ? messages : messages.slice(0, sent);
		const tap = declineIn(since);
		if (!tap) return;
		const { declined = 0, ignored = 0, ignoredMarketing = 0 } = await facts();
		const droppedAt = Math.max(ignored, ignoredMarketing);
		const sentAt = sent < 0 ? 0 : at(messages[sent] as Message);
		const tappedAt = at(tap) || now();
		if (droppedAt > sentAt && tappedAt > Math.max(droppedAt, declined)) await note({ declined: tappedAt });
	}
	return {
		isUpToDate: () => isUpToDate,
		async hasOptedOut() {
			const { optedOut = 0, optedIn = 0 } = isUpToDate ? await facts() : {};
			return optedOut > 0 && optedIn <= optedOut;
		},
		async learn(reading) {
			const { messages, aheadMs } = reading ?? { messages: [], aheadMs: 0 };
			isUpToDate = true;
			ahead = aheadMs;
			// Somebody may have called `optOut` meanwhile.
			known = undefined;
			const [leastMs] = aheadRange(aheadMs);
			for (const message of messages) {
				const sentAt = timeOf(message.createdAt) + leastMs;
				if (hasWords(message)) wroteAt = Math.max(wroteAt, sentAt);
				if (isWords(message)) answeredAt = Math.max(answeredAt, sentAt);
			}
			await hearLateDecline(messages);
			await hear(messages);
		},
		hear,
		note,
		async endedBy(text) {
			const { declined = 0, ignored = 0, ignoredMarketing = 0 } = await facts();
			const { afterDecline, endedByIgnored } = policies[purposeOf(text)];
			// By the time of the tap, and not by when it was noticed.
			if (text.createdAt < declined) return "earlier_text_declined";
			// The contact may have written since.
			if (!isUpToDate) return null;
			// At the same millisecond it may be an answer to what they wrote with the tap.
			if (text.createdAt === declined && wroteAt < declined) return "earlier_text_declined";
			if (afterDecline === "cancel" && declined > wroteAt) return "earlier_text_declined";
			const least = Math.max(endedByIgnored === "none" ? 0 : ignored, endedByIgnored === "all" ? ignoredMarketing : 0);
			return text.createdAt < least && answeredAt < least ? "earlier_text_unanswered" : null;
		},
		async optOutAfter({ createdAt, progress }) {
			const { optedOut = 0 } = await facts();
			const from = Math.max(createdAt, (progress.restored?.from ?? 0) - backupSlackMs);
			return optedOut >= from ? { at: optedOut, messageSid: named } : null;
		},
		async optOutOf(text, reading, isOpen) {
			const { optedOut = 0, optedIn = 0 } = await facts();
			if (optedOut === 0 || optedIn > optedOut) return null;
			const messages = reading?.messages ?? [];
			const found = newestAsk(messages, asks, "out", at);
			if (found && found.at >= optedOut) named = found.messageSid;
			const messageSid = named;
			const stopped = { at: optedOut, messageSid };
			if (policies[purposeOf(text)].afterOptOut === "never") return stopped;
			const hasWritten = messagesSince(messages, optedOut - ahead).some(
				(message) =>
					hasWords(message) && asks(message) !== "out" && at(message) > optedOut && at(message) <= text.createdAt,
			);
			return isOpen && hasWritten ? null : stopped;
		},
	};
}
