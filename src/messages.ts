import * as z from "zod/mini";
import { type Answered, type Call, createCall } from "./call.ts";
import { captureCaller } from "./caller.ts";
import { isPartnerError, PartnerInvalidInput, property, type SendError, stamp } from "./errors.ts";
import { type CountryCode, type E164, requirePhone } from "./input/phone.ts";
import { type CallOptions, checkInput, checkOptions, optionSchemas, rule, text } from "./input.ts";
import { isUuid, type ReuseGuard } from "./operation-id.ts";
import type { Transport } from "./transport.ts";
import type { SendMessageRequest, SendMessageResult } from "./types.ts";

/** A plain-text message to a contact. */
export interface OutgoingMessage extends Pick<SendMessageRequest, "body"> {
	/** Contact phone number, as written: `0470 12 34 56` or `+32470123456`. */
	to: string;
	/**
	 * Your id for this send. The same id with the same message, its number, language and sender too, never sends twice;
	 * a message that is changed takes another one, unless every call with it ended as `not_sent`. Give one that survives a crash (see `operationIdFrom`). Made for you
	 * when left out.
	 */
	operationId?: string | undefined;
	/** The agency's sender to use, a UUID; its default sender when left out or null. */
	subaccountId?: string | null | undefined;
	/** Language of the consent template, one of `windowReopenReadiness.availableLanguages`: needed outside the window when the agency has several. */
	consentLanguage?: string | undefined;
}

interface SentFacts extends Pick<SendMessageResult, "success" | "status" | "windowOpen" | "windowExpiresAt"> {
	/** The id of this send: yours, or the one made for it. Keep it to settle a send whose fate is unknown. */
	operationId: string;
}

/** The window was open: the text went out. */
export interface SentNow extends SentFacts {
	/** The text is on its way, no consent was needed. */
	queued: false;
	/** Provider message id of the text. */
	messageId: string;
	/** There is no queue entry. */
	queueId: null;
}

/** The window was closed: the text waits for the contact to accept the consent template that was sent. */
export interface SentQueued extends SentFacts {
	/** The text has not gone out; it does if the contact accepts within 48 hours. */
	queued: true;
	/** There is no message yet. */
	messageId: null;
	/** Queue entry id of the text. A later send to this contact replaces the text. */
	queueId: string;
}

/** What became of a send; `queued` tells the branches apart. */
export type Sent = SentNow | SentQueued;

/** Sending as one agency (spec §4). Needs the scope `messages:write`. */
export interface MessagesGroup {
	/**
	 * Sends a plain-text message as the agency (spec §4, `messages.send`). It reaches a real person, turns the AI off for
	 * this contact and ends any flow in progress. Outside the 24-hour window the text is queued behind a consent template
	 * and replaces a text that is queued already. Retried with the same id and the same bytes: it is not sent twice.
	 *
	 * @throws an error whose `outcome` says what is known: `not_sent`, `unknown` or `sent`
	 * @example
	 * const sent = await agency.messages.send({ to: "0470 12 34 56", body: "The visit is at 14:00." });
	 * console.log(sent.queued ? `queued as ${sent.queueId}` : `sent as ${sent.messageId}`);
	 */
	send: (message: OutgoingMessage, options?: CallOptions) => Call<Sent, SendError>;
}

export interface MessagesOptions {
	agencyId: string;
	defaultCountry: CountryCode;
	/** The seat belt: whether this client may send to the number. */
	allows: (phone: E164) => boolean;
	guard: ReuseGuard;
}

const messageSchema = z.strictObject({
	to: rule<string>((value) => typeof value === "string", "must be a phone number"),
	body: text,
	operationId: z.optional(text),
	subaccountId: z.optional(rule<string | null>((value) => value === null || isUuid(value), "must be a UUID or null")),
	consentLanguage: z.optional(text),
});

export function createMessages(transport: Transport, options: MessagesOptions): MessagesGroup {
	const operation = "messages.send";
	const { agencyId, defaultCountry, allows, guard } = options;

	function send(message: OutgoingMessage, callOptions?: CallOptions): Call<Sent, SendError> {
		const work = async (): Promise<Answered<Sent>> => {
			// Whatever else is wrong with the message, its error has an id.
			const given = property(message, "operationId");
			const chosen = typeof given === "string" ? given : undefined;
			const operationId = chosen ?? crypto.randomUUID();
			let release: (() => void) | undefined;
			try {
				const call = checkOptions(optionSchemas.call, callOptions, operation);
				const checked = checkInput(messageSchema, message, "message", operation);
				const to = requirePhone(checked.to, defaultCountry, "to", operation);
				if (!allows(to)) refuse("to", "is not one of allowRecipients");
				const { body, subaccountId, consentLanguage } = checked;
				// The order is pinned: an id that was persisted with these bytes must meet the same bytes after an upgrade.
				const payload: SendMessageRequest = { to, body, operationId };
				if (subaccountId !== undefined) payload.subaccountId = subaccountId;
				if (consentLanguage !== undefined) payload.consentLanguage = consentLanguage;
				const bytes = JSON.stringify(payload);

				const { data, response } = await transport(
					operation,
					{ path: { agencyId }, body: bytes },
					{
						...call,
						verify: contradiction,
						secrets: [to, checked.to, body],
						send: {
							operationId,
							chosen: chosen !== undefined,
							claim() {
								release = guard(agencyId, operationId, bytes);
								if (!release) refuse("operationId", "was used with a different body");
							},
						},
					},
				);
				// `contradiction` has seen to it that the fields are those of one branch.
				return { data: { ...data, operationId } as Sent, response };
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				if (error.outcome === undefined) stamp(error, { operation, operationId, outcome: "not_sent" });
				if (error.outcome === "not_sent") release?.();
				throw error;
			}
		};
		return createCall(work(), captureCaller(send));
	}
	return { send };

	function refuse(field: string, words: string): never {
		throw new PartnerInvalidInput({ field, rule: words, operation });
	}
}

/** Where a send's answer says two things: sent now and queued, or neither, or no success. */
function contradiction({ success, queued, messageId, queueId }: SendMessageResult): string | undefined {
	if (!success) return "/success";
	if ((messageId === null) !== queued) return "/messageId";
	if ((queueId !== null) !== queued) return "/queueId";
	return undefined;
}
