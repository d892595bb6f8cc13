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

export const purposes = ["reply", "notice", "marketing"] as const satisfies readonly Purpose[];

/** When a text may take the place of one that the service holds for the contact. */
export type OnHeld = "wait" | "send_if_open" | "replace";

export interface Policy {
	/** Among what is due, higher ones come first. It is added to the priority of the text. */
	order: number;
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
		order: 10_000_000,
		keepsQuiet: "while_closed",
		afterOptOut: "if_they_wrote",
		onWrongNumber: "send",
		onRefusal: "send",
		afterDecline: "send",
		endedByIgnored: "none",
		onOwnHeld: "send_if_open",
	},
	notice: {
		order: 0,
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "send",
		afterDecline: "send",
		endedByIgnored: "notices",
		onOwnHeld: "wait",
	},
	marketing: {
		order: -10_000_000,
		keepsQuiet: "always",
		afterOptOut: "never",
		onWrongNumber: "wait",
		onRefusal: "wait",
		afterDecline: "cancel",
		endedByIgnored: "all",
		onOwnHeld: "wait",
	},
};

/** The purpose of a stored text. Its `priority` shows it, because priorities are smaller by far than the distance of two purposes. */
export function purposeOf({ priority }: { priority: number }): Purpose {
	return purposes.find((purpose) => Math.abs(priority - policies[purpose].order) < 5_000_000) ?? "notice";
}

/** The priority of a text among all, by its purpose first. */
export function orderOf(purpose: Purpose, priority: number): number {
	return policies[purpose].order + priority;
}

/** The priority that was given to `enqueue`. */
export function priorityOf(text: { priority: number }): number {
	return text.priority - policies[purposeOf(text)].order;
}
