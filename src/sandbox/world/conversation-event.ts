/** Who wrote a text of the agency: the CRM through the API, a person of the agency, or its AI. */
export type Author = "api" | "staff" | "ai";

/** Which conversation an event is about. */
export interface EventContact {
	/** The agency that owns the conversation. */
	readonly agencyId: string;
	/** The contact's phone number, E.164. */
	readonly contact: string;
	/** The contact's name, when known. */
	readonly name: string | null;
}

/** A text that was held, and then was not sent. */
export interface LostText {
	/** The text. */
	readonly body: string;
	/** The operationId of its send, if it had one. */
	readonly operationId: string | null;
	/** When it was held or last changed, ISO 8601 in UTC. */
	readonly heldAt: string;
}

interface OfMessage {
	/** `id` of the message, as it is read. */
	readonly messageId: number;
}

interface OfSent extends OfMessage {
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
}

interface OfText {
	/** The text. */
	readonly body: string;
	/** The operationId of its send, if it had one. */
	readonly operationId: string | null;
}

interface OfQueue {
	/** `queueId` of the send that held a text. */
	readonly queueId: string;
}

interface OfConsent {
	/** Whether a text was waiting. */
	readonly hadHeldText: boolean;
}

interface OfFlow {
	/** The id of the flow, as in `sandbox.flow(id)`. */
	readonly flowId: string;
}

/** Events of one conversation, by `type`, with what each carries beside its stamp and {@link EventContact}. */
export interface ConversationEvents {
	/** The contact wrote, or tapped a button. */
	"contact.wrote": OfMessage & {
		/** Null for files only. */
		readonly body: string | null;
		/** The code of the tapped button; null for a message. */
		readonly buttonClicked: string | null;
		/** How many files came with it. */
		readonly files: number;
	};
	/** The contact's phone read what the agency had sent. */
	"contact.read": {
		/** How many messages it read. */
		readonly messages: number;
	};
	/** Messages to the contact fail from now on, or arrive again. */
	"contact.reachable": {
		/** Whether they arrive. */
		readonly reachable: boolean;
	};
	/** The agency knows the contact by another name; `name` is the new one. */
	"contact.named": Empty;
	/** A text of the agency went out. */
	"text.sent": OfSent &
		OfText & {
			/** Who wrote it: the CRM through the API, staff, or the AI. */
			readonly author: Author;
			/** The queue entry in which it waited for consent; null for a text that never waited. */
			readonly queueId: string | null;
		};
	/** A text waits for the contact's consent, because the window is closed. */
	"text.held": OfQueue &
		OfText & {
			/** Who wrote it. */
			readonly author: Author;
			/** When it is dropped without an answer. */
			readonly expiresAt: string;
		};
	/** Another send replaced the held text, which is never sent; `body` and `operationId` are the new one's. */
	"text.replaced": OfQueue &
		OfText & {
			/** The text that is never sent. */
			readonly replaced: LostText;
			/** True when the new text is held in its place; false when it was sent at once. */
			readonly held: boolean;
			/** When the new text is dropped without an answer; null when it was sent. */
			readonly expiresAt: string | null;
		};
	/** The held text was dropped and is never sent. */
	"text.dropped": OfQueue &
		LostText & {
			/** The contact declined, or did not answer in time. */
			readonly reason: "declined" | "expired";
		};
	/** The consent template went out. */
	"consent.asked": OfMessage & {
		/** The code of the template. */
		readonly templateCode: string;
		/** The language of the template. */
		readonly language: string | null;
	};
	/** The contact accepted the consent template. */
	"consent.accepted": OfConsent;
	/** The contact declined the consent template. */
	"consent.declined": OfConsent;
	/** The 24-hour window opened. A message in an open window moves its end without an event of its own. */
	"window.opened": {
		/** When it closes, unless the contact writes again. */
		readonly expiresAt: string;
	};
	/** The 24-hour window closed, 24 hours after the last inbound message. */
	"window.closed": Empty;
	/** The AI may reply again. */
	"ai.on": {
		/** The contact wrote more than 24 hours after the manual message, or staff turned it on. */
		readonly reason: "contact_wrote" | "staff";
	};
	/** The AI was turned off. */
	"ai.off": {
		/** A person or the API sent a message, or staff turned it off. */
		readonly reason: "manual_send" | "user_toggle";
	};
	/** An automated flow started. */
	"flow.started": OfFlow;
	/** A flow's status changed; a send ends a flow in progress as `cancelled`. */
	"flow.changed": OfFlow & {
		/** The new status. */
		readonly status: string;
	};
	/** The messaging provider reported on a message. */
	"message.status": OfSent & {
		/** The new status. */
		readonly status: string;
		/** The provider's error code. */
		readonly errorCode: number | null;
	};
	/** A control changed how agencies see the conversation, or another party took it over. */
	"conversation.changed": Empty;
}

/** An event that carries nothing else. */
export type Empty = Readonly<Record<never, never>>;
