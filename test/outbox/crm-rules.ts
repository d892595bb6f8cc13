import type { Client, Message } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Outbox, type OutboxOptions } from "messaging-conversations/outbox";

export interface Rules extends Pick<OutboxOptions, "store" | "now"> {
	timeZoneOf: (agencyId: string) => string;
	hasOptedOut: (to: string) => Promise<boolean>;
	isOwn: (messageSid: string) => Promise<boolean>; // select 1 from outbox_text where message_id = $1
}

// The first word of the message. Add those of your contacts' languages.
const stop = /^\P{L}*(stop|unsub|afmeld|uitschrij|arr[eê]t|d[ée]sabon|abmeld|baja|cancel|basta|annul)/iu;
const isStop = ({ direction, body }: Message) => direction === "inbound" && stop.test(body?.normalize() ?? "");
const hourOf = (time: Date, timeZone: string) =>
	Number(new Intl.DateTimeFormat("en", { hour: "2-digit", hourCycle: "h23", timeZone }).format(time));

export function openOutbox(client: Client, { timeZoneOf, hasOptedOut, isOwn, ...options }: Rules): Outbox {
	return createOutbox({
		client,
		...options,
		onReply: (replies) => (replies.some(isStop) ? "cancel" : "wait"), // never "send": "No thanks" is a reply too
		async beforeSend({ agencyId, to, priority, createdAt }, { messages, now }) {
			if (messages.some(isStop) || (await hasOptedOut(to))) return "cancel"; // 1. opt-out
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
