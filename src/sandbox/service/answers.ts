import type { Schemas } from "../base/schemas.ts";
import { iso, isoOrNull } from "../world/clock.ts";
import { messageSidOf } from "../world/message-ids.ts";
import type { Agency, Held, MessageExtras, StoredMessage, Thread, World } from "../world/state.ts";
import { isInProgress } from "../world/thread.ts";
import { windowExpiresAt } from "../world/window.ts";
import { isShared, viewOf } from "../world/world.ts";
import { encodeCursor, listName } from "./cursor.ts";

/*
 * Rows of the contract, built from what exists. A row is kept until it changes, so that a page of 50 is built once.
 */

const rememberAtMost = 20_000;

/** A thread as a row of an agency's list, with its cursor (R59: all 17 fields). */
export function summaryOf(agency: Agency, thread: Thread): Schemas["ConversationSummary"] {
	return remembered(agency.summaries, thread, () => buildSummary(agency, thread));
}

function buildSummary({ id: agencyId }: Agency, thread: Thread): Schemas["ConversationSummary"] {
	const last = thread.messages[thread.messages.length - 1];
	const latestFlow = thread.flows.reduce((a, b) => (b.updated > a.updated ? b : a), thread.flows[0] ?? { updated: 0 });
	const reason = viewOf(thread, agencyId)?.reason ?? "unknown";
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
		isUnlinked: reason === "unlinked", // R160
		visibility: {
			reason,
			isShared: isShared(thread, agencyId),
			isVisibleThroughAgencyTag: reason === "tagged", // R165
		},
		cursor: encodeCursor(listName(agencyId), [thread.rank.at, thread.rank.messageId, thread.rank.serial]),
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
	return remembered(world.messages, message, () => buildMessage(message));
}

function buildMessage(message: StoredMessage): Schemas["Message"] {
	const { media, mediaStored, templateName, buttonClicked, interactiveContent, replyTo } = message.extras ?? noExtras;
	return {
		id: message.id,
		messageSid: messageSidOf(message.id),
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

/** An answer as JSON. The JSON of a kept row is kept with it, because most of a page's time goes there. */
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

function remembered<Key, Row>(rows: Map<Key, Row>, key: Key, build: () => Row): Row {
	const known = rows.get(key);
	if (known) return known;
	if (rows.size >= rememberAtMost) rows.clear();
	const row = build();
	rows.set(key, row);
	return row;
}
