import { anything, flag, listOf, optional } from "../../shared/validation.ts";
import { assertValid, aUuid, fields, someText, stringOrNull } from "../base/input.ts";
import { type ConsentSettings, consentFrom } from "../world/consent.ts";
import { findMessage } from "../world/message.ts";
import { aiReplies, isWindowOpen, staffSends, staffSetsAi } from "../world/thread.ts";
import { agencyById, threadFor, type World } from "../world/world.ts";
import { type AiMessage, aiMessageFrom } from "./compose.ts";
import {
	type Contact,
	type ContactRef,
	createContact,
	idsOf,
	type MessageIds,
	nameContact,
	peekThread,
	phoneOf,
} from "./contact.ts";
import { type ConversationControl, createConversationControl } from "./conversation.ts";
import { type FlowControl, startFlow } from "./flow.ts";
import { createMessageControl, type MessageControl } from "./provider.ts";
import { type AgencyState, agencyState, type ConversationRow, rowOf } from "./state.ts";

/** An agency, and what its staff, its AI and its settings can do. */
export interface AgencyControl {
	/** For `client.agency(id)`. */
	readonly id: string;
	/** As `me.get` gives it; null for an agency without one. */
	readonly name: string | null;
	/** Its settings at present. @example agency.state().linked; */
	state(): AgencyState;
	/** Links the agency to its integration again. Linking twice does nothing. @example agency.link(); */
	link(): void;
	/**
	 * Ends the link: every call for the agency is 403 at once. Its data stay for when it is linked again.
	 * @example agency.unlink();
	 */
	unlink(): void;
	/** Gives the agency another name, or none. @example agency.rename(null); */
	rename(name: string | null): void;
	/**
	 * The contact with this number, named when a name is given. Naming makes no conversation.
	 * @example const anna = agency.contact("+447700900101", { name: "Anna" });
	 */
	contact(phone: ContactRef, options?: { name?: string | null | undefined }): Contact;
	/** The contacts that the agency knows, in order of creation. @example agency.contacts().map(({ name }) => name); */
	contacts(): Contact[];
	/** Its conversations, hidden ones too, newest message first. @example agency.conversations().length; */
	conversations(): ConversationRow[];
	/** Acts of the people of the agency. */
	readonly staff: {
		/**
		 * Staff turn the AI on or off for a contact; off is `user_toggle`, which only staff end.
		 * @example agency.staff.setAi({ contact: anna, on: false });
		 */
		setAi(options: { readonly contact: ContactRef; readonly on: boolean }): void;
		/**
		 * A person of the agency sends a text. Like a send through the API it stops the AI and ends flows. In a closed
		 * window the text is held, the consent template goes out, and null is returned.
		 * @example agency.staff.sends({ contact: anna, text: "I'll call you." });
		 */
		sends(message: { readonly contact: ContactRef; readonly text: string }): MessageIds | null;
	};
	/** Acts of its AI. */
	readonly ai: {
		/**
		 * The AI replies to a contact, by a text or by a message with buttons or a list. Throws while it is off for the
		 * contact, and while the window is closed.
		 * @example
		 * agency.ai.replies({ contact: anna, text: "It is!" });
		 * const items = [{ id: "mon-14", title: "Monday, 14:00" }];
		 * agency.ai.replies({ contact: anna, text: "When does it suit you?", interactiveContent: { listPicker: { items } } });
		 * anna.taps("mon-14");
		 */
		replies(message: AiMessage & { readonly contact: ContactRef }): MessageIds;
	};
	/**
	 * A message of a conversation that the agency has, by its id or by the messageSid that a send returned. Any other one
	 * throws. `sandbox.message` finds the messages of all agencies.
	 * @example agency.message(sent.messageId).delivered();
	 */
	message(id: number | string): MessageControl;
	/**
	 * Starts a new automated flow for a contact.
	 * @example agency.startFlow(anna).complete();
	 */
	startFlow(contact: ContactRef): FlowControl;
	/** The template that asks a contact for consent outside the window. */
	readonly consent: {
		/** Changes settings; one that is left out stays. @example agency.consent.set({ languages: ["nl", "fr"] }); */
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

/** Senders as they are kept. */
export function sendersFrom(ids: readonly string[]): string[] {
	assertValid("senders.set: ids", ids, listOf(aUuid));
	return ids.map((sender) => sender.toLowerCase());
}

const setAiRule = fields<{ contact: ContactRef; on: boolean }>({ contact: anything, on: flag });
const staffRule = fields<{ contact: ContactRef; text: string }>({ contact: anything, text: someText });

const contactRule = fields<{ name?: string | null }>({ name: optional(stringOrNull) });

export function createAgencyControl(world: World, id: string): AgencyControl {
	const agency = () => agencyById(world, id);
	const peek = (contact: ContactRef) => peekThread(agency(), phoneOf(contact));
	const find = (contact: ContactRef) => threadFor(world, agency(), phoneOf(contact));
	const { events } = world;
	const together = <Result>(act: () => Result): Result => events.together(null, act);
	const changed = (): void => events.add({ type: "agency.changed", agencyId: id });
	agency();
	return {
		id,
		get name() {
			return agency().name;
		},
		state: () => agencyState(agency()),
		link() {
			agency().linked = true;
			changed();
		},
		unlink() {
			agency().linked = false;
			changed();
		},
		rename(name) {
			assertValid("rename: name", name, stringOrNull);
			agency().name = name;
			changed();
		},
		contact(given, options = {}) {
			assertValid("contact", options, contactRule);
			const { name } = options;
			const phone = phoneOf(given);
			if (name !== undefined && name !== peek(phone).name) nameContact(world, find(phone), name);
			return createContact(world, id, phone);
		},
		contacts() {
			const threads = [...agency().threads.values()].sort((a, b) => a.serial - b.serial);
			return threads.map(({ phone }) => createContact(world, id, phone));
		},
		conversations: () => agency().list.map((thread) => rowOf(world, id, thread)),
		staff: {
			setAi(options) {
				assertValid("staff.setAi", options, setAiRule);
				const { contact, on } = options;
				const { ai } = peek(contact);
				if (on ? !ai.enabled : ai.reason !== "user_toggle") staffSetsAi(world, find(contact), on);
			},
			sends(message) {
				assertValid("staff.sends", message, staffRule);
				const { contact, text } = message;
				const sent = together(() => staffSends(world, peek(contact), () => find(contact), text));
				return sent && idsOf(sent);
			},
		},
		ai: {
			replies(message) {
				const { body, extras } = aiMessageFrom(message);
				const thread = peek(message.contact);
				if (!thread.ai.enabled) throw new Error("The AI is off for this contact, so it cannot reply."); // R179
				if (!isWindowOpen(thread, world.now)) throw new Error("The window is closed, so the AI cannot reply.");
				return idsOf(together(() => aiReplies(world, thread, body, extras)));
			},
		},
		message(given) {
			const found = findMessage(world, given);
			if (found && !found.thread.views.some(({ agencyId }) => agencyId === id))
				throw new Error(
					`message: ${given} is of a conversation of another agency. sandbox.message finds the messages of all agencies.`,
				);
			return createMessageControl(world, given);
		},
		startFlow: (contact) => startFlow(world, () => find(contact)),
		consent: {
			set(settings) {
				agency().consent = consentFrom(agency().consent, settings);
				changed();
			},
		},
		senders: {
			set(ids) {
				agency().senders = sendersFrom(ids);
				changed();
			},
			get ids() {
				return [...agency().senders];
			},
		},
		storesMedia(on) {
			assertValid("storesMedia: on", on, flag);
			agency().storesMedia = on;
			changed();
		},
		conversation: (contact) =>
			createConversationControl(
				world,
				id,
				() => find(contact),
				() => peek(contact),
			),
	};
}
