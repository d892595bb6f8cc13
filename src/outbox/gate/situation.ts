/*
 * What the gate judges by. Plain values and a time: nothing here reads, waits or stores.
 */
import type { PartnerConfigurationError } from "messaging-conversations";
import { freshMs } from "../../shared/freshness.ts";
import { isSurelyOpen } from "../baseline.ts";
import type { Match, Reading } from "../match.ts";
import { type ContactView, storedView } from "../policy/contact-view.ts";
import { policies } from "../policy/purpose.ts";
import { quietUntil, type ZonedHours } from "../policy/quiet-hours.ts";
import type { Rules } from "../requests.ts";
import type { StoredPause, StoredSuspension } from "../store.ts";
import type { Change, OpenText, OutboxText } from "../text.ts";
import type { BeforeSendVerdict, ReplyVerdict } from "../work/hooks.ts";
import type { Settings } from "../work/settings.ts";

/** What can be found out about a text by a call, the cheapest first. */
export interface Facts {
	/** The quiet hours in the agency's time zone; null without any. */
	hours: ZonedHours | null;
	/** The wait of a text for which a lookup shows nothing new; null if it shows something. */
	lookup: (Change & { nextAt: number }) | null;
	/** What the conversation shows of the text; null if the conversation is unknown or hidden. */
	reading: { match: Match | null; at: number };
	/** Whether the service has taken the text that was sent in the place of this one. */
	takenOver: boolean;
	/** What `onReply` says. */
	onReply: ReplyVerdict;
	/** What `beforeSend` says. */
	beforeSend: BeforeSendVerdict;
	/** The agency's settings; null if they cannot be read. */
	settings: Settings | null;
}

export type Fact = keyof Facts;

/** What was found out so far. */
export type Known = { readonly [Each in Fact]?: Facts[Each] };

/** A text whose hooks take longer than a reading counts would be read for ever. */
export const mostReadings = 2;

/** A hook that failed, and the fact that it was asked for. */
export interface Failed {
	fact: Fact;
	error: PartnerConfigurationError;
}

/** The earlier text that the service holds, or has just held, when its own reading lets a later one go before it. */
export interface Passing {
	held: OutboxText;
	match: Match;
	/** It has left the service's queue. */
	isGone: boolean;
}

/** What keeps the texts of an agency from being sent. */
export interface Agency {
	isSuspended: boolean;
	pausedUntil: number;
	/** What is stored of it, for the sentence. A worker does not need it. */
	suspension?: StoredSuspension | undefined;
	/** The same. */
	pause?: StoredPause | undefined;
}

export interface Situation {
	/** The only clock. */
	now: number;
	/** The text that is asked about. */
	text: OutboxText & Partial<Pick<OpenText, "isStopped">>;
	/** The contact's open texts whose turn has come, in their order, this one among them. */
	queue: readonly OutboxText[];
	/** The ids of those of them that take the place of the one that the service holds: see `heirsIn`. */
	heirs: ReadonlySet<string>;
	/** The text of the contact that had its turn right before; undefined if this is the first one. */
	previousId?: string | undefined;
	/** Of the hooks it counts only whether there is one. */
	options: Rules & { beforeSend: unknown; onReply: unknown };
	contact: ContactView;
	agency: Agency;
	known: Known;
	failed?: Failed | undefined;
	/** How old the reading is, by whichever clock says more. */
	readingAgeMs: number;
	/** How often the conversation was read in this step. */
	readings: number;
	passing?: Passing | undefined;
}

/** What is known of a text by its row alone. */
export function storedSituation(text: OutboxText, options: Situation["options"], now: number): Situation {
	const agency = { isSuspended: false, pausedUntil: 0 };
	const nothing = { heirs: new Set<string>(), contact: storedView({}), known: {}, readingAgeMs: 0, readings: 0 };
	return { now, text, queue: [text], options, agency, ...nothing };
}

/**
 * Whether a fact need not be found out. A reading counts for ten seconds, because somebody may have written since. After that a text is
 * read again, once, and then the rules go by an older one, by which no text is sent.
 */
export function isKnown(situation: Situation, fact: Fact): boolean {
	const { known, failed, readingAgeMs, readings } = situation;
	if (failed?.fact === fact) return true;
	return known[fact] !== undefined && (fact !== "reading" || readingAgeMs <= freshMs || readings >= mostReadings);
}

/** Whether somebody may have written since the reading, and it was read twice. */
export function isTooSlow({ readingAgeMs, readings }: Situation): boolean {
	return readings >= mostReadings && readingAgeMs > freshMs;
}

/** Whether the conversation was read, even if that is a while ago: a rule that stops a text may go by it. */
export function wasRead(situation: Situation): boolean {
	return situation.known.reading !== undefined;
}

export function matchIn(situation: Situation): Match | null {
	return situation.known.reading?.match ?? null;
}

/** The conversation. Null if it was not read, or is unknown or hidden. */
export function readingIn(situation: Situation): Reading | null {
	return matchIn(situation)?.reading ?? null;
}

/** Whether the window is open for certain, and for as long as the text's purpose asks for, as far as is known. */
export function isOpen(situation: Situation): boolean {
	return isSurelyOpen(readingIn(situation), situation.now, policies[situation.text.purpose].leastOpenMs);
}

/** When the quiet hours end, if it is within them. */
export function quietEnd(situation: Situation): number | undefined {
	return quietUntil(situation.now, situation.known.hours ?? null);
}
