/*
 * Flows, such as the booking of a visit, and the AI. Each send through the API ends the one and turns off the other.
 */
import { latestByOwn } from "./clocks.ts";
import { type Reading, timeOf } from "./match.ts";

const minuteMs = 60_000;
/** How long a text that is no marketing waits for the end of flows. */
export const mostFlowMs: number = 10 * minuteMs;
/** How often it is looked at meanwhile. */
export const flowLookMs: number = minuteMs;
/** A flow can hang, and then nobody tells that it does. So it counts for this long after the last message. */
const flowMs = 30 * minuteMs;
/** The AI may go on with a conversation until it was silent for this long. */
const talkMs = 60 * minuteMs;

/** Until when a flow is taken to be in progress. Undefined if none is. While the service holds a text, it may be that of the consent. */
export function flowUntil(reading: Reading | null, now: number): number | undefined {
	if (!reading) return undefined;
	const { summary, queuedMessages } = reading.conversation;
	if (summary.activeFlows === 0 || summary.queuedMessages > 0 || queuedMessages.length > 0) return undefined;
	return silentAt(reading, now, flowMs);
}

/** Until when a flow or the AI may go on with the conversation. Undefined if neither does. */
export function talkUntil(reading: Reading | null, now: number): number | undefined {
	if (!reading?.conversation.summary.aiEnabled) return flowUntil(reading, now);
	return silentAt(reading, now, talkMs);
}

/** When the conversation will have been silent for so long, by the clock of the outbox. Undefined if it has been. */
function silentAt(reading: Reading, now: number, ms: number): number | undefined {
	const at = latestByOwn({ service: timeOf(reading.conversation.summary.lastMessageAt) }, reading) + ms;
	return at > now ? Math.min(at, now + ms) : undefined;
}
