// Says beforehand what a text would do, in sentences for its writer.
import {
	type AgencyClient,
	type ConversationDetail,
	isPartnerError,
	isWindowOpen,
	type Message,
} from "messaging-conversations";
import type { Line } from "./records.ts";

/** A conversation as the service shows it at the moment. */
export interface Look {
	/** The service's time: its clock decides whether the window is open. The sandbox's may be days ahead. */
	now: Date;
	/** Undefined when it could not be read. */
	conversation?: ConversationDetail;
	messages: readonly Message[];
	/** Why it could not be read. */
	problem?: string;
}

/** `known` is the service's time as it is known without the conversation, whose error has no time. */
export async function lookAt(agency: AgencyClient, phone: string, known: Date): Promise<Look> {
	try {
		// A page is worth waiting for a few seconds, not for the half minute that a read may take.
		const { data, response } = await agency.conversations.get(phone, { deadline: 5_000 }).withResponse();
		const now = new Date(response.headers.get("date") ?? Date.now());
		return { now, conversation: data.conversation, messages: data.messagePage.messages };
	} catch (error) {
		if (!isPartnerError(error)) throw error;
		const isUnknown = error._tag === "PartnerNotFound";
		const problem = isUnknown
			? "The service shows no conversation with this number. Without one the text is held, and consent is asked for first, or it is refused if the agency has no approved consent template."
			: `It cannot be said now what a text would do. ${error.message}`;
		return { now: known, messages: [], problem };
	}
}

/** Takes the lines of the chat too, because texts of this CRM that are not sent yet go first. */
export function forecast({ conversation, now, problem }: Look, lines: readonly Line[]): string[] {
	if (!conversation) return problem === undefined ? [] : [problem];
	const { aiSettings, summary } = conversation;
	const states = lines.map(({ text }) => text?.state);
	return [
		sending(conversation, now),
		...(states.some((state) => state === "waiting" || state === "sending") ? ["The text before it goes first."] : []),
		...(aiSettings.enabled ? ["The AI will be switched off."] : []),
		...(summary.activeFlows > 0 ? ["The flow in progress will end."] : []),
	];
}

function sending(conversation: ConversationDetail, now: Date): string {
	const { summary, queuedMessages, windowReopenReadiness } = conversation;
	const [held] = queuedMessages;
	const text = held && `the text of ${timeOf(held.updatedAt, now)} that is still held: «${held.body}»`;
	if (isWindowOpen(summary, now)) {
		if (!text) return `Goes out now: the window is open until ${timeOf(summary.windowExpiresAt, now)}.`;
		return `Goes out now, and may drop ${text}`;
	}
	if (!windowReopenReadiness.eligibleForManualSend)
		return "Will wait: the window is closed, and the agency has no approved consent template.";
	if (text) return `Replaces ${text}`;
	const name = summary.contactName ?? "the contact";
	return `Will be held: the window is closed, so ${name} is asked for consent first.`;
}

const clock = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", weekday: "short", day: "numeric", month: "short" });

/** The time of day, after the day when that is not today. In UTC, as on the sandbox's page. */
export function timeOf(at: string | Date | null, now: Date): string {
	if (at === null) return "";
	const date = new Date(at);
	return day.format(date) === day.format(now) ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}
