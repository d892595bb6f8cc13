// Generated from openapi.json by `npm run generate`. Do not edit.

// biome-ignore-all lint: generated
type Check = (v: any) => string | undefined;
const noObject = (v: any) => typeof v !== "object" || v === null || Array.isArray(v);
const noString = (v: any) => typeof v !== "string";
const noStringOrNull = (v: any) => v !== null && typeof v !== "string";
const noNumber = (v: any) => typeof v !== "number";
const noNumberOrNull = (v: any) => v !== null && typeof v !== "number";
const noBoolean = (v: any) => typeof v !== "boolean";
const noBooleanOrNull = (v: any) => v !== null && typeof v !== "boolean";
const noInteger = (v: any) => !Number.isInteger(v);
const noIntegerOrNull = (v: any) => v !== null && !Number.isInteger(v);
const noArray = (v: any) => !Array.isArray(v);
const noArrayOrNull = (v: any) => v !== null && !Array.isArray(v);
const inside = (path: string, e: string | undefined) => (e === undefined ? e : path + e);
const each = (path: string, list: any[], check: Check) => {
	for (let i = 0; i < list.length; i++) {
		const e = check(list[i]);
		if (e !== undefined) return `${path}/${i}${e}`;
	}
	return undefined;
};
const Integration: Check = (v) =>
	noObject(v) ? "" :
	noString(v.id) ? "/id" :
	noString(v.name) ? "/name" :
	undefined;
const Agency: Check = (v) =>
	noObject(v) ? "" :
	noString(v.id) ? "/id" :
	noStringOrNull(v.name) ? "/name" :
	undefined;
const Me: Check = (v) =>
	noObject(v) ? "" :
	noArray(v.agencies) ? "/agencies" :
	noArray(v.scopes) ? "/scopes" :
	inside("/integration", Integration(v.integration)) ??
	each("/agencies", v.agencies, Agency) ??
	each("/scopes", v.scopes, (v) => noString(v) ? "" : undefined);
const ConversationVisibility: Check = (v) =>
	noObject(v) ? "" :
	noString(v.reason) ? "/reason" :
	noBoolean(v.isShared) ? "/isShared" :
	noBoolean(v.isVisibleThroughAgencyTag) ? "/isVisibleThroughAgencyTag" :
	undefined;
const ConversationSummary: Check = (v) =>
	noObject(v) ? "" :
	noString(v.phoneNumber) ? "/phoneNumber" :
	noStringOrNull(v.contactName) ? "/contactName" :
	noStringOrNull(v.lastMessageAt) ? "/lastMessageAt" :
	noStringOrNull(v.lastMessagePreview) ? "/lastMessagePreview" :
	noStringOrNull(v.lastMessageDirection) ? "/lastMessageDirection" :
	noInteger(v.totalMessages) ? "/totalMessages" :
	noInteger(v.failedMessages) ? "/failedMessages" :
	noInteger(v.activeFlows) ? "/activeFlows" :
	noInteger(v.completedFlows) ? "/completedFlows" :
	noStringOrNull(v.latestFlowStatus) ? "/latestFlowStatus" :
	noStringOrNull(v.lastInboundAt) ? "/lastInboundAt" :
	noStringOrNull(v.windowExpiresAt) ? "/windowExpiresAt" :
	noBoolean(v.aiEnabled) ? "/aiEnabled" :
	noInteger(v.queuedMessages) ? "/queuedMessages" :
	noBoolean(v.isUnlinked) ? "/isUnlinked" :
	noStringOrNull(v.cursor) ? "/cursor" :
	inside("/visibility", ConversationVisibility(v.visibility));
const ConversationPage: Check = (v) =>
	noObject(v) ? "" :
	noArray(v.conversations) ? "/conversations" :
	noStringOrNull(v.nextCursor) ? "/nextCursor" :
	noInteger(v.pageSize) ? "/pageSize" :
	each("/conversations", v.conversations, ConversationSummary);
const LookupEntry: Check = (v) =>
	noObject(v) ? "" :
	noString(v.phoneNumber) ? "/phoneNumber" :
	(v.conversation === null ? undefined : inside("/conversation", ConversationSummary(v.conversation)));
const LookupResponse: Check = (v) =>
	noObject(v) ? "" :
	noArray(v.results) ? "/results" :
	each("/results", v.results, LookupEntry);
const QueuedMessage: Check = (v) =>
	noObject(v) ? "" :
	noString(v.id) ? "/id" :
	noString(v.body) ? "/body" :
	noStringOrNull(v.attachmentUploadId) ? "/attachmentUploadId" :
	noStringOrNull(v.attachmentFileName) ? "/attachmentFileName" :
	noStringOrNull(v.attachmentMimeType) ? "/attachmentMimeType" :
	noIntegerOrNull(v.attachmentFileSize) ? "/attachmentFileSize" :
	noString(v.status) ? "/status" :
	noString(v.createdAt) ? "/createdAt" :
	noString(v.updatedAt) ? "/updatedAt" :
	undefined;
const AiSettings: Check = (v) =>
	noObject(v) ? "" :
	noBoolean(v.enabled) ? "/enabled" :
	noStringOrNull(v.disabledReason) ? "/disabledReason" :
	noStringOrNull(v.disabledAt) ? "/disabledAt" :
	undefined;
const UnapprovedTemplate: Check = (v) =>
	noObject(v) ? "" :
	noString(v.templateCode) ? "/templateCode" :
	noStringOrNull(v.status) ? "/status" :
	undefined;
const WindowReopenReadiness: Check = (v) =>
	noObject(v) ? "" :
	noBoolean(v.configured) ? "/configured" :
	noBoolean(v.templatesApproved) ? "/templatesApproved" :
	noBoolean(v.eligibleForManualSend) ? "/eligibleForManualSend" :
	noArray(v.availableLanguages) ? "/availableLanguages" :
	noStringOrNull(v.defaultLanguage) ? "/defaultLanguage" :
	noArray(v.flowCodes) ? "/flowCodes" :
	noArray(v.missingFlowCodes) ? "/missingFlowCodes" :
	noArray(v.missingTemplates) ? "/missingTemplates" :
	noArray(v.unapprovedTemplates) ? "/unapprovedTemplates" :
	each("/availableLanguages", v.availableLanguages, (v) => noString(v) ? "" : undefined) ??
	each("/flowCodes", v.flowCodes, (v) => noString(v) ? "" : undefined) ??
	each("/missingFlowCodes", v.missingFlowCodes, (v) => noString(v) ? "" : undefined) ??
	each("/missingTemplates", v.missingTemplates, (v) => noString(v) ? "" : undefined) ??
	each("/unapprovedTemplates", v.unapprovedTemplates, UnapprovedTemplate);
const ConversationDetail: Check = (v) =>
	noObject(v) ? "" :
	noArray(v.queuedMessages) ? "/queuedMessages" :
	inside("/summary", ConversationSummary(v.summary)) ??
	each("/queuedMessages", v.queuedMessages, QueuedMessage) ??
	inside("/aiSettings", AiSettings(v.aiSettings)) ??
	inside("/windowReopenReadiness", WindowReopenReadiness(v.windowReopenReadiness));
const MessageMedia: Check = (v) =>
	noObject(v) ? "" :
	noString(v.url) ? "/url" :
	v.index !== undefined && noNumber(v.index) ? "/index" :
	v.contentType !== undefined && noString(v.contentType) ? "/contentType" :
	v.content_type !== undefined && noString(v.content_type) ? "/content_type" :
	undefined;
const StoredMedia: Check = (v) =>
	noObject(v) ? "" :
	noNumber(v.size) ? "/size" :
	noString(v.stored_url) ? "/stored_url" :
	noString(v.content_type) ? "/content_type" :
	noString(v.original_url) ? "/original_url" :
	noString(v.storage_path) ? "/storage_path" :
	noString(v.downloaded_at) ? "/downloaded_at" :
	undefined;
const QuickReply: Check = (v) =>
	noObject(v) ? "" :
	noString(v.code) ? "/code" :
	noString(v.text) ? "/text" :
	undefined;
const ListPickerItem: Check = (v) =>
	noObject(v) ? "" :
	noString(v.id) ? "/id" :
	noString(v.title) ? "/title" :
	v.description !== undefined && noStringOrNull(v.description) ? "/description" :
	undefined;
const ListPicker: Check = (v) =>
	noObject(v) ? "" :
	v.buttonText !== undefined && noStringOrNull(v.buttonText) ? "/buttonText" :
	noArray(v.items) ? "/items" :
	each("/items", v.items, ListPickerItem);
const CtaButton: Check = (v) =>
	noObject(v) ? "" :
	noString(v.type) ? "/type" :
	noString(v.title) ? "/title" :
	v.url !== undefined && noStringOrNull(v.url) ? "/url" :
	v.phone !== undefined && noStringOrNull(v.phone) ? "/phone" :
	v.code !== undefined && noStringOrNull(v.code) ? "/code" :
	v.ttl_minutes !== undefined && noNumberOrNull(v.ttl_minutes) ? "/ttl_minutes" :
	undefined;
const InteractiveContent: Check = (v) =>
	noObject(v) ? "" :
	v.quickReplies !== undefined && noArrayOrNull(v.quickReplies) ? "/quickReplies" :
	v.ctaButtons !== undefined && noArrayOrNull(v.ctaButtons) ? "/ctaButtons" :
	(v.quickReplies === undefined || v.quickReplies === null ? undefined : each("/quickReplies", v.quickReplies, QuickReply)) ??
	(v.listPicker === undefined || v.listPicker === null ? undefined : inside("/listPicker", ListPicker(v.listPicker))) ??
	(v.ctaButtons === undefined || v.ctaButtons === null ? undefined : each("/ctaButtons", v.ctaButtons, CtaButton));
const ReplyToMessage: Check = (v) =>
	noObject(v) ? "" :
	noStringOrNull(v.body) ? "/body" :
	noStringOrNull(v.direction) ? "/direction" :
	noStringOrNull(v.createdAt) ? "/createdAt" :
	noStringOrNull(v.templateName) ? "/templateName" :
	noBooleanOrNull(v.hasMedia) ? "/hasMedia" :
	undefined;
const Message: Check = (v) =>
	noObject(v) ? "" :
	noInteger(v.id) ? "/id" :
	noString(v.messageSid) ? "/messageSid" :
	noStringOrNull(v.body) ? "/body" :
	noString(v.direction) ? "/direction" :
	noStringOrNull(v.createdAt) ? "/createdAt" :
	noStringOrNull(v.deliveredAt) ? "/deliveredAt" :
	noStringOrNull(v.readAt) ? "/readAt" :
	noStringOrNull(v.status) ? "/status" :
	noArrayOrNull(v.media) ? "/media" :
	noArrayOrNull(v.mediaStored) ? "/mediaStored" :
	noIntegerOrNull(v.numMedia) ? "/numMedia" :
	noStringOrNull(v.templateName) ? "/templateName" :
	noStringOrNull(v.buttonClicked) ? "/buttonClicked" :
	noStringOrNull(v.profileName) ? "/profileName" :
	(v.media === null ? undefined : each("/media", v.media, MessageMedia)) ??
	(v.mediaStored === null ? undefined : each("/mediaStored", v.mediaStored, StoredMedia)) ??
	(v.interactiveContent === undefined ? undefined : inside("/interactiveContent", InteractiveContent(v.interactiveContent))) ??
	(v.replyTo === undefined ? undefined : inside("/replyTo", ReplyToMessage(v.replyTo)));
const MessagePage: Check = (v) =>
	noObject(v) ? "" :
	noArray(v.messages) ? "/messages" :
	noStringOrNull(v.nextCursor) ? "/nextCursor" :
	noInteger(v.pageSize) ? "/pageSize" :
	noBoolean(v.hasMore) ? "/hasMore" :
	each("/messages", v.messages, Message);
const ConversationWithMessages: Check = (v) =>
	noObject(v) ? "" :
	inside("/conversation", ConversationDetail(v.conversation)) ??
	inside("/messagePage", MessagePage(v.messagePage));
const SendMessageResult: Check = (v) =>
	noObject(v) ? "" :
	noBoolean(v.success) ? "/success" :
	noBoolean(v.queued) ? "/queued" :
	noStringOrNull(v.messageId) ? "/messageId" :
	noStringOrNull(v.queueId) ? "/queueId" :
	noStringOrNull(v.status) ? "/status" :
	noBoolean(v.windowOpen) ? "/windowOpen" :
	noStringOrNull(v.windowExpiresAt) ? "/windowExpiresAt" :
	undefined;
export const answers = { Me, ConversationPage, LookupResponse, ConversationWithMessages, MessagePage, SendMessageResult } satisfies Record<string, Check>;
