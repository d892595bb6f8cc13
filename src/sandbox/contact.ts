import { toE164 } from "../input/phone.ts";
import { acceptCode, declineCode } from "./consent.ts";
import { hex } from "./noise.ts";
import { type InboxEntry, inboxOf, iso } from "./rows.ts";
import { findMessage, sidOf } from "./sid.ts";
import type { Agency, MessageExtras, Schemas, StoredMessage, Thread, World } from "./state.ts";
import {
	aNumber,
	aString,
	assertValid,
	fields,
	isRecord,
	listOf,
	must,
	optional,
	orNull,
	trueOrFalse,
} from "./strict.ts";
import { contactWrites, dropHeldText, sendHeldText } from "./thread.ts";
import { agencyOf, change, threadFor } from "./world.ts";

/** A message's two ids; either is good for `sandbox.message(id)`. */
export interface MessageIds {
	/** `id` of the message, as it is read. */
	readonly id: number;
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
}

/** What a contact writes beside plain text. */
export interface ContactMessage {
	/** Leave it out, or null, for files only. */
	readonly body?: string | null;
	/** Files, by URL and content type. */
	readonly media?: readonly Schemas["MessageMedia"][];
	/** The message replied to: its id, its messageSid, or what the service shall tell of it. */
	readonly replyTo?: number | string | Schemas["ReplyToMessage"];
}

/** A person whom the agency talks to, and that person's phone. */
export interface Contact {
	/** E.164. */
	readonly phoneNumber: string;
	/** Null until a name is given. */
	readonly name: string | null;
	/**
	 * Sends a message to the agency: it opens the window for 24 hours (§1) and may turn the AI back on (§3).
	 * @example anna.writes("Is the flat still free?");
	 * @example anna.writes({ media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] });
	 */
	writes(message: string | ContactMessage): MessageIds;
	/**
	 * Taps a button of a template. It is an inbound message like any other; the consent template's own two codes do
	 * what {@link accepts} and {@link declines} do.
	 * @example anna.taps("visit_confirm");
	 */
	taps(code: string): MessageIds;
	/**
	 * Accepts the consent template: a held text goes out after the tap (§3). Never throws; `hadHeldText` says whether
	 * there was one.
	 * @example anna.accepts().hadHeldText; // true when a text was waiting
	 */
	accepts(): {
		/** Whether a text was waiting, and went out. */
		hadHeldText: boolean;
	};
	/**
	 * Declines the consent template: a held text is dropped (§3). Never throws.
	 * @example anna.declines().hadHeldText; // true when a text was waiting
	 */
	declines(): {
		/** Whether a text was waiting, and was dropped. */
		hadHeldText: boolean;
	};
	/**
	 * What the phone got from this agency, in order: templates, and texts that were not reported failed.
	 * @example anna.inbox().map((entry) => entry.body);
	 */
	inbox(): InboxEntry[];
}

/** A contact, or its phone number in any spelling that `toE164` takes. */
export type ContactRef = string | Pick<Contact, "phoneNumber">;

const refRule = must(
	"a phone number or a contact",
	(given) => typeof (isRecord(given) ? given.phoneNumber : given) === "string",
);

export function threadOfContact(agency: Agency, contact: ContactRef): Thread {
	assertValid("contact", contact, refRule);
	const phone = typeof contact === "string" ? contact : contact.phoneNumber;
	return agency.threads.get(phone) ?? threadFor(agency, toE164(phone));
}

export const idsOf = ({ id }: StoredMessage): MessageIds => ({ id, messageSid: sidOf(id) });

const mediaRule = listOf(
	fields<Schemas["MessageMedia"]>({
		url: aString,
		index: optional(aNumber),
		contentType: optional(aString),
		content_type: optional(aString),
	}),
);
const text = orNull(aString);
const replyRule = fields<Schemas["ReplyToMessage"]>({
	body: text,
	direction: text,
	createdAt: text,
	templateName: text,
	hasMedia: orNull(trueOrFalse),
});
const messageRule = fields<ContactMessage>({
	body: optional(text),
	media: optional(mediaRule),
	replyTo: optional((given) => (typeof given === "number" || typeof given === "string" ? undefined : replyRule(given))),
});

/** `thread` finds the thread anew each time, so that a contact outlives a restored snapshot. */
export function createContact(world: World, phoneNumber: string, thread: () => Thread): Contact {
	const taps = (code: string): { message: StoredMessage; hadHeldText: boolean } => {
		assertValid("taps: code", code, aString);
		const target = thread();
		const held = target.held;
		const declined = code === declineCode;
		const extras = { buttonClicked: code };
		const opens = !declined || world.policy.declineOpensWindow; // R124
		const message = contactWrites(world, target, buttonText(target, code), extras, opens);
		if (held && declined) dropHeldText(world, target, held);
		else if (held && (code === acceptCode || world.policy.inboundFlushesQueue)) sendHeldText(world, target, held);
		return { message, hadHeldText: held !== null };
	};

	return {
		phoneNumber,
		get name() {
			return thread().name;
		},
		writes(given) {
			const target = thread();
			const whole: ContactMessage = typeof given === "string" ? { body: given } : given;
			assertValid("writes", whole, messageRule);
			const { body = null, media, replyTo } = whole;
			if (body === null && !media?.length) throw new TypeError("A contact's message needs a body or media.");
			const extras = {
				...filesIn(world, agencyOf(world, target), media),
				...(replyTo === undefined ? {} : { replyTo: repliedTo(world, target, replyTo) }),
			};
			const held = target.held;
			const message = contactWrites(world, target, body, Object.keys(extras).length > 0 ? extras : undefined);
			// R127: the text waits for consent ("only if the contact accepts"), unless the policy says otherwise.
			if (held && world.policy.inboundFlushesQueue) sendHeldText(world, target, held);
			return idsOf(message);
		},
		taps: (code) => idsOf(taps(code).message),
		accepts: () => ({ hadHeldText: taps(acceptCode).hadHeldText }),
		declines: () => ({ hadHeldText: taps(declineCode).hadHeldText }),
		inbox: () => inboxOf(thread()),
	};
}

/** Names a contact; without a conversation that makes none (R166). */
export function nameContact(world: World, thread: Thread, name: string | null): void {
	if (thread.name === name) return;
	change(world, thread, () => {
		thread.name = name;
	});
	agencyOf(world, thread).roster.noteName(thread);
}

/** The words on a button, when the newest template with buttons has it. */
function buttonText(thread: Thread, code: string): string | null {
	for (let i = thread.messages.length - 1; i >= 0; i--) {
		const content = thread.messages[i]?.extras?.interactiveContent;
		if (content) return content.quickReplies?.find((button) => button.code === code)?.text ?? null;
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
			downloaded_at: iso(world.clock.now()),
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
