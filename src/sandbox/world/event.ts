import type { OperationId } from "../base/contract.ts";
import type { SendDecision } from "./decision.ts";
import type { FaultKind } from "./fault.ts";
import type { RequestKey } from "./journal.ts";

/** The fields of every event. */
export interface EventStamp {
	/** Rises by one with each event; pass it as `after` to read what came later. Reset and restore do not set it back. */
	readonly id: number;
	/**
	 * The `id` of the first event of the same action: of one call of a control, or of what a request did at once. The events of
	 * an action follow one another, and between them the world was never to be seen.
	 */
	readonly action: number;
	/** The sandbox's time, ISO 8601 in UTC. */
	readonly at: string;
	/** The real time, ISO 8601 in UTC. */
	readonly realAt: string;
	/** `X-Correlation-Id` of the request during which it happened; null when a control or the clock did it. */
	readonly correlationId: string | null;
}

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

// No interfaces: the declarations of a library that exports an event can write these out, and need no name.
type OfMessage = {
	/** `id` of the message, as it is read. */
	readonly messageId: number;
};

type OfSent = OfMessage & {
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
};

type OfText = {
	/** The text. */
	readonly body: string;
	/** The operationId of its send, if it had one. */
	readonly operationId: string | null;
};

type OfQueue = {
	/** `queueId` of the send that held a text. */
	readonly queueId: string;
};

type OfConsent = {
	/** Whether a text was waiting. */
	readonly hadHeldText: boolean;
};

type OfFlow = {
	/** The id of the flow, as in `sandbox.flow(id)`. */
	readonly flowId: string;
};

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

type OfFault = {
	/** The fault, with what is left of it. */
	readonly fault: EventFault;
};

type OfBreakpoint = {
	/** The id of the breakpoint, as in `breakpoints.list()`. */
	readonly breakpointId: string;
};

type OfRequest = {
	/** The HTTP method, as it came. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
};

/** Events of the whole sandbox, by `type`, with what each carries beside {@link EventStamp}. */
export interface SandboxWideEvents {
	/** The clock moved. Steps of less than a second in a row, as with `--follow`, are kept as one. */
	"clock.moved": {
		/** The time before. */
		readonly from: string;
		/** The time now. */
		readonly to: string;
	};
	/** An agency was made, linked, unlinked, renamed, or its settings changed. */
	"agency.changed": {
		/** As `me.get` gives it. */
		readonly agencyId: string;
	};
	/** A key or an integration was made or changed. */
	"access.changed": {
		/** As `me.get` gives it. */
		readonly integrationId: string;
	};
	/** A fault was added. */
	"fault.added": OfFault;
	/** A fault was removed before it had hit as often as it was to. */
	"fault.removed": {
		/** Its id. */
		readonly faultId: string;
	};
	/** A fault hit a request. */
	"fault.hit": OfFault & {
		/** The operation of the request. */
		readonly operation: OperationId;
	};
	/** A breakpoint was added. */
	"breakpoint.added": OfBreakpoint;
	/** A breakpoint was removed before it had held as many requests as it was to. */
	"breakpoint.removed": OfBreakpoint;
	/** A request waits at a breakpoint, before its operation runs; `correlationId` names it. */
	"request.held": OfBreakpoint & {
		/** The operation of the request. */
		readonly operation: OperationId;
	};
	/** A request that waited continues. If its caller gives up, this event doesn't come. */
	"request.resumed": {
		/** The fault with which it continues; null if it is carried out as it came. */
		readonly kind: FaultKind | null;
		/** Whether that fault hits before the operation runs or after; null without one. */
		readonly phase: "before" | "after" | null;
	};
	/** A request was answered, or a fault left it without an answer. */
	request: OfRequest & {
		/** Null for openapi.json and for paths that the service lacks. */
		readonly operation: OperationId | null;
		/** The query as it came, without the question mark. */
		readonly query: string;
		/** The agency that the path names; null without one. */
		readonly agencyId: string | null;
		/** The contact that the path or the body names, E.164; null without one. */
		readonly contact: string | null;
		/** The body: as JSON when it is JSON, else as text; null without one. */
		readonly body: unknown;
		/** The status answered; null when no answer came. */
		readonly status: number | null;
		/** Why it was refused, or how a fault changed the answer; null for any other request. */
		readonly explanation: string | null;
		/** What decided a send, and by which rule; null for any other request, and for one that was never examined. */
		readonly decision: SendDecision | null;
		/** The answer's body: as JSON when it is JSON, else as text; null without one. */
		readonly answer: unknown;
		/** Real milliseconds from request to answer. */
		readonly ms: number;
		/** The fault that hit it last; null without one. */
		readonly fault: EventFault | null;
		/** The id of the key, when the key was good. */
		readonly keyId: string | null;
		/** What the request had as its key, good or not. */
		readonly key: RequestKey;
		/** By lower-case name, without the key; other secrets are masked. */
		readonly headers: Readonly<Record<string, string>>;
	};
	/** A client did what a good client would not do. */
	violation: OfRequest & {
		/** The rule, by its number in docs/fidelity.md. */
		readonly rule: string;
		/** The violation in words. */
		readonly message: string;
		/** Why it is wrong here, in a sentence or two. */
		readonly explanation: string;
	};
	/** A scenario was added to what was there. */
	"scenario.loaded": {
		/** Its name. */
		readonly scenario: string;
	};
	/** `reset()`: everything is as new, and older events are gone. */
	"sandbox.reset": Empty;
	/** `restore()`: everything is as it was at a snapshot. So begins a sandbox of the command that continues a `--state` file. */
	"sandbox.restored": {
		/** `id` of the last event before the snapshot: what came after it is undone. 0 for a snapshot of another sandbox. */
		readonly lastEventId: number;
	};
	/** `import()` of a bug file: everything is as in the file, the events too, which come before this one. */
	"sandbox.opened": Empty;
}

/** A fault, as events describe it. */
export interface EventFault {
	/** Its id, as in `faults.list()`. */
	readonly id: string;
	/** The operation that it hits; null for all six. */
	readonly operation: OperationId | null;
	/** Whether it hits before the operation runs or after. */
	readonly phase: "before" | "after";
	/** The change of the answer. */
	readonly kind: FaultKind;
	/** The status that it answers; null where the kind has one of its own. */
	readonly status: number | null;
	/** How many requests it will still hit; null is without end. */
	readonly remaining: number | null;
}

type Stamped<Events, About> = {
	[Type in keyof Events]: EventStamp & About & { readonly type: Type } & Events[Type];
}[keyof Events];

/** Something that happened in a sandbox; its other fields depend on `type`. */
export type SandboxEvent = Stamped<ConversationEvents, EventContact> | Stamped<SandboxWideEvents, unknown>;

/** The types of events. */
export type SandboxEventType = SandboxEvent["type"];
