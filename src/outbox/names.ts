/*
 * The one list of names that say why a text waits or has ended: of the rules of the gate, of what people are told, and of what rows keep.
 * A name of a rule means the same everywhere. The tables of docs/not-sent.md have a row for each.
 */

/**
 * Why a text is in its state.
 * - `waiting`: `consent_unavailable` (the agency cannot ask for consent), `language_required` (the agency has several
 *   languages and no default), `language_unavailable` (the agency does not have the text's `consentLanguage`),
 *   `before_send` (your hook asked to wait), `hook_failed` (a hook threw, took too long, or returned nothing usable),
 *   `quiet_hours`, `wrong_number` (the contact wrote that the number is wrong), `refusal` (the contact refused something, and has
 *   not written since: marketing waits), `perhaps_declined` (the contact tapped a button that may be a No, and has not written since:
 *   marketing waits), `flow` (a text would end a flow, such as the booking of a visit)
 * - `dropped`: `opted_out` (the contact asked for no more texts), `wrong_number`, or a best guess: `displaced` (a colleague's text
 *   followed), `declined` (the contact tapped a button), `answered_in_words` (the contact wrote, and tapped nothing: someone should
 *   look), `no_answer`
 * - `cancelled`: `requested` (by `cancel`, `cancelAll`, `erase` or `onReply`), `before_send` (by your hook),
 *   `superseded` (another text took its place), `earlier_text_declined`, `earlier_text_unanswered` (by its purpose), `opted_out` (the contact asked for no more texts),
 *   `resolved` (a person found an `unknown` text not sent)
 * - `sent`: `resolved` (a person found an `unknown` text sent), or none
 * - `expired`: `too_old`, `quiet_hours` (they end after its last moment), `window_closed` (of marketing, or with `whenClosed: "skip"`)
 * - `refused`: `bad_request` (a 400), `not_allowed` (`allowRecipients`), `invalid_input` (refused by the client), `failing`
 *   (eight requests failed, and reads showed that none was taken), `blocked` (something in front of the service, such as a
 *   firewall, refused this text three times, and let others pass)
 * - `unknown`: `unreadable` (the conversation is hidden, or not there yet), `ambiguous` (the conversation does not show which
 *   text is this one)
 */
export type OutboxReason =
	| "consent_unavailable"
	| "language_required"
	| "language_unavailable"
	| "before_send"
	| "hook_failed"
	| "wrong_number"
	| "refusal"
	| "perhaps_declined"
	| "flow"
	| "displaced"
	| "declined"
	| "no_answer"
	| "answered_in_words"
	| "requested"
	| "superseded"
	| "earlier_text_declined"
	| "earlier_text_unanswered"
	| "opted_out"
	| "resolved"
	| "too_old"
	| "quiet_hours"
	| "window_closed"
	| "bad_request"
	| "not_allowed"
	| "invalid_input"
	| "failing"
	| "blocked"
	| "unreadable"
	| "ambiguous";

/**
 * What an unfinished text waits for.
 * - A worker has to look at it, or to read its conversation: `restored`, `shows`, `unchanged`, `reading`. It ends then: `stopped`,
 *   `superseded`, `requested`, `too_old`, `opted_out`, `earlier_text_declined`, `earlier_text_unanswered`, `expires_tonight`,
 *   `window_closed`. Whether it ends is not certain yet: `opt_out_unclear`, `colleague_declined`, `window_unclear`
 * - A time: `not_before`, `quiet_hours`, `quiet_while_closed` (a reply, while the window is closed), `before_send`, `lost_request` (it is
 *   not known whether the last request was taken), `failing` (a call failed)
 * - Another text to the contact, which `id` names: `behind`, `behind_held` and `own_held` (the service holds that one). `colleague_held`:
 *   the service holds a colleague's text
 * - The AI: `flow` (a flow is in progress, such as the booking of a visit; marketing waits for the end of the AI's conversation too)
 * - The contact: `consent` (the service holds it until they consent), `refusal` (they refused something: marketing waits until they write),
 *   `perhaps_declined` (they tapped a button that may be a No: marketing waits until they write)
 * - A person: `suspended`, `wrong_number`, `hook_failed`, `consent_unavailable`, `language_required`, `language_unavailable`, `no_worker`
 *   (no process calls `work` or `runOnce`)
 * - The service: `pause` (calls fail), `result` (a request began, and its result is not known yet)
 */
export type WaitsForKind =
	| "restored"
	| "stopped"
	| "superseded"
	| "requested"
	| "too_old"
	| "opt_out_unclear"
	| "opted_out"
	| "earlier_text_declined"
	| "earlier_text_unanswered"
	| "expires_tonight"
	| "suspended"
	| "not_before"
	| "behind"
	| "pause"
	| "lost_request"
	| "behind_held"
	| "hook_failed"
	| "shows"
	| "wrong_number"
	| "refusal"
	| "perhaps_declined"
	| "quiet_hours"
	| "unchanged"
	| "reading"
	| "colleague_declined"
	| "colleague_held"
	| "own_held"
	| "window_unclear"
	| "quiet_while_closed"
	| "window_closed"
	| "flow"
	| "before_send"
	| "consent_unavailable"
	| "language_unavailable"
	| "language_required"
	| "consent"
	| "result"
	| "failing"
	| "no_worker";

/** What people are told beside the rules. */
export type BesideName = "consent" | "result" | "failing" | "no_worker";

/** The rules of a text that waits. Nobody is told of `send`, and a text that was put off is told of by the rule that did it. */
export type WaitingRule = Exclude<WaitsForKind, BesideName> | "put_off" | "send";

/** The rules of the gate. */
export type RuleName = WaitingRule | "hidden" | "taken_over" | "result" | "gone" | "in_queue" | "on_reply";
