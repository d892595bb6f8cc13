import type { LookupResponse, SendMessageRequest, SendMessageResult } from "../../generated/openapi.ts";
import { type CountryCode, type E164, requireRecipient } from "../phone/phone.ts";
import { isCopy, onlyCopy, readFresh } from "../shared/copies.ts";
import { freshMs, type Moment, msSince, thisMoment, watchRead } from "../shared/freshness.ts";
import { isUuid } from "../shared/uuid.ts";
import { object, oneOf, optional, ownField, rule, text } from "../shared/validation.ts";
import { defined } from "./attempt-event.ts";
import { type Call, createCall } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import { type CallOptions, checkInput, checkOptions, optionSchemas } from "./client-options.ts";
import { readConversation } from "./conversations.ts";
import {
	type Facts,
	isPartnerError,
	type PartnerError,
	PartnerHeldText,
	PartnerInvalidInput,
	PartnerUnexpectedResponse,
	type SendError,
	withProgress,
} from "./errors.ts";
import { type Executor, parameters, type Reply } from "./execute.ts";
import { mismatch } from "./lookup.ts";
import type { ReuseGuard } from "./operation-id.ts";
import { httpDate } from "./retry.ts";

/** A plain-text message to a contact. */
export interface OutgoingMessage {
	/** The words of the text, not blank. Files can't be sent. The service documents no longest length. */
	body: SendMessageRequest["body"];
	/** Phone number of the contact, in any common spelling: `+447700900123`, or as written in `defaultCountry`. */
	to: string;
	/**
	 * Idempotency key. Reuse it only with an identical message: the same number, text, language and sender. Use one that
	 * survives a crash: see `operationIdFrom`.
	 * @default a random UUID
	 */
	operationId?: string | undefined;
	/** UUID of the sender to use. It must belong to the agency. @default the agency's default sender */
	subaccountId?: string | null | undefined;
	/** Language of the request for consent, not of `body`: one of `windowReopenReadiness.availableLanguages`. Required when the window is closed and the agency has more than one. */
	consentLanguage?: string | undefined;
	/**
	 * What to do if the service holds a text for the contact already. `"replace"` sends, and the held text is never sent.
	 * `"refuse"` asks `conversations.get` before `messages.send`, and throws `PartnerHeldText` if a text is held. It is for
	 * request handlers that have no outbox.
	 *
	 * It costs one read, within the same deadline and with the same key, which `attempts` counts too. If the send or a retry can't begin
	 * within 10 seconds of it, for example because of a long `Retry-After`, the conversation is read again after the wait, unless you
	 * pass `beginBy`. The key needs the scope `conversations:read` as well. If a read fails, the call ends with the error of
	 * `conversations.get`, and nothing was sent. But if an attempt before it may have been taken, the call ends with the error of that
	 * attempt, also if another text is held by then. An old copy, such as one from a cache, is read again, and counts as a failed read if
	 * there is no newer answer. A number without a conversation is sent to. Another sender can still come in between the read and the send.
	 *
	 * If you repeat a send whose outcome was `unknown`, it is refused if its own text is held by then. `sameText` is true,
	 * and it means that the service took the text: there is nothing to repeat.
	 * @default "replace"
	 */
	ifHeld?: "refuse" | "replace" | undefined;
}

/** Options of `messages.send`. */
export interface SendOptions extends CallOptions {
	/**
	 * Sends to a number that the numbering plan of its country does not list. Numbers of Belgium, the Netherlands, France,
	 * Luxembourg and Germany are refused otherwise. Use it for a range that is newer than this package. `allowRecipients` of the
	 * client holds all the same.
	 * @default false
	 */
	allowUnlistedNumber?: boolean | undefined;
	/**
	 * The latest moment of the system clock at which a request may begin, beside the deadline of its answer. If it has passed when
	 * the connection is there, nothing is sent: `PartnerTimeoutError` with `field: "beginBy"` and outcome `not_sent`. Use it for a
	 * send that relies on a read. Over a `fetch` outside of Node it's looked at right before `fetch` is called. A `fetch` of your own
	 * around Node's may wait or repeat the request, as long as it keeps the method and the end of the path.
	 */
	beginBy?: Date | undefined;
}

interface SentFacts extends Pick<SendMessageResult, "success" | "status" | "windowOpen" | "windowExpiresAt"> {
	/** Idempotency key of this send: yours, or the generated one. */
	operationId: string;
	/** The number that it was sent to, E.164. */
	to: string;
	/** The text. */
	body: string;
	/**
	 * When the send began, by the service's clock, ISO 8601. `checkDelivery(agency, sent)` looks for the text from then on. If you
	 * repeat a send that was taken before, keep the `since` of the first one.
	 */
	since: string;
}

/** The window was open and the text was sent. */
export interface SentNow extends SentFacts {
	/** False: the text went out. It can still fail at the phone: see the `status` of the message. */
	queued: false;
	/** Provider message id of the text. It is the `messageSid` of the message in `conversations.get`. */
	messageId: string;
	/** Null, because the text was sent at once. */
	queueId: null;
}

/** The window was closed. The text is held, and the contact was sent a consent template. */
export interface SentQueued extends SentFacts {
	/** True: the text is sent only if the contact accepts in time, within 48 hours unless the agency changed it. */
	queued: true;
	/** Null, because the text has not been sent yet. */
	messageId: null;
	/** Id of the queue entry. Another send to this contact replaces the held text. */
	queueId: string;
}

/**
 * The result of a send. Check `queued` to distinguish the branches. It is plain data, with the number and the text, so that you can
 * store it as JSON and ask `checkDelivery` later, in another process.
 */
export type Sent = SentNow | SentQueued;

/** Sending as one agency. Needs the scope `messages:write`. */
export interface MessagesGroup {
	/**
	 * Sends a plain-text message as the agency (`messages.send`). It reaches a real person, turns the AI off for the
	 * contact and ends any flow in progress. Outside the 24-hour window the text is held behind a consent template, and
	 * replaces a text that is held already, unless `ifHeld` is `"refuse"`. A retry uses the same `operationId` and the same
	 * bytes, so the text is not sent twice.
	 *
	 * @throws a `SendError`, whose `outcome` is what is known: `not_sent`, `unknown` or `sent`
	 * @example
	 * const sent = await agency.messages.send({ to: "+447700900101", body: "The visit is at 14:00." });
	 * console.log(sent.queued ? `held as ${sent.queueId}` : `sent as ${sent.messageId}`);
	 */
	send: (message: OutgoingMessage, options?: SendOptions) => Call<Sent, SendError>;
}

const messageSchema = object({
	to: rule<string>((value) => typeof value === "string", "must be a phone number as a string"),
	body: text,
	operationId: optional(text),
	subaccountId: optional(
		rule<string | null>((value) => value === null || isUuid(value), "must be the UUID of a sender, or null"),
	),
	consentLanguage: optional(text),
	ifHeld: optional(oneOf("refuse", "replace")),
});

export interface MessagesOptions {
	agencyId: string;
	defaultCountry: CountryCode;
	/** Whether this client may send to a number: `allowRecipients`. */
	isAllowed: (to: E164) => boolean;
	guard: ReuseGuard;
}

export function createMessages(executor: Executor, settings: MessagesOptions): MessagesGroup {
	const { api, run, answers } = executor;
	const { agencyId, defaultCountry, isAllowed, guard } = settings;

	const send = async (message: OutgoingMessage, options: SendOptions | undefined): Promise<Reply<Sent>> => {
		// Read before the message is checked, so that the error of a bad message has it too.
		const givenId = ownField(message, "operationId");
		const chosenId = typeof givenId === "string" ? givenId : undefined;
		const operationId = chosenId ?? crypto.randomUUID();
		const facts: Facts = { operation: "messages.send", agencyId, operationId, outcome: "not_sent" };
		const refuse = (field: string, rule: string) => new PartnerInvalidInput({ ...facts, field, rule });

		const checked = checkInput(messageSchema, message, "message", facts);
		const { to: given, body: text, ifHeld, subaccountId, consentLanguage } = checked;
		const { allowUnlistedNumber = false, beginBy, ...shared } = checkOptions(optionSchemas.send, options, facts);
		const readsFirst = ifHeld === "refuse";
		// The key function must not come between the read and the send.
		const call = readsFirst ? { ...shared, keyScope: shared.keyScope ?? {} } : shared;
		const to = requireRecipient(given, { defaultCountry, allowUnlistedNumber }, "to", facts);
		if (!isAllowed(to))
			throw refuse("to", "is not one of allowRecipients. Add it to this option of createClient to send to it");

		// The order of the fields is fixed: a caller may have stored an id with these bytes before an upgrade.
		const body: SendMessageRequest = { to, body: text, operationId, ...defined({ subaccountId, consentLanguage }) };
		// Written once, so that each attempt sends the same bytes.
		const json = JSON.stringify(body);
		const release = guard(agencyId, operationId, json);
		if (!release) throw refuse("operationId", "was used with another message; a new message needs a new id");

		const plan: CallPlan<SendMessageResult> = {
			operation: "messages.send",
			agencyId,
			operationId,
			isChosenId: chosenId !== undefined,
			isWrite: true,
			secrets: [to, given, text],
			verify: contradiction,
			begun: readsFirst ? thisMoment() : undefined,
			beginBy: beginBy && inMs(beginBy.getTime() - Date.now()),
		};
		const post = (at: CallPlan<SendMessageResult>) =>
			run(at, call, (init) =>
				api.POST("/agencies/{agencyId}/messages", {
					...init,
					params: parameters({ agencyId }),
					body,
					bodySerializer: () => json,
				}),
			);
		const begun = thisMoment();
		let readAttempts = 0;
		/** Reads the conversation. Returns until when a send may rely on that. */
		const renew = async (deadline = call.deadline, before?: PartnerError): Promise<Moment> => {
			const { attempts, ageMs } = await refuseIfHeld({ to, text, before }, plan, { ...call, deadline });
			readAttempts += attempts;
			return inMs(freshMs - ageMs());
		};
		/** Reads before the send, and again if the send could not begin while the reading was fresh. */
		const readAndPost = async (): Promise<Reply<SendMessageResult>> => {
			const freshUntil = await renew();
			if (plan.beginBy && plan.beginBy.date <= freshUntil.date) return post(plan);
			// A moment of the caller is not made later.
			return post({ ...plan, beginBy: freshUntil, renew: beginBy ? undefined : renew }).catch((error: unknown) => {
				if (!isPartnerError(error) || error.field !== "beginBy" || error.outcome !== "not_sent") throw error;
				readAttempts += error.attempts;
				return readAndPost();
			});
		};
		try {
			const reply = await (readsFirst ? readAndPost() : post(plan));
			// `contradiction` has checked that the fields belong to one branch.
			const { head, correlationId } = reply;
			const { messageId, status } = reply.data;
			// A retry has no status, and its message may be far down in the conversation by now.
			if (messageId !== null && status !== null) answers.sent(`${agencyId} ${to}`, messageId);
			const since = beginningOf(begun, head.headers.get("date")).toISOString();
			const data = Object.assign(reply.data, { operationId, to, body: text, since }) as Sent;
			return { data, head, correlationId, attempts: readAttempts + reply.attempts };
		} catch (error) {
			// Anything but an error of this package steers the caller's framework, and ends only a call that has sent nothing.
			if (!isPartnerError(error) || error.outcome === "not_sent") release();
			if (!isPartnerError(error) || readAttempts === 0) throw error;
			throw withProgress(error, { attempts: readAttempts + error.attempts }, send);
		}
	};

	/** Reads the conversation before a send, and returns how old that is. Throws if the service holds a text. */
	const refuseIfHeld = async (
		{ to, text, before }: { to: E164; text: string; before: PartnerError | undefined },
		{ operationId, secrets, begun }: CallPlan<SendMessageResult>,
		call: CallOptions,
	): Promise<{ attempts: number; ageMs: () => number }> => {
		const shared = { agencyId, operationId, secrets, begun };
		const operation = "conversations.get";
		let attempts = 0;
		let ageMs = () => 0;
		/** The service may have taken the text. */
		const isTaken = before?.outcome === "unknown";
		const counted = async <Data>(asking: Promise<Reply<Data>>): Promise<Reply<Data>> => {
			const reply = await asking;
			attempts += reply.attempts;
			return reply;
		};
		const read = async (isAgain: boolean) => {
			// Another size of the page, for which no cache has an answer.
			const page = { pageSize: isAgain ? 2 : 1, cursor: undefined, ...call };
			const watch = watchRead();
			try {
				const reply = await counted(readConversation(executor, { ...shared, operation }, to, page));
				return { data: reply.data, response: reply.head, correlationId: reply.correlationId };
			} catch (error) {
				const isMissing = isPartnerError(error) && error._tag === "PartnerNotFound";
				if (!isMissing || !error.headers || !isCopy(answers, error.headers)) throw error;
				attempts += error.attempts;
				return undefined;
			} finally {
				watch.end();
				ageMs = watch.ageMs;
			}
		};
		const lookUp = async () => {
			const plan: CallPlan<LookupResponse> = {
				...shared,
				operation: "conversations.lookup",
				verify: ({ results }) => mismatch([to], results),
			};
			const init = { params: parameters({ agencyId }), body: { phoneNumbers: [to] } };
			const { data } = await counted(
				run(plan, call, (once) => api.POST("/agencies/{agencyId}/conversations/lookup", { ...once, ...init })),
			);
			return data.results[0]?.conversation;
		};
		const stale = () =>
			new PartnerUnexpectedResponse(`${operation}: ${onlyCopy}`, { operation, agencyId, operationId, retryable: true });
		try {
			const found = await readFresh(answers, `${agencyId} ${to}`, { read, lookUp, stale, isShort: true });
			if (!found) return { attempts, ageMs };
			// A lookup can bear a copy out. It doesn't show what is held.
			if (isCopy(answers, found.response.headers)) throw stale();
			const held = found.data.conversation.queuedMessages;
			if (held.length === 0) return { attempts, ageMs };
			const sameText = held.every(({ body, attachmentUploadId }) => body === text && attachmentUploadId === null);
			// It is this one, and the same request gets the result of the first.
			if (sameText && isTaken) return { attempts, ageMs };
			const message = 'messages.send: not sent, because it would replace a held text, and ifHeld is "refuse"';
			const correlationId = found.correlationId();
			throw new PartnerHeldText(message, {
				operation: "messages.send",
				agencyId,
				operationId,
				outcome: "not_sent",
				correlationId,
				sameText,
			});
		} catch (error) {
			if (!isPartnerError(error)) throw isTaken ? before : error;
			attempts += error.attempts;
			// Only the service itself says so: nothing is held.
			if (error._tag === "PartnerNotFound") return { attempts, ageMs };
			attempts += before?.attempts ?? 0;
			const ended = isTaken && error._tag !== "PartnerAbortError" ? before : error;
			throw withProgress(ended, { outcome: before?.outcome ?? "not_sent", attempts }, refuseIfHeld);
		}
	};

	return { send: (message, options) => createCall(() => send(message, options)) };
}

function inMs(ms: number): Moment {
	const { at, date } = thisMoment();
	return { at: at + ms, date: date + ms };
}

/** A clock that differs by more belongs to a sandbox, or its time zone is wrong. */
const mostOffsetMs = 3_600_000;

/**
 * When a send began, by the service's clock, which its messages have their times by. The `Date` of the response tells it, as far as
 * that is right: of two clocks that differ by little, the earlier one counts, because a text is not found from a time that is too late.
 *
 * @param date the header, which has whole seconds
 */
function beginningOf(begun: Moment, date: string | undefined | null): Date {
	const shown = httpDate(date ?? "");
	if (shown === undefined) return new Date(begun.date);
	const byService = shown - msSince(begun);
	const isOther = Math.abs(byService - begun.date) > mostOffsetMs;
	return new Date(isOther ? byService : Math.min(byService, begun.date));
}

/** The path of a field by which a response says that the text is both sent and held, or neither, or that it failed. */
function contradiction({ success, queued, messageId, queueId }: SendMessageResult): string | undefined {
	if (!success) return "/success";
	if ((messageId === null) !== queued || messageId === "") return "/messageId";
	if ((queueId !== null) !== queued || queueId === "") return "/queueId";
	return undefined;
}
