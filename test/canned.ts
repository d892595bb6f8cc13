import type {
	ConversationDetail,
	ConversationPage,
	ConversationSummary,
	ConversationWithMessages,
	Me,
	Message,
	MessagePage,
} from "messaging-conversations";
import type { SendMessageResult } from "../generated/openapi.ts";

// Good answers, written by hand from spec §2. The marked values are secrets that nothing handed out may show.

export const apiKey = "test_live.key0001.CANARYKEY";
export const agencyId = "agy_0a1b2c3d";
export const phone = "+32470123456";
export const spelledPhone = "0470 12 34 56";
export const text = "CANARYTEXT the visit is at 14:00.";
export const operationId = "11111111-2222-4333-8444-555555555555";

export const me: Me = {
	integration: { id: "3f2a8f0e-9f4b-4c55-9a53-0d8d1f1c2b3a", name: "Some CRM" },
	agencies: [
		{ id: agencyId, name: "Agency One" },
		{ id: "agy_ffff", name: null },
	],
	scopes: ["conversations:read", "messages:write"],
};

export function summary(overrides: Partial<ConversationSummary> = {}): ConversationSummary {
	return {
		phoneNumber: phone,
		contactName: "Anna Peeters",
		lastMessageAt: "2026-01-05T09:00:00.000Z",
		lastMessagePreview: "Is the flat still free?",
		lastMessageDirection: "inbound",
		totalMessages: 3,
		failedMessages: 0,
		activeFlows: 0,
		completedFlows: 1,
		latestFlowStatus: "completed",
		lastInboundAt: "2026-01-05T09:00:00.000Z",
		windowExpiresAt: "2026-01-06T09:00:00.000Z",
		aiEnabled: true,
		queuedMessages: 0,
		isUnlinked: false,
		visibility: { reason: "focus", isShared: false, isVisibleThroughAgencyTag: false },
		cursor: "row-1",
		...overrides,
	};
}

function message(id: number, overrides: Partial<Message> = {}): Message {
	return {
		id,
		messageSid: `SM${id}`,
		body: `text ${id}`,
		direction: "inbound",
		createdAt: "2026-01-05T09:00:00.000Z",
		deliveredAt: null,
		readAt: null,
		status: "received",
		media: null,
		mediaStored: null,
		numMedia: 0,
		templateName: null,
		buttonClicked: null,
		profileName: "Anna",
		...overrides,
	};
}

/** A page of conversations, each with the given name. */
export function conversationPage(names: readonly string[], nextCursor: string | null = null): ConversationPage {
	return { conversations: names.map((contactName) => summary({ contactName })), nextCursor, pageSize: 50 };
}

export function messagePage(ids: readonly number[], nextCursor: string | null = null): MessagePage {
	return { messages: ids.map((id) => message(id)), nextCursor, pageSize: 50, hasMore: nextCursor !== null };
}

export const detail: ConversationDetail = {
	summary: summary({ cursor: null }),
	queuedMessages: [],
	aiSettings: { enabled: true, disabledReason: null, disabledAt: null },
	windowReopenReadiness: {
		configured: true,
		templatesApproved: true,
		eligibleForManualSend: true,
		availableLanguages: ["nl", "fr"],
		defaultLanguage: "nl",
		flowCodes: ["consent"],
		missingFlowCodes: [],
		missingTemplates: [],
		unapprovedTemplates: [],
	},
};

export const withMessages: ConversationWithMessages = { conversation: detail, messagePage: messagePage([2, 1]) };

export const sentNow: SendMessageResult = {
	success: true,
	queued: false,
	messageId: "SM900",
	queueId: null,
	status: "accepted",
	windowOpen: true,
	windowExpiresAt: "2026-01-06T09:00:00.000Z",
};

export const sentQueued: SendMessageResult = {
	success: true,
	queued: true,
	messageId: null,
	queueId: "queue-1",
	status: null,
	windowOpen: false,
	windowExpiresAt: null,
};

/** Echoes the numbers of a lookup, each with a conversation. */
export function lookupAnswer(body: string): { results: unknown[] } {
	const { phoneNumbers }: { phoneNumbers: string[] } = JSON.parse(body);
	return {
		results: phoneNumbers.map((phoneNumber) => ({ phoneNumber, conversation: summary({ phoneNumber, cursor: null }) })),
	};
}
