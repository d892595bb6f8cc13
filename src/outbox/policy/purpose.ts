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
	/** What it does after a refusal that may mean the texts or the flat, until the contact writes again. */
	onRefusal: "send" | "wait";
	/** Whether a contact who declined an earlier text, and has not written since, gets it. What they declined came before. */
	afterDecline: "send" | "cancel";
	/** Which texts without an answer end it, if it was enqueued before they ended and the contact has not written since. */
	endedByIgnored: "none" | "notices" | "all";
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
		afterDecline: "send",
		endedByIgnored: "none",
		onOwnHeld: "send_if_open",
	},
	notice: {
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "send",
		afterDecline: "send",
		endedByIgnored: "notices",
		onOwnHeld: "wait",
	},
	marketing: {
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "wait",
		afterDecline: "cancel",
		endedByIgnored: "all",
		onOwnHeld: "wait",
	},
};

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
