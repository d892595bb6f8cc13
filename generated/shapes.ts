// Generated from openapi.json by `npm run generate`. Do not edit.

/**
 * What the contract knows of each answer schema, a line each: its fields, with `:` the schema of what is in it, `=` its
 * known values, `#` a whole number.
 */
export const shapes: Readonly<Record<string, string>> = {
	Me: "integration:Integration agencies:Agency scopes=conversations:read,messages:write",
	Integration: "id name",
	Agency: "id name",
	ConversationPage: "conversations:ConversationSummary nextCursor pageSize#",
	ConversationSummary: "phoneNumber contactName lastMessageAt lastMessagePreview lastMessageDirection=inbound,outbound totalMessages# failedMessages# activeFlows# completedFlows# latestFlowStatus=active,waiting,completed,cancelled,failed,timeout lastInboundAt windowExpiresAt aiEnabled queuedMessages# isUnlinked visibility:ConversationVisibility cursor",
	ConversationVisibility: "reason=focus,unlinked,tagged,unknown isShared isVisibleThroughAgencyTag",
	LookupResponse: "results:LookupEntry",
	LookupEntry: "phoneNumber conversation:ConversationSummary",
	ConversationWithMessages: "conversation:ConversationDetail messagePage:MessagePage",
	ConversationDetail: "summary:ConversationSummary queuedMessages:QueuedMessage aiSettings:AiSettings windowReopenReadiness:WindowReopenReadiness",
	QueuedMessage: "id body attachmentUploadId attachmentFileName attachmentMimeType attachmentFileSize# status=queued createdAt updatedAt",
	AiSettings: "enabled disabledReason=manual_send,user_toggle disabledAt",
	WindowReopenReadiness: "configured templatesApproved eligibleForManualSend availableLanguages defaultLanguage flowCodes missingFlowCodes missingTemplates unapprovedTemplates:UnapprovedTemplate",
	UnapprovedTemplate: "templateCode status",
	MessagePage: "messages:Message nextCursor pageSize# hasMore",
	Message: "id# messageSid body direction=inbound,outbound createdAt deliveredAt readAt status=queued,sent,delivered,read,failed,undelivered,received media:MessageMedia mediaStored:StoredMedia numMedia# templateName buttonClicked profileName interactiveContent:InteractiveContent replyTo:ReplyToMessage",
	MessageMedia: "url index contentType content_type",
	StoredMedia: "size stored_url content_type original_url storage_path downloaded_at",
	InteractiveContent: "quickReplies:QuickReply listPicker:ListPicker ctaButtons:CtaButton",
	QuickReply: "code text",
	ListPicker: "buttonText items:ListPickerItem",
	ListPickerItem: "id title description",
	CtaButton: "type=URL,PHONE_NUMBER title url phone code ttl_minutes",
	ReplyToMessage: "body direction=inbound,outbound createdAt templateName hasMedia",
	SendMessageResult: "success queued messageId queueId status=queued,accepted windowOpen windowExpiresAt",
};
