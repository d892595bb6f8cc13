import type { ConversationDetail, Message } from "messaging-conversations";
import { isDate } from "../../shared/validation.ts";
import { hookError } from "../hook-error.ts";
import { check, text as checkText, line, longestReason } from "../input.ts";
import type { Purpose } from "../policy/purpose.ts";
import { isTimeZone } from "../policy/quiet-hours.ts";
import type { OutboxText } from "../text.ts";

/** A text, as `beforeSend` and `onReply` get it. */
export interface TextToSend {
	/** The caller's id. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, E.164. */
	to: string;
	/** The text. */
	body: string;
	/** Language of the consent template, as it was given to `enqueue`; null when it was not. */
	consentLanguage: string | null;
	/** As it was given to `enqueue`. */
	purpose: Purpose;
	/** As it was given to `enqueue`. */
	priority: number;
	/** As it was given to `enqueue`; null when it was not. */
	notBefore: Date | null;
	/** As it was given to `enqueue`; null when it was not. */
	notAfter: Date | null;
	/** The JSON value that was given to `enqueue`; null without one. */
	meta: unknown;
	/** When it was enqueued. */
	createdAt: Date;
	/** Requests made so far. */
	attempts: number;
}

/** What `beforeSend` may decide by. */
export interface BeforeSendContext {
	/** The conversation, read a moment ago. Null for a contact who is new, or whose conversation is hidden from the agency. */
	conversation: ConversationDetail | null;
	/** Its newest messages, the newest first. */
	messages: readonly Message[];
	/** Whether a message is a text of this outbox, among its newest hundred to the contact. */
	isOwn: (message: Message) => boolean;
	/** The time. */
	now: Date;
}

/**
 * What `beforeSend` returns. With `consentLanguage` the text is sent, and consent is asked in that language. A reason is one line of at
 * most 200 characters for the people who ask about the text: `status`, `explain` and the command line show it, and `erase` erases it.
 */
export type BeforeSendVerdict =
	| "send"
	| {
			/** It is not sent, for this reason. It ends as `cancelled`, reason `before_send`. */
			cancel: string;
	  }
	| {
			/** Ask again at this time. The text blocks no other one until then, unless it was attempted. */
			waitUntil: Date;
			/** The reason. */
			because: string;
	  }
	| {
			/** One of `windowReopenReadiness.availableLanguages`. */
			consentLanguage: string;
	  };

/** Runs before a request. See `beforeSend` of {@link OutboxOptions}. */
export type BeforeSend = (
	text: TextToSend,
	context: BeforeSendContext,
) => BeforeSendVerdict | PromiseLike<BeforeSendVerdict>;

/** What `onReply` returns. A reason is like one of `beforeSend`. */
export type ReplyVerdict =
	| "send"
	| "wait"
	| {
			/** The outbox never sends it again, for this reason. The service still delivers it if the contact consents. */
			cancel: string;
	  };

/** Decides by the contact's messages since a text was held, the newest first. See `onReply` of {@link OutboxOptions}. */
export type OnReply = (replies: readonly Message[], text: TextToSend) => ReplyVerdict | PromiseLike<ReplyVerdict>;

const hookMs = 5_000;

const reasonRule = `A reason is one line of 1 to ${longestReason} characters`;
const reasonFrom = (value: unknown): string => check(line(longestReason), "reason", value, "work");

/** Asks `beforeSend`. @throws PartnerConfigurationError if it fails, takes too long or returns no verdict */
export function askBeforeSend(
	hook: BeforeSend,
	text: OutboxText,
	context: BeforeSendContext,
): Promise<BeforeSendVerdict> {
	const wanted = `"send", { cancel: reason }, { waitUntil: Date, because: reason } or { consentLanguage: string }. ${reasonRule}`;
	return ask("beforeSend", () => hook(textToSend(text), context), verdictFrom, wanted);
}

/** The verdict with nothing but what is used of it. Undefined for anything else. */
function verdictFrom(value: unknown): BeforeSendVerdict | undefined {
	if (value === "send") return value;
	const given: Partial<Record<"waitUntil" | "because" | "cancel" | "consentLanguage", unknown>> = Object(value);
	if ("cancel" in given) return { cancel: reasonFrom(given.cancel) };
	// A hook that names a time wants to wait. If it computed none, its language does not count either.
	if (!("waitUntil" in given)) {
		const { consentLanguage } = given;
		return { consentLanguage: checkText("consentLanguage", consentLanguage, "work") };
	}
	const { waitUntil } = given;
	const time = isDate(waitUntil) ? new Date(waitUntil.getTime()) : undefined;
	if (!time || Number.isNaN(time.getTime())) return undefined;
	return { waitUntil: time, because: reasonFrom(given.because) };
}

/** Asks `onReply`. @throws PartnerConfigurationError if it fails, takes too long or returns no verdict */
export function askOnReply(hook: OnReply, text: OutboxText, replies: readonly Message[]): Promise<ReplyVerdict> {
	const verdict = (value: unknown): ReplyVerdict | undefined => {
		if (value === "send" || value === "wait") return value;
		const given: { cancel?: unknown } = Object(value);
		return "cancel" in given ? { cancel: reasonFrom(given.cancel) } : undefined;
	};
	const wanted = `"send", "wait" or { cancel: reason }. ${reasonRule}`;
	return ask("onReply", () => hook(replies, textToSend(text)), verdict, wanted);
}

/** @param verdictFrom may throw: a getter of what the hook returned can */
async function ask<Verdict>(
	field: string,
	hook: () => unknown,
	verdictFrom: (value: unknown) => Verdict | undefined,
	wanted: string,
): Promise<Verdict> {
	const failed = (rule: string, ...cause: [cause?: unknown]) => hookError(field, rule, ...cause);
	let timer: ReturnType<typeof setTimeout> | undefined;
	const limit = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(failed(`must return within ${hookMs / 1_000} seconds`)), hookMs);
	});
	try {
		const answer = (async () => hook())().catch((error: unknown) => {
			throw failed(`must not throw; it threw ${nameOf(error)}`, error);
		});
		const value = await Promise.race([answer, limit]);
		const verdict = orUndefined(() => verdictFrom(value));
		if (verdict === undefined) throw failed(`must return ${wanted}`);
		return verdict;
	} finally {
		clearTimeout(timer);
	}
}

function orUndefined<Value>(act: () => Value): Value | undefined {
	try {
		return act();
	} catch {
		return undefined;
	}
}

function nameOf(error: unknown): string {
	const name: unknown = orUndefined(() => Object(error).name);
	return typeof name === "string" && /^[A-Za-z]+$/.test(name) ? name.slice(0, 60) : "something";
}

function textToSend(text: OutboxText): TextToSend {
	const { id, agencyId, to, body, consentLanguage, purpose, priority, createdAt, notBefore, notAfter, given } = text;
	return {
		id,
		agencyId,
		to,
		body,
		consentLanguage,
		purpose,
		priority,
		notBefore: notBefore === null ? null : new Date(notBefore),
		notAfter: notAfter === null ? null : new Date(notAfter),
		meta: given.meta ?? null,
		createdAt: new Date(createdAt),
		attempts: text.progress.attempts,
	};
}

/** Asks for the time zone of an agency. @throws PartnerConfigurationError if it fails, takes too long or returns none */
export function askTimeZone(hook: (agencyId: string) => unknown, agencyId: string): Promise<string> {
	const zone = (value: unknown) => (isTimeZone(value) ? value : undefined);
	return ask("quietHours.timeZone", () => hook(agencyId), zone, "a time zone such as Europe/Brussels");
}
