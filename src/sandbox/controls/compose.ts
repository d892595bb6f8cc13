import { anything, either, optional } from "../../shared/validation.ts";
import type { Schemas } from "../base/contract.ts";
import { hex } from "../base/derived.ts";
import { aNumber, aString, assertValid, fields, someText, stringOrNull } from "../base/input.ts";
import { interactiveRule, mediaRule, replyRule } from "../world/content.ts";
import { iso } from "../world/instant.ts";
import { findMessage } from "../world/message.ts";
import { type Agency, agencyOf, type MessageExtras, type Thread, type World } from "../world/world.ts";

/*
 * Messages of contacts and of the AI, as a test writes them, checked.
 */

/** A message of a contact with more than plain text. */
export interface ContactMessage {
	/** Leave it out, or null, for files only. */
	readonly body?: string | null | undefined;
	/** Files, by URL and content type. */
	readonly media?: readonly Schemas["MessageMedia"][] | undefined;
	/** The message replied to: its id, its messageSid, or the fields that the service gives of it. */
	readonly replyTo?: number | string | Schemas["ReplyToMessage"] | undefined;
}

const messageRule = fields<ContactMessage>({
	body: optional(stringOrNull),
	media: optional(mediaRule),
	replyTo: optional(either(aNumber, aString, replyRule)),
});

/** A contact's message, checked; a string is its body. */
export function contactMessageFrom(given: string | ContactMessage): ContactMessage {
	const message: ContactMessage = typeof given === "string" ? { body: given } : given;
	assertValid("writes", message, messageRule);
	const { body = null, media } = message;
	if (body !== null && body.trim() === "") throw new TypeError("writes: body must be a string that is not empty.");
	if (body === null && !media?.length) throw new TypeError("A contact's message needs a body or media.");
	return message;
}

/** The parts of a contact's message beside its body. */
export function extrasFrom(
	world: World,
	thread: Thread,
	{ media, replyTo }: ContactMessage,
): MessageExtras | undefined {
	const extras = {
		...filesIn(world, agencyOf(world, thread), media),
		...(replyTo === undefined ? {} : { replyTo: repliedTo(world, thread, replyTo) }),
	};
	return Object.keys(extras).length > 0 ? extras : undefined;
}

/** The words on a button or a list item, when the newest message with any has it. */
export function buttonText(thread: Thread, code: string): string | null {
	for (let i = thread.messages.length - 1; i >= 0; i--) {
		const content = thread.messages[i]?.extras?.interactiveContent;
		if (!content) continue;
		const button = content.quickReplies?.find((each) => each.code === code);
		return button?.text ?? content.listPicker?.items.find(({ id }) => id === code)?.title ?? null;
	}
	return null;
}

/** R86, and R171: copies only when the agency stores media. */
function filesIn(world: World, agency: Agency, given: ContactMessage["media"]): MessageExtras {
	if (!given?.length) return {};
	const media = given.map((file) => ({ ...file })); // the caller's own objects may change later
	if (!agency.storesMedia) return { media };
	const mediaStored = media.map((file) => {
		const path = `${agency.id}/${hex(`${agency.id} ${file.url}`, 16)}`;
		return {
			size: 1024,
			stored_url: `https://storage.invalid/${path}`,
			content_type: file.contentType ?? file.content_type ?? "application/octet-stream",
			original_url: file.url,
			storage_path: path,
			downloaded_at: iso(world.now),
		};
	});
	return { media, mediaStored };
}

/** R87: all five fields, of a message of this conversation. */
function repliedTo(
	world: World,
	thread: Thread,
	given: number | string | Schemas["ReplyToMessage"],
): Schemas["ReplyToMessage"] {
	if (typeof given === "object") return { ...given };
	const { thread: owner, message: found } = findMessage(world, given) ?? {};
	if (!found || owner !== thread) throw new Error(`There is no message ${given} in this conversation to reply to.`);
	return {
		body: found.body,
		direction: found.outbound ? "outbound" : "inbound",
		createdAt: iso(found.at),
		templateName: found.extras?.templateName ?? null,
		hasMedia: (found.extras?.media?.length ?? 0) > 0,
	};
}

/** A message of the AI: a text, or more. */
export interface AiMessage {
	/** The text. */
	readonly text: string;
	/** The code of the template that it is, as `templateName` of the message. */
	readonly templateName?: string | undefined;
	/** Its buttons or its list. {@link Contact.taps} takes the code of a quick reply, or the id of a list item. */
	readonly interactiveContent?: Schemas["InteractiveContent"] | undefined;
}

const aiRule = fields<AiMessage & { contact: unknown }>({
	contact: anything, // phoneOf says what it may be
	text: someText,
	templateName: optional(someText),
	interactiveContent: optional(interactiveRule),
});

/** An AI's message, checked. */
export function aiMessageFrom(message: AiMessage): {
	readonly body: string;
	readonly extras: MessageExtras;
} {
	assertValid("ai.replies", message, aiRule);
	const { text, templateName, interactiveContent } = message;
	const extras: MessageExtras = {
		...(templateName === undefined ? {} : { templateName }),
		// The caller's own object may change later.
		...(interactiveContent === undefined ? {} : { interactiveContent: structuredClone(interactiveContent) }),
	};
	return { body: text, extras };
}
