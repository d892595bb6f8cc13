import { flag, rule } from "../../shared/validation.ts";
import { type E164, phoneFrom } from "../base/contract.ts";
import { assertValid, isRecord, someText } from "../base/input.ts";
import { acceptCode, declineCode } from "../world/consent.ts";
import { messageSidOf, report } from "../world/message.ts";
import { contactWrites, dropHeldText, sendHeldText } from "../world/thread.ts";
import {
	type Agency,
	about,
	agencyById,
	blankThread,
	type StoredMessage,
	type Thread,
	threadFor,
	type World,
} from "../world/world.ts";
import { buttonText, type ContactMessage, contactMessageFrom, extrasFrom } from "./compose.ts";
import { type ConversationState, type InboxEntry, inboxOf, stateOf } from "./state.ts";

/** A message's two ids; either is good for `sandbox.message(id)`. */
export interface MessageIds {
	/** `id` of the message, as it is read. */
	readonly id: number;
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
}

/** A person whom the agency talks to, and that person's phone. */
export interface Contact {
	/** E.164. */
	readonly phoneNumber: string;
	/** Null until a name is given. */
	readonly name: string | null;
	/**
	 * The conversation at present: window, held text, AI, flows and messages. Reading it leaves no trace.
	 * @example anna.state().window.open;
	 */
	state(): ConversationState;
	/**
	 * Sends a message to the agency: it opens the window for 24 hours and may turn the AI back on.
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
	 * Accepts the consent template: a held text goes out after the tap. Never throws; `hadHeldText` says whether there
	 * was one.
	 * @example anna.accepts().hadHeldText; // true when a text was waiting
	 */
	accepts(): {
		/** Whether a text was waiting, and went out. */
		hadHeldText: boolean;
	};
	/**
	 * Declines the consent template: a held text is dropped. Never throws.
	 * @example anna.declines().hadHeldText; // true when a text was waiting
	 */
	declines(): {
		/** Whether a text was waiting, and was dropped. */
		hadHeldText: boolean;
	};
	/**
	 * Reads everything that the agency sent: each message that did not fail becomes `read`.
	 * @example anna.reads();
	 */
	reads(): void;
	/**
	 * Off: the phone is gone, or the contact has blocked the agency, and every message to them is reported `failed`.
	 * @example anna.setReachable(false);
	 */
	setReachable(on: boolean): void;
	/**
	 * Returns the messages that the phone got from this agency, in order: those that were not reported failed.
	 * @example anna.inbox().map((entry) => entry.body);
	 */
	inbox(): InboxEntry[];
}

/** A contact, or its phone number in any spelling that `toE164` takes. */
export type ContactRef = string | Pick<Contact, "phoneNumber">;

const refRule = rule(
	(given) => typeof (isRecord(given) ? given.phoneNumber : given) === "string",
	"must be a phone number or a contact",
);

/** The contact's number; throws for what is none. */
export function phoneOf(contact: ContactRef): E164 {
	assertValid("contact", contact, refRule);
	const given = typeof contact === "string" ? contact : contact.phoneNumber;
	const phone = phoneFrom(given);
	if (phone === undefined)
		throw new TypeError("contact must be a phone number, with + and the country code or as written inside Belgium.");
	return phone;
}

/** The agency's record of a contact, without making one. */
export const peekThread = (agency: Agency, phone: E164): Thread =>
	agency.threads.get(phone) ?? blankThread(agency.id, phone, 0);

export const idsOf = ({ id }: StoredMessage): MessageIds => ({ id, messageSid: messageSidOf(id) });

/** The thread is looked up each time, so that a contact outlives a restored snapshot. */
export function createContact(world: World, agencyId: string, phoneNumber: E164): Contact {
	const agency = (): Agency => agencyById(world, agencyId);
	const thread = (): Thread => threadFor(world, agency(), phoneNumber);
	const peek = (): Thread => peekThread(agency(), phoneNumber);
	const { events } = world;

	const taps = (code: string): { message: StoredMessage; hadHeldText: boolean } => {
		assertValid("taps: code", code, someText);
		assertButton(code);
		const target = thread();
		const { held } = target;
		const hadHeldText = held !== null;
		const declined = code === declineCode;
		const opens = !declined || world.policy.declineOpensWindow; // R124
		return events.together(null, () => {
			const message = contactWrites(world, target, buttonText(target, code), { buttonClicked: code }, opens);
			if (declined) events.add({ type: "consent.declined", ...about(target), hadHeldText });
			if (code === acceptCode) events.add({ type: "consent.accepted", ...about(target), hadHeldText });
			if (held && declined) dropHeldText(world, target, held, "declined");
			else if (held && (code === acceptCode || world.policy.inboundFlushesQueue)) sendHeldText(world, target, held);
			return { message, hadHeldText };
		});
	};

	return {
		phoneNumber,
		get name() {
			return peek().name;
		},
		state: () => stateOf(world, agencyId, peek()),
		writes(given) {
			const message = contactMessageFrom(given);
			const extras = extrasFrom(world, peek(), message);
			const target = thread();
			const { held } = target;
			return events.together(null, () => {
				const written = contactWrites(world, target, message.body ?? null, extras);
				// R127: the text waits for consent ("only if the contact accepts"), unless the policy sends it.
				if (held && world.policy.inboundFlushesQueue) sendHeldText(world, target, held);
				return idsOf(written);
			});
		},
		taps: (code) => idsOf(taps(code).message),
		accepts: () => ({ hadHeldText: taps(acceptCode).hadHeldText }),
		declines: () => ({ hadHeldText: taps(declineCode).hadHeldText }),
		reads() {
			const target = peek();
			const unread = target.messages.filter(
				({ outbound, status }) => outbound && status !== "read" && status !== "failed" && status !== "undelivered",
			);
			if (unread.length === 0) return;
			events.together(null, () => {
				for (const message of unread) report(world, target, message, { status: "read", errorCode: message.errorCode });
				events.add({ type: "contact.read", ...about(target), messages: unread.length });
			});
		},
		setReachable(on) {
			assertValid("setReachable: on", on, flag);
			if (peek().reachable === on) return;
			const target = thread();
			target.reachable = on;
			events.add({ type: "contact.reachable", ...about(target), reachable: on });
		},
		inbox: () => inboxOf(peek()),
	};
}

/** Any code may be a button of some template, but one that begins like the consent template's own is a mistake. */
function assertButton(code: string): void {
	if (!/^consent/i.test(code) || code === acceptCode || code === declineCode) return;
	throw new TypeError(
		`taps: code must be "${acceptCode}", "${declineCode}", or the code of another template's button.`,
	);
}

/** Names a contact; without a conversation that makes none (R166). */
export function nameContact(world: World, thread: Thread, name: string | null): void {
	thread.name = name;
	world.events.add({ type: "contact.named", ...about(thread) });
}
