/*
 * The rules that hold for texts that wait and for texts that were requested before.
 */

import { hasPerhapsDeclined, hasRefused, isNumberSurelyWrong, isNumberWrong } from "../policy/contact-view.ts";
import { isInDoubt, lastMoment } from "../requests.ts";
import { saidByHook, shown, suspendedIn } from "../sentences.ts";
import type { ToldRule, Verdict } from "./gate.ts";
import { isWaiting, languageOf, nextLook, optOutIn, purpose, ringsNoPhone, wasTried } from "./questions.ts";
import { isOpen, isTooSlow, type Situation, wasRead } from "./situation.ts";
import {
	endByHook,
	endOptedOut,
	never,
	notNow,
	sleep,
	stay,
	tryAgain,
	wait,
	waitForHook,
	waitForLanguage,
} from "./verdicts.ts";

export const optedOut: ToldRule = {
	name: "opted_out",
	when: "The contact asked for no more texts. A reply to what they wrote since goes, while the window is open",
	says: () => "The contact asked for no more texts, so that it ends when a worker looks at it.",
	concerns: (s) => s.contact.isUpToDate,
	judge: (s) => {
		const optOut = optOutIn(s);
		if (!optOut) return undefined;
		// The next reading may show what came first.
		if (optOut.isUnclear) return notNow(s, tryAgain(s));
		// Without a reading, a reply may be one to what they wrote after it.
		const isCertain = wasRead(s) || purpose(s).afterOptOut === "never" || optOut.isLater;
		return isCertain ? never(s, endOptedOut(s, optOut), { optOutSid: optOut.messageSid }) : undefined;
	},
};

export const suspension: ToldRule = {
	name: "suspended",
	isOpenEnded: true,
	when: "A person has suspended the agency, or everybody",
	says: ({ agency }) => (agency.suspension ? suspendedIn(agency.suspension) : "Sends are suspended."),
	concerns: (s) => s.agency.isSuspended,
	judge: (s) => notNow(s, stay(Number.POSITIVE_INFINITY)),
};

export const hookFailed: ToldRule = {
	name: "hook_failed",
	when: "A hook or the time zone failed, or took so long, twice, that the reading was too old by then",
	says: () => "Waits: a check of the application before sending failed.",
	concerns: (s) => s.failed !== undefined || isTooSlow(s),
	judge: (s) => (s.failed ? waitForHook(s) : tryAgain(s)),
};

export const wrongNumber: ToldRule = {
	name: "wrong_number",
	isOpenEnded: true,
	when: "The contact wrote that the number is wrong, and nobody has said since that it is right",
	says: () =>
		"Waits: the contact wrote that the number is wrong. If it is right, say so with optIn; otherwise cancel the text.",
	concerns: (s) => purpose(s).onWrongNumber === "wait",
	judge: (s) => {
		// Without a reading the clocks of the service and of the outbox cannot be compared.
		const isWrong = wasRead(s) ? isNumberWrong(s.contact) : isNumberSurelyWrong(s.contact);
		return isWrong ? notNow(s, wait(nextLook(s), { reason: "wrong_number" })) : undefined;
	},
};

export const refusal: ToldRule = {
	name: "refusal",
	isOpenEnded: true,
	when: "It is marketing, and the contact has refused something and has not written since",
	says: () =>
		"Waits: the contact has refused something, perhaps the flat. Marketing goes on once they have written again.",
	concerns: (s) => purpose(s).onRefusal === "wait" && wasRead(s) && hasRefused(s.contact),
	judge: (s) => waitForWords(s, "refusal", nextLook(s)),
};

export const perhapsDeclined: ToldRule = {
	name: "perhaps_declined",
	isOpenEnded: true,
	when: "It is marketing, and the contact has tapped a button that may be a No, and has not written since",
	says: () =>
		"Waits: the contact has tapped a button that may be a No. Marketing goes on once they have written, or tapped Yes.",
	concerns: (s) => purpose(s).onRefusal === "wait" && wasRead(s),
	judge: (s) => {
		if (hasPerhapsDeclined(s.contact)) return waitForWords(s, "perhaps_declined", nextLook(s));
		const { unsettledUntil: until = 0 } = s.contact;
		return until > s.now ? waitForWords(s, "perhaps_declined", Math.min(until, nextLook(s))) : undefined;
	},
};

function waitForWords(s: Situation, reason: "refusal" | "perhaps_declined", until: number): Verdict {
	// Marketing that is enqueued once they have written does not wait for it.
	return notNow(s, wait(until, { reason, ...(!wasTried(s) && { readyAt: until }) }));
}

export const quietHours: ToldRule = {
	name: "quiet_hours",
	when: "It is a notice or marketing, and it is within the quiet hours",
	says: saysQuiet,
	concerns: (s) => purpose(s).keepsQuiet === "always" && !ringsNoPhone(s),
	needs: "hours",
	judge: sleep,
};

export const reading: ToldRule = {
	name: "reading",
	when: "The conversation has to be read, at most ten seconds before the request",
	says: ({ text: { progress } }) =>
		`Waits to be sent: its turn has come, and the conversation is read next.${progress.error ? ` The last attempt ended with ${progress.error.tag}.` : ""}`,
	concerns: () => true,
	needs: "reading",
	judge: () => undefined,
};

export const quietWhileClosed: ToldRule = {
	name: "quiet_while_closed",
	when: "It is a reply, the window is closed, and it is within the quiet hours",
	says: saysQuiet,
	concerns: (s) => purpose(s).keepsQuiet === "while_closed" && !isOpen(s) && !ringsNoPhone(s),
	needs: "hours",
	judge: sleep,
};

export const beforeSend: ToldRule = {
	name: "before_send",
	when: "The check of the application (`beforeSend`) cancels it, or makes it wait",
	says: ({ text }, until) =>
		`Is not to be sent before ${shown(until)}, as a check of the application said${saidByHook(text)}`,
	concerns: (s) => s.options.beforeSend !== undefined,
	needs: "beforeSend",
	judge: (s) => {
		const verdict = s.known.beforeSend;
		if (typeof verdict !== "object" || "consentLanguage" in verdict) return undefined;
		if ("cancel" in verdict) return endByHook(s, "before_send", verdict.cancel);
		// A text that is put off beyond its time expires then, and not later.
		const until = Math.min(Math.max(verdict.waitUntil.getTime(), s.now + 1_000), lastMoment(s.text, s.options) + 1);
		// One that was never requested steps aside, so that the contact's other texts do not wait for it.
		const progress = { hookReason: verdict.because };
		return wait(until, { reason: "before_send", progress, ...(isWaiting(s) && !wasTried(s) && { readyAt: until }) });
	},
};

export const consentUnavailable: ToldRule = {
	name: "consent_unavailable",
	when: "The window is closed, and the agency cannot ask for consent",
	says: () =>
		"Waits: the agency cannot ask contacts for consent at the moment, for example because its template is not approved.",
	concerns: (s) => !isOpen(s),
	needs: "settings",
	// How long the agency waits together is known to its pause.
	judge: (s) =>
		s.known.settings?.eligibleForManualSend === false ? wait(s.now, { reason: "consent_unavailable" }) : undefined,
};

export const languageUnavailable: ToldRule = {
	name: "language_unavailable",
	when: "The window is closed, and the agency does not have the text's language",
	says: () => "Waits: the agency does not have the text's language.",
	concerns: (s) => !isOpen(s),
	needs: "settings",
	judge: (s) => {
		const language = languageOf(s);
		const isThere = language === null || s.known.settings?.availableLanguages.includes(language) !== false;
		return isThere ? undefined : waitForLanguage(s, "language_unavailable");
	},
};

export const languageRequired: ToldRule = {
	name: "language_required",
	when: "The window is closed, and the agency has several languages and no default one, and the text chooses none",
	says: () => "Waits: the agency has several languages and no default one. Choose a language for the text.",
	concerns: (s) => !isOpen(s),
	needs: "settings",
	judge: (s) => {
		const isChoice = (s.known.settings?.availableLanguages.length ?? 0) > 1;
		return isChoice && languageOf(s) === null ? waitForLanguage(s, "language_required") : undefined;
	},
};

export const send: ToldRule = {
	name: "send",
	when: "Otherwise it goes",
	says: () => "Is sent.",
	concerns: () => true,
	needs: "settings",
	judge: (s) => ({ do: "send", language: languageOf(s) }),
};

// What people read

export function expiresTonight(): string {
	return "Its time ends within the quiet hours: it expires, and is not sent. Call the contact if it matters.";
}

function saysQuiet({ text, options }: Situation, until: number): string {
	if (isInDoubt(text))
		return "It is not known yet whether a request was taken. It is looked for again and again, and not sent again before the quiet hours end.";
	return lastMoment(text, options) < until
		? expiresTonight()
		: `Waits for the end of the quiet hours, at ${shown(until)}.`;
}
