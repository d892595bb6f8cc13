// Generated from openapi.json by `npm run generate`. Do not edit.

/** The schemas of openapi.json by their own names. Types only. */
export type {
	Integration,
	Agency,
	Me,
	ConversationVisibility,
	ConversationSummary,
	ConversationPage,
	QueuedMessage,
	AiSettings,
	UnapprovedTemplate,
	WindowReopenReadiness,
	ConversationDetail,
	MessageMedia,
	StoredMedia,
	QuickReply,
	ListPickerItem,
	ListPicker,
	CtaButton,
	InteractiveContent,
	ReplyToMessage,
	Message,
	MessagePage,
	ConversationWithMessages,
} from "./openapi.ts";
