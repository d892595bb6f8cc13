/*
 * What each name means that says why a text waits or has ended, and why texts are paused: the tables of the documentation. A name without a
 * row does not compile. The rules of a text that waits say themselves when they hold.
 */
import type { OutboxReason } from "../../src/outbox/names.ts";
import type { PauseReason } from "../../src/outbox/work/pause.ts";

export const reasons: Record<OutboxReason, string> = {
	consent_unavailable: "The agency can't ask for consent, for example because its template isn't approved.",
	language_required: "The agency has several languages and no default one, and the text has no `consentLanguage`.",
	language_unavailable: "The agency doesn't have the language of the text.",
	before_send: "Your hook asked to wait, or cancelled the text. `hookReason` says why.",
	hook_failed:
		"`beforeSend`, `onReply`, `optOut` or the function `timeZone` threw, took more than 5 seconds, or returned nothing usable.",
	wrong_number:
		"The contact wrote that the number is wrong. Notices and marketing wait until [a person has looked](consent.md#a-wrong-number). A text that was held ends as `dropped`.",
	perhaps_declined:
		"The contact tapped a button that may be a No. Marketing waits until [they write again, or tap Yes](consent.md#what-counts-as-a-no).",
	refusal:
		"The contact refused something, perhaps the flat. Marketing waits until [they write again](consent.md#a-refusal-that-may-mean-the-flat).",
	flow: "A text would end a flow, such as the booking of a visit: [it waits](consent.md#a-flow-is-in-progress).",
	declined:
		"The contact tapped a button while the service held the text, and nobody wrote to them before the next read. A guess.",
	answered_in_words:
		"The contact wrote after the request for consent, and tapped nothing, whatever a colleague wrote then. It was no opt-out that the outbox knows. Someone should look at the conversation.",
	no_answer: "The contact sent nothing. A guess.",
	displaced:
		"A text of a colleague followed, and the contact had written nothing. A guess. If they tapped a button first, they may have declined: `description` says so.",
	requested: "You called `cancel`, `cancelAll` or `erase`, or `onReply` cancelled it.",
	opted_out:
		"The contact asked for no more texts: by a message, which `optOutSid` names if it's among the newest 50, or by `outbox.optOut`. A text that was held ends as `dropped`, whatever the contact tapped.",
	resolved: "It was `unknown`, and a person has called `resolve`. A `sent` text may have this reason too.",
	superseded: "Another text took its place: see `supersedes` of `enqueue`.",
	earlier_text_declined:
		"The contact declined an earlier text after this one was enqueued. This covers texts whose `notBefore` is still to come. A marketing text also ends if they declined before, and haven't written since.",
	earlier_text_unanswered:
		"An earlier text got no answer, and [the purposes](#what-each-purpose-means) of the two say that this one isn't sent.",
	quiet_hours: "It waits until the quiet hours end. As `expired`: its last moment is within them.",
	window_closed: 'The window was closed, and it is marketing, or `whenClosed` is `"skip"`.',
	too_old: "`notAfter` has passed, or 48 hours since `enqueue` or `notBefore` (`defaultMaxAgeMs`).",
	bad_request: "The service answered 400.",
	not_allowed: "The number isn't in `allowRecipients`.",
	invalid_input: "The client refused the text before the request.",
	failing: "Eight requests failed, and reads showed that none of them was taken.",
	blocked: "Something in front of the service, such as a firewall, refused this text three times and let others pass.",
	unreadable: "The conversation is hidden from the agency, or not there yet, so its messages can't be checked.",
	ambiguous: "The conversation doesn't show which message or queue entry is this text.",
};

/** What waits, and until when. One refusal concerns an agency, or everybody. */
export const pauses: Record<PauseReason, readonly { whose?: string; waits: string; until: string }[]> = {
	key: [{ waits: "everything", until: "the key works again (401, a key function that fails)" }],
	rate_limited: [
		{
			waits: "everything",
			until: "the `Retry-After` of the 429 has passed, at most an hour, or without one the growing pause",
		},
	],
	unreachable: [{ waits: "everything", until: "the service can be reached" }],
	forbidden: [
		{ whose: "with an `agencyId`", waits: "the agency's texts", until: "the agency is linked again (403)" },
		{
			waits:
				"every send, if the key lacks `messages:write`: what was sent is still followed, and a STOP is heard. Everything, if it lacks `conversations:read`, belongs to another integration, or its integration is gone",
			until:
				"`me.get` shows that the cause is gone. It is asked once a minute for all agencies, and no text is tried for it.",
		},
	],
	consent_unavailable: [{ waits: "the agency's texts to closed windows", until: "the agency can ask for consent" }],
	language_required: [{ waits: "the contact's texts", until: "the agency's settings or your hook provide a language" }],
	language_unavailable: [
		{ waits: "the contact's texts", until: "the agency's settings or your hook provide a language" },
	],
	follow_failed: [
		{ waits: "no text. What has become of texts isn't stored by `follow`", until: "your function returns" },
	],
	hook_failed: [{ waits: "the contact's texts", until: "your hook returns a verdict" }],
	gateway: [{ waits: "everything", until: "something in front of the service, such as a firewall, lets a send pass" }],
	failing: [{ waits: "the contact's texts", until: "its read or send succeeds" }],
	data_lost: [
		{
			waits: "everything, for a moment",
			until: "each text that may have been sent in the time that was lost is marked",
		},
	],
	fault: [
		{ waits: "the contact's texts", until: "a minute has passed. It is a fault of this package: please report it" },
	],
	database: [
		{
			waits: "everything",
			until: "the database is back, or the Redis of `bullmqEngine` that was down when `work` began",
		},
	],
	suspended: [
		{
			waits: "the agency's texts, or everything",
			until:
				"a person calls [`resume`](runbook.md#stop-all-sends). `onPaused` repeats it every 15 minutes, with `suspension`",
		},
	],
};
