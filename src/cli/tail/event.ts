import { type Agency, type ConversationDetail, isWindowOpen, type Message } from "messaging-conversations";
import type { Change } from "messaging-conversations/sync";
import { wrapped } from "../look.ts";
import { printable } from "../text.ts";

/** One line of `tail`: a new message, a message whose status has changed, or a conversation whose state has. */
export interface TailEvent {
	readonly kind: "message" | "status" | "state";
	readonly at: string;
	readonly agencyId: string;
	readonly agency: string | null;
	/** Masked, unless numbers are shown. */
	readonly contact: string;
	readonly messageId?: number;
	readonly messageSid?: string;
	readonly direction?: string;
	readonly status?: string | null;
	/** Only when texts are shown. */
	readonly text?: string | null;
	/** Letters and signs of a text that is hidden. */
	readonly length?: number;
	readonly state?: ConversationState;
}

interface ConversationState {
	readonly aiEnabled: boolean;
	readonly windowOpen: boolean;
	readonly queuedMessages: number;
}

export interface Shown {
	/** Shows numbers and texts. */
	readonly show: boolean;
	/** SIDs of the messages of this agency that were printed. JSON rounds an id above 2^53. */
	readonly seen: Set<string>;
}

/** The events of a change: one for each message, or one for the state if it has no messages. */
export function eventsOf(
	{ phoneNumber, conversation, messages }: Change,
	{ id, name }: Agency,
	{ show, seen }: Shown,
): TailEvent[] {
	const source = { agencyId: id, agency: name, contact: show ? phoneNumber : `…${phoneNumber.slice(-4)}` };
	if (messages.length === 0)
		return [{ kind: "state", at: new Date().toISOString(), ...source, state: stateOf(conversation) }];
	return messages.map((message): TailEvent => {
		const { id: messageId, messageSid } = message;
		const isKnown = seen.has(messageSid);
		seen.add(messageSid);
		const { direction, status, body } = message;
		const text = show ? { text: body } : { length: [...(body ?? "")].length };
		return {
			kind: isKnown ? "status" : "message",
			at: timeOf(message, isKnown),
			...source,
			messageId,
			messageSid,
			direction,
			status,
			...text,
		};
	});
}

/** The time of an event. A status has the time that the message itself has for it. */
function timeOf({ createdAt, deliveredAt, readAt }: Message, isStatus: boolean): string {
	const now = new Date().toISOString();
	return isStatus ? (readAt ?? deliveredAt ?? now) : (createdAt ?? now);
}

function stateOf(conversation: ConversationDetail): ConversationState {
	const { aiEnabled, queuedMessages } = conversation.summary;
	return { aiEnabled, windowOpen: isWindowOpen(conversation), queuedMessages };
}

/** An event as a line for people, or as two where the terminal is narrow. */
export function linesOf(event: TailEvent, columns: number): string[] {
	const line = lineOf(event);
	if (line.length <= columns) return [line];
	const [time = "", agency = "", contact = "", kind = "", ...rest] = line.split(/ {2,}/);
	const indent = "          ";
	const head = wrapped([time, agency, contact, kind].join("  "), columns);
	return [...head, ...wrapped(rest.join("  "), columns - indent.length).map((each) => indent + each)];
}

function lineOf(event: TailEvent): string {
	const agency = printable(event.agency ?? event.agencyId);
	const parts = [
		printable(event.at).slice(11, 19),
		agency.slice(0, 20).padEnd(20),
		printable(event.contact),
		event.kind.padEnd(7),
	];
	if (event.state) parts.push(wordsOf(event.state));
	else {
		parts.push(event.direction === "inbound" ? "← in " : "→ out", printable(event.status ?? "no status").padEnd(11));
		parts.push(event.length === undefined ? printable(event.text ?? "(no text)") : hidden(event.length));
	}
	return parts.join("  ");
}

function wordsOf({ aiEnabled, windowOpen, queuedMessages }: ConversationState): string {
	const held = queuedMessages > 0 ? ", a text waits for consent" : "";
	return `AI ${aiEnabled ? "on" : "off"}, window ${windowOpen ? "open" : "closed"}${held}`;
}

function hidden(length: number): string {
	return length === 0 ? "(no text)" : `(${length} characters)`;
}
