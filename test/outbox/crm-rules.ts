import type { Client, Message } from "messaging-conversations";
import type { EnqueuedText, Outbox, OutboxOptions } from "messaging-conversations/outbox";
import { createOutbox, isOptIn, isOptOut } from "messaging-conversations/outbox";

export interface Rules extends Pick<OutboxOptions, "store" | "now"> {
	timeZoneOf: (agencyId: string) => string;
	hasOptedOut: (to: string) => Promise<boolean>;
	isOwn: (messageSid: string) => Promise<boolean>; // select 1 from outbox_text where message_id = $1
}

const isStopped = (
	messages: readonly Message[], // the newest STOP or START counts
) =>
	isOptOut(messages.find(({ direction, body }) => direction === "inbound" && (isOptOut(body) || isOptIn(body)))?.body);
const hourOf = (time: Date, timeZone: string) =>
	Number(new Intl.DateTimeFormat("en", { hour: "2-digit", hourCycle: "h23", timeZone }).format(time));

export function openOutbox(client: Client, { timeZoneOf, hasOptedOut, isOwn, ...options }: Rules): Outbox {
	return createOutbox({
		client,
		...options,
		onReply: (replies) => (isStopped(replies) ? "cancel" : "wait"), // never "send": "No thanks" is a reply too
		async beforeSend({ agencyId, to, priority, createdAt }, { messages, now }) {
			if (isStopped(messages) || (await hasOptedOut(to))) return "cancel"; // 1. the newest STOP or START
			const said = messages.filter(({ templateName }) => templateName === null); // newest first
			if (priority <= 0 && said[0]?.direction === "inbound") return "cancel"; // 2. no one has answered the contact
			for (const { direction, createdAt: at, messageSid } of said) // 3. a colleague has answered
				if (direction === "outbound" && new Date(at ?? 0) > createdAt && !(await isOwn(messageSid))) return "cancel";
			const hour = hourOf(now, timeZoneOf(agencyId));
			if (priority > 0 || (hour >= 8 && hour < 20)) return "send";
			return { waitUntil: new Date(now.getTime() + 1_800_000) }; // 4. quiet hours: asked again in half an hour
		},
	});
}

/** 60 texts a minute. */
export async function enqueueCampaign(outbox: Outbox, texts: readonly EnqueuedText[], start: number): Promise<void> {
	for (const [index, text] of texts.entries()) await outbox.enqueue({ ...text, notBefore: start + index * 1_000 });
}
export const enqueueReply = (outbox: Outbox, text: EnqueuedText) => outbox.enqueue({ ...text, priority: 10 });
