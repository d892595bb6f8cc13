/*
 * The life of a text, in sentences.
 */
import type { JournalEntry } from "./journal.ts";
import { saidByHook, shown } from "./sentences.ts";
import type { OutboxStatus } from "./status.ts";
import type { OutboxText } from "./text.ts";

/** What happened to a text. It holds no number and no text of it, but the reasons that your hooks gave. */
export interface Explanation {
	/** What is known of the text now. */
	status: OutboxStatus;
	/** Its steps, the oldest first. The first 8 and the last 24 are kept; none after `erase`. */
	steps: ExplainedStep[];
}

/** A step in the life of a text. */
export interface ExplainedStep {
	/** When it happened. */
	at: Date;
	/** When it happened for the last time, if it was repeated; else null. */
	until: Date | null;
	/** What was read, what was decided and why, in English. */
	sentence: string;
}

const reads: Readonly<Record<NonNullable<JournalEntry["read"]>, string>> = {
	message: "The conversation shows it as a message.",
	held: "The service holds it until the contact consents.",
	other: "The service holds another text for the contact.",
	asked: "The conversation shows a request for consent.",
	none: "It is not in the conversation.",
	twice: "The conversation shows two texts with these words.",
	hidden: "The agency has no conversation with the contact, or it is hidden.",
};

const states: Readonly<Record<string, string>> = {
	waiting: "It waits",
	sending: "It is being sent",
	held: "It is held until the contact consents",
	sent: "It is sent",
	delivered: "It was delivered",
	read: "It was read",
	failed: "It did not reach the phone",
	dropped: "It was dropped by the service",
	replaced: "Another text took its place",
	refused: "It ended as refused",
	expired: "It ended as expired",
	cancelled: "It ended as cancelled",
	unknown: "It is not known whether it was sent",
};

/** @param restoredBy the person who declared that it came back with a backup */
export function stepsOf(text: OutboxText, restoredBy: string | null = null): ExplainedStep[] {
	const { purpose, createdAt, notBefore, notAfter } = text;
	const limits = [
		notBefore === null ? "" : `before ${shown(notBefore)}`,
		notAfter === null ? "" : `after ${shown(notAfter)}`,
	].filter((limit) => limit !== "");
	const unless = limits.length === 0 ? "" : `, not to be sent ${limits.join(" or ")}`;
	const enqueued = { at: new Date(createdAt), until: null, sentence: `Enqueued (${purpose})${unless}.` };
	const journal = (text.progress.journal ?? []).filter(({ state }) => state !== undefined);
	const { cancelledBy, cancelledAt } = text.progress;
	const inTransaction =
		cancelledBy === undefined || cancelledAt === undefined
			? []
			: [
					{
						at: new Date(cancelledAt),
						until: null,
						sentence: `Cancelled in your transaction, as ${cancelledBy} said.`,
					},
				];
	const { restored } = text.progress;
	const fromBackup = restored
		? [
				{
					at: new Date(restored.to),
					until: null,
					sentence: `It came back with a backup of ${shown(restored.from)}${restoredBy === null ? "" : `, as ${restoredBy} said`}.`,
				},
			]
		: [];
	return [
		enqueued,
		...[...journal.map(stepFrom), ...inTransaction, ...fromBackup].sort((one, other) => +one.at - +other.at),
	];
}

function stepFrom(entry: JournalEntry): ExplainedStep {
	const {
		at,
		read,
		isOpen,
		state = "",
		reason,
		request,
		isUndone,
		error,
		isCancelled,
		hookReason,
		nextAt,
		by,
		times,
		until,
	} = entry;
	const said = [
		entry.omitted ? `(${entry.omitted} earlier steps are not kept.)` : "",
		read ? reads[read] : "",
		isOpen === undefined ? "" : `The window is ${isOpen ? "open" : "closed"}.`,
		request ? `Request ${request} begins.` : "",
		isUndone ? "The request was not made: too much time had passed since the read, or the worker stopped." : "",
		error ? `A call failed with ${error}.` : "",
		isCancelled ? "The outbox will not send it." : "",
		hookReason ? `A check of the application said${saidByHook({ progress: { hookReason } })}` : "",
		request ? "" : `${states[state] ?? state}${reason ? `, because of ${reason}` : ""}${by ? `, as ${by} said` : ""}.`,
		nextAt !== undefined && !request
			? `Next check at ${new Date(nextAt).toISOString().slice(0, 19).replace("T", " ")} UTC.`
			: "",
		times ? `Checked ${times} times.` : "",
	];
	return {
		at: new Date(at),
		until: until === undefined ? null : new Date(until),
		sentence: said.filter((each) => each !== "").join(" "),
	};
}
