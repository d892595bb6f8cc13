/*
 * Hears what contacts say beyond their texts, such as that they want no more of them, and stores it.
 */
import type { Message } from "messaging-conversations";
import { laterOf, type Offset, unmeasured } from "../clocks.ts";
import type { Taps } from "../consent.ts";
import { hookError } from "../hook-error.ts";
import { isTap, isWords, type Reading, timeOf } from "../match.ts";
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, FactSource, FactTime, Recipient } from "../text.ts";
import { type ContactView, isOptedOut, storedView } from "./contact-view.ts";
import { isOptIn, isOptOut, isOptOutButton, isRefusal, isWrongNumber } from "./opt-out/opt-out.ts";

/** What a contact's message asks for, or says. */
export type Asks = "out" | "in" | "wrongNumber" | "refused" | undefined;
type Ask = NonNullable<Asks>;

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
		if (!isTap(message) && isOptIn(message.body)) return "in";
		// What only delays a text may be said by a tap on a button too.
		if (isWrongNumber(message.body)) return "wrongNumber";
		return isRefusal(message.body) ? "refused" : undefined;
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

/** What the taps of a contact say, and when that is certain, by the clock of the outbox. */
export interface SettledTaps extends Taps {
	settledAt: number;
}

/** A contact, while their texts are worked on. */
export interface Contact {
	/** Takes in what a reading shows. Null if the conversation is unknown or hidden: then all that counts is what was stored. */
	learn: (reading: (Pick<Reading, "messages"> & Offset) | null, taps?: SettledTaps) => Promise<void>;
	/** Stores what some of the contact's messages ask for. */
	hear: (messages: readonly Message[]) => Promise<void>;
	/** The time of the newest message that is known, by the service's clock; 0 if none is. */
	knownAt: () => Promise<number>;
	/** Stores what became of a text that the service held. */
	note: (facts: ContactFacts) => Promise<void>;
	/** Takes in what is stored of the contact. */
	know: (facts: ContactFacts) => void;
	/** What is known now. */
	view: () => Promise<ContactView>;
}

/** A message that asks, and its place in the list. */
interface AskedBy {
	at: number;
	index: number;
	messageSid: string;
}

/**
 * The newest message that asks for no texts, the newest that asks for them, and so on. A message without a time has that of its newer
 * neighbour, or 0. Of two at the same time the first one of the list is newer.
 */
function newestAsks(messages: readonly Message[], asks: (message: Message) => Asks): Partial<Record<Ask, AskedBy>> {
	const newest: Partial<Record<Ask, AskedBy>> = {};
	let time = 0;
	for (const [index, message] of messages.entries()) {
		time = timeOf(message.createdAt) || time;
		const what = asks(message);
		const known = what && newest[what];
		// One without a time at the top of the list is newer than all others.
		if (what && (!known || (known.at !== 0 && known.at < time)))
			newest[what] = { at: time, index, messageSid: message.messageSid };
	}
	return newest;
}

export function createContact(
	store: Pick<OutboxStore, "facts" | "note">,
	{ asks }: OptOutReader,
	recipient: Recipient,
	now: () => number,
	source: FactSource = "reading",
): Contact {
	let known: Promise<ContactFacts> | undefined;
	const facts = (): Promise<ContactFacts> => {
		known ??= store.facts(recipient);
		return known;
	};
	let heard: Omit<ContactView, "facts"> = storedView({});
	const view = async (): Promise<ContactView> => {
		const stored = await facts();
		return { ...heard, facts: stored };
	};
	async function note(found: ContactFacts): Promise<void> {
		await store.note(recipient, found, source);
		const before = await facts();
		const later = (fact: keyof ContactFacts) => laterOf(before[fact], found[fact]);
		known = Promise.resolve({
			optedOut: later("optedOut"),
			optedIn: later("optedIn"),
			wrongNumber: later("wrongNumber"),
			refused: later("refused"),
			perhapsDeclined: later("perhapsDeclined"),
			declined: later("declined"),
			declineNoticed: later("declineNoticed"),
			ignored: later("ignored"),
		});
	}
	async function hear(messages: readonly Message[]): Promise<void> {
		for (const message of messages) {
			const sentAt = timeOf(message.createdAt);
			if (hasWords(message)) heard.wroteAt = Math.max(heard.wroteAt, sentAt);
			if (isWords(message)) heard.answeredAt = Math.max(heard.answeredAt, sentAt);
		}
		const { out, in: back, wrongNumber, refused } = newestAsks(messages, asks);
		if (!out && !back && !wrongNumber && !refused) return;
		const before = await facts();
		const wasOut = isOptedOut({ ...heard, facts: before });
		/** As the service said it. At the same millisecond the newer one of the list gets one more, so that it counts. */
		const timeFrom = (ask: AskedBy, other: AskedBy | undefined, isNews: boolean): FactTime | undefined => {
			const more = other && other.at === ask.at && ask.index < other.index ? 1 : 0;
			if (ask.at) return { service: ask.at + more };
			// One without a time is new if the other one was newer so far.
			return isNews ? { own: now() + more } : undefined;
		};
		const outAt = out && timeFrom(out, back, !wasOut);
		// Only a person's word may say that the number is right, which has a time by this clock.
		const backAt = back && timeFrom(back, out, wasOut && !before.wrongNumber);
		const wrongAt = wrongNumber && timeFrom(wrongNumber, undefined, !before.wrongNumber);
		const refusedAt = refused && timeFrom(refused, undefined, !before.refused);
		if (out && (!outAt?.service || outAt.service >= (before.optedOut?.service ?? 0))) heard.optOutSid = out.messageSid;
		const isNew = (fact: keyof ContactFacts, at: FactTime | undefined): boolean =>
			at !== undefined && (at.own ?? at.service ?? 0) > (before[fact]?.[at.own ? "own" : "service"] ?? 0);
		const found: ContactFacts = {
			...(isNew("optedOut", outAt) && { optedOut: outAt }),
			...(isNew("optedIn", backAt) && { optedIn: backAt }),
			...(isNew("wrongNumber", wrongAt) && { wrongNumber: wrongAt }),
			...(isNew("refused", refusedAt) && { refused: refusedAt }),
		};
		if (Object.keys(found).length > 0) await note(found);
	}
	/** What the newest taps say. What may be a No becomes one once the agency has shown its Yes. */
	async function hearTaps({ no, takenBack, answered, settledAt }: SettledTaps): Promise<void> {
		heard = { ...heard, takenBack, answered, unsettledUntil: undefined };
		const { declined, perhapsDeclined, refused } = await facts();
		const timeBy = (...known: (FactTime | undefined)[]): number => Math.max(...known.map((fact) => fact?.service ?? 0));
		// A No to marketing that was held is a refusal, and never more.
		const isNew = no && no.at > timeBy(declined, perhapsDeclined);
		const isNowCertain = no?.isCertain && no.at > timeBy(declined, refused);
		if (!isNew && !isNowCertain) return;
		const said = { service: no.at };
		if (settledAt > now()) {
			heard.unsettledUntil = settledAt;
			return;
		}
		await note(no.isCertain ? { declined: said, declineNoticed: { own: now() } } : { perhapsDeclined: said });
		heard.isNewlyDeclined = no.isCertain;
	}
	return {
		async knownAt() {
			const times = Object.values(await facts()).map((fact: FactTime | undefined) => fact?.service ?? 0);
			// One of two at the same time has one more.
			return Math.max(0, ...times.map((time) => time - 1));
		},
		async learn(reading, taps) {
			const messages = reading?.messages ?? [];
			const { aheadMs, isMeasured } = reading ?? unmeasured;
			heard = { ...heard, isUpToDate: true, offset: { aheadMs, isMeasured }, wordsAt: [] };
			// Somebody may have called `optOut` meanwhile.
			known = undefined;
			if (taps) await hearTaps(taps);
			await hear(messages);
			const words = messages.filter((message) => hasWords(message) && asks(message) !== "out");
			heard.wordsAt = words.map(({ createdAt }) => timeOf(createdAt));
		},
		hear,
		note,
		know(facts) {
			known = Promise.resolve(facts);
		},
		view,
	};
}
