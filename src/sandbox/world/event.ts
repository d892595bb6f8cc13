import type { ConversationEvents, Empty, EventContact } from "./conversation-event.ts";
import type { FaultKind } from "./faults.ts";
import type { OperationId } from "./journal.ts";

/** The fields of every event. */
export interface EventStamp {
	/** Rises by one with each event; pass it as `after` to read what came later. Reset and restore do not set it back. */
	readonly id: number;
	/** The sandbox's time, ISO 8601 in UTC. */
	readonly at: string;
	/** The real time, ISO 8601 in UTC. */
	readonly realAt: string;
	/** `X-Correlation-Id` of the request during which it happened; null when a control or the clock did it. */
	readonly correlationId: string | null;
}

interface OfFault {
	/** The fault, with what is left of it. */
	readonly fault: EventFault;
}

interface OfRequest {
	/** The HTTP method, as it came. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
}

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
	violation: OfRequest & {
		/** The rule, by its number in docs/fidelity.md. */
		readonly rule: string;
		/** The violation in words. */
		readonly message: string;
	};
	/** A scenario was added to what was there. */
	"scenario.loaded": {
		/** Its name. */
		readonly scenario: string;
	};
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
