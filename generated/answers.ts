// Generated from openapi.json by `npm run generate`. Do not edit.

// biome-ignore-all lint: generated
type Check = (v: any) => boolean;
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
const Integration: Check = (v) =>
	noObject(v) ||
	noString(v.id) ||
	noString(v.name);
const Agency: Check = (v) =>
	noObject(v) ||
	noString(v.id) ||
	noStringOrNull(v.name);
const Me: Check = (v) =>
	noObject(v) ||
	noArray(v.agencies) ||
	noArray(v.scopes) ||
	Integration(v.integration) ||
	v.agencies.some(Agency) ||
	v.scopes.some(noString);
const ConversationVisibility: Check = (v) =>
	noObject(v) ||
	noString(v.reason) ||
	noBoolean(v.isShared) ||
	noBoolean(v.isVisibleThroughAgencyTag);
const ConversationSummary: Check = (v) =>
	noObject(v) ||
	noString(v.phoneNumber) ||
	noStringOrNull(v.contactName) ||
	noStringOrNull(v.lastMessageAt) ||
	noStringOrNull(v.lastMessagePreview) ||
	noStringOrNull(v.lastMessageDirection) ||
	noInteger(v.totalMessages) ||
	noInteger(v.failedMessages) ||
	noInteger(v.activeFlows) ||
	noInteger(v.completedFlows) ||
	noStringOrNull(v.latestFlowStatus) ||
	noStringOrNull(v.lastInboundAt) ||
	noStringOrNull(v.windowExpiresAt) ||
	noBoolean(v.aiEnabled) ||
	noInteger(v.queuedMessages) ||
	noBoolean(v.isUnlinked) ||
	noStringOrNull(v.cursor) ||
	ConversationVisibility(v.visibility);
const ConversationPage: Check = (v) =>
	noObject(v) ||
	noArray(v.conversations) ||
	noStringOrNull(v.nextCursor) ||
	noInteger(v.pageSize) ||
	v.conversations.some(ConversationSummary);
const LookupEntry: Check = (v) =>
	noObject(v) ||
	noString(v.phoneNumber) ||
	v.conversation !== null && ConversationSummary(v.conversation);
const LookupResponse: Check = (v) =>
	noObject(v) ||
	noArray(v.results) ||
	v.results.some(LookupEntry);
const QueuedMessage: Check = (v) =>
	noObject(v) ||
	noString(v.id) ||
	noString(v.body) ||
	noStringOrNull(v.attachmentUploadId) ||
	noStringOrNull(v.attachmentFileName) ||
	noStringOrNull(v.attachmentMimeType) ||
	noIntegerOrNull(v.attachmentFileSize) ||
	noString(v.status) ||
	noString(v.createdAt) ||
	noString(v.updatedAt);
const AiSettings: Check = (v) =>
	noObject(v) ||
	noBoolean(v.enabled) ||
	noStringOrNull(v.disabledReason) ||
	noStringOrNull(v.disabledAt);
const UnapprovedTemplate: Check = (v) =>
	noObject(v) ||
	noString(v.templateCode) ||
	noStringOrNull(v.status);
const WindowReopenReadiness: Check = (v) =>
	noObject(v) ||
	noBoolean(v.configured) ||
	noBoolean(v.templatesApproved) ||
	noBoolean(v.eligibleForManualSend) ||
	noArray(v.availableLanguages) ||
	noStringOrNull(v.defaultLanguage) ||
	noArray(v.flowCodes) ||
	noArray(v.missingFlowCodes) ||
	noArray(v.missingTemplates) ||
	noArray(v.unapprovedTemplates) ||
	v.availableLanguages.some(noString) ||
	v.flowCodes.some(noString) ||
	v.missingFlowCodes.some(noString) ||
	v.missingTemplates.some(noString) ||
	v.unapprovedTemplates.some(UnapprovedTemplate);
const ConversationDetail: Check = (v) =>
	noObject(v) ||
	noArray(v.queuedMessages) ||
	ConversationSummary(v.summary) ||
	v.queuedMessages.some(QueuedMessage) ||
	AiSettings(v.aiSettings) ||
	WindowReopenReadiness(v.windowReopenReadiness);
const MessageMedia: Check = (v) =>
	noObject(v) ||
	noString(v.url) ||
	v.index !== undefined && noNumber(v.index) ||
	v.contentType !== undefined && noString(v.contentType) ||
	v.content_type !== undefined && noString(v.content_type);
const StoredMedia: Check = (v) =>
	noObject(v) ||
	noNumber(v.size) ||
	noString(v.stored_url) ||
	noString(v.content_type) ||
	noString(v.original_url) ||
	noString(v.storage_path) ||
	noString(v.downloaded_at);
const QuickReply: Check = (v) =>
	noObject(v) ||
	noString(v.code) ||
	noString(v.text);
const ListPickerItem: Check = (v) =>
	noObject(v) ||
	noString(v.id) ||
	noString(v.title) ||
	v.description !== undefined && noStringOrNull(v.description);
const ListPicker: Check = (v) =>
	noObject(v) ||
	v.buttonText !== undefined && noStringOrNull(v.buttonText) ||
	noArray(v.items) ||
	v.items.some(ListPickerItem);
const CtaButton: Check = (v) =>
	noObject(v) ||
	noString(v.type) ||
	noString(v.title) ||
	v.url !== undefined && noStringOrNull(v.url) ||
	v.phone !== undefined && noStringOrNull(v.phone) ||
	v.code !== undefined && noStringOrNull(v.code) ||
	v.ttl_minutes !== undefined && noNumberOrNull(v.ttl_minutes);
const InteractiveContent: Check = (v) =>
	noObject(v) ||
	v.quickReplies !== undefined && noArrayOrNull(v.quickReplies) ||
	v.ctaButtons !== undefined && noArrayOrNull(v.ctaButtons) ||
	v.quickReplies !== undefined && v.quickReplies !== null && v.quickReplies.some(QuickReply) ||
	v.listPicker !== undefined && v.listPicker !== null && ListPicker(v.listPicker) ||
	v.ctaButtons !== undefined && v.ctaButtons !== null && v.ctaButtons.some(CtaButton);
const ReplyToMessage: Check = (v) =>
	noObject(v) ||
	noStringOrNull(v.body) ||
	noStringOrNull(v.direction) ||
	noStringOrNull(v.createdAt) ||
	noStringOrNull(v.templateName) ||
	noBooleanOrNull(v.hasMedia);
const Message: Check = (v) =>
	noObject(v) ||
	noInteger(v.id) ||
	noString(v.messageSid) ||
	noStringOrNull(v.body) ||
	noString(v.direction) ||
	noStringOrNull(v.createdAt) ||
	noStringOrNull(v.deliveredAt) ||
	noStringOrNull(v.readAt) ||
	noStringOrNull(v.status) ||
	noArrayOrNull(v.media) ||
	noArrayOrNull(v.mediaStored) ||
	noIntegerOrNull(v.numMedia) ||
	noStringOrNull(v.templateName) ||
	noStringOrNull(v.buttonClicked) ||
	noStringOrNull(v.profileName) ||
	v.media !== null && v.media.some(MessageMedia) ||
	v.mediaStored !== null && v.mediaStored.some(StoredMedia) ||
	v.interactiveContent !== undefined && InteractiveContent(v.interactiveContent) ||
	v.replyTo !== undefined && ReplyToMessage(v.replyTo);
const MessagePage: Check = (v) =>
	noObject(v) ||
	noArray(v.messages) ||
	noStringOrNull(v.nextCursor) ||
	noInteger(v.pageSize) ||
	noBoolean(v.hasMore) ||
	v.messages.some(Message);
const ConversationWithMessages: Check = (v) =>
	noObject(v) ||
	ConversationDetail(v.conversation) ||
	MessagePage(v.messagePage);
const SendMessageResult: Check = (v) =>
	noObject(v) ||
	noBoolean(v.success) ||
	noBoolean(v.queued) ||
	noStringOrNull(v.messageId) ||
	noStringOrNull(v.queueId) ||
	noStringOrNull(v.status) ||
	noBoolean(v.windowOpen) ||
	noStringOrNull(v.windowExpiresAt);
export const answers = { Me, ConversationPage, LookupResponse, ConversationWithMessages, MessagePage, SendMessageResult } satisfies Record<string, Check>;
