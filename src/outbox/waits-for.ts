/*
 * What an unfinished text waits for, in a sentence for a support desk.
 */
import { isInDoubt, onOwnHeldOf } from "./decide.ts";
import { allSends, type StoredPause, type StoredSuspension, type StoredWorker } from "./store.ts";
import { suspensionOf } from "./suspension.ts";
import type { OutboxReason, OutboxText } from "./text.ts";

/**
 * What a text waits for.
 * - `suspension`: a person called `suspend`
 * - `earlier_text`: a text to the contact that was enqueued before it, or is more urgent
 * - `held_text`: the service holds another text for the contact, of this outbox (`id`) or of somebody else
 * - `consent`: the service holds it until the contact consents
 * - `result`: a request began, and its result is not known yet
 * - `not_before`: its time, as given to `enqueue` or by `beforeSend`
 * - `quiet_hours`: their end
 * - `wrong_number`: a person, who calls `optIn` if the number is right, or cancels it: the contact wrote that it is wrong
 * - `refusal`: the contact, who has refused something and has not written since
 * - `worker`: a process that calls `work` or `runOnce`
 * - `pause`: something keeps the texts of the agency, or all texts, from being sent
 * - `settings`: the agency cannot ask for consent, or not in a language
 * - `hook`: `beforeSend`, `onReply`, `optOut` or the time zone of the quiet hours failed
 * - `retry`: the next try
 * - `turn`: its turn, within moments
 */
export type WaitsForKind =
	| "suspension"
	| "earlier_text"
	| "held_text"
	| "consent"
	| "result"
	| "not_before"
	| "quiet_hours"
	| "wrong_number"
	| "refusal"
	| "worker"
	| "pause"
	| "settings"
	| "hook"
	| "retry"
	| "turn";

/** What an unfinished text waits for. */
export interface WaitsFor {
	/** The kind of cause. */
	kind: WaitsForKind;
	/** The cause in a sentence, for a support desk. It holds no number and no text. */
	sentence: string;
	/** Id of the contact's other text that has to end first; null if there is none, or if it is not of this outbox. */
	id: string | null;
	/** When the wait ends at the earliest; null if that can't be known. */
	until: Date | null;
}

/** What the store knows at a moment. */
export interface Situation {
	/** The contact's text whose turn it is. */
	head: OutboxText | undefined;
	suspensions: readonly StoredSuspension[];
	pauses: readonly StoredPause[];
	workers: readonly StoredWorker[];
	now: number;
}

/** A worker gives a sign of life every 5 seconds. */
const deadAfterMs = 60_000;
/** A cron job that calls `runOnce` comes at least this often. */
const onceDeadAfterMs = 15 * 60_000;

/** Whether a worker is at work, as far as its signs of life tell. */
export function isAlive({ runsOnce, silentMs }: StoredWorker): boolean {
	return silentMs < (runsOnce ? onceDeadAfterMs : deadAfterMs);
}

export function waitsForOf(text: OutboxText, situation: Situation): WaitsFor {
	const found = firstCause(text, situation);
	const isSaid = found.sentence.includes("No worker is running");
	const isHopeless = !isSaid && !situation.workers.some(isAlive);
	return isHopeless ? { ...found, sentence: `${found.sentence} Besides, no worker is running.` } : found;
}

function firstCause(text: OutboxText, situation: Situation): WaitsFor {
	const { state, reason, progress, agencyId } = text;
	const { head, suspensions, pauses, workers, now } = situation;
	const nextAt = Math.max(text.nextAt ?? 0, text.readyAt);
	const concerned = ["", agencyId, ...(state === "waiting" ? [allSends] : [])];
	const pause = concerned.map((name) => pauses.find((each) => each.agencyId === name)).find(Boolean);
	if (state === "held") return cause("consent", [heldSentence(text), ...(pause ? [pausedIn(pause)] : [])].join(" "));
	if (state === "sending") {
		const isUnderWay = progress.failures === 0 && nextAt > now;
		const what = isUnderWay ? "Is being sent; the result is not known yet." : lostSentence;
		const sentence = [what, ...(pause ? [pausedIn(pause)] : [])].join(" ");
		return cause("result", sentence, { until: Math.max(now, nextAt) });
	}
	const suspension = suspensionOf(agencyId, suspensions);
	if (suspension) return cause("suspension", suspendedIn(suspension));
	if (reason === "wrong_number") return cause(reason, wrongNumberSentence);
	if (reason === "refusal") return cause(reason, refusalSentence);
	if ((reason === null || reason === "before_send") && text.readyAt > now)
		return cause("not_before", `Is not to be sent before ${shown(text.readyAt)}.`, { until: text.readyAt });
	if (head && head.id !== text.id && !isKeptFromPassing(text, head, pause)) {
		const isHeld = head.state === "held";
		const sentence = isHeld
			? `Waits for another text to the contact (${head.id}), which the service holds until they consent.`
			: `Waits for another text to the contact (${head.id}). About that one: ${firstCause(head, { ...situation, head }).sentence}`;
		return cause(isHeld ? "held_text" : "earlier_text", sentence, { id: head.id });
	}
	if (reason === "quiet_hours" && isInDoubt(text))
		return cause("result", doubtSentence, { until: Math.max(now, nextAt) });
	if (reason === "quiet_hours" && nextAt > now)
		return cause("quiet_hours", `Waits for the end of the quiet hours, at ${shown(nextAt)}.`, { until: nextAt });
	if (pause) return cause("pause", pausedIn(pause), { until: Math.max(now, nextAt, pause.until) });
	const setting = reason && settings[reason];
	if (setting) return cause("settings", setting, { until: Math.max(now, nextAt) });
	if (reason === "before_send_failed")
		return cause("hook", "Waits: a check of the application before sending failed.", { until: Math.max(now, nextAt) });
	if (!workers.some(isAlive)) return cause("worker", withoutWorker(workers, now));
	const when = nextAt > now ? `Waits for the next attempt, at ${shown(nextAt)}.` : "The next attempt is under way.";
	const why = progress.error ? ` The last one ended with ${progress.error.tag}.` : "";
	const retry = cause("retry", `${when}${why}`, { until: Math.max(now, nextAt) });
	const rule = progress.wait?.because;
	if (rule === "colleague_declined") return cause("retry", declinedSentence, { until: Math.max(now, nextAt) });
	if (rule === "colleague_held") return cause("held_text", colleagueSentence, { until: Math.max(now, nextAt) });
	if (progress.failures + progress.attempts > 0) return retry;
	return cause("turn", "Waits to be sent: its turn comes within moments.", { until: Math.max(now, nextAt) });
}

/** Whether a text need not wait for the one that the service holds, and something else keeps it back. */
function isKeptFromPassing(text: OutboxText, head: OutboxText, pause: StoredPause | undefined): boolean {
	if (head.state !== "held" || onOwnHeldOf(text, head, { onHeld: undefined }) === "wait") return false;
	return pause !== undefined || text.reason !== null || text.progress.failures > 0;
}

export const wrongNumberSentence =
	"Waits: the contact wrote that the number is wrong. If it is right, say so with optIn; otherwise cancel the text.";

export const refusalSentence =
	"Waits: the contact has refused something, perhaps the flat. Marketing goes on once they have written again.";

export const colleagueSentence = "Waits: the service holds a text of somebody else for the contact.";

export const declinedSentence =
	"Waits to be certain: the contact seems to have declined a text of somebody else, which would end this one too.";

/** Of a text whose request has ended without a result. */
export const lostSentence =
	"A request was made, and it is not known yet whether it was taken: the conversation is read to find out.";

/** Of a text that comes due in the quiet hours after a request without a known result. */
export const doubtSentence =
	"It is not known yet whether a request was taken. It is looked for again and again, and not sent again before the quiet hours end.";

/** What a text that the service holds waits for. */
export function heldSentence({ reason, progress }: OutboxText): string {
	if (progress.cancelRequested)
		return "It was cancelled too late: the service holds it, and still delivers it if the contact consents.";
	if (reason === "before_send_failed")
		return "Waits for the contact's consent. They have answered, and a check of the application failed.";
	return "Waits for the contact's consent.";
}

function cause(
	kind: WaitsForKind,
	sentence: string,
	{ id = null, until }: { id?: string | null; until?: number } = {},
): WaitsFor {
	return { kind, sentence, id, until: until === undefined ? null : new Date(until) };
}

/** Such as 2026-01-05 09:00 UTC. */
export function shown(ms: number): string {
	return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

export function suspendedIn({ agencyId, reason, by, since }: StoredSuspension): string {
	const what = agencyId === "" ? "All sends were suspended" : "Sends of the agency were suspended";
	return `${what}${by === null ? "" : ` by ${by}`} on ${shown(since)}: ${reason.replace(/[.!?]?$/, (end) => end || ".")}`;
}

function withoutWorker([last]: readonly StoredWorker[], now: number): string {
	const seen = last
		? `the last sign of one is from ${shown(now - last.silentMs)}`
		: "each one that ran has stopped in order, or none has run within a day";
	return `No worker is running: ${seen}. Start a process that calls work or runOnce.`;
}

/** Why texts are paused. */
const causes: Readonly<Record<string, string>> = {
	key: "the service refuses the API key, or no key can be had",
	forbidden: "the service refuses the key for this agency: the agency is not linked, or the key lacks a scope",
	rate_limited: "the service takes no more requests for now (429)",
	unreachable: "the service cannot be reached",
	gateway: "something in front of the service, such as a firewall, refuses requests",
	consent_unavailable:
		"it cannot ask contacts for consent, for example because its template is not approved. Texts to contacts who wrote within a day go out",
	language_required: "it has several languages and no default one, and texts choose none",
	language_unavailable: "it does not have the language of texts",
	hook_failed: "a check of the application before sending fails",
	wrong_number: "contacts wrote that their number is wrong. Only texts to them wait",
};

/** What a 403 means for everybody. */
const refusals: ReadonlyMap<string, string> = new Map([
	[allSends, "the key lacks the scope messages:write. Messages are still read"],
	["", "the key lacks the scope conversations:read, belongs to another integration, or its integration is gone"],
]);

/** Why texts are paused. */
export function causeIn(reason: string): string {
	return causes[reason] ?? `calls of the kind "${reason}" fail`;
}

function pausedIn({ agencyId, cause, until, since }: StoredPause): string {
	const what = agencyId === "" || agencyId === allSends ? "All texts are paused" : "The agency's texts are paused";
	const why = (cause === "forbidden" && refusals.get(agencyId)) || causeIn(cause);
	return `${what} since ${shown(since)}: ${why}. The next try is at ${shown(until)}.`;
}

/** Settings of the agency that keep its texts back. */
const settings: Partial<Record<OutboxReason, string>> = {
	consent_unavailable:
		"Waits: the agency cannot ask contacts for consent at the moment, for example because its template is not approved.",
	language_required: "Waits: the agency has several languages and no default one. Choose a language for the text.",
	language_unavailable: "Waits: the agency does not have the text's language.",
};
