import { flag, listOf, optional, orNull, rule } from "../../shared/validation.ts";
import type { Schemas } from "../base/contract.ts";
import { aNumber, aString, fields, stringOrNull } from "../base/input.ts";

/*
 * Rules for what a message has beside its text, given to a control or found in an archive.
 */

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const anInstant = rule(
	(at) => typeof at === "string" && isoTime.test(at) && !Number.isNaN(Date.parse(at)),
	"must be an instant such as 2026-01-05T09:00:00.000Z",
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
	body: stringOrNull,
	direction: stringOrNull,
	createdAt: orNull(anInstant),
	templateName: stringOrNull,
	hasMedia: orNull(flag),
});

const listItemRule = fields<Schemas["ListPickerItem"]>({
	id: aString,
	title: aString,
	description: optional(stringOrNull),
});

export const interactiveRule = fields<Schemas["InteractiveContent"]>({
	quickReplies: optional(orNull(listOf(fields<Schemas["QuickReply"]>({ code: aString, text: aString })))),
	listPicker: optional(
		orNull(fields<Schemas["ListPicker"]>({ buttonText: optional(stringOrNull), items: listOf(listItemRule) })),
	),
	ctaButtons: optional(
		orNull(
			listOf(
				fields<Schemas["CtaButton"]>({
					type: aString,
					title: aString,
					url: optional(stringOrNull),
					phone: optional(stringOrNull),
					code: optional(stringOrNull),
					ttl_minutes: optional(orNull(aNumber)),
				}),
			),
		),
	),
});
