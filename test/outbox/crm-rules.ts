import type { Client } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Outbox, type OutboxOptions } from "messaging-conversations/outbox";

export interface Rules extends Pick<OutboxOptions, "store" | "now"> {
	timeZoneOf: (agencyId: string) => string;
	/** Older opt-outs of the CRM. */
	hasOptedOut: (to: string) => Promise<boolean>;
}

export function openOutbox(client: Client, { timeZoneOf, hasOptedOut, ...options }: Rules): Outbox {
	return createOutbox({
		client,
		...options,
		quietHours: { from: "20:00", to: "08:00", timeZone: timeZoneOf },
		async beforeSend({ to, purpose, createdAt }, { messages, isOwn }) {
			if (await hasOptedOut(to)) return "cancel";
			// Newest first
			const said = messages.filter(({ templateName }) => templateName === null);
			// The contact spoke last, if only "Thanks!": somebody reads it first.
			if (purpose !== "reply" && said[0]?.direction === "inbound") return "cancel";
			const isLater = said.filter(({ createdAt: at }) => new Date(at ?? 0) > createdAt);
			const hasColleagueAnswered = isLater.some((each) => each.direction === "outbound" && !isOwn(each));
			return hasColleagueAnswered ? "cancel" : "send";
		},
	});
}

/** 60 texts a minute. */
export async function enqueueCampaign(outbox: Outbox, texts: readonly EnqueuedText[], start: number): Promise<void> {
	for (const [index, text] of texts.entries())
		await outbox.enqueue({ ...text, purpose: "marketing", notBefore: start + index * 1_000 });
}
export const enqueueReply = (outbox: Outbox, text: EnqueuedText) => outbox.enqueue({ ...text, purpose: "reply" });
