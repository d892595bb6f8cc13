// One canned answer for each operation, small enough to be cut at every byte, each field of the contract filled once.

export const operations = [
	"me.get",
	"conversations.list",
	"conversations.lookup",
	"conversations.get",
	"conversations.listMessages",
	"messages.send",
] as const;
export type Operation = (typeof operations)[number];

export const agencyId = "agy_0f1e2d3c";
export const apiKey = "rig_live.key1.c2VjcmV0";
export const phone = "+447700900101";

const summary = {
	phoneNumber: phone,
	contactName: "Anna",
	lastMessageAt: "2026-01-05T09:00:00.000Z",
	lastMessagePreview: "Yes",
	lastMessageDirection: "inbound",
	totalMessages: 2,
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
	cursor: null,
};

const messagePage = {
	messages: [
		{
			id: 7,
			messageSid: "SM7",
			body: "Yes",
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
		},
	],
	nextCursor: null,
	pageSize: 50,
	hasMore: false,
};

const me = {
	integration: { id: "5d1c9a52-7f0e-4a57-9f43-0b6f9f1c2d3e", name: "Some CRM" },
	agencies: [{ id: agencyId, name: "Agency" }],
	scopes: ["conversations:read", "messages:write"],
};

const conversationWithMessages = {
	conversation: {
		summary,
		queuedMessages: [],
		aiSettings: { enabled: true, disabledReason: null, disabledAt: null },
		windowReopenReadiness: {
			configured: true,
			templatesApproved: true,
			eligibleForManualSend: true,
			availableLanguages: ["nl"],
			defaultLanguage: "nl",
			flowCodes: ["c"],
			missingFlowCodes: [],
			missingTemplates: [],
			unapprovedTemplates: [],
		},
	},
	messagePage,
};

export const sentNow = {
	success: true,
	queued: false,
	messageId: "SM1",
	queueId: null,
	status: "accepted",
	windowOpen: true,
	windowExpiresAt: "2026-01-06T09:00:00.000Z",
};

export const heldForConsent = {
	success: true,
	queued: true,
	messageId: null,
	queueId: "q-1",
	status: null,
	windowOpen: false,
	windowExpiresAt: null,
};

/** The contract's answer to a read, as an object; a lookup is answered for the numbers that it asked about. */
export function readAnswer(operation: Exclude<Operation, "messages.send">, phoneNumbers: readonly string[] = [phone]) {
	switch (operation) {
		case "me.get":
			return me;
		case "conversations.list":
			return { conversations: [summary], nextCursor: null, pageSize: 50 };
		case "conversations.lookup":
			return {
				results: phoneNumbers.map((phoneNumber) => ({
					phoneNumber,
					conversation: phoneNumber === phone ? summary : null,
				})),
			};
		case "conversations.get":
			return conversationWithMessages;
		case "conversations.listMessages":
			return messagePage;
	}
}

/** The operation that a request line means, by the paths of spec §4. */
export function operationOf(method: string, path: string): Operation | undefined {
	const [, rest = ""] = path.split("/api/v1");
	const [route = ""] = rest.split("?");
	if (method === "GET" && route === "/me") return "me.get";
	const [, agencies, , room, phonePart, tail] = route.split("/");
	if (agencies !== "agencies") return undefined;
	if (method === "POST" && room === "messages" && phonePart === undefined) return "messages.send";
	if (room !== "conversations") return undefined;
	if (method === "POST") return phonePart === "lookup" && tail === undefined ? "conversations.lookup" : undefined;
	if (method !== "GET") return undefined;
	if (phonePart === undefined) return "conversations.list";
	if (tail === undefined) return "conversations.get";
	return tail === "messages" ? "conversations.listMessages" : undefined;
}
