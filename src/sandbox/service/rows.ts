import type { Schemas } from "../base/contract.ts";
import { encodeCursor, listName } from "../world/cursor.ts";
import { iso, isoOrNull } from "../world/instant.ts";
import { countsAsFailed, messageSidOf } from "../world/message.ts";
import type { Policy } from "../world/policy.ts";
import { isInProgress, windowExpiresAt } from "../world/thread.ts";
import {
	type Agency,
	type Held,
	isShared,
	type MessageExtras,
	rankOf,
	type StoredMessage,
	type Thread,
	viewOf,
	type World,
} from "../world/world.ts";

/*
 * Rows of the contract, built from what exists.
 */

/** A thread as a row of an agency's list, with its cursor (R59: all 17 fields). */
export function summaryOf({ policy }: World, { id, rows }: Agency, thread: Thread): Schemas["ConversationSummary"] {
	const row = rows.get(thread) ?? buildSummary(policy, id, thread);
	rows.set(thread, row);
	return row;
}

function buildSummary(policy: Policy, agencyId: string, thread: Thread): Schemas["ConversationSummary"] {
	const { messages } = thread;
	const last = messages.at(-1);
	const latestFlow = thread.flows.reduce((a, b) => (b.updated > a.updated ? b : a), thread.flows[0] ?? { updated: 0 });
	const isConsentFlow = policy.consentFlowCounts && thread.held !== null; // R178
	const latestStatus = "status" in latestFlow ? latestFlow.status : null;
	const reason = viewOf(thread, agencyId)?.reason ?? "unknown";
	return {
		phoneNumber: thread.phone,
		contactName: thread.name,
		lastMessageAt: last ? iso(last.at) : null,
		lastMessagePreview: last?.body == null ? null : preview(last.body),
		lastMessageDirection: last ? directionOf(last) : null,
		totalMessages: messages.length, // R157
		failedMessages: messages.filter(countsAsFailed).length, // R158
		activeFlows: thread.flows.filter((flow) => isInProgress(flow.status)).length + (isConsentFlow ? 1 : 0),
		completedFlows: thread.flows.filter((flow) => flow.status === "completed").length,
		latestFlowStatus: isConsentFlow ? "waiting" : latestStatus,
		lastInboundAt: isoOrNull(messages.filter(({ outbound }) => !outbound).at(-1)?.at ?? null),
		windowExpiresAt: isoOrNull(windowExpiresAt(thread)),
		aiEnabled: thread.ai.enabled,
		queuedMessages: thread.held ? 1 : 0, // R129
		isUnlinked: reason === "unlinked", // R160
		visibility: {
			reason,
			isShared: isShared(thread, agencyId),
			isVisibleThroughAgencyTag: reason === "tagged", // R165
		},
		cursor: encodeCursor(listName(agencyId), rankOf(thread)),
	};
}

/** R159: the first 100 characters, without cutting one in two. */
function preview(body: string): string {
	return body.length <= 100 ? body : Array.from(body.slice(0, 200)).slice(0, 100).join("");
}

const directionOf = ({ outbound }: StoredMessage): "inbound" | "outbound" => (outbound ? "outbound" : "inbound");

const noExtras: MessageExtras = {};

/** R182: the 14 required fields, and the optional two when there is something in them (R11). */
export function messageOf(message: StoredMessage): Schemas["Message"] {
	const { media, mediaStored, templateName, buttonClicked, interactiveContent, replyTo, nulls } =
		message.extras ?? noExtras;
	return {
		id: message.id,
		messageSid: messageSidOf(message.id),
		body: message.body,
		direction: directionOf(message),
		createdAt: nulls?.includes("createdAt") ? null : iso(message.at),
		deliveredAt: isoOrNull(message.deliveredAt),
		readAt: isoOrNull(message.readAt),
		status: nulls?.includes("status") ? null : message.status,
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
