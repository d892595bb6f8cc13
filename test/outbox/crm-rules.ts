import type { Client, Message } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Outbox, type OutboxOptions } from "messaging-conversations/outbox";

export interface Rules extends Pick<OutboxOptions, "store" | "now"> {
	timeZoneOf: (agencyId: string) => string;
	hasOptedOut: (to: string) => Promise<boolean>;
	isOwn: (messageSid: string) => Promise<boolean>; // select 1 from outbox_text where message_id = $1
}

const isStop = ({ direction, body }: Message) =>
	direction === "inbound" && /^\W*(stop|unsubscribe)\b/i.test(body ?? "");
const hourOf = (time: Date, timeZone: string) =>
	Number(new Intl.DateTimeFormat("en", { hour: "2-digit", hourCycle: "h23", timeZone }).format(time));

export function openOutbox(client: Client, { timeZoneOf, hasOptedOut, isOwn, ...options }: Rules): Outbox {
	return createOutbox({
		client,
		...options,
		onReply: (replies) => (replies.some(isStop) ? "cancel" : "send"),
		async beforeSend({ agencyId, to, priority, createdAt }, { messages, now }) {
			if (messages.some(isStop) || (await hasOptedOut(to))) return "cancel"; // 1. opt-out
			for (const { direction, templateName, createdAt: at, messageSid } of messages) // 2. a colleague has answered
				if (direction === "outbound" && templateName === null && new Date(at ?? 0) > createdAt)
					if (!(await isOwn(messageSid))) return "cancel";
			const hour = hourOf(now, timeZoneOf(agencyId));
			if (priority > 0 || (hour >= 8 && hour < 20)) return "send";
			return { waitUntil: new Date(now.getTime() + 1_800_000) }; // 3. quiet hours: asked again in half an hour
		},
	});
}

/** 60 texts a minute. */
export async function enqueueCampaign(outbox: Outbox, texts: readonly EnqueuedText[], start: number): Promise<void> {
	for (const [index, text] of texts.entries()) await outbox.enqueue({ ...text, notBefore: start + index * 1_000 });
}

export const enqueueReply = (outbox: Outbox, text: EnqueuedText) => outbox.enqueue({ ...text, priority: 10 });
