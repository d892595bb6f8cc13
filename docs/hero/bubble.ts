/** A message on Anna's phone. */
export interface Bubble {
	readonly isHers: boolean;
	readonly body: string;
	/** ISO 8601. */
	readonly at: string;
	/** The buttons that she can still tap. */
	readonly buttons: readonly { readonly code: string; readonly text: string }[];
}

/** What she wrote before the visitor came. */
export const firstMessage = "Is the flat still free?";

/** The phone before the sandbox has started, so that the page needs no script for its first view. */
export const firstBubbles: readonly Bubble[] = [
	{ isHers: true, body: firstMessage, at: "2026-01-05T09:00:00.000Z", buttons: [] },
];

export const firstText = "It is. Would Friday at 10:00 suit you?";
