import type { Client, Message } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Outbox, type OutboxOptions } from "messaging-conversations/outbox";

const hourMs = 3_600_000;
const isStop = ({ direction, body }: Message) =>
	direction === "inbound" && /^\W*(stop|unsubscribe)\b/i.test(body ?? "");
const hourOf = (time: Date, timeZone: string) =>
	Number(new Intl.DateTimeFormat("en", { hour: "2-digit", hourCycle: "h23", timeZone }).format(time));

/** The rules of a CRM: no texts at night, none after STOP, and a held text goes out when the contact answers otherwise. */
export function openOutbox(client: Client, timeZone: string, options: Pick<OutboxOptions, "store" | "now">): Outbox {
	return createOutbox({
		client,
		...options,
		onReply: (replies) => (replies.some(isStop) ? "cancel" : "send"),
		beforeSend({ priority }, { messages, now }) {
			if (messages.some(isStop)) return "cancel";
			const hour = hourOf(now, timeZone);
			if (priority > 0 || (hour >= 8 && hour < 20)) return "send";
			return { waitUntil: new Date((Math.floor(now.getTime() / hourMs) + 1) * hourMs) }; // asked again in the next hour
		},
	});
}

/** A campaign, 60 texts a minute. An agent's reply goes before it. */
export async function enqueueCampaign(outbox: Outbox, texts: readonly EnqueuedText[], start: number): Promise<void> {
	for (const [index, text] of texts.entries()) await outbox.enqueue({ ...text, notBefore: start + index * 1_000 });
}

export async function enqueueReply(outbox: Outbox, text: EnqueuedText): Promise<void> {
	await outbox.enqueue({ ...text, priority: 10 });
}

export async function eraseContact(outbox: Outbox, to: string): Promise<void> {
	await outbox.forget({ to });
}
