import type { Schemas } from "../base/contract.ts";
import { type Consent, consentTemplate, readinessOf } from "../world/consent.ts";
import type { Author } from "../world/event.ts";
import { iso, isoOrNull } from "../world/instant.ts";
import { messageSidOf } from "../world/message.ts";
import { isInProgress, isWindowOpen, windowExpiresAt } from "../world/thread.ts";
import {
	type Agency,
	isShared,
	type StoredMessage,
	type Thread,
	type VisibilityReason,
	viewOf,
	type World,
} from "../world/world.ts";

/** A message as the contact's phone and the agency's staff see it. */
export interface MessageState {
	/** `id` of the message, as it is read. */
	readonly id: number;
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
	/** Who wrote it; `template` is the consent template. */
	readonly author: Author | "contact" | "template";
	/** Null for files only. */
	readonly body: string | null;
	/** When it was sent or received, ISO 8601 in UTC. */
	readonly at: string;
	/** The provider's status. */
	readonly status: string;
	/** When delivery was reported. */
	readonly deliveredAt: string | null;
	/** When reading was reported. */
	readonly readAt: string | null;
	/** The provider's error code. */
	readonly errorCode: number | null;
	/** The code of a template. */
	readonly templateCode: string | null;
	/** The language of a template. */
	readonly language: string | null;
	/** The buttons of a template. */
	readonly buttons: readonly {
		/** For `contact.taps`. */
		readonly code: string;
		/** The words on it. */
		readonly text: string;
	}[];
	/** The parts that the phone shows below the body: buttons, a list, links. */
	readonly interactiveContent: Schemas["InteractiveContent"] | null;
	/** The code of the button that the contact tapped. */
	readonly buttonClicked: string | null;
	/** Files that the contact sent. */
	readonly media: readonly Schemas["MessageMedia"][];
	/** The message that the contact replied to. */
	readonly replyTo: Schemas["ReplyToMessage"] | null;
	/** The operationId of the send. */
	readonly operationId: string | null;
	/** The agency's sender it came from. */
	readonly sender: string | null;
}

/** A text that waits for the contact's consent. */
export interface HeldState {
	/** `queueId` of the send. */
	readonly queueId: string;
	/** The text. */
	readonly body: string;
	/** Who wrote it. */
	readonly author: Author;
	/** The operationId of the send. */
	readonly operationId: string | null;
	/** When a text was first held in this queue entry. */
	readonly createdAt: string;
	/** When this text took the place. */
	readonly updatedAt: string;
	/** When it is dropped without an answer. */
	readonly expiresAt: string;
}

/** A conversation as a list shows it. */
export interface ConversationRow {
	/** The agency that owns it. */
	readonly agencyId: string;
	/** E.164. */
	readonly phoneNumber: string;
	/** The contact's name, when known. */
	readonly name: string | null;
	/** False for a contact without a conversation. */
	readonly exists: boolean;
	/** The 24-hour window, by the sandbox's clock. */
	readonly window: {
		/** Whether a text goes out at once. */
		readonly open: boolean;
		/** Null when the contact has never written. */
		readonly expiresAt: string | null;
	};
	/** The text that waits for consent. */
	readonly held: HeldState | null;
	/** The AI switch. */
	readonly ai: {
		/** Whether the AI may reply. */
		readonly enabled: boolean;
		/** Why it is off. */
		readonly disabledReason: "manual_send" | "user_toggle" | null;
		/** When it was turned off. */
		readonly disabledAt: string | null;
	};
	/** Flows that run or wait now. */
	readonly activeFlows: number;
	/** How many messages there are. */
	readonly totalMessages: number;
	/** The newest message. */
	readonly lastMessage: MessageState | null;
	/** How this agency sees it. */
	readonly visibility: {
		/** Why the agency sees it. */
		readonly reason: VisibilityReason;
		/** Whether other agencies may see it too. */
		readonly isShared: boolean;
		/** Whether it is hidden from the agency. */
		readonly hidden: boolean;
		/** The agencies that have it, the owner first; also one from which it is hidden. */
		readonly agencyIds: readonly string[];
	};
	/** How many of the next sends are answered 409. */
	readonly takeOvers: number;
	/** False: every message to the contact fails. */
	readonly reachable: boolean;
}

/** Everything that is in a conversation. */
export interface ConversationState extends ConversationRow {
	/** All flows, the oldest first. */
	readonly flows: readonly {
		/** For `sandbox.flow`. */
		readonly id: string;
		/** Its status at present. */
		readonly status: string;
	}[];
	/** All messages, the oldest first. */
	readonly messages: readonly MessageState[];
}

/** An agency's settings. */
export interface AgencyState {
	/** For `client.agency(id)`. */
	readonly id: string;
	/** As `me.get` gives it. */
	readonly name: string | null;
	/** The CRM to which it belongs. */
	readonly integrationId: string;
	/** Whether the link holds. */
	readonly linked: boolean;
	/** Whether it keeps copies of files. */
	readonly storesMedia: boolean;
	/** Its senders, the default one first. */
	readonly senders: readonly string[];
	/** Its consent flow. */
	readonly consent: Consent;
	/** Whether a send outside the window can be held. */
	readonly eligibleForManualSend: boolean;
}

export function agencyState(agency: Agency): AgencyState {
	const { id, name, integrationId, linked, storesMedia, senders, consent } = agency;
	const { eligibleForManualSend } = readinessOf(agency);
	return structuredClone({ id, name, integrationId, linked, storesMedia, senders, consent, eligibleForManualSend });
}

export function rowOf(world: World, agencyId: string, thread: Thread): ConversationRow {
	const { phone, name, opened, held, ai, flows, messages, views, conflicts, reachable } = thread;
	const last = messages[messages.length - 1];
	const view = viewOf(thread, agencyId);
	return {
		agencyId: views[0].agencyId,
		phoneNumber: phone,
		name,
		exists: opened,
		window: { open: isWindowOpen(thread, world.now), expiresAt: isoOrNull(windowExpiresAt(thread)) },
		held: held && {
			queueId: held.id,
			body: held.body,
			author: held.author,
			operationId: held.operationId,
			createdAt: iso(held.createdAt),
			updatedAt: iso(held.updatedAt),
			expiresAt: iso(held.expiresAt),
		},
		ai: { enabled: ai.enabled, disabledReason: ai.reason, disabledAt: isoOrNull(ai.at) },
		activeFlows: flows.filter(({ status }) => isInProgress(status)).length,
		totalMessages: messages.length,
		lastMessage: last ? messageState(last) : null,
		visibility: {
			reason: view?.reason ?? "unknown",
			isShared: isShared(thread, agencyId),
			hidden: view?.hidden ?? true,
			agencyIds: views.map((each) => each.agencyId),
		},
		takeOvers: conflicts,
		reachable,
	};
}

export function stateOf(world: World, agencyId: string, thread: Thread): ConversationState {
	return {
		...rowOf(world, agencyId, thread),
		flows: thread.flows.map(({ id, status }) => ({ id: String(id), status })),
		messages: thread.messages.map(messageState),
	};
}

function messageState(message: StoredMessage): MessageState {
	const { id, body, outbound, at, status, deliveredAt, readAt, errorCode, extras = {} } = message;
	const outgoing = extras.templateName === consentTemplate ? "template" : (extras.author ?? "api");
	return {
		id,
		messageSid: messageSidOf(id),
		author: outbound ? outgoing : "contact",
		body,
		at: iso(at),
		status,
		deliveredAt: isoOrNull(deliveredAt),
		readAt: isoOrNull(readAt),
		errorCode,
		templateCode: extras.templateName ?? null,
		language: extras.language ?? null,
		buttons: (extras.interactiveContent?.quickReplies ?? []).map((button) => ({ ...button })),
		interactiveContent: structuredClone(extras.interactiveContent ?? null),
		buttonClicked: extras.buttonClicked ?? null,
		media: (extras.media ?? []).map((file) => ({ ...file })),
		replyTo: extras.replyTo ? { ...extras.replyTo } : null,
		operationId: extras.operationId ?? null,
		sender: extras.sender ?? null,
	};
}

/** A text or a template that a contact's phone got. */
export interface InboxEntry {
	/** `template` for the request for consent and for each template of the AI. Everything else is a `text`, also one with buttons. */
	readonly kind: "text" | "template";
	/** The text. */
	readonly body: string;
	/** The code of the template; null for a text. */
	readonly templateCode: string | null;
	/** The language of the consent template; null for a text and for a template of the AI. */
	readonly language: string | null;
	/** The operationId of the send whose text this is; null without one, and for a template. */
	readonly operationId: string | null;
	/** The agency's sender it came from. */
	readonly sender: string | null;
	/** When it was sent, ISO 8601 in UTC. */
	readonly at: string;
}

export function inboxOf({ messages }: Pick<Thread, "messages">): InboxEntry[] {
	return messages
		.filter(({ outbound, status }) => outbound && status !== "failed" && status !== "undelivered")
		.map(({ body, at, extras = {} }) => ({
			kind: extras.templateName === undefined ? "text" : "template",
			body: body ?? "",
			templateCode: extras.templateName ?? null,
			language: extras.language ?? null,
			operationId: extras.operationId ?? null,
			sender: extras.sender ?? null,
			at: iso(at),
		}));
}
