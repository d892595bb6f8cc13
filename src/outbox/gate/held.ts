/*
 * Every rule of a text that the service holds until the contact consents, in order. It is read about until it has left the service's
 * queue. If the contact answers in words, it may be sent again.
 */
import { maySendAgain } from "../decide.ts";
import type { Rule } from "./gate.ts";
import { waitingToPass } from "./order.ts";
import { optOutIn } from "./questions.ts";
import { hidden, keeps, takenOver } from "./requested.ts";
import {
	beforeSend,
	consentUnavailable,
	hookFailed,
	languageRequired,
	languageUnavailable,
	optedOut,
	reading,
	send,
} from "./shared.ts";
import { matchIn, type Situation, wasRead } from "./situation.ts";
import { as, asRead, endByHook, notNow, stay } from "./verdicts.ts";

export const held: readonly Rule[] = [
	{
		name: "unchanged",
		when: "A lookup shows nothing new. It is read all the same if the contact has opted out, or if a text of yours may take its place",
		concerns: (s) => !wasRead(s) && s.text.progress.watched !== undefined && !hasToBeRead(s),
		needs: "lookup",
		judge: (s) => (s.known.lookup ? as(s, s.known.lookup) : undefined),
	},
	reading,
	hidden,
	takenOver,
	{
		name: "gone",
		when: "It is not in the service's queue: it was sent, another text took its place, or the service has dropped it",
		concerns: (s) => matchIn(s) !== null && matchIn(s)?.kind !== "held",
		judge: (s) => as(s, asRead(s)),
	},
	optedOut,
	{
		name: "in_queue",
		when: "It is in the service's queue, and the contact has not answered in words, or it may not be sent again: see `onReply`",
		concerns: (s) => matchIn(s)?.kind === "held" && !maySendAgain(s.text, matchIn(s), s.options, s.now),
		judge: (s) => as(s, asRead(s)),
	},
	hookFailed,
	...keeps,
	{
		name: "on_reply",
		when: "The application (`onReply`) lets it wait for the consent, or does not want it to be sent any more",
		concerns: (s) => typeof s.options.onReply === "function",
		needs: "onReply",
		judge: (s) => {
			const verdict = s.known.onReply;
			if (verdict === "wait") return notNow(s, stay(s.now));
			return typeof verdict === "object" ? endByHook(s, "requested", verdict.cancel) : undefined;
		},
	},
	beforeSend,
	consentUnavailable,
	languageUnavailable,
	languageRequired,
	send,
];

/** The opt-out is to be noted, or a text of ours may take its place. */
function hasToBeRead(s: Situation): boolean {
	const isNewlyOut = !s.text.progress.cancelRequested && optOutIn(s) !== null;
	return isNewlyOut || waitingToPass(s.text, s).length > 0;
}
