import { consentTemplate } from "./consent.ts";
import { encodeCursor } from "./cursor.ts";
import { sidOf } from "./sid.ts";
import type { Held, MessageExtras, Schemas, StoredMessage, Thread, World } from "./state.ts";
import { isInProgress, windowExpiresAt } from "./thread.ts";

/*
 * What exists, in the words of the contract. Rows are remembered until they change: a page of 50 is built once.
 */

const rememberAtMost = 20_000;

/** R9 */
export const iso = (at: number): string => new Date(at).toISOString();
export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));

/** What cursors of an agency's conversations, and of one conversation's messages, are good for (R50, R79). */
export const listName = (agencyId: string): string => `conversations ${agencyId}`;
export const messagesName = (agencyId: string, phone: string): string => `messages ${agencyId} ${phone}`;

/** A thread as a row of the list, with its cursor (R59: all 17 fields). */
export function summaryOf(world: World, thread: Thread): Schemas["ConversationSummary"] {
	return remembered(world.summaries, thread, buildSummary);
}

function buildSummary(thread: Thread): Schemas["ConversationSummary"] {
	const last = thread.messages[thread.messages.length - 1];
	const latestFlow = thread.flows.reduce((a, b) => (b.updated > a.updated ? b : a), thread.flows[0] ?? { updated: 0 });
	return {
		phoneNumber: thread.phone,
		contactName: thread.name,
		lastMessageAt: last ? iso(last.at) : null,
		lastMessagePreview: last?.body == null ? null : preview(last.body),
		lastMessageDirection: last ? directionOf(last) : null,
		totalMessages: thread.messages.length, // R157
		failedMessages: thread.failed, // R158
		activeFlows: thread.flows.filter((flow) => isInProgress(flow.status)).length, // R178
		completedFlows: thread.flows.filter((flow) => flow.status === "completed").length,
		latestFlowStatus: "status" in latestFlow ? latestFlow.status : null,
		lastInboundAt: isoOrNull(thread.lastInboundAt),
		windowExpiresAt: isoOrNull(windowExpiresAt(thread)),
		aiEnabled: thread.ai.enabled,
		queuedMessages: thread.held ? 1 : 0, // R129
		isUnlinked: thread.reason === "unlinked", // R160
		visibility: {
			reason: thread.reason,
			isShared: thread.shared,
			isVisibleThroughAgencyTag: thread.reason === "tagged", // R165
		},
		cursor: encodeCursor(listName(thread.agencyId), [thread.rank.at, thread.rank.messageId, thread.rank.serial]),
	};
}

/** R159: the first 100 characters, without cutting one in two. */
function preview(body: string): string {
	return body.length <= 100 ? body : Array.from(body.slice(0, 200)).slice(0, 100).join("");
}

const directionOf = ({ outbound }: StoredMessage): "inbound" | "outbound" => (outbound ? "outbound" : "inbound");

const noExtras: MessageExtras = {};

/** R182: the 14 required fields, and the optional two when there is something in them (R11). */
export function messageOf(world: World, message: StoredMessage): Schemas["Message"] {
	return remembered(world.messages, message, buildMessage);
}

function buildMessage(message: StoredMessage): Schemas["Message"] {
	const { media, mediaStored, templateName, buttonClicked, interactiveContent, replyTo } = message.extras ?? noExtras;
	return {
		id: message.id,
		messageSid: sidOf(message.id),
		body: message.body,
		direction: directionOf(message),
		createdAt: iso(message.at),
		deliveredAt: isoOrNull(message.deliveredAt),
		readAt: isoOrNull(message.readAt),
		status: message.status,
		media: media ? [...media] : null, // R83
		mediaStored: mediaStored ? [...mediaStored] : null, // R171
		numMedia: media?.length ?? 0,
		templateName: templateName ?? null,
		buttonClicked: buttonClicked ?? null,
		profileName: message.profileName,
		...(interactiveContent ? { interactiveContent } : {}),
		...(replyTo ? { replyTo } : {}),
	};
}

/** R122, R170 */
export function queuedOf(held: Held): Schemas["QueuedMessage"] {
	return {
		id: held.id,
		body: held.body,
		attachmentUploadId: null,
		attachmentFileName: null,
		attachmentMimeType: null,
		attachmentFileSize: null,
		status: "queued",
		createdAt: iso(held.createdAt),
		updatedAt: iso(held.updatedAt),
	};
}

/** What a contact's phone got. */
export interface InboxEntry {
	/** A text of the agency, or a template with its buttons. */
	readonly kind: "text" | "template";
	/** What it says. */
	readonly body: string;
	/** Null for a text. */
	readonly templateCode: string | null;
	/** The language of a template; null for a text. */
	readonly language: string | null;
	/** The operationId of the send whose text this is; null without one, and for a template. */
	readonly operationId: string | null;
	/** The agency's sender it came from. */
	readonly sender: string | null;
	/** When it was sent, ISO 8601 in UTC. */
	readonly at: string;
}

export function inboxOf(thread: Thread): InboxEntry[] {
	return thread.messages
		.filter(({ outbound, status }) => outbound && status !== "failed" && status !== "undelivered")
		.map(({ body, at, extras = noExtras }) => ({
			kind: extras.templateName === consentTemplate ? "template" : "text",
			body: body ?? "",
			templateCode: extras.templateName ?? null,
			language: extras.language ?? null,
			operationId: extras.operationId ?? null,
			sender: extras.sender ?? null,
			at: iso(at),
		}));
}

/** An answer as JSON. The text of a remembered row is remembered with it: most of the time of a page goes there. */
export function textOf(world: World, answer: object): string {
	const fields = Object.entries(answer).map(([name, value]) => {
		const isPage = Array.isArray(value) && (name === "conversations" || name === "messages");
		const text = isPage ? `[${value.map((row) => rowText(world, row)).join(",")}]` : JSON.stringify(value);
		return `${JSON.stringify(name)}:${text}`;
	});
	return `{${fields.join(",")}}`;
}

function rowText(world: World, row: object): string {
	const known = world.texts.get(row);
	if (known !== undefined) return known;
	const text = JSON.stringify(row);
	world.texts.set(row, text);
	return text;
}

function remembered<Key, Row>(rows: Map<Key, Row>, key: Key, build: (key: Key) => Row): Row {
	const known = rows.get(key);
	if (known) return known;
	if (rows.size >= rememberAtMost) rows.clear();
	const row = build(key);
	rows.set(key, row);
	return row;
}
