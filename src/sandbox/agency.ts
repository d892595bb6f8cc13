import { type ConsentSettings, consentFrom } from "./consent.ts";
import {
	type Contact,
	type ContactRef,
	createContact,
	idsOf,
	type MessageIds,
	nameContact,
	threadOfContact,
} from "./contact.ts";
import { type FlowControl, startFlow } from "./flow.ts";
import { staffSends } from "./messages.ts";
import { type Thread, visibilityReasons, type World } from "./state.ts";
import {
	aString,
	assertValid,
	fields,
	listOf,
	must,
	oneOf,
	optional,
	orNull,
	trueOrFalse,
	wholeFrom,
} from "./strict.ts";
import { aiReplies, isWindowOpen, staffSetsAi } from "./thread.ts";
import { agencyById, change } from "./world.ts";

/** An agency, and what its staff, its AI and its settings can do. */
export interface AgencyControl {
	/** For `client.agency(id)`. */
	readonly id: string;
	/** As `me.get` gives it; null for an agency without one. */
	readonly name: string | null;
	/** Links the agency to its integration again; linking twice is no error. @example agency.link(); */
	link(): void;
	/**
	 * Ends the link: every call for the agency is 403 at once. Its data stay for when it is linked again.
	 * @example agency.unlink();
	 */
	unlink(): void;
	/** @example agency.rename(null); */
	rename(name: string | null): void;
	/**
	 * The contact with this number, named when a name is given. Naming makes no conversation.
	 * @example const anna = agency.contact("+447700900101", { name: "Anna" });
	 */
	contact(phone: ContactRef, options?: { name?: string | null }): Contact;
	/** What people of the agency do. */
	readonly staff: {
		/**
		 * Staff turn the AI on or off for a contact; off is `user_toggle`, which only staff end.
		 * @example agency.staff.setAi(anna, false);
		 */
		setAi(contact: ContactRef, on: boolean): void;
		/**
		 * A person of the agency sends a text. Like a send through the API it stops the AI and ends flows, and in a
		 * closed window the text is held and the consent template goes out; then null is returned.
		 * @example agency.staff.sends(anna, "I'll call you.");
		 */
		sends(contact: ContactRef, text: string): MessageIds | null;
	};
	/** What its AI does. */
	readonly ai: {
		/**
		 * The AI replies to a contact. Throws while it is off for the contact, and while the window is closed.
		 * @example agency.ai.replies(anna, "It is!");
		 */
		replies(contact: ContactRef, text: string): MessageIds;
	};
	/**
	 * Starts a new automated flow for a contact.
	 * @example agency.startFlow(anna).complete();
	 */
	startFlow(contact: ContactRef): FlowControl;
	/** The template that asks a contact for consent outside the window. */
	readonly consent: {
		/** @example agency.consent.set({ languages: ["nl", "fr"] }); */
		set(settings: ConsentSettings): void;
	};
	/** The numbers that it sends from. */
	readonly senders: {
		/**
		 * The agency's senders by UUID, the default one first.
		 * @example agency.senders.set(["6f9619ff-8b86-4011-b42d-00c04fc964ff"]);
		 */
		set(ids: readonly string[]): void;
		/** The UUIDs, the default one first. */
		readonly ids: readonly string[];
	};
	/**
	 * Whether the agency keeps copies of files (`mediaStored`), from the next message on.
	 * @example agency.storesMedia(true);
	 */
	storesMedia(on: boolean): void;
	/** One conversation of the agency, whether it exists or not. @example agency.conversation(anna).hide(); */
	conversation(contact: ContactRef): ConversationControl;
}

/** How an agency sees one conversation. */
export interface ConversationControl {
	/** Makes a conversation without messages. @example agency.conversation(anna).open(); */
	open(): void;
	/**
	 * Why the agency sees it (§2 ConversationVisibility); shows it again after {@link hide}, and opens it. Whether other
	 * agencies may see it too (`isShared`) is for {@link share} to say, whatever the reason.
	 * @example agency.conversation(anna).visibleAs("tagged");
	 */
	visibleAs(reason: (typeof visibilityReasons)[number]): void;
	/** Other agencies may see it too; `share(false)` takes it back. @example agency.conversation(anna).share(); */
	share(on?: boolean): void;
	/**
	 * The agency sees it no more: not in lists, null in lookups, 404 when read. A send still works.
	 * @example agency.conversation(anna).hide();
	 */
	hide(): void;
	/**
	 * Another party takes over: the next sends are answered 409, so many (1 unless told) and no more.
	 * @example agency.conversation(anna).takeOver({ times: 1 });
	 */
	takeOver(options?: { times?: number }): void;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const senderRule = must("a UUID", (sender) => typeof sender === "string" && uuid.test(sender));

/** Senders as they are kept. */
export function sendersFrom(ids: readonly string[]): string[] {
	assertValid("senders.set: ids", ids, listOf(senderRule));
	return ids.map((sender) => sender.toLowerCase());
}

export const nameRule = orNull(aString);
const contactRule = fields<{ name?: string | null }>({ name: optional(nameRule) });
const takeOverRule = fields<{ times?: number }>({ times: optional(wholeFrom(0)) });

export function createAgencyControl(world: World, id: string): AgencyControl {
	const agency = () => agencyById(world, id);
	const find = (contact: ContactRef) => threadOfContact(agency(), contact);
	const alter = (contact: ContactRef, act: (thread: Thread) => void): void => {
		const thread = find(contact);
		change(world, thread, () => act(thread));
	};
	agency();
	return {
		id,
		get name() {
			return agency().name;
		},
		link() {
			agency().linked = true;
		},
		unlink() {
			agency().linked = false;
		},
		rename(name) {
			assertValid("rename: name", name, nameRule);
			agency().name = name;
		},
		contact(phone, options = {}) {
			assertValid("contact", options, contactRule);
			const { name } = options;
			const thread = find(phone);
			if (name !== undefined) nameContact(world, thread, name);
			return createContact(world, thread.phone, () => find(thread.phone));
		},
		staff: {
			setAi(contact, on) {
				assertValid("staff.setAi: on", on, trueOrFalse);
				staffSetsAi(world, find(contact), on);
			},
			sends(contact, text) {
				assertValid("staff.sends: text", text, aString);
				const message = staffSends(world, find(contact), text);
				return message && idsOf(message);
			},
		},
		ai: {
			replies(contact, text) {
				assertValid("ai.replies: text", text, aString);
				const thread = find(contact);
				if (!thread.ai.enabled) throw new Error("The AI is off for this contact, so it cannot reply."); // R179
				if (!isWindowOpen(thread, world.clock.now())) throw new Error("The window is closed, so the AI cannot reply.");
				return idsOf(aiReplies(world, thread, text));
			},
		},
		startFlow: (contact) => startFlow(world, () => find(contact)),
		consent: {
			set(settings) {
				agency().consent = consentFrom(agency().consent, settings);
			},
		},
		senders: {
			set(ids) {
				agency().senders = sendersFrom(ids);
			},
			get ids() {
				return [...agency().senders];
			},
		},
		storesMedia(on) {
			assertValid("storesMedia: on", on, trueOrFalse);
			agency().storesMedia = on;
		},
		conversation: (contact) => ({
			open: () => alter(contact, (thread) => (thread.opened = true)),
			visibleAs(reason) {
				assertValid("visibleAs: reason", reason, oneOf(...visibilityReasons));
				alter(contact, (thread) => Object.assign(thread, { reason, opened: true, hidden: false }));
			},
			share(on = true) {
				assertValid("share: on", on, trueOrFalse);
				alter(contact, (thread) => Object.assign(thread, { shared: on, opened: true }));
			},
			hide: () => alter(contact, (thread) => (thread.hidden = true)),
			takeOver(options = {}) {
				assertValid("takeOver", options, takeOverRule);
				const { times = 1 } = options;
				alter(contact, (thread) => (thread.conflicts = times));
			},
		}),
	};
}
