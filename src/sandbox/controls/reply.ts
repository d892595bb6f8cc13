import { optional } from "../../validation.ts";
import type { Schemas } from "../base/contract.ts";
import { assertValid, fields, someText } from "../base/input.ts";
import { interactiveRule } from "../world/content.ts";
import type { MessageExtras } from "../world/world.ts";

/** A message of the AI with more than plain text. */
export interface AiMessage {
	/** The text. */
	readonly body: string;
	/** The code of the template that it is, as `templateName` of the message. */
	readonly templateName?: string | undefined;
	/** Its buttons or its list. {@link Contact.taps} takes the code of a quick reply, or the id of a list item. */
	readonly interactiveContent?: Schemas["InteractiveContent"] | undefined;
}

const rule = fields<AiMessage>({
	body: someText,
	templateName: optional(someText),
	interactiveContent: optional(interactiveRule),
});

/** An AI's message, checked; a string is its body. */
export function aiMessageFrom(given: string | AiMessage): { readonly body: string; readonly extras: MessageExtras } {
	if (typeof given === "string") assertValid("ai.replies: text", given, someText);
	const message: AiMessage = typeof given === "string" ? { body: given } : given;
	assertValid("ai.replies", message, rule);
	const { body, templateName, interactiveContent } = message;
	const extras: MessageExtras = {
		...(templateName === undefined ? {} : { templateName }),
		// The caller's own object may change later.
		...(interactiveContent === undefined ? {} : { interactiveContent: structuredClone(interactiveContent) }),
	};
	return { body, extras };
}
