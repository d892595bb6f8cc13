/*
 * What the rules of the gate ask about a situation.
 */
import { isSurelyClosed, isUnsure } from "../baseline.ts";
import { longestWaitMs } from "../decide.ts";
import { type OptOut, optOutOf } from "../policy/contact-view.ts";
import { type Policy, policies, whenClosedOf } from "../policy/purpose.ts";
import { lastMoment } from "../requests.ts";
import { isReply, takesPlaceOf } from "./order.ts";
import { isOpen, quietEnd, readingIn, type Situation, wasRead } from "./situation.ts";

export const purpose = ({ text }: Situation): Policy => policies[text.purpose];
export const isWaiting = ({ text }: Situation): boolean => text.state === "waiting";
export const wasTried = ({ text }: Situation): boolean => text.progress.attempts > 0;
export const optOutIn = (s: Situation): OptOut | null =>
	optOutOf(s.text, s.contact, wasRead(s) ? isOpen(s) : undefined);
export const isSkipped = (s: Situation): boolean => whenClosedOf(s.text) === "skip" && !isOpen(s);
export const isQuietReply = (s: Situation): boolean => isReply(s.text) && quietEnd(s) !== undefined;
export const nextLook = (s: Situation): number => Math.min(s.now + longestWaitMs, lastMoment(s.text, s.options) + 1);

/** The clocks of the reading are too far apart to tell. */
export function isWindowUnclear(s: Situation): boolean {
	const reading = readingIn(s);
	return reading !== null && isUnsure(reading, s.now, purpose(s).leastOpenMs);
}

/** It takes the place of a held text that it supersedes, without a new request for consent. The contact must not get that one. */
export function ringsNoPhone(s: Situation): boolean {
	const { text, queue, passing, now } = s;
	// Between the reading and the request the held one may be dropped, and then the contact is asked.
	if (purpose(s).whenClosed === "skip") return false;
	if (!passing) return queue.some((other) => other.state === "held" && takesPlaceOf(s, text, other));
	return !passing.isGone && takesPlaceOf(s, text, passing.held) && isSurelyClosed(passing.match.reading, now);
}

export function languageOf(s: Situation): string | null {
	const verdict = s.known.beforeSend;
	const chosen =
		typeof verdict === "object" && "consentLanguage" in verdict ? verdict.consentLanguage : s.text.consentLanguage;
	const settings = s.known.settings;
	return chosen ?? (settings && settings.availableLanguages.length > 1 ? settings.defaultLanguage : null);
}
