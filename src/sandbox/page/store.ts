import { type Signal, signal } from "@preact/signals";
import type {
	AgencyState,
	BreakpointState,
	BugFile,
	ConversationRow,
	ConversationState,
	FaultState,
	Found,
	Gone,
	HeldRequest,
	KeyState,
	Observed,
	SandboxEvent,
	Violation,
} from "../index.ts";

/*
 * Everything that the page knows, in one store with a part for each kind of thing. What follows from it is computed where
 * it is needed.
 */

/** A fault that still waits; JSON has null for one without end. */
export type WaitingFault = Omit<FaultState, "remaining"> & { readonly remaining: number | null };
/** A request that waits at a breakpoint. */
export type HeldState = Omit<HeldRequest, "resume">;

export interface KeptSnapshot {
	readonly snapshot: string;
	readonly name: string | null;
	readonly at: string;
}

/** The bug file that is open, and whether it is read-only. */
export interface ShownBug {
	readonly isReadOnly: boolean;
	readonly bug: Pick<BugFile, "takenAt" | "content" | "place"> | null;
}

/** Which end of the log is shown. */
export type Order = "newest" | "oldest";

/** What the server found in the whole log. */
interface Answer extends Found {
	readonly query: string;
	readonly order: Order;
}

/** What a button does, and what it shows: a control call, or with a key a call to the service. */
export interface Call {
	readonly verb: string;
	/** Below `/_sandbox/`, or for a call to the service below `/api/v1/`. */
	readonly path: string;
	/** A file or a text is sent as it is, so that the sandbox says what is wrong with it. */
	readonly body?: unknown;
	/** The API key of a call to the service. The sandbox makes it, because a browser repeats a request that was reset. */
	readonly key?: string | undefined;
	/** Whether it makes a request to the service, and answers with what came of that. */
	readonly isRequest?: boolean;
}

/** The last call that was made, and what came of it. A form shows its refusal beside its fields. */
interface Made {
	readonly call: Call;
	readonly form?: string | undefined;
	readonly answer?: unknown;
	readonly error?: string;
	/** The correlation id of a request that the service refused. */
	readonly cause?: unknown;
}

/** What the sandbox said last. */
export const sandbox = {
	/** The sandbox's time, in milliseconds; 0 before its first answer. */
	now: signal(0),
	agencies: signal<readonly AgencyState[]>([]),
	/** The agency of the sandbox's own connection. */
	defaultAgencyId: signal(""),
	/** The keys of the agency's CRM, the oldest first. */
	keys: signal<readonly KeyState[]>([]),
	/** Whether the agency's CRM is hidden. */
	isCrmHidden: signal(false),
	faults: signal<readonly WaitingFault[]>([]),
	breakpoints: signal<readonly BreakpointState[]>([]),
	/** The requests that wait at a breakpoint, the oldest first. */
	heldRequests: signal<readonly HeldState[]>([]),
	violations: signal<readonly Violation[]>([]),
	scenarios: signal<readonly string[]>([]),
	snapshots: signal<readonly KeptSnapshot[]>([]),
	/** The conversation that is shown, with the messages that were loaded. */
	thread: signal<ConversationState | null>(null),
	bug: signal<ShownBug>({ isReadOnly: false, bug: null }),
	/** The event after which the oldest state is known. */
	historyFrom: signal<number | null>(null),
	/** How much of the oldest the sandbox no longer keeps. */
	forgotten: signal<Gone>({ events: 0, requests: 0, answers: 0 }),
	/** What outboxes and feeds showed last; null before they were asked. */
	observed: signal<Observed | null>(null),
} as const;

export const tabs = ["Requests", "Outbox", "Events", "State"] as const;

/** What of it one looks at. */
export const view = {
	/** The agency that was chosen; empty for the agency of the sandbox's own connection. */
	agencyId: signal(""),
	/** The phone number of the conversation that is shown. */
	contact: signal<string | null>(null),
	/** Which pane a narrow page shows. */
	pane: signal<"conversations" | "phone" | "requests">("conversations"),
	/** As whom a narrow page writes. A wide one has room for both. */
	writer: signal<"contact" | "crm">("contact"),
	/** Which tab of the log is shown. */
	tab: signal<(typeof tabs)[number]>("Requests"),
	/** The correlation id of the request that was opened last. */
	request: signal(""),
	/** The line of the phone to go to: the id of a message, of a lost text or of the held text. */
	line: signal(""),
	/** The event after which the page shows everything, as it was then; null for the present. */
	at: signal<number | null>(null),
	/** The dialog that is open. */
	dialog: signal<"faults" | "world" | "reset" | "violations" | "keys" | "settings" | "time" | "rule" | null>(null),
	/** The rule that its dialog explains. */
	rule: signal(""),
	/** The story that is being played, and its contact. */
	story: signal<{ readonly id: string; readonly phone: string } | null>(null),
	/** Whether single keys do something; speech input may want them off. */
	areKeysOn: signal(true),
	/** The last copied item, for the line that confirms it. */
	copied: signal(""),
} as const;

/** The list of conversations. */
export const list = {
	/** The text that listed names and numbers have. */
	search: signal(""),
	/** Whether the list was read at all. */
	isRead: signal(false),
	/** The conversations and contacts of the agency that were read, by number. */
	known: signal<ReadonlyMap<string, ConversationRow>>(new Map()),
	/** The names of all contacts that were ever read, by agency and number. */
	names: signal<ReadonlyMap<string, string>>(new Map()),
	/** The last row that was loaded from the top, as it was then; null once all are loaded. */
	edge: signal<ConversationRow | null>(null),
	/** How many messages came into each conversation while another one was shown, by agency and number. */
	unread: signal<ReadonlyMap<string, number>>(new Map()),
} as const;

/** How many lines of the log are in the page at a time. More would make it slow, and fewer hide them from the browser's search. */
export const mostLines = 200;

/** The log, and what it is filtered by. */
export const log = {
	/** The newest events, the oldest first. */
	events: signal<readonly SandboxEvent[]>([]),
	hasOlder: signal(false),
	/** Of the events before those: texts that were never sent, and what took others back. */
	olderLosses: signal<readonly SandboxEvent[]>([]),
	/** Of the events before those: what was about the chosen contact; null before it was asked. */
	olderOfContact: signal<readonly SandboxEvent[] | null>(null),
	/** The place of the first line that is shown: at most so many are in the page as `mostLines` says. */
	from: signal(0),
	/** Which requests are shown: all, sends, errors, or one operation's. */
	kind: signal(""),
	/** What is searched for among all requests: words and filters. */
	text: signal(""),
	/** Words that shown events have. */
	eventText: signal(""),
	/** Whether only lines of the chosen contact are shown. */
	isOfContact: signal(false),
	order: signal<Order>("newest"),
	/** The last event that a paused log shows; null while the log is live. */
	pausedAt: signal<number | null>(null),
	/** The newest event when the log was last at its top. */
	seen: signal(0),
	found: signal<Answer | null>(null),
	/** How many of the requests that a search finds are shown. */
	mostFound: signal(200),
	/** Whether a screen reader says new requests, and what it said last. */
	isSaid: signal(true),
	said: signal(""),
} as const;

/** The calls of the page's buttons. */
export const calls = {
	/** The call of the button under the pointer or in focus. */
	shown: signal<Call | null>(null),
	made: signal<Made | null>(null),
	/** Those that have no answer yet. */
	running: signal<readonly Call[]>([]),
} as const;

/** The connection to the sandbox. */
export const connection = {
	/** The control token. */
	token: signal(""),
	/** The sandbox refused the token. */
	isRefused: signal(false),
	/** Whether events arrive. */
	link: signal<"connecting" | "connected" | "lost">("connecting"),
} as const;

/** What is typed or chosen in fields, and not sent. */
export const typed = {
	/** By agency and field. An empty field leaves nothing here. */
	drafts: signal<Readonly<Record<string, string>>>({}),
	/** The operationId of the page's next send, unless one is typed. */
	newOperationId: signal(""),
	/** The code with which a message fails. */
	errorCode: signal("63024"),
	/** The time to go to. */
	time: signal(""),
	snapshotName: signal(""),
	/** Whether a bug file keeps numbers, names and texts. */
	keepContent: signal(false),
} as const;

/** The fields of a new fault. */
export const faultForm = {
	operation: signal("messages.send"),
	phase: signal("before"),
	effect: signal("status"),
	status: signal("503"),
	retryAfter: signal(""),
	latencyMs: signal("2000"),
	field: signal(""),
	times: signal("1"),
} as const;

const parts: readonly Readonly<Record<string, Signal<unknown>>>[] = [
	...[sandbox, view, list, log, calls, connection, typed, faultForm],
];

/** Calls something at once, and whenever anything in the store has changed. */
export function onChange(act: () => void): void {
	for (const part of parts) for (const each of Object.values(part)) each.subscribe(act);
}
