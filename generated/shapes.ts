// Generated from openapi.json by `npm run generate`. Do not edit.

/** What the contract knows about a field. */
export interface Field {
	/** Name of the schema of its value, or of its items. */
	shape?: string;
	/** The known values of its string, or of its items. */
	known?: readonly string[];
	/** A time: ISO 8601 in UTC. */
	time?: true;
}

const any: Field = {};
const time: Field = { time: true };

/** The fields of each answer schema. */
export const shapes: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
	Me: { integration: { shape: "Integration" }, agencies: { shape: "Agency" }, scopes: { known: ["conversations:read","messages:write"] } },
	Integration: { id: any, name: any },
	Agency: { id: any, name: any },
	ConversationPage: { conversations: { shape: "ConversationSummary" }, nextCursor: any, pageSize: any },
	ConversationSummary: { phoneNumber: any, contactName: any, lastMessageAt: time, lastMessagePreview: any, lastMessageDirection: { known: ["inbound","outbound"] }, totalMessages: any, failedMessages: any, activeFlows: any, completedFlows: any, latestFlowStatus: { known: ["active","waiting","completed","cancelled","failed","timeout"] }, lastInboundAt: time, windowExpiresAt: time, aiEnabled: any, queuedMessages: any, isUnlinked: any, visibility: { shape: "ConversationVisibility" }, cursor: any },
	ConversationVisibility: { reason: { known: ["focus","unlinked","tagged","unknown"] }, isShared: any, isVisibleThroughAgencyTag: any },
	LookupResponse: { results: { shape: "LookupEntry" } },
	LookupEntry: { phoneNumber: any, conversation: { shape: "ConversationSummary" } },
	ConversationWithMessages: { conversation: { shape: "ConversationDetail" }, messagePage: { shape: "MessagePage" } },
	ConversationDetail: { summary: { shape: "ConversationSummary" }, queuedMessages: { shape: "QueuedMessage" }, aiSettings: { shape: "AiSettings" }, windowReopenReadiness: { shape: "WindowReopenReadiness" } },
	QueuedMessage: { id: any, body: any, attachmentUploadId: any, attachmentFileName: any, attachmentMimeType: any, attachmentFileSize: any, status: { known: ["queued"] }, createdAt: time, updatedAt: time },
	AiSettings: { enabled: any, disabledReason: { known: ["manual_send","user_toggle"] }, disabledAt: time },
	WindowReopenReadiness: { configured: any, templatesApproved: any, eligibleForManualSend: any, availableLanguages: any, defaultLanguage: any, flowCodes: any, missingFlowCodes: any, missingTemplates: any, unapprovedTemplates: { shape: "UnapprovedTemplate" } },
	UnapprovedTemplate: { templateCode: any, status: any },
	MessagePage: { messages: { shape: "Message" }, nextCursor: any, pageSize: any, hasMore: any },
	Message: { id: any, messageSid: any, body: any, direction: { known: ["inbound","outbound"] }, createdAt: time, deliveredAt: time, readAt: time, status: { known: ["queued","sent","delivered","read","failed","undelivered","received"] }, media: { shape: "MessageMedia" }, mediaStored: { shape: "StoredMedia" }, numMedia: any, templateName: any, buttonClicked: any, profileName: any, interactiveContent: { shape: "InteractiveContent" }, replyTo: { shape: "ReplyToMessage" } },
	MessageMedia: { url: any, index: any, contentType: any, content_type: any },
	StoredMedia: { size: any, stored_url: any, content_type: any, original_url: any, storage_path: any, downloaded_at: any },
	InteractiveContent: { quickReplies: { shape: "QuickReply" }, listPicker: { shape: "ListPicker" }, ctaButtons: { shape: "CtaButton" } },
	QuickReply: { code: any, text: any },
	ListPicker: { buttonText: any, items: { shape: "ListPickerItem" } },
	ListPickerItem: { id: any, title: any, description: any },
	CtaButton: { type: { known: ["URL","PHONE_NUMBER"] }, title: any, url: any, phone: any, code: any, ttl_minutes: any },
	ReplyToMessage: { body: any, direction: { known: ["inbound","outbound"] }, createdAt: time, templateName: any, hasMedia: any },
	SendMessageResult: { success: any, queued: any, messageId: any, queueId: any, status: { known: ["queued","accepted"] }, windowOpen: any, windowExpiresAt: time },
};
