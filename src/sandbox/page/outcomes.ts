import { computed } from "@preact/signals";
import type { SandboxEvent } from "../index.ts";
import { standing } from "./model.ts";
import { minuteOf } from "./time.ts";
import { hasFailed, type Tone } from "./words.ts";

/** What became of a send. */
export interface Outcome {
	readonly steps: readonly string[];
	readonly tone: Tone;
	/** The line of the phone that shows it. */
	readonly line: string;
	readonly agencyId: string;
	readonly contact: string;
}

type About = Extract<SandboxEvent, { agencyId: string; contact: string }>;

/** The outcome of each send by the correlation id of its request. */
export const outcomes = computed(() => {
	const all = new Map<string | null | undefined, Outcome>();
	/** The requests of texts that wait, by queue entry, and of those that went out, by message. */
	const sends = new Map<string | number | null, string | null>();
	/** Who accepted last, and has not written since. */
	let accepted = "";
	const end = (send: string | null | undefined, event: About, step: string, tone: Tone, line: string): void => {
		const [first] = all.get(send)?.steps ?? [];
		const { agencyId, contact } = event;
		all.set(send, { steps: first === undefined ? [step] : [first, step], tone, line, agencyId, contact });
	};
	for (const event of standing.value) {
		const { type, correlationId } = event;
		if (type === "contact.wrote") accepted = "";
		if (type === "consent.accepted") accepted = event.agencyId + event.contact;
		if (type === "text.replaced" || type === "text.dropped") {
			const how = type === "text.replaced" ? "replaced" : `${event.reason}, never sent`;
			end(sends.get(event.queueId), event, `${how} ${minuteOf(event.at)}`, "bad", `e${event.id}`);
		}
		if (type === "text.held" || (type === "text.replaced" && event.held)) {
			sends.set(event.queueId, correlationId);
			end(correlationId, event, "held", "warn", "held");
		}
		if (type === "text.sent") {
			const holder = sends.get(event.queueId);
			const send = holder ?? correlationId;
			sends.set(event.messageId, send);
			const how = holder
				? `${accepted === event.agencyId + event.contact ? "accepted, " : ""}sent ${minuteOf(event.at)}`
				: "sent";
			end(send, event, how, "ok", `m${event.messageId}`);
		}
		if (type === "message.status") {
			const send = sends.get(event.messageId);
			const [first, second] = all.get(send)?.steps ?? [];
			const status = `${event.status} ${event.errorCode ?? ""}`.trim();
			// A text that was held keeps how it went out: held → accepted, sent 11:05, delivered.
			const step = first === "held" ? `${second?.replace(/(\d:\d\d).*/, "$1")}, ${status}` : status;
			if (first !== undefined && status !== "sent")
				end(send, event, step, hasFailed(event) ? "bad" : "ok", `m${event.messageId}`);
		}
	}
	return all;
});
