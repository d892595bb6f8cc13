// Generated from openapi.json by `npm run generate`. Do not edit.

/** What the contract knows of a field: the shape of its object (or of its items), its known values, whether it counts. */
export interface FieldShape { readonly shape?: string; readonly known?: readonly string[]; readonly integer?: boolean }

export const shapes: Readonly<Record<string, Readonly<Record<string, FieldShape>>>> = {
	Me: {"integration":{"shape":"Integration"},"agencies":{"shape":"Agency"},"scopes":{"known":["conversations:read","messages:write"]}},
	Integration: {"id":{},"name":{}},
	Agency: {"id":{},"name":{}},
	ConversationPage: {"conversations":{"shape":"ConversationSummary"},"nextCursor":{},"pageSize":{"integer":true}},
	ConversationSummary: {"phoneNumber":{},"contactName":{},"lastMessageAt":{},"lastMessagePreview":{},"lastMessageDirection":{"known":["inbound","outbound"]},"totalMessages":{"integer":true},"failedMessages":{"integer":true},"activeFlows":{"integer":true},"completedFlows":{"integer":true},"latestFlowStatus":{"known":["active","waiting","completed","cancelled","failed","timeout"]},"lastInboundAt":{},"windowExpiresAt":{},"aiEnabled":{},"queuedMessages":{"integer":true},"isUnlinked":{},"visibility":{"shape":"ConversationVisibility"},"cursor":{}},
	ConversationVisibility: {"reason":{"known":["focus","unlinked","tagged","unknown"]},"isShared":{},"isVisibleThroughAgencyTag":{}},
	LookupResponse: {"results":{"shape":"LookupEntry"}},
	LookupEntry: {"phoneNumber":{},"conversation":{"shape":"ConversationSummary"}},
	ConversationWithMessages: {"conversation":{"shape":"ConversationDetail"},"messagePage":{"shape":"MessagePage"}},
	ConversationDetail: {"summary":{"shape":"ConversationSummary"},"queuedMessages":{"shape":"QueuedMessage"},"aiSettings":{"shape":"AiSettings"},"windowReopenReadiness":{"shape":"WindowReopenReadiness"}},
	QueuedMessage: {"id":{},"body":{},"attachmentUploadId":{},"attachmentFileName":{},"attachmentMimeType":{},"attachmentFileSize":{"integer":true},"status":{"known":["queued"]},"createdAt":{},"updatedAt":{}},
	AiSettings: {"enabled":{},"disabledReason":{"known":["manual_send","user_toggle"]},"disabledAt":{}},
	WindowReopenReadiness: {"configured":{},"templatesApproved":{},"eligibleForManualSend":{},"availableLanguages":{},"defaultLanguage":{},"flowCodes":{},"missingFlowCodes":{},"missingTemplates":{},"unapprovedTemplates":{"shape":"UnapprovedTemplate"}},
	UnapprovedTemplate: {"templateCode":{},"status":{}},
	MessagePage: {"messages":{"shape":"Message"},"nextCursor":{},"pageSize":{"integer":true},"hasMore":{}},
	Message: {"id":{"integer":true},"messageSid":{},"body":{},"direction":{"known":["inbound","outbound"]},"createdAt":{},"deliveredAt":{},"readAt":{},"status":{"known":["queued","sent","delivered","read","failed","undelivered","received"]},"media":{"shape":"MessageMedia"},"mediaStored":{"shape":"StoredMedia"},"numMedia":{"integer":true},"templateName":{},"buttonClicked":{},"profileName":{},"interactiveContent":{"shape":"InteractiveContent"},"replyTo":{"shape":"ReplyToMessage"}},
	MessageMedia: {"url":{},"index":{},"contentType":{},"content_type":{}},
	StoredMedia: {"size":{},"stored_url":{},"content_type":{},"original_url":{},"storage_path":{},"downloaded_at":{}},
	InteractiveContent: {"quickReplies":{"shape":"QuickReply"},"listPicker":{"shape":"ListPicker"},"ctaButtons":{"shape":"CtaButton"}},
	QuickReply: {"code":{},"text":{}},
	ListPicker: {"buttonText":{},"items":{"shape":"ListPickerItem"}},
	ListPickerItem: {"id":{},"title":{},"description":{}},
	CtaButton: {"type":{"known":["URL","PHONE_NUMBER"]},"title":{},"url":{},"phone":{},"code":{},"ttl_minutes":{}},
	ReplyToMessage: {"body":{},"direction":{"known":["inbound","outbound"]},"createdAt":{},"templateName":{},"hasMedia":{}},
	SendMessageResult: {"success":{},"queued":{},"messageId":{},"queueId":{},"status":{"known":["queued","accepted"]},"windowOpen":{},"windowExpiresAt":{}},
};
