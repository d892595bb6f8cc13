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
import type { Agency, Consent, Schemas, Thread, World } from "./state.ts";
import { aiReplies, isWindowOpen, staffSetsAi } from "./thread.ts";
import { change } from "./world.ts";

/** The consent flow of an agency (§2 WindowReopenReadiness); what is left out stays as it is. */
export interface ConsentSettings {
	/** @default true */
	readonly configured?: boolean;
	/** Languages of the consent template. @default ["en"] */
	readonly languages?: readonly string[];
	/** One of `languages`, or null. @default the first language */
	readonly defaultLanguage?: string | null;
	readonly flowCodes?: readonly string[];
	readonly missingFlowCodes?: readonly string[];
	readonly missingTemplates?: readonly string[];
	/** Template codes, or codes with a status. */
	readonly unapprovedTemplates?: readonly (string | Schemas["UnapprovedTemplate"])[];
	/** How long a contact may take to answer; texts that are held already keep their time (R121). @default 48 */
	readonly answerWithinHours?: number;
}

/** An agency, and what its staff, its AI and its settings can do. */
export interface AgencyControl {
	readonly id: string;
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
	readonly consent: {
		/** @example agency.consent.set({ languages: ["nl", "fr"] }); */
		set(settings: ConsentSettings): void;
	};
	readonly senders: {
		/**
		 * The agency's senders by UUID, the default one first.
		 * @example agency.senders.set(["6f9619ff-8b86-4011-b42d-00c04fc964ff"]);
		 */
		set(ids: readonly string[]): void;
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
	 * Why the agency sees it (§2 ConversationVisibility); shows it again after {@link hide}, and opens it.
	 * @example agency.conversation(anna).visibleAs("tagged");
	 */
	visibleAs(reason: "focus" | "unlinked" | "tagged" | "unknown"): void;
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

export function createAgencyControl(world: World, id: string): AgencyControl {
	const agency = (): Agency => {
		const found = world.agencies.get(id);
		if (!found) throw new Error(`The sandbox has no agency ${id}.`);
		return found;
	};
	const find = (contact: ContactRef) => ({ agency: agency(), thread: threadOfContact(agency(), contact) });
	const alter = (contact: ContactRef, act: (thread: Thread) => void): void => {
		const { agency, thread } = find(contact);
		change(world, agency, thread, () => act(thread));
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
			agency().name = name;
		},
		contact(phone, { name } = {}) {
			const { agency: owner, thread } = find(phone);
			if (name !== undefined) nameContact(world, owner, thread, name);
			return createContact(world, agency, thread.phone);
		},
		staff: {
			setAi(contact, on) {
				const { agency, thread } = find(contact);
				staffSetsAi(world, agency, thread, on);
			},
			sends(contact, text) {
				const { agency, thread } = find(contact);
				const message = staffSends(world, agency, thread, text);
				return message && idsOf(message);
			},
		},
		ai: {
			replies(contact, text) {
				const { agency, thread } = find(contact);
				if (!thread.ai.enabled) throw new Error("The AI is off for this contact, so it cannot reply."); // R179
				if (!isWindowOpen(thread, world.clock.now())) throw new Error("The window is closed, so the AI cannot reply.");
				return idsOf(aiReplies(world, agency, thread, text));
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
				const bad = ids.find((sender) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(sender));
				if (bad !== undefined) throw new TypeError(`A sender is a UUID, not "${bad}".`);
				agency().senders = ids.map((sender) => sender.toLowerCase());
			},
			get ids() {
				return [...agency().senders];
			},
		},
		storesMedia(on) {
			agency().storesMedia = on;
		},
		conversation: (contact) => ({
			open: () => alter(contact, (thread) => (thread.opened = true)),
			visibleAs(reason) {
				if (!["focus", "unlinked", "tagged", "unknown"].includes(reason))
					throw new TypeError(`There is no reason "${reason}".`);
				alter(contact, (thread) => Object.assign(thread, { reason, opened: true, hidden: false }));
			},
			share: (on = true) => alter(contact, (thread) => Object.assign(thread, { shared: on, opened: true })),
			hide: () => alter(contact, (thread) => (thread.hidden = true)),
			takeOver({ times = 1 } = {}) {
				if (!Number.isInteger(times) || times < 0) throw new RangeError("takeOver's times is a whole number.");
				alter(contact, (thread) => (thread.conflicts = times));
			},
		}),
	};
}

function consentFrom(before: Consent, given: ConsentSettings): Consent {
	const settings = structuredClone(given);
	const unknown = Object.keys(settings).find((name) => !(name in before));
	if (unknown !== undefined) throw new TypeError(`The consent flow has no "${unknown}".`);
	const { unapprovedTemplates = before.unapprovedTemplates, ...rest } = settings;
	const consent = {
		...before,
		...rest,
		unapprovedTemplates: unapprovedTemplates.map((template) =>
			typeof template === "string" ? { templateCode: template, status: "pending" } : template,
		),
	};
	const { languages, defaultLanguage, answerWithinHours, flowCodes, missingFlowCodes, missingTemplates } = consent;
	for (const list of [languages, flowCodes, missingFlowCodes, missingTemplates])
		if (!Array.isArray(list) || list.some((item) => typeof item !== "string"))
			throw new TypeError("Languages, flow codes and templates are arrays of strings.");
	if (!(answerWithinHours > 0)) throw new RangeError("answerWithinHours must be more than 0.");
	if (defaultLanguage === null || languages.includes(defaultLanguage)) return consent;
	// R168: null, or one of the languages.
	if (settings.defaultLanguage !== undefined)
		throw new RangeError("defaultLanguage must be one of languages, or null.");
	return { ...consent, defaultLanguage: languages[0] ?? null };
}
