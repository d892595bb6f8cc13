import { aNumber, aString, fields, listOf, must, optional, orNull, trueOrFalse } from "../base/check.ts";
import type { Schemas } from "../base/schemas.ts";

/*
 * Rules for what a message has beside its text, given to a control or found in an archive.
 */

const text = orNull(aString);
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const anInstant = must(
	"an instant such as 2026-01-05T09:00:00.000Z",
	(at) => typeof at === "string" && isoTime.test(at) && !Number.isNaN(Date.parse(at)),
);

export const mediaRule = listOf(
	fields<Schemas["MessageMedia"]>({
		url: aString,
		index: optional(aNumber),
		contentType: optional(aString),
		content_type: optional(aString),
	}),
);

export const storedMediaRule = listOf(
	fields<Schemas["StoredMedia"]>({
		size: aNumber,
		stored_url: aString,
		content_type: aString,
		original_url: aString,
		storage_path: aString,
		downloaded_at: aString,
	}),
);

export const replyRule = fields<Schemas["ReplyToMessage"]>({
	body: text,
	direction: text,
	createdAt: orNull(anInstant),
	templateName: text,
	hasMedia: orNull(trueOrFalse),
});

const listItemRule = fields<Schemas["ListPickerItem"]>({ id: aString, title: aString, description: optional(text) });

export const interactiveRule = fields<Schemas["InteractiveContent"]>({
	quickReplies: optional(orNull(listOf(fields<Schemas["QuickReply"]>({ code: aString, text: aString })))),
	listPicker: optional(
		orNull(fields<Schemas["ListPicker"]>({ buttonText: optional(text), items: listOf(listItemRule) })),
	),
	ctaButtons: optional(
		orNull(
			listOf(
				fields<Schemas["CtaButton"]>({
					type: aString,
					title: aString,
					url: optional(text),
					phone: optional(text),
					code: optional(text),
					ttl_minutes: optional(orNull(aNumber)),
				}),
			),
		),
	),
});
