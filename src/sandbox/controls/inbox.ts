import { iso } from "../world/instant.ts";
import type { Thread } from "../world/world.ts";

/** A text or a template that a contact's phone got. */
export interface InboxEntry {
	/** `template` for the request for consent and for each template of the AI. Everything else is a `text`, also one with buttons. */
	readonly kind: "text" | "template";
	/** The text. */
	readonly body: string;
	/** The code of the template; null for a text. */
	readonly templateCode: string | null;
	/** The language of the consent template; null for a text and for a template of the AI. */
	readonly language: string | null;
	/** The operationId of the send whose text this is; null without one, and for a template. */
	readonly operationId: string | null;
	/** The agency's sender it came from. */
	readonly sender: string | null;
	/** When it was sent, ISO 8601 in UTC. */
	readonly at: string;
}

export function inboxOf({ messages }: Pick<Thread, "messages">): InboxEntry[] {
	return messages
		.filter(({ outbound, status }) => outbound && status !== "failed" && status !== "undelivered")
		.map(({ body, at, extras = {} }) => ({
			kind: extras.templateName === undefined ? "text" : "template",
			body: body ?? "",
			templateCode: extras.templateName ?? null,
			language: extras.language ?? null,
			operationId: extras.operationId ?? null,
			sender: extras.sender ?? null,
			at: iso(at),
		}));
}
