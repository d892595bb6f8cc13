// Generated from openapi.json by `npm run generate`. Do not edit.

// biome-ignore-all lint: generated
type Check = (value: any) => string | undefined;
const Integration: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.id !== "string") return "/id";
	if (typeof v.name !== "string") return "/name";
	return e;
};
const Agency: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.id !== "string") return "/id";
	if (typeof v.name !== "string" && v.name !== null) return "/name";
	return e;
};
const Me: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if ((e = Integration(v.integration))) return "/integration" + e;
	if (!Array.isArray(v.agencies)) return "/agencies"; for (let i = 0; i < v.agencies.length; i++) if ((e = Agency(v.agencies[i]))) return `/agencies/${i}${e}`;
	if (!Array.isArray(v.scopes)) return "/scopes"; for (let i = 0; i < v.scopes.length; i++) { if (typeof v.scopes[i] !== "string") return `/scopes/${i}`; }
	return e;
};
const ConversationVisibility: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.reason !== "string") return "/reason";
	if (typeof v.isShared !== "boolean") return "/isShared";
	if (typeof v.isVisibleThroughAgencyTag !== "boolean") return "/isVisibleThroughAgencyTag";
	return e;
};
const ConversationSummary: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.phoneNumber !== "string") return "/phoneNumber";
	if (typeof v.contactName !== "string" && v.contactName !== null) return "/contactName";
	if (typeof v.lastMessageAt !== "string" && v.lastMessageAt !== null) return "/lastMessageAt";
	if (typeof v.lastMessagePreview !== "string" && v.lastMessagePreview !== null) return "/lastMessagePreview";
	if (typeof v.lastMessageDirection !== "string" && v.lastMessageDirection !== null) return "/lastMessageDirection";
	if (!Number.isInteger(v.totalMessages)) return "/totalMessages";
	if (!Number.isInteger(v.failedMessages)) return "/failedMessages";
	if (!Number.isInteger(v.activeFlows)) return "/activeFlows";
	if (!Number.isInteger(v.completedFlows)) return "/completedFlows";
	if (typeof v.latestFlowStatus !== "string" && v.latestFlowStatus !== null) return "/latestFlowStatus";
	if (typeof v.lastInboundAt !== "string" && v.lastInboundAt !== null) return "/lastInboundAt";
	if (typeof v.windowExpiresAt !== "string" && v.windowExpiresAt !== null) return "/windowExpiresAt";
	if (typeof v.aiEnabled !== "boolean") return "/aiEnabled";
	if (!Number.isInteger(v.queuedMessages)) return "/queuedMessages";
	if (typeof v.isUnlinked !== "boolean") return "/isUnlinked";
	if ((e = ConversationVisibility(v.visibility))) return "/visibility" + e;
	if (typeof v.cursor !== "string" && v.cursor !== null) return "/cursor";
	return e;
};
const ConversationPage: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (!Array.isArray(v.conversations)) return "/conversations"; for (let i = 0; i < v.conversations.length; i++) if ((e = ConversationSummary(v.conversations[i]))) return `/conversations/${i}${e}`;
	if (typeof v.nextCursor !== "string" && v.nextCursor !== null) return "/nextCursor";
	if (!Number.isInteger(v.pageSize)) return "/pageSize";
	return e;
};
const LookupEntry: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.phoneNumber !== "string") return "/phoneNumber";
	if (v.conversation !== null) { if ((e = ConversationSummary(v.conversation))) return "/conversation" + e; }
	return e;
};
const LookupResponse: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (!Array.isArray(v.results)) return "/results"; for (let i = 0; i < v.results.length; i++) if ((e = LookupEntry(v.results[i]))) return `/results/${i}${e}`;
	return e;
};
const QueuedMessage: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.id !== "string") return "/id";
	if (typeof v.body !== "string") return "/body";
	if (typeof v.attachmentUploadId !== "string" && v.attachmentUploadId !== null) return "/attachmentUploadId";
	if (typeof v.attachmentFileName !== "string" && v.attachmentFileName !== null) return "/attachmentFileName";
	if (typeof v.attachmentMimeType !== "string" && v.attachmentMimeType !== null) return "/attachmentMimeType";
	if (!Number.isInteger(v.attachmentFileSize) && v.attachmentFileSize !== null) return "/attachmentFileSize";
	if (typeof v.status !== "string") return "/status";
	if (typeof v.createdAt !== "string") return "/createdAt";
	if (typeof v.updatedAt !== "string") return "/updatedAt";
	return e;
};
const AiSettings: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.enabled !== "boolean") return "/enabled";
	if (typeof v.disabledReason !== "string" && v.disabledReason !== null) return "/disabledReason";
	if (typeof v.disabledAt !== "string" && v.disabledAt !== null) return "/disabledAt";
	return e;
};
const UnapprovedTemplate: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.templateCode !== "string") return "/templateCode";
	if (typeof v.status !== "string" && v.status !== null) return "/status";
	return e;
};
const WindowReopenReadiness: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.configured !== "boolean") return "/configured";
	if (typeof v.templatesApproved !== "boolean") return "/templatesApproved";
	if (typeof v.eligibleForManualSend !== "boolean") return "/eligibleForManualSend";
	if (!Array.isArray(v.availableLanguages)) return "/availableLanguages"; for (let i = 0; i < v.availableLanguages.length; i++) { if (typeof v.availableLanguages[i] !== "string") return `/availableLanguages/${i}`; }
	if (typeof v.defaultLanguage !== "string" && v.defaultLanguage !== null) return "/defaultLanguage";
	if (!Array.isArray(v.flowCodes)) return "/flowCodes"; for (let i = 0; i < v.flowCodes.length; i++) { if (typeof v.flowCodes[i] !== "string") return `/flowCodes/${i}`; }
	if (!Array.isArray(v.missingFlowCodes)) return "/missingFlowCodes"; for (let i = 0; i < v.missingFlowCodes.length; i++) { if (typeof v.missingFlowCodes[i] !== "string") return `/missingFlowCodes/${i}`; }
	if (!Array.isArray(v.missingTemplates)) return "/missingTemplates"; for (let i = 0; i < v.missingTemplates.length; i++) { if (typeof v.missingTemplates[i] !== "string") return `/missingTemplates/${i}`; }
	if (!Array.isArray(v.unapprovedTemplates)) return "/unapprovedTemplates"; for (let i = 0; i < v.unapprovedTemplates.length; i++) if ((e = UnapprovedTemplate(v.unapprovedTemplates[i]))) return `/unapprovedTemplates/${i}${e}`;
	return e;
};
const ConversationDetail: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if ((e = ConversationSummary(v.summary))) return "/summary" + e;
	if (!Array.isArray(v.queuedMessages)) return "/queuedMessages"; for (let i = 0; i < v.queuedMessages.length; i++) if ((e = QueuedMessage(v.queuedMessages[i]))) return `/queuedMessages/${i}${e}`;
	if ((e = AiSettings(v.aiSettings))) return "/aiSettings" + e;
	if ((e = WindowReopenReadiness(v.windowReopenReadiness))) return "/windowReopenReadiness" + e;
	return e;
};
const MessageMedia: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.url !== "string") return "/url";
	if (v.index !== undefined) { if (typeof v.index !== "number") return "/index"; }
	if (v.contentType !== undefined) { if (typeof v.contentType !== "string") return "/contentType"; }
	if (v.content_type !== undefined) { if (typeof v.content_type !== "string") return "/content_type"; }
	return e;
};
const StoredMedia: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.size !== "number") return "/size";
	if (typeof v.stored_url !== "string") return "/stored_url";
	if (typeof v.content_type !== "string") return "/content_type";
	if (typeof v.original_url !== "string") return "/original_url";
	if (typeof v.storage_path !== "string") return "/storage_path";
	if (typeof v.downloaded_at !== "string") return "/downloaded_at";
	return e;
};
const QuickReply: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.code !== "string") return "/code";
	if (typeof v.text !== "string") return "/text";
	return e;
};
const ListPickerItem: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.id !== "string") return "/id";
	if (typeof v.title !== "string") return "/title";
	if (v.description !== undefined) { if (typeof v.description !== "string" && v.description !== null) return "/description"; }
	return e;
};
const ListPicker: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (v.buttonText !== undefined) { if (typeof v.buttonText !== "string" && v.buttonText !== null) return "/buttonText"; }
	if (!Array.isArray(v.items)) return "/items"; for (let i = 0; i < v.items.length; i++) if ((e = ListPickerItem(v.items[i]))) return `/items/${i}${e}`;
	return e;
};
const CtaButton: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.type !== "string") return "/type";
	if (typeof v.title !== "string") return "/title";
	if (v.url !== undefined) { if (typeof v.url !== "string" && v.url !== null) return "/url"; }
	if (v.phone !== undefined) { if (typeof v.phone !== "string" && v.phone !== null) return "/phone"; }
	if (v.code !== undefined) { if (typeof v.code !== "string" && v.code !== null) return "/code"; }
	if (v.ttl_minutes !== undefined) { if (typeof v.ttl_minutes !== "number" && v.ttl_minutes !== null) return "/ttl_minutes"; }
	return e;
};
const InteractiveContent: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (v.quickReplies !== undefined) { if (!Array.isArray(v.quickReplies) && v.quickReplies !== null) return "/quickReplies"; if (v.quickReplies !== null) for (let i = 0; i < v.quickReplies.length; i++) if ((e = QuickReply(v.quickReplies[i]))) return `/quickReplies/${i}${e}`; }
	if (v.listPicker !== undefined) { if (v.listPicker !== null) { if ((e = ListPicker(v.listPicker))) return "/listPicker" + e; } }
	if (v.ctaButtons !== undefined) { if (!Array.isArray(v.ctaButtons) && v.ctaButtons !== null) return "/ctaButtons"; if (v.ctaButtons !== null) for (let i = 0; i < v.ctaButtons.length; i++) if ((e = CtaButton(v.ctaButtons[i]))) return `/ctaButtons/${i}${e}`; }
	return e;
};
const ReplyToMessage: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.body !== "string" && v.body !== null) return "/body";
	if (typeof v.direction !== "string" && v.direction !== null) return "/direction";
	if (typeof v.createdAt !== "string" && v.createdAt !== null) return "/createdAt";
	if (typeof v.templateName !== "string" && v.templateName !== null) return "/templateName";
	if (typeof v.hasMedia !== "boolean" && v.hasMedia !== null) return "/hasMedia";
	return e;
};
const Message: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (!Number.isInteger(v.id)) return "/id";
	if (typeof v.messageSid !== "string") return "/messageSid";
	if (typeof v.body !== "string" && v.body !== null) return "/body";
	if (typeof v.direction !== "string") return "/direction";
	if (typeof v.createdAt !== "string" && v.createdAt !== null) return "/createdAt";
	if (typeof v.deliveredAt !== "string" && v.deliveredAt !== null) return "/deliveredAt";
	if (typeof v.readAt !== "string" && v.readAt !== null) return "/readAt";
	if (typeof v.status !== "string" && v.status !== null) return "/status";
	if (!Array.isArray(v.media) && v.media !== null) return "/media"; if (v.media !== null) for (let i = 0; i < v.media.length; i++) if ((e = MessageMedia(v.media[i]))) return `/media/${i}${e}`;
	if (!Array.isArray(v.mediaStored) && v.mediaStored !== null) return "/mediaStored"; if (v.mediaStored !== null) for (let i = 0; i < v.mediaStored.length; i++) if ((e = StoredMedia(v.mediaStored[i]))) return `/mediaStored/${i}${e}`;
	if (!Number.isInteger(v.numMedia) && v.numMedia !== null) return "/numMedia";
	if (typeof v.templateName !== "string" && v.templateName !== null) return "/templateName";
	if (typeof v.buttonClicked !== "string" && v.buttonClicked !== null) return "/buttonClicked";
	if (typeof v.profileName !== "string" && v.profileName !== null) return "/profileName";
	if (v.interactiveContent !== undefined) { if ((e = InteractiveContent(v.interactiveContent))) return "/interactiveContent" + e; }
	if (v.replyTo !== undefined) { if ((e = ReplyToMessage(v.replyTo))) return "/replyTo" + e; }
	return e;
};
const MessagePage: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (!Array.isArray(v.messages)) return "/messages"; for (let i = 0; i < v.messages.length; i++) if ((e = Message(v.messages[i]))) return `/messages/${i}${e}`;
	if (typeof v.nextCursor !== "string" && v.nextCursor !== null) return "/nextCursor";
	if (!Number.isInteger(v.pageSize)) return "/pageSize";
	if (typeof v.hasMore !== "boolean") return "/hasMore";
	return e;
};
const ConversationWithMessages: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if ((e = ConversationDetail(v.conversation))) return "/conversation" + e;
	if ((e = MessagePage(v.messagePage))) return "/messagePage" + e;
	return e;
};
const SendMessageResult: Check = (v) => {
	let e: string | undefined;
	if (typeof v !== "object" || v === null || Array.isArray(v)) return "/";
	if (typeof v.success !== "boolean") return "/success";
	if (typeof v.queued !== "boolean") return "/queued";
	if (typeof v.messageId !== "string" && v.messageId !== null) return "/messageId";
	if (typeof v.queueId !== "string" && v.queueId !== null) return "/queueId";
	if (typeof v.status !== "string" && v.status !== null) return "/status";
	if (typeof v.windowOpen !== "boolean") return "/windowOpen";
	if (typeof v.windowExpiresAt !== "string" && v.windowExpiresAt !== null) return "/windowExpiresAt";
	return e;
};
export const answers = { Me, ConversationPage, LookupResponse, ConversationWithMessages, MessagePage, SendMessageResult } satisfies Record<string, Check>;
