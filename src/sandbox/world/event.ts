import type { FaultKind } from "./faults.ts";
import type { OperationId } from "./journal.ts";

/** Who wrote a text of the agency: the CRM through the API, a person of the agency, or its AI. */
export type Author = "api" | "staff" | "ai";

/** What every event has. */
export interface EventStamp {
	/** Rises by one with each event; pass it as `after` to read what came later. Reset and restore do not set it back. */
	readonly id: number;
	/** The sandbox's time, ISO 8601 in UTC. */
	readonly at: string;
	/** `X-Correlation-Id` of the request during which it happened; null when a control or the clock did it. */
	readonly correlationId: string | null;
}

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

/** Events of one conversation, by `type`, with what each carries beside {@link EventStamp} and {@link EventContact}. */
export interface ConversationEvents {
	/** The contact wrote, or tapped a button. */
	"contact.wrote": {
		readonly messageId: number;
		/** Null for files only. */
		readonly body: string | null;
		/** The code of the tapped button; null for a message. */
		readonly buttonClicked: string | null;
		/** How many files came with it. */
		readonly files: number;
	};
	/** The contact's phone read what the agency had sent. */
	"contact.read": { readonly messages: number };
	/** Messages to the contact fail from now on, or arrive again. */
	"contact.reachable": { readonly reachable: boolean };
	/** The agency knows the contact by another name; `name` is the new one. */
	"contact.named": Empty;
	/** A text of the agency went out. */
	"text.sent": {
		readonly messageId: number;
		readonly messageSid: string;
		readonly body: string;
		readonly operationId: string | null;
		/** Who wrote it: the CRM through the API, staff, or the AI. */
		readonly author: Author;
		/** The queue entry in which it waited for consent; null for a text that never waited. */
		readonly queueId: string | null;
	};
	/** A text waits for the contact's consent, because the window is closed. */
	"text.held": {
		readonly queueId: string;
		readonly body: string;
		readonly operationId: string | null;
		readonly author: Author;
		/** When it is dropped without an answer. */
		readonly expiresAt: string;
	};
	/** Another send replaced the held text, which is never sent. */
	"text.replaced": {
		readonly queueId: string;
		/** The text that is never sent. */
		readonly replaced: LostText;
		/** The text that took its place. */
		readonly body: string;
		readonly operationId: string | null;
		/** True when the new text is held in its place; false when it was sent at once. */
		readonly held: boolean;
		/** When the new text is dropped without an answer; null when it was sent. */
		readonly expiresAt: string | null;
	};
	/** The held text was dropped and is never sent: the contact declined, or did not answer in time. */
	"text.dropped": { readonly queueId: string; readonly reason: "declined" | "expired" } & LostText;
	/** The consent template went out. */
	"consent.asked": { readonly messageId: number; readonly templateCode: string; readonly language: string | null };
	/** The contact accepted the consent template. */
	"consent.accepted": { readonly hadHeldText: boolean };
	/** The contact declined the consent template. */
	"consent.declined": { readonly hadHeldText: boolean };
	/** The 24-hour window opened. A message in an open window moves its end without an event of its own. */
	"window.opened": { readonly expiresAt: string };
	/** The 24-hour window closed, 24 hours after the last inbound message. */
	"window.closed": Empty;
	/** The AI may reply again. */
	"ai.on": { readonly reason: "contact_wrote" | "staff" };
	/** The AI was turned off: a person or the API sent a message, or staff turned it off. */
	"ai.off": { readonly reason: "manual_send" | "user_toggle" };
	/** An automated flow started. */
	"flow.started": { readonly flowId: string };
	/** A flow's status changed; a send ends a flow in progress as `cancelled`. */
	"flow.changed": { readonly flowId: string; readonly status: string };
	/** The messaging provider reported on a message. */
	"message.status": {
		readonly messageId: number;
		readonly messageSid: string;
		readonly status: string;
		readonly errorCode: number | null;
	};
	/** A control changed how agencies see the conversation, or another party took it over. */
	"conversation.changed": Empty;
}

/** Events of the whole sandbox, by `type`, with what each carries beside {@link EventStamp}. */
export interface SandboxWideEvents {
	/** The clock moved. Steps of less than a second in a row, as with `--follow`, are kept as one. */
	"clock.moved": { readonly from: string; readonly to: string };
	/** An agency was made, linked, unlinked, renamed, or its settings changed. */
	"agency.changed": { readonly agencyId: string };
	/** A key or an integration was made or changed. */
	"access.changed": { readonly integrationId: string };
	/** A fault was added. */
	"fault.added": { readonly fault: EventFault };
	/** A fault was removed before it had hit as often as it was to. */
	"fault.removed": { readonly faultId: string };
	/** A fault hit a request. */
	"fault.hit": { readonly fault: EventFault; readonly operation: OperationId };
	/** A request was answered, or a fault left it without an answer. */
	request: {
		/** Null for openapi.json and for paths that the service lacks. */
		readonly operation: OperationId | null;
		readonly method: string;
		/** Path below the base URL, as it came, without the query. */
		readonly path: string;
		readonly query: string;
		/** The agency that the path names; null without one. */
		readonly agencyId: string | null;
		/** The contact that the path or the body names, E.164; null without one. */
		readonly contact: string | null;
		/** The body: as JSON when it is JSON, else as text; null without one. */
		readonly body: unknown;
		/** The status answered; null when no answer came. */
		readonly status: number | null;
		/** The answer's body: as JSON when it is JSON, else as text; null without one. */
		readonly answer: unknown;
		/** Real milliseconds from request to answer. */
		readonly ms: number;
		/** The fault that hit it last; null without one. */
		readonly fault: EventFault | null;
		/** The id of the key, when the key was good. */
		readonly keyId: string | null;
	};
	/** A client did what a good client would not do. */
	violation: { readonly rule: string; readonly message: string; readonly method: string; readonly path: string };
	/** A scenario was added to what was there. */
	"scenario.told": { readonly scenario: string };
	/** `reset()`: everything is as new, and older events are gone. */
	"sandbox.reset": Empty;
	/** `restore()`: everything is as it was at a snapshot. */
	"sandbox.restored": Empty;
	/** `import()`: everything is as another sandbox exported it. */
	"sandbox.imported": Empty;
}

/** A fault, as events describe it. */
export interface EventFault {
	/** Its id, as in `faults.list()`. */
	readonly id: string;
	readonly operation: OperationId | null;
	readonly phase: "before" | "after";
	readonly kind: FaultKind;
	/** The status that it answers; null where the kind has one of its own. */
	readonly status: number | null;
	/** How many requests it will still hit; null is without end. */
	readonly remaining: number | null;
}

/** An event that carries nothing else. */
type Empty = Readonly<Record<never, never>>;

type Stamped<Events, About> = {
	[Type in keyof Events]: EventStamp & About & { readonly type: Type } & Events[Type];
}[keyof Events];

/** Something that happened in a sandbox; its other fields depend on `type`. */
export type SandboxEvent = Stamped<ConversationEvents, EventContact> | Stamped<SandboxWideEvents, unknown>;

/** The types of events. */
export type SandboxEventType = SandboxEvent["type"];
