import { type ConversationDetail, type Message, PartnerConfigurationError } from "messaging-conversations";
import { hasMethods } from "../validation.ts";
import type { OutboxText } from "./text.ts";

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
	priority: number;
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
	/** The time. */
	now: Date;
}

/** What `beforeSend` returns. With `consentLanguage` the text is sent, and consent is asked in that language. */
export type BeforeSendVerdict =
	| "send"
	| "cancel"
	| {
			/** Ask again at this time. The text blocks no other one until then, unless it was attempted. */
			waitUntil: Date;
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

/** What `onReply` returns. */
export type ReplyVerdict = "send" | "wait" | "cancel";

/** Decides by the contact's messages since a text was held, the newest first. See `onReply` of {@link OutboxOptions}. */
export type OnReply = (replies: readonly Message[], text: TextToSend) => ReplyVerdict | PromiseLike<ReplyVerdict>;

const hookMs = 5_000;

/** Asks `beforeSend`. @throws PartnerConfigurationError if it fails, takes too long or returns no verdict */
export function askBeforeSend(
	hook: BeforeSend,
	text: OutboxText,
	context: BeforeSendContext,
): Promise<BeforeSendVerdict> {
	const isVerdict = (value: unknown): boolean => {
		if (value === "send" || value === "cancel") return true;
		const { waitUntil, consentLanguage }: { waitUntil?: unknown; consentLanguage?: unknown } = Object(value);
		const isTime = hasMethods(waitUntil, "getTime") && !Number.isNaN(Number(waitUntil));
		return isTime || (typeof consentLanguage === "string" && consentLanguage !== "");
	};
	const wanted = '"send", "cancel", { waitUntil: Date } or { consentLanguage: string }';
	return ask("beforeSend", () => hook(textToSend(text), context), isVerdict, wanted);
}

/** Asks `onReply`. @throws PartnerConfigurationError if it fails, takes too long or returns no verdict */
export function askOnReply(hook: OnReply, text: OutboxText, replies: readonly Message[]): Promise<ReplyVerdict> {
	const isVerdict = (value: unknown): boolean => value === "send" || value === "wait" || value === "cancel";
	return ask("onReply", () => hook(replies, textToSend(text)), isVerdict, '"send", "wait" or "cancel"');
}

async function ask<Verdict>(
	field: string,
	hook: () => Verdict | PromiseLike<Verdict>,
	isVerdict: (value: unknown) => boolean,
	wanted: string,
): Promise<Verdict> {
	const failed = (rule: string) => new PartnerConfigurationError({ field, rule, operation: "work", retryable: true });
	let timer: ReturnType<typeof setTimeout> | undefined;
	const limit = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(failed(`must return within ${hookMs / 1_000} seconds`)), hookMs);
	});
	try {
		// Without the message of an error, which can quote a number or a text.
		const answer = (async () => hook())().catch((error: unknown) => {
			throw failed(`must not throw; it threw ${nameOf(error)}`);
		});
		const verdict = await Promise.race([answer, limit]);
		if (!isVerdict(verdict)) throw failed(`must return ${wanted}`);
		return verdict;
	} finally {
		clearTimeout(timer);
	}
}

function nameOf(error: unknown): string {
	const { name }: { name?: unknown } = Object(error);
	return typeof name === "string" && /^[A-Za-z]+$/.test(name) ? name.slice(0, 60) : "something";
}

function textToSend({
	id,
	agencyId,
	to,
	body,
	consentLanguage,
	priority,
	createdAt,
	progress,
}: OutboxText): TextToSend {
	const { attempts } = progress;
	return { id, agencyId, to, body, consentLanguage, priority, createdAt: new Date(createdAt), attempts };
}
