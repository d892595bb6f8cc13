/*
 * What is known of a contact at a moment, and what follows from it for a text. Nothing here reads, waits or stores.
 */
import {
	aheadRange,
	isSurelyAfter,
	latestByOwn,
	type Offset,
	toleranceMs,
	unmeasured,
	wrongClockMs,
} from "../clocks.ts";
import { backupSlackMs } from "../match.ts";
import type { ContactFacts, FactTime, OutboxText } from "../text.ts";
import { policies } from "./purpose.ts";

/** What is known of a contact at a moment. */
export interface ContactView {
	/** What is stored of them. */
	facts: ContactFacts;
	/** Whether the conversation was read, so that no later message can be missed that can be known. */
	isUpToDate: boolean;
	/** How far the clocks are apart, by the latest reading. */
	offset: Offset;
	/** When they last wrote words, by the service's clock; 0 if that is not known. */
	wroteAt: number;
	/** The same of anything but a tap on a button: a photo answers too. */
	answeredAt: number;
	/** When they wrote words that are no opt-out, as far as the latest reading shows, by the service's clock. */
	wordsAt: readonly number[];
	/** `messageSid` of the message that asked for no more texts, once it was read. */
	optOutSid: string | null;
	/** The times of taps that are no No: a later one on the same template is a Yes. By the service's clock. */
	takenBack: readonly number[];
	/** The taps that somebody has answered at once, as the service does after a Yes. What was not certain is none then. */
	answered: readonly number[];
	/** Until when it is not certain whether a tap is a No, because the service may still act on it, by the outbox's clock. */
	unsettledUntil?: number | undefined;
	/** Whether a No was heard in this step of the queue. It ends texts whose turn has not come too. */
	isNewlyDeclined?: boolean | undefined;
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

/** What is known of a contact of whom nothing was read. */
export function storedView(facts: ContactFacts): ContactView {
	return {
		facts,
		isUpToDate: false,
		offset: unmeasured,
		wroteAt: 0,
		answeredAt: 0,
		wordsAt: [],
		optOutSid: null,
		takenBack: [],
		answered: [],
	};
}

/** Whether what the contact said means no texts. Where the clocks leave it open, it does. */
export function isOptedOut({ facts: { optedOut, optedIn = {} }, offset }: ContactView): boolean {
	return optedOut !== undefined && !isSurelyAfter(optedIn, optedOut, offset);
}

/** Whether the contact has said that the number is wrong, and no person later that it is right. A message can't say that. */
export function isNumberWrong({ facts: { wrongNumber, optedIn: { own } = {} }, offset }: ContactView): boolean {
	return wrongNumber !== undefined && !isSurelyAfter({ own }, wrongNumber, offset);
}

/** Whether a text waits until a person says that the number is right. */
export const isKeptByNumber = ({ purpose }: Pick<OutboxText, "purpose">, contact: ContactView): boolean =>
	policies[purpose].onWrongNumber === "wait" && isNumberWrong(contact);

/** Whether nobody has said since that it is right, whatever a reading shows of the clocks. */
export function isNumberSurelyWrong({ facts: { wrongNumber, optedIn } }: ContactView): boolean {
	return wrongNumber !== undefined && (optedIn?.own ?? 0) <= (wrongNumber.own ?? wrongNumber.service ?? 0);
}

/** Whether the contact has refused something, and has not written since. */
export function hasRefused({ facts: { refused, perhapsDeclined, optedIn }, ...contact }: ContactView): boolean {
	// Marketing was declined, and a later Yes takes that back.
	const isTap = refused?.service !== undefined && refused.service === perhapsDeclined?.service;
	return lasts(isTap ? untaken(refused, contact) : refused, optedIn, contact);
}

/** Whether the contact has tapped what may be a No, and has not written since. */
export function hasPerhapsDeclined({ facts: { perhapsDeclined, optedIn }, ...contact }: ContactView): boolean {
	const isAnswered = contact.answered.includes(perhapsDeclined?.service ?? 0);
	return !isAnswered && lasts(untaken(perhapsDeclined, contact), optedIn, contact);
}

type Heard = Omit<ContactView, "facts">;

/** Whether the contact has not written since, and nobody has said that they want texts. */
function lasts(said: FactTime | undefined, optedIn: FactTime = {}, { offset, wroteAt }: Heard): boolean {
	return said !== undefined && ![{ service: wroteAt }, optedIn].some((since) => isSurelyAfter(since, said, offset));
}

/** A No, unless a later Yes on the same template takes it back. */
function untaken(no: FactTime | undefined, { takenBack }: Heard): FactTime | undefined {
	if (no?.service === undefined || !takenBack.includes(no.service)) return no;
	return no.own === undefined ? undefined : { own: no.own };
}

/** The No that counts: unless a person has said since that the contact wants texts. */
function declinedIn({ facts: { declined, optedIn = {} }, ...contact }: ContactView): FactTime | undefined {
	const isOver = declined !== undefined && isSurelyAfter({ own: optedIn.own }, declined, contact.offset);
	return isOver ? undefined : untaken(declined, contact);
}

/** Why an earlier text that was declined, or got no answer, ends a waiting one. Null if none does. */
export function endedBy(text: OutboxText, contact: ContactView): EndedBy | null {
	const { offset, wroteAt, answeredAt } = contact;
	const { declineNoticed, ignored = {} } = contact.facts;
	const { isEndedByDecline, afterDecline, isEndedByIgnored } = policies[text.purpose];
	const declined = (isEndedByDecline && declinedIn(contact)) || {};
	// By the time of the tap, and not by when it was noticed.
	const latest = latestByOwn(declined, offset);
	const noticedAt = declineNoticed?.own ?? latest;
	// A sandbox can be days ahead. A decline was not later than it was noticed, whatever its time says.
	const declinedAt = latest - noticedAt > wrongClockMs ? noticedAt : latest;
	if (text.createdAt < declinedAt) return "earlier_text_declined";
	// The contact may have written since.
	if (!contact.isUpToDate) return null;
	const hasDeclined = declinedAt > 0;
	// At the same millisecond it may be an answer to what they wrote with the tap.
	const isSame = text.createdAt === declinedAt && (declined.service ?? 0) > wroteAt;
	if (hasDeclined && isSame) return "earlier_text_declined";
	const isSilent =
		(declined.service ?? 0) > wroteAt ||
		(declined.own !== undefined && !isSurelyAfter({ service: wroteAt }, { own: declined.own }, offset));
	if (afterDecline === "cancel" && hasDeclined && isSilent) return "earlier_text_declined";
	const { own = 0, service = 0 } = ignored;
	const isEnded = isEndedByIgnored && text.createdAt < own && answeredAt <= service;
	return isEnded ? "earlier_text_unanswered" : null;
}

/** The opt-out that came after a text was enqueued, or since a backup, whatever came after it. Null if there was none. */
export function optOutAfter({ createdAt, progress }: OutboxText, contact: ContactView): OptOut | null {
	const { service = Number.NEGATIVE_INFINITY, own = Number.NEGATIVE_INFINITY } = contact.facts.optedOut ?? {};
	const from = Math.max(createdAt, (progress.restored?.from ?? 0) - backupSlackMs);
	const isAfter = own >= from || service >= from - toleranceMs(contact.offset);
	return isAfter ? { isLater: true, isUnclear: false, messageSid: contact.optOutSid } : null;
}

/**
 * Why a text may not be sent: the contact has opted out. Null if it may.
 *
 * @param isOpen whether the window is open, as the latest reading shows. Undefined without a reading: then it is not known what the
 * contact wrote since
 */
export function optOutOf(text: OutboxText, contact: ContactView, isOpen: boolean | undefined): OptOut | null {
	const { offset } = contact;
	const { optedOut } = contact.facts;
	if (!optedOut || !isOptedOut(contact)) return null;
	const { createdAt } = text;
	const [leastMs] = aheadRange(offset);
	const { service = Number.NEGATIVE_INFINITY, own = Number.NEGATIVE_INFINITY } = optedOut;
	// Without a reading it is not known what the contact wrote since, unless it was reported.
	const isFinal = offset.isMeasured || contact.wroteAt <= service;
	const stopped = {
		isLater: own >= createdAt || (isFinal && service + leastMs >= createdAt),
		messageSid: contact.optOutSid,
	};
	if (policies[text.purpose].afterOptOut === "never") return { ...stopped, isUnclear: false };
	const written = isOpen === undefined ? [] : contact.wordsAt;
	const since = written.filter((at) => isSurelyAfter({ service: at }, optedOut, offset));
	const hasWritten = (aheadMs: number): boolean => since.some((at) => at + aheadMs <= createdAt);
	const isAnswer = hasWritten(offset.aheadMs);
	// A clock that is wrong by so much may be that of the one machine that has answered.
	const isUnclear = Math.abs(offset.aheadMs) > wrongClockMs && isAnswer !== hasWritten(0);
	return isOpen && isAnswer && !isUnclear ? null : { ...stopped, isUnclear };
}
