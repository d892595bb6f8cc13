import type { RuleId } from "./rules.ts";

/** What decided a send, as everything was when it came. */
export interface SendDecision {
	/**
	 * `sent`: the text went out at once. `held`: it waits for consent. `repeat`: the operationId was known, and nothing was done.
	 * `refused`: nothing was sent or held.
	 */
	readonly outcome: "sent" | "held" | "repeat" | "refused";
	/** The rule that decided, by its number in docs/fidelity.md. */
	readonly rule: string;
	/** The same in a sentence or two, without a text, a name or a number of anybody. */
	readonly reason: string;
	/** The 24-hour window. */
	readonly window: {
		/** Whether it was open. */
		readonly open: boolean;
		/** When it ends or ended, ISO 8601 in UTC; null if the contact had never written. */
		readonly expiresAt: string | null;
		/** What had opened it last: words or files, a tapped button, or the contact's answer to the consent template. */
		readonly openedBy: "message" | "button" | "accepted" | "declined" | null;
	};
	/** The consent template. */
	readonly consent: {
		/** Whether the agency could ask for consent. */
		readonly canBeAsked: boolean;
		/** The newest template: the contact was asked and had not answered, or had answered so. Null if there was none. */
		readonly last: "asked" | "accepted" | "declined" | null;
	};
	/** The AI switch. */
	readonly ai: {
		/** Whether the AI could reply. */
		readonly enabled: boolean;
		/** Why it was off. */
		readonly disabledReason: "manual_send" | "user_toggle" | null;
	};
	/** The text that waited for consent already. */
	readonly held: {
		/** `queueId` of its send. */
		readonly queueId: string;
		/** When it was held or last changed, ISO 8601 in UTC. */
		readonly since: string;
		/** What became of it: it still waits, went out as this send's own text, or is never sent because this send replaced it. */
		readonly became: "kept" | "sent" | "replaced";
	} | null;
	/** What had become of the text of this operationId; null if the operationId was new or absent. */
	readonly before: "sent" | "held" | "dropped" | "replaced" | null;
}

/** The facts of a decision, noted before the send changes them. */
export type SendFacts = Omit<SendDecision, "outcome" | "rule" | "reason">;

type Wordless = Omit<SendDecision, "reason">;

/** A decision with its sentence. `became` says what the send did to the text that was held. */
export function decisionOf(
	facts: SendFacts,
	outcome: SendDecision["outcome"],
	rule: RuleId,
	became: NonNullable<SendDecision["held"]>["became"] = "kept",
): SendDecision {
	const decision = { ...facts, held: facts.held && { ...facts.held, became }, outcome, rule };
	return { ...decision, reason: reasonOf(decision) };
}

/** Says in words what decided a send. */
export function reasonOf(decision: Wordless): string {
	if (decision.outcome === "repeat") return repeatWords(decision);
	return [windowWords(decision), textWords(decision), aiWords(decision)].filter(Boolean).join(" ");
}

function windowWords({ window: { open, expiresAt, openedBy } }: Wordless): string {
	if (expiresAt === null) return "The window was closed: the contact had never written.";
	if (!open) return `The window was closed since ${minute(expiresAt)}.`;
	return `The window was open until ${minute(expiresAt)}: ${openers[openedBy ?? "message"]}.`;
}

const openers: Readonly<Record<"message" | "button" | "accepted" | "declined", string>> = {
	message: "the contact had written",
	button: "the contact had tapped a button",
	accepted: "the contact had accepted",
	declined: "the contact had declined, and a “No” opens the window like any other message",
};

function textWords({ outcome, held, before, consent }: Wordless): string {
	if (outcome === "refused") return consent.canBeAsked ? "" : "The agency could not ask for consent.";
	const again =
		before === "dropped" || before === "replaced" ? `The text of this operationId was ${before} before. ` : "";
	const since = held && `held since ${minute(held.since)}`;
	if (outcome === "held")
		return again + (since ? `So it took the place of the text ${since}.` : "So it was held, and consent was asked.");
	if (held?.became === "sent") return `So the text that was ${since} went out.`;
	const other =
		since && (held?.became === "kept" ? `The text ${since} still waits.` : `It replaced the text ${since}.`);
	return `${again}So it was sent at once.${other ? ` ${other}` : ""}`;
}

function aiWords({ outcome, ai: { enabled, disabledReason } }: Wordless): string {
	if (enabled) return `The AI was on${outcome === "refused" ? "" : ", and is off now"}.`;
	return `The AI was off ${disabledReason === "user_toggle" ? "by staff" : "after a manual send"}.`;
}

function repeatWords({ before, window }: Wordless): string {
	const first = {
		sent: `went out${window.open ? "" : ", though the window has closed since"}`,
		held: "is held",
		dropped: "was dropped",
		replaced: "was replaced",
	}[before ?? "sent"];
	return `A repeat of an earlier send, whose text ${first}: nothing was ${before === "held" ? "held" : "sent"} again.`;
}

/** A time as 2026-01-05 09:00 UTC. */
const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
