import { type AgencyClient, type Message, PartnerInvalidInput } from "messaging-conversations";
import { phaseOf } from "../shared/delivery-phase.ts";
import { thisMoment } from "../shared/freshness.ts";
import { longestTimerMs } from "../shared/sleep.ts";
import { callable, checkedLater, fieldsOf, optional, rule, whole } from "../shared/validation.ts";
import { check, checkProtocol, moment, object, refuse } from "./input.ts";
import { findText, isAnswered, isConsentFailed, newestTime, readConversation, slackMs } from "./match.ts";
import { storableId } from "./text.ts";

/**
 * A text that was sent, or may have been: what `messages.send` gave, even if it was stored as JSON since, or what is known of a send that
 * gave nothing.
 */
export interface SentText {
	/** Contact phone number. */
	to: string;
	/** The text. */
	body: string;
	/**
	 * When the send began, which the result of a send has. Otherwise by your own clock, or `lastMessageAt` of the conversation before it. Your clock may be ahead of the
	 * service's by up to an hour. A string must include a UTC offset or `Z`, as `2026-01-05T09:00:00Z`.
	 */
	since: Date | string | number;
	/** `messageId` of the send, when it gave one. */
	messageId?: string | null | undefined;
	/** `queueId` of the send, when it gave one. */
	queueId?: string | null | undefined;
	/** The result of a send has it. No read shows it. */
	operationId?: string | undefined;
}

/** Options of {@link checkDelivery}. */
export interface CheckDeliveryOptions {
	/** `messageId`s of your other texts, which tell two texts of the same words apart. */
	claimed?: Iterable<string> | undefined;
	/**
	 * How long an answer or a message may be on its way, in milliseconds: until then, a conversation that does not show the text proves nothing.
	 * @default 65000
	 */
	settleMs?: number | undefined;
	/**
	 * The time, in milliseconds or as a Date. Against a sandbox its own: `sandbox.clock.now`.
	 * @default the `Date` header of the answer, or the local clock
	 */
	now?: (() => Date | number) | undefined;
	/** Aborts the reads. */
	signal?: AbortSignal | undefined;
	/** Time limit of each read, in milliseconds, or a `Date` for all reads together. @default the client's */
	deadline?: number | Date | undefined;
}

/** The delivery of a text. `status` distinguishes the branches. */
export type Delivery =
	| {
			/** It waits for the contact's consent. */
			status: "held";
			/** The queue entry. */
			queueId: string;
			/**
			 * The contact has answered in words meanwhile: the same send with the same `operationId` should deliver it now. A tap
			 * alone, which may be a refusal, does not count, and neither do words within `settleMs` of one.
			 */
			windowOpen: boolean;
			/** The consent template did not reach the phone. */
			consentFailed: boolean;
	  }
	| {
			/** It is a message. `failed` includes what the provider calls undelivered. */
			status: "sent" | "delivered" | "read" | "failed";
			/** The message. */
			message: Message;
	  }
	| {
			/**
			 * - `dropped`: the text has left the queue: declined, not answered in time, or displaced by another text. Only with
			 *   `queueId`, because a template or a button reply since the send may belong to a flow.
			 * - `replaced`: the queue holds another text in its place, in the entry with its `queueId`.
			 * - `not_found`: no sign of it after the settling time. It was not taken, or it replaced a held text and got no answer.
			 * - `unknown`: too early to say, because the send or the newest activity is younger than `settleMs`.
			 *   Or the conversation is unknown or hidden, has the same text twice, or has no message with the `messageId`.
			 *   Or it has the same words from shortly before `since`, which may be this text if your clock was ahead.
			 *   Or, without `queueId`, a template went out, the contact tapped a button, or another text is in the queue.
			 */
			status: "dropped" | "replaced" | "not_found" | "unknown";
	  };

export const defaultSettleMs = 65_000;

// The client knows signals and deadlines.
const schema = fieldsOf<CheckDeliveryOptions>({
	claimed: optional(
		rule<Iterable<string>>((value) => Symbol.iterator in Object(value), "must be a list of the ids of messages"),
	),
	settleMs: optional(whole(0, longestTimerMs)),
	now: optional(callable<() => Date | number>()),
	signal: checkedLater(),
	deadline: checkedLater(),
});

/**
 * Finds out what became of a text, by reading alone (`conversations.get`, and older pages as far as `since`). It never sends.
 *
 * @throws PartnerInvalidInput for bad input; an error of `conversations.get` or `conversations.listMessages`. A
 * conversation that is unknown or hidden is `unknown` instead
 * @example
 * const sent = await agency.messages.send({ to: "+447700900101", body: "The visit is at 14:00." });
 * const { status } = await checkDelivery(agency, sent);
 * console.log(status); // "sent"
 */
export async function checkDelivery(
	agency: AgencyClient,
	text: SentText,
	options: CheckDeliveryOptions = {},
): Promise<Delivery> {
	object("text", text, "checkDelivery");
	const since = moment("since", text.since, "checkDelivery");
	const given = check(schema, "options", options, "checkDelivery");
	const { settleMs = defaultSettleMs, claimed = [], now: clock, ...call } = given;
	if (!agency?.conversations) refuse("agency", "must be client.agency(id)", "checkDelivery");
	checkProtocol("agency", agency, "checkDelivery");
	if (typeof text.body !== "string") refuse("body", "must be a string", "checkDelivery");
	const seek = ({ messageSid }: Message) => messageSid === text.messageId;
	/** How much earlier the send may have begun by the service's clock, if `since` is of a clock that is ahead of it. */
	const aheadMs = (date: number | undefined): number => {
		const ms = Number(clock?.() ?? thisMoment().date) - (date ?? Number.NaN);
		// A clock that differs by more is a sandbox's, or `since` is not of it.
		return ms > 0 && ms < 3_600_000 ? ms : 0;
	};
	const from = ({ date }: { date: number | undefined }) => since - aheadMs(date) - settleMs - slackMs;
	const reading = await readConversation(agency, text.to, from, { seek, ...call }).catch((error: unknown) => {
		if (!(error instanceof PartnerInvalidInput)) throw error;
		return refuse(error.field === "phone" ? "to" : error.field, error.rule, "checkDelivery");
	});
	if (!reading) return { status: "unknown" };
	if (text.messageId) {
		const message = reading.messages.find(seek);
		return message ? { status: phaseOf(message), message } : { status: "unknown" };
	}
	const now = Number(clock?.() ?? reading.date ?? thisMoment().date);
	const others = new Set([...claimed].map((id) => storableId(id)));
	const found = (earlierMs: number) => findText(reading, { ...text, since: since - earlierMs, claimed: others });
	const match = found(0);
	if (match.kind === "message") return { status: phaseOf(match.message), message: match.message };
	if (match.kind === "held") {
		return {
			status: "held",
			queueId: match.queued.id,
			windowOpen: isAnswered(match, settleMs, now),
			consentFailed: isConsentFailed(match) ?? false,
		};
	}
	if (match.kind === "other" && match.queued.id === text.queueId) return { status: "replaced" };
	// A tap of consent takes the text out of the queue, and the message may be listed later.
	const changedAt = Math.max(since, newestTime(reading));
	if (match.kind === "twice" || now - changedAt < settleMs) return { status: "unknown" };
	// The clock may have been set since the send, so the same words from shortly before may be this text too.
	const ahead = aheadMs(reading.date);
	const isNear = /^(message|twice)$/.test(found(ahead + settleMs).kind);
	if (isNear || (match.kind === "none" && found(ahead).kind !== "none")) return { status: "unknown" };
	// In an entry of its own the other text came after this one had left the queue.
	if (text.queueId) return { status: "dropped" };
	return { status: match.kind === "none" ? "not_found" : "unknown" };
}
