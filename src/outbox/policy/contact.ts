/*
 * What is known of a contact beyond their texts: whether they asked for no more of them.
 */
import type { Message } from "messaging-conversations";
import {
	aheadRange,
	isSurelyAfter,
	laterOf,
	latestByOwn,
	type Offset,
	toleranceMs,
	unmeasured,
	wrongClockMs,
} from "../clocks.ts";
import { hookError } from "../hook-error.ts";
import { backupSlackMs, declineIn, isTap, isWords, type Reading, timeOf } from "../match.ts";
import type { OutboxStore } from "../store.ts";
import type { ContactFacts, FactTime, OutboxText, Recipient } from "../text.ts";
import { isOptIn, isOptOut, isOptOutButton, isRefusal, isWrongNumber } from "./opt-out/opt-out.ts";
import { policies, purposeOf } from "./purpose.ts";

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

/** A contact, while their texts are worked on. */
export interface Contact {
	/** Takes in what a reading shows. Null if the conversation is unknown or hidden: then all that counts is what was stored. */
	learn: (reading: (Pick<Reading, "messages"> & Offset) | null) => Promise<void>;
	/** Stores what some of the contact's messages ask for. */
	hear: (messages: readonly Message[]) => Promise<void>;
	/** The time of the newest message that is known, by the service's clock; 0 if none is. */
	knownAt: () => Promise<number>;
	/** Whether the conversation was read, so that no later message can be missed that can be known. */
	isUpToDate: () => boolean;
	/** Whether they want no texts, as far as the newest messages say. */
	hasOptedOut: () => Promise<boolean>;
	/** Stores what became of a text that the service held. */
	note: (facts: ContactFacts) => Promise<void>;
	/** Whether they have said that the number is wrong, and nobody that it is right. */
	hasWrongNumber: () => Promise<boolean>;
	/** Whether they ever have. */
	hadWrongNumber: () => Promise<boolean>;
	/** Whether nobody has said since that it is right, whatever a reading shows of the clocks. */
	hasSurelyWrongNumber: () => Promise<boolean>;
	/** Whether they have refused something, and have not written since. */
	hasRefused: () => Promise<boolean>;
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
	/** Whether it came after the text was enqueued, as far as that is certain. */
	isLater: boolean;
	/** Whether another reading may show that the contact wrote before the text was enqueued: the clocks of this one disagree. */
	isUnclear: boolean;
	/** The contact's message, if it is among those that were read. */
	messageSid: string | null;
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

/** Whether what the contact said means no texts. Where the clocks leave it open, it does. */
export function isOptedOut({ optedOut, optedIn = {} }: ContactFacts, offset: Offset): boolean {
	return optedOut !== undefined && !isSurelyAfter(optedIn, optedOut, offset);
}

/** Whether the contact has said that the number is wrong, and no person later that it is right. A message can't say that. */
export function isNumberWrong({ wrongNumber, optedIn: { own } = {} }: ContactFacts, offset: Offset): boolean {
	return wrongNumber !== undefined && !isSurelyAfter({ own }, wrongNumber, offset);
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
	/** When the contact last wrote words, by the service's clock. */
	let wroteAt = 0;
	/** The same of anything but a tap on a button: a photo answers too. */
	let answeredAt = 0;
	/** Of the latest reading. */
	let offset: Offset = unmeasured;
	async function note(found: ContactFacts): Promise<void> {
		await store.note(recipient, found);
		const before = await facts();
		const later = (fact: keyof ContactFacts) => laterOf(before[fact], found[fact]);
		known = Promise.resolve({
			optedOut: later("optedOut"),
			optedIn: later("optedIn"),
			wrongNumber: later("wrongNumber"),
			refused: later("refused"),
			declined: later("declined"),
			declineNoticed: later("declineNoticed"),
			ignored: later("ignored"),
			ignoredMarketing: later("ignoredMarketing"),
		});
	}
	const noteDecline = (declined: FactTime): Promise<void> => note({ declined, declineNoticed: { own: now() } });
	async function hear(messages: readonly Message[]): Promise<void> {
		for (const message of messages) {
			const sentAt = timeOf(message.createdAt);
			if (hasWords(message)) wroteAt = Math.max(wroteAt, sentAt);
			if (isWords(message)) answeredAt = Math.max(answeredAt, sentAt);
		}
		const { out, in: back, wrongNumber, refused } = newestAsks(messages, asks);
		if (!out && !back && !wrongNumber && !refused) return;
		const before = await facts();
		const wasOut = isOptedOut(before, offset);
		/** As the service said it. At the same millisecond the newer one of the list gets one more, so that it counts. */
		const timeFrom = (ask: AskedBy, other: AskedBy | undefined, isNews: boolean): FactTime | undefined => {
			const more = other && other.at === ask.at && ask.index < other.index ? 1 : 0;
			if (ask.at) return { service: ask.at + more };
			// One without a time is new if the other one was newer so far.
			return isNews ? { own: now() + more } : undefined;
		};
		const outAt = out && timeFrom(out, back, !wasOut);
		// Only a person's word may say that the number is right, which has a time by this clock.
		const backAt = back && timeFrom(back, out, wasOut && !wrongNumber && !before.wrongNumber);
		const wrongAt = wrongNumber && timeFrom(wrongNumber, undefined, !before.wrongNumber);
		const refusedAt = refused && timeFrom(refused, undefined, !before.refused);
		if (out && (!outAt?.service || outAt.service >= (before.optedOut?.service ?? 0))) named = out.messageSid;
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
	/** A text got no answer in time, and the contact taps a button later. Nothing went out meanwhile that the tap could belong to. */
	async function hearLateDecline(messages: readonly Message[]): Promise<void> {
		const sent = messages.findIndex(({ direction }) => direction === "outbound");
		const since = sent < 0 ? messages : messages.slice(0, sent);
		const tap = declineIn(since);
		if (!tap) return;
		const { declined, ignored, ignoredMarketing } = await facts();
		const silentUntil = Math.max(ignored?.service ?? 0, ignoredMarketing?.service ?? 0);
		const sentAt = timeOf(messages[sent]?.createdAt);
		const tappedAt = timeOf(tap.createdAt);
		if (silentUntil === 0 || sentAt > silentUntil) return;
		if (tappedAt > Math.max(silentUntil, declined?.service ?? 0)) await noteDecline({ service: tappedAt });
		if (tappedAt === 0 && !declined?.own) await noteDecline({ own: now() });
	}
	return {
		async knownAt() {
			const times = Object.values(await facts()).map((fact: FactTime | undefined) => fact?.service ?? 0);
			// One of two at the same time has one more.
			return Math.max(0, ...times.map((time) => time - 1));
		},
		isUpToDate: () => isUpToDate,
		async hasOptedOut() {
			return isUpToDate && isOptedOut(await facts(), offset);
		},
		async hasWrongNumber() {
			return isNumberWrong(await facts(), offset);
		},
		async hadWrongNumber() {
			return (await facts()).wrongNumber !== undefined;
		},
		async hasSurelyWrongNumber() {
			const { wrongNumber, optedIn } = await facts();
			return wrongNumber !== undefined && (optedIn?.own ?? 0) <= (wrongNumber.own ?? wrongNumber.service ?? 0);
		},
		async hasRefused() {
			const { refused, optedIn = {} } = await facts();
			const isOver = (since: FactTime): boolean => refused !== undefined && isSurelyAfter(since, refused, offset);
			return refused !== undefined && !isOver({ service: wroteAt }) && !isOver(optedIn);
		},
		async learn(reading) {
			const messages = reading?.messages ?? [];
			isUpToDate = true;
			offset = reading ?? unmeasured;
			// Somebody may have called `optOut` meanwhile.
			known = undefined;
			await hearLateDecline(messages);
			await hear(messages);
		},
		hear,
		note,
		async endedBy(text) {
			const { declined = {}, declineNoticed, ignored = {}, ignoredMarketing = {} } = await facts();
			const { afterDecline, endedByIgnored } = policies[purposeOf(text)];
			// By the time of the tap, and not by when it was noticed.
			const latest = latestByOwn(declined, offset);
			const noticedAt = declineNoticed?.own ?? latest;
			// A sandbox can be days ahead. A decline was not later than it was noticed, whatever its time says.
			const declinedAt = latest - noticedAt > wrongClockMs ? noticedAt : latest;
			if (text.createdAt < declinedAt) return "earlier_text_declined";
			// The contact may have written since.
			if (!isUpToDate) return null;
			const wrote = { service: wroteAt };
			const hasDeclined = declinedAt > 0;
			// At the same millisecond it may be an answer to what they wrote with the tap.
			const isSame = text.createdAt === declinedAt && (declined.service ?? 0) > wroteAt;
			if (hasDeclined && isSame) return "earlier_text_declined";
			const isSilent =
				(declined.service ?? 0) > wroteAt ||
				(declined.own !== undefined && !isSurelyAfter(wrote, { own: declined.own }, offset));
			if (afterDecline === "cancel" && hasDeclined && isSilent) return "earlier_text_declined";
			const ends = ({ own = 0, service = 0 }: FactTime): boolean => text.createdAt < own && answeredAt <= service;
			const isEnded =
				(endedByIgnored !== "none" && ends(ignored)) || (endedByIgnored === "all" && ends(ignoredMarketing));
			return isEnded ? "earlier_text_unanswered" : null;
		},
		async optOutAfter({ createdAt, progress }) {
			const { optedOut: { service = Number.NEGATIVE_INFINITY, own = Number.NEGATIVE_INFINITY } = {} } = await facts();
			const from = Math.max(createdAt, (progress.restored?.from ?? 0) - backupSlackMs);
			const isAfter = own >= from || service >= from - toleranceMs(offset);
			return isAfter ? { isLater: true, isUnclear: false, messageSid: named } : null;
		},
		async optOutOf(text, reading, isOpen) {
			const known = await facts();
			const { optedOut } = known;
			if (!optedOut || !isOptedOut(known, offset)) return null;
			const messages = reading?.messages ?? [];
			const { out } = newestAsks(messages, asks);
			if (out && out.at >= (optedOut.service ?? 0)) named = out.messageSid;
			const { createdAt } = text;
			const [leastMs] = aheadRange(offset);
			const { service = Number.NEGATIVE_INFINITY, own = Number.NEGATIVE_INFINITY } = optedOut;
			// Without a reading it is not known what the contact wrote since, unless it was reported.
			const isFinal = offset.isMeasured || wroteAt <= service;
			const stopped = {
				isLater: own >= createdAt || (isFinal && service + leastMs >= createdAt),
				messageSid: named,
			};
			if (policies[purposeOf(text)].afterOptOut === "never") return { ...stopped, isUnclear: false };
			const written = messages.filter((message) => {
				const isSince = isSurelyAfter({ service: timeOf(message.createdAt) }, optedOut, offset);
				return hasWords(message) && asks(message) !== "out" && isSince;
			});
			const hasWritten = (aheadMs: number): boolean =>
				written.some((message) => timeOf(message.createdAt) + aheadMs <= createdAt);
			const isAnswer = hasWritten(offset.aheadMs);
			// A clock that is wrong by so much may be that of the one machine that has answered.
			const isUnclear = Math.abs(offset.aheadMs) > wrongClockMs && isAnswer !== hasWritten(0);
			return isOpen && isAnswer && !isUnclear ? null : { ...stopped, isUnclear };
		},
	};
}
