/*
 * What a text is for, and what follows from it.
 */

/**
 * What a text is for.
 * - `reply`: an agent answers the contact
 * - `notice`: a visit is confirmed, a reminder
 * - `marketing`: new flats, a campaign
 */
export type Purpose = "reply" | "notice" | "marketing";

/** The most urgent one first. */
export const purposes = ["reply", "notice", "marketing"] as const satisfies readonly Purpose[];

/** When a text may take the place of one that the service holds for the contact. */
export type OnHeld = "wait" | "send_if_open" | "replace";

export interface Policy {
	/** Whether it waits for the end of the quiet hours. A reply does only while the window is closed. */
	keepsQuiet: "always" | "while_closed";
	/** Whether a contact who has opted out gets it, if they wrote afterwards. */
	afterOptOut: "never" | "if_they_wrote";
	/** What it does while the contact says that the number is wrong. */
	onWrongNumber: "send" | "wait";
	/** What it does after a refusal that may mean the texts or the flat, and after what may be a No, until the contact writes again. */
	onRefusal: "send" | "wait";
	/** Whether a No to another text ends it, if that came after it was enqueued. A reply is ended by a No to itself alone. */
	isEndedByDecline: boolean;
	/** Whether a contact who declined an earlier text, and has not written since, gets it. What they declined came before. */
	afterDecline: "send" | "cancel";
	/** Whether an earlier text without an answer ends it, if it was enqueued before that one ended and the contact has not written since. */
	isEndedByIgnored: boolean;
	/** What happens while the window is closed. Marketing never asks for consent, so that neither its wait nor its No costs a notice. */
	whenClosed: "ask" | "skip";
	/** A window that ends within this time counts as closed. */
	leastOpenMs: number;
	/** What a No to it stops, if the service holds it: what waits for the contact, or marketing alone. */
	declineStops: "all" | "marketing";
	/** What it does during a flow, such as the booking of a visit, which it would end. Only what waits for its end lets the AI finish too. */
	inFlow: "send" | "wait_briefly" | "wait";
	/** What it does while the service holds another text of this outbox. A text of somebody else is waited for. */
	onOwnHeld: OnHeld;
}

/** What each purpose means. */
export const policies: Record<Purpose, Policy> = {
	reply: {
		keepsQuiet: "while_closed",
		afterOptOut: "if_they_wrote",
		onWrongNumber: "send",
		onRefusal: "send",
		isEndedByDecline: false,
		afterDecline: "send",
		isEndedByIgnored: false,
		whenClosed: "ask",
		leastOpenMs: 0,
		declineStops: "all",
		inFlow: "send",
		onOwnHeld: "send_if_open",
	},
	notice: {
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "send",
		isEndedByDecline: true,
		afterDecline: "send",
		isEndedByIgnored: true,
		whenClosed: "ask",
		leastOpenMs: 0,
		declineStops: "all",
		inFlow: "wait_briefly",
		onOwnHeld: "wait",
	},
	marketing: {
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "wait",
		isEndedByDecline: true,
		afterDecline: "cancel",
		isEndedByIgnored: true,
		whenClosed: "skip",
		leastOpenMs: 5 * 60_000,
		declineStops: "marketing",
		inFlow: "wait",
		onOwnHeld: "wait",
	},
};

/** What happens to a text while the window is closed: what was given, or what its purpose means. */
export function whenClosedOf({
	purpose,
	given,
}: {
	purpose: Purpose;
	given: { whenClosed?: "ask" | "skip" | undefined };
}): "ask" | "skip" {
	return given.whenClosed ?? policies[purpose].whenClosed;
}

/**
 * Which of two texts comes first among what is due, by purpose and then by priority: below 0 the first one. Statements order by the
 * names of the purposes, whose alphabet happens to be the reverse.
 */
export function byUrgency(one: Urgency, other: Urgency): number {
	return purposes.indexOf(one.purpose) - purposes.indexOf(other.purpose) || other.priority - one.priority;
}

interface Urgency {
	purpose: Purpose;
	priority: number;
}
