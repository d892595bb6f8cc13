// Generated from openapi.json by `npm run generate`. Do not edit.
export interface paths {
    "/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the integration of the key
         * @description Returns the integration of the key, its accessible agencies and its scopes. It is the first call; every other path needs an agency `id` from it. New agencies appear as soon as they are linked. Needs a valid key.
         */
        get: operations["me.get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agencies/{agencyId}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        /**
         * List conversations
         * @description Lists the agency's conversations, newest last message first. Needs `conversations:read`.
         */
        get: operations["conversations.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agencies/{agencyId}/conversations/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look up conversations by phone number
         * @description Returns the summary for each given phone number. Read-only. Needs `conversations:read`.
         */
        post: operations["conversations.lookup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agencies/{agencyId}/conversations/{phone}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
                /** @description Contact phone number, E.164, `+` encoded as `%2B`. */
                phone: components["parameters"]["phone"];
            };
            cookie?: never;
        };
        /**
         * Get one conversation
         * @description Returns one conversation, its AI and window state, any queued text and its newest messages. Use it to check whether a send would go out now or be queued. Needs `conversations:read`.
         */
        get: operations["conversations.get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agencies/{agencyId}/conversations/{phone}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
                /** @description Contact phone number, E.164, `+` encoded as `%2B`. */
                phone: components["parameters"]["phone"];
            };
            cookie?: never;
        };
        /**
         * List the messages of a conversation
         * @description Lists the messages of one conversation, newest first. Continue while `hasMore` is true. Needs `conversations:read`.
         */
        get: operations["conversations.listMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agencies/{agencyId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a plain-text message
         * @description Sends a plain-text message as the agency. Needs `messages:write`.
         *
         *     1. When the window is open, the text is sent at once (`queued` false).
         *     2. When the window is closed or the contact never wrote, the text is held in a queue, the agency's consent template is sent, and the response has `queued` true and a `queueId`. The text is sent only if the contact accepts.
         *     3. One queued text exists per contact; a new send while one is queued replaces it.
         *     4. Open window: a retry with the same `operationId` (and same body) does not send twice. Closed window: a retry replaces the held text with the same text, so the contact gets it once.
         *     5. Without `operationId`, every request is a new message.
         *     6. Reusing an `operationId` with a different body fails with 500, and so does every retry of it.
         *     7. When `windowReopenReadiness.eligibleForManualSend` is false, a send to a closed window fails with 400.
         *     8. A missing or unknown `consentLanguage` (when required), a missing `to` or `body`, or an invalid phone number gives 400.
         *     9. Every send turns the AI off for that contact (`manual_send`) and ends any flow in progress.
         *     10. 409 when another party took over the conversation during the request; reading the conversation and retrying is the remedy.
         *     11. A contact does not need an existing conversation.
         */
        post: operations["messages.send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Integration: Integration;
        Agency: Agency;
        Me: Me;
        ConversationVisibility: ConversationVisibility;
        ConversationSummary: ConversationSummary;
        ConversationPage: ConversationPage;
        LookupRequest: LookupRequest;
        LookupEntry: LookupEntry;
        LookupResponse: LookupResponse;
        QueuedMessage: QueuedMessage;
        AiSettings: AiSettings;
        UnapprovedTemplate: UnapprovedTemplate;
        WindowReopenReadiness: WindowReopenReadiness;
        ConversationDetail: ConversationDetail;
        MessageMedia: MessageMedia;
        StoredMedia: StoredMedia;
        QuickReply: QuickReply;
        ListPickerItem: ListPickerItem;
        ListPicker: ListPicker;
        CtaButton: CtaButton;
        InteractiveContent: InteractiveContent;
        ReplyToMessage: ReplyToMessage;
        Message: Message;
        MessagePage: MessagePage;
        ConversationWithMessages: ConversationWithMessages;
        SendMessageRequest: SendMessageRequest;
        SendMessageResult: SendMessageResult;
        PartnerBadRequest: PartnerBadRequest;
        PartnerUnauthorized: PartnerUnauthorized;
        PartnerForbidden: PartnerForbidden;
        PartnerNotFound: PartnerNotFound;
        PartnerConflict: PartnerConflict;
        PartnerInternalError: PartnerInternalError;
        PartnerErrorBody: PartnerErrorBody;
    };
    responses: {
        /** @description The request is invalid; the message names the failing field or rule. Change the request before retrying. */
        PartnerBadRequest: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerBadRequest;
            };
        };
        /** @description Bearer token missing, wrong, revoked, expired or malformed. */
        PartnerUnauthorized: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerUnauthorized;
            };
        };
        /** @description Key lacks the scope, or cannot reach the agency. Identical whether or not the agency exists. */
        PartnerForbidden: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerForbidden;
            };
        };
        /** @description The resource does not exist or is hidden (a conversation or the integration). */
        PartnerNotFound: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerNotFound;
            };
        };
        /** @description The conversation changed during the request (send only); retry after reading. */
        PartnerConflict: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerConflict;
            };
        };
        /** @description Service or messaging provider failed; also an `operationId` reused with a different body. Retry with backoff, and stop after a few tries. */
        PartnerInternalError: {
            headers: {
                "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": PartnerInternalError;
            };
        };
    };
    parameters: {
        /** @description Agency ID from `GET /me`. */
        agencyId: string;
        /** @description Contact phone number, E.164, `+` encoded as `%2B`. */
        phone: string;
        /** @description Rows in a page. */
        pageSize: number;
        /** @description `nextCursor` of the previous page; omit for the first page. Opaque. */
        conversationCursor: string;
        /** @description `nextCursor` of a previous message page to read older messages; omit for the newest. Opaque. */
        messageCursor: string;
        /** @description Filter by phone or name. Three or more digits match part of a phone number; three or more letters match part of a name. */
        search: string;
    };
    requestBodies: never;
    headers: {
        /** @description Identifies the request; on every response, error or not. */
        "X-Correlation-Id": string;
    };
    pathItems: never;
}
/** @description The partner CRM's set-up with the service. */
export interface Integration {
    /**
     * Format: uuid
     * @description Integration id. Quote it to support; never sent in requests.
     */
    id: string;
    /** @description Integration name. */
    name: string;
}
/** @description A real estate agency that is linked to the integration. */
export interface Agency {
    /** @description Agency ID, form `agy_<hex>`. Used as `agencyId` in paths. Never changes. */
    id: string;
    /** @description Agency name; null when the agency has no name. */
    name: string | null;
}
/** @description The integration of the key, its accessible agencies and the key's scopes. */
export interface Me {
    /** @description The partner CRM's set-up with the service. */
    integration: Integration;
    /** @description The agencies that the key reaches, sorted by name. */
    agencies: Agency[];
    /** @description What the key may do: `conversations:read` (listing, looking up and reading conversations), `messages:write` (sending messages). */
    scopes: ("conversations:read" | "messages:write" | (string & {}))[];
}
/** @description Why this agency sees the conversation. */
export interface ConversationVisibility {
    /**
     * @description `focus`: the agency owns it. `unlinked`: no agency owns it. `tagged`: seen through an agency tag. `unknown`: none of these.
     * @enum {string}
     */
    reason: "focus" | "unlinked" | "tagged" | "unknown" | (string & {});
    /** @description True when other agencies may also see it. */
    isShared: boolean;
    /** @description True when seen through an agency tag. */
    isVisibleThroughAgencyTag: boolean;
}
/** @description One conversation as lists and lookups show it. */
export interface ConversationSummary {
    /** @description Contact phone number, E.164. */
    phoneNumber: string;
    /** @description Contact name when known. */
    contactName: string | null;
    /**
     * Format: date-time
     * @description Time of the last message in either direction.
     */
    lastMessageAt: string | null;
    /** @description Start of the last message's text. */
    lastMessagePreview: string | null;
    /** @description `inbound` (from the contact) or `outbound`. */
    lastMessageDirection: "inbound" | "outbound" | (string & {}) | null;
    /** @description Number of messages. */
    totalMessages: number;
    /** @description Outbound messages that failed, went undelivered or carry an error code. */
    failedMessages: number;
    /** @description Automated flows now running for this contact. */
    activeFlows: number;
    /** @description Flows this contact has finished. */
    completedFlows: number;
    /** @description Status of the most recently updated flow. */
    latestFlowStatus: "active" | "waiting" | "completed" | "cancelled" | "failed" | "timeout" | (string & {}) | null;
    /**
     * Format: date-time
     * @description Time of the last message from the contact.
     */
    lastInboundAt: string | null;
    /**
     * Format: date-time
     * @description Time of the contact's last inbound message + 24 hours; null when the contact has never written. The window is closed when this is in the past or null.
     */
    windowExpiresAt: string | null;
    /** @description True when the AI may reply to this contact. */
    aiEnabled: boolean;
    /** @description Messages waiting for the contact to reopen the window. */
    queuedMessages: number;
    /** @description True when no agency owns the conversation. */
    isUnlinked: boolean;
    /** @description Why this agency sees the conversation. */
    visibility: ConversationVisibility;
    /** @description Opaque position of this row in the list; pass as `cursor` to read the rows after it. Null in lookup results. */
    cursor: string | null;
}
/** @description One page of an agency's conversations, newest last message first. */
export interface ConversationPage {
    /** @description The rows of the page. */
    conversations: ConversationSummary[];
    /** @description Pass as `cursor` for the next page; null when there are no more. */
    nextCursor: string | null;
    /** @description Page size used. */
    pageSize: number;
}
/** @description The phone numbers to look up. */
export interface LookupRequest {
    /** @description 1 to 100 phone numbers, each 1 to 32 characters. */
    phoneNumbers: string[];
}
/** @description What the agency has for one of the numbers. */
export interface LookupEntry {
    /** @description The number exactly as sent. */
    phoneNumber: string;
    /** @description Null when the agency has no conversation with that number. The summary's `cursor` is null here. */
    conversation: ConversationSummary | null;
}
/** @description One entry per number, in the order in which they were sent. */
export interface LookupResponse {
    /** @description One entry per number, same order as sent. */
    results: LookupEntry[];
}
/** @description A text that waits for the contact to reopen the window. */
export interface QueuedMessage {
    /** @description Queue entry id. */
    id: string;
    /** @description Text to send once the contact reopens the window. */
    body: string;
    /** @description API sends never attach files. */
    attachmentUploadId: string | null;
    /** @description API sends never attach files. */
    attachmentFileName: string | null;
    /** @description API sends never attach files. */
    attachmentMimeType: string | null;
    /** @description Bytes. API sends never attach files. */
    attachmentFileSize: number | null;
    /** @description Always `queued` here. */
    status: "queued" | (string & {});
    /**
     * Format: date-time
     * @description When the text was queued.
     */
    createdAt: string;
    /**
     * Format: date-time
     * @description When the queued text last changed.
     */
    updatedAt: string;
}
/** @description Whether the AI may reply, and why not. */
export interface AiSettings {
    /** @description True when the AI may reply. */
    enabled: boolean;
    /** @description `manual_send` (a person, including an API send, sent a message) or `user_toggle` (agency staff turned it off). */
    disabledReason: "manual_send" | "user_toggle" | (string & {}) | null;
    /**
     * Format: date-time
     * @description When the AI was turned off.
     */
    disabledAt: string | null;
}
/** @description A consent template that awaits approval. */
export interface UnapprovedTemplate {
    /** @description Template code. */
    templateCode: string;
    /** @description Approval status. */
    status: string | null;
}
/** @description Whether a send outside the window can be queued, and in which languages. */
export interface WindowReopenReadiness {
    /** @description Agency has the consent flow turned on. */
    configured: boolean;
    /** @description Every consent flow and template exists and is approved. */
    templatesApproved: boolean;
    /** @description A send outside the window can be queued: templates approved and at least one language exists. */
    eligibleForManualSend: boolean;
    /** @description Values accepted as `consentLanguage`. */
    availableLanguages: string[];
    /** @description Language used by default. */
    defaultLanguage: string | null;
    /** @description Consent flow codes of the agency. */
    flowCodes: string[];
    /** @description Consent flow codes that could not be found. */
    missingFlowCodes: string[];
    /** @description Consent templates the agency lacks. */
    missingTemplates: string[];
    /** @description Templates awaiting approval. */
    unapprovedTemplates: UnapprovedTemplate[];
}
/** @description One conversation with its AI state, its window state and any queued text. */
export interface ConversationDetail {
    /** @description One conversation as lists and lookups show it. */
    summary: ConversationSummary;
    /** @description The text waiting for the window to reopen; at most one entry. */
    queuedMessages: QueuedMessage[];
    /** @description Whether the AI may reply, and why not. */
    aiSettings: AiSettings;
    /** @description Whether a send outside the window can be queued, and in which languages. */
    windowReopenReadiness: WindowReopenReadiness;
}
/** @description A file that the contact sent. */
export interface MessageMedia {
    /** @description Address of the file. */
    url: string;
    /** @description Position of the file. */
    index?: number;
    /** @description MIME type. */
    contentType?: string;
    /** @description MIME type in older records. */
    content_type?: string;
}
/** @description A copy of a file, kept when the agency has media storage on. */
export interface StoredMedia {
    /** @description Bytes. */
    size: number;
    /** @description Address of the copy. */
    stored_url: string;
    /** @description MIME type. */
    content_type: string;
    /** @description Address of the original file. */
    original_url: string;
    /** @description Path of the copy in the storage. */
    storage_path: string;
    /** @description When the copy was made. */
    downloaded_at: string;
}
/** @description A quick-reply button. */
export interface QuickReply {
    /** @description Button code. */
    code: string;
    /** @description Button text. */
    text: string;
}
/** @description An item of a list picker. */
export interface ListPickerItem {
    /** @description Item id. */
    id: string;
    /** @description Item title. */
    title: string;
    /** @description Item description. */
    description?: string | null;
}
/** @description A list that the template showed. */
export interface ListPicker {
    /** @description Text of the button that opens the list. */
    buttonText?: string | null;
    /** @description The items of the list. */
    items: ListPickerItem[];
}
/** @description A call-to-action button. */
export interface CtaButton {
    /** @description Such as `URL` or `PHONE_NUMBER`. */
    type: "URL" | "PHONE_NUMBER" | (string & {});
    /** @description Button title. */
    title: string;
    /** @description Address that the button opens. */
    url?: string | null;
    /** @description Number that the button calls. */
    phone?: string | null;
    /** @description Button code. */
    code?: string | null;
    /** @description How long the button is valid, in minutes. */
    ttl_minutes?: number | null;
}
/** @description Buttons or lists that a template showed. */
export interface InteractiveContent {
    /** @description Quick-reply buttons. */
    quickReplies?: QuickReply[] | null;
    /** @description A list to pick from. */
    listPicker?: ListPicker | null;
    /** @description Call-to-action buttons. */
    ctaButtons?: CtaButton[] | null;
}
/** @description The message that the contact replied to. */
export interface ReplyToMessage {
    /** @description Its text. */
    body: string | null;
    /** @description `inbound` or `outbound`. */
    direction: "inbound" | "outbound" | (string & {}) | null;
    /**
     * Format: date-time
     * @description When it was sent or received.
     */
    createdAt: string | null;
    /** @description Template code when it was a template. */
    templateName: string | null;
    /** @description Whether it had files. */
    hasMedia: boolean | null;
}
/** @description One message of a conversation. */
export interface Message {
    /** @description Identifies the message: an integer that no other message has. As far as the service shows, a newer message has a higher one. */
    id: number;
    /** @description Messaging provider's message identifier. For a text sent through the API, the `messageId` of its send. */
    messageSid: string;
    /** @description Text; null for a message with only files. */
    body: string | null;
    /** @description `inbound` or `outbound`. */
    direction: "inbound" | "outbound" | (string & {});
    /**
     * Format: date-time
     * @description When sent or received.
     */
    createdAt: string | null;
    /**
     * Format: date-time
     * @description When delivery was reported.
     */
    deliveredAt: string | null;
    /**
     * Format: date-time
     * @description When read was reported.
     */
    readAt: string | null;
    /** @description Provider status; `received` for inbound. */
    status: "queued" | "sent" | "delivered" | "read" | "failed" | "undelivered" | "received" | (string & {}) | null;
    /** @description Files the contact sent. */
    media: MessageMedia[] | null;
    /** @description Copies kept when the agency has media storage on. */
    mediaStored: StoredMedia[] | null;
    /** @description Number of files. */
    numMedia: number | null;
    /** @description Template code when a template was sent. */
    templateName: string | null;
    /** @description Code of the button the contact tapped. */
    buttonClicked: string | null;
    /** @description Contact's profile name. */
    profileName: string | null;
    /** @description Buttons or lists that a template showed. */
    interactiveContent?: InteractiveContent;
    /** @description The message that the contact replied to. */
    replyTo?: ReplyToMessage;
}
/** @description One page of messages, newest first. */
export interface MessagePage {
    /** @description Newest first. */
    messages: Message[];
    /** @description Pass as `cursor` for older messages; null when no more. */
    nextCursor: string | null;
    /** @description Page size used. */
    pageSize: number;
    /** @description True when older messages exist. */
    hasMore: boolean;
}
/** @description One conversation and a page of its messages. */
export interface ConversationWithMessages {
    /** @description One conversation with its AI state, its window state and any queued text. */
    conversation: ConversationDetail;
    /** @description One page of messages, newest first. */
    messagePage: MessagePage;
}
/** @description A plain-text message to a contact. */
export interface SendMessageRequest {
    /** @description Contact phone number, E.164. */
    to: string;
    /** @description Plain text; files are not supported. */
    body: string;
    /** @description Caller's id for this send, used for retry safety. */
    operationId?: string;
    /**
     * Format: uuid
     * @description The agency's sender to use; when omitted the agency's default sender is used.
     */
    subaccountId?: string | null;
    /** @description Language of the consent template (for example a two-letter code); used only when the window is closed; required when the agency has more than one consent language; allowed values are `windowReopenReadiness.availableLanguages`. */
    consentLanguage?: string;
}
/** @description What became of a send. */
export interface SendMessageResult {
    /** @description Always true on success. */
    success: boolean;
    /** @description False: text sent now. True: the window was closed; text queued and consent template sent. */
    queued: boolean;
    /** @description Provider message id of the sent text, the `messageSid` of its message; null when queued. */
    messageId: string | null;
    /** @description Queue entry id; null when sent now. */
    queueId: string | null;
    /** @description Provider status right after sending; null when queued or on a retry. */
    status: "queued" | "accepted" | (string & {}) | null;
    /** @description True when the window was open. */
    windowOpen: boolean;
    /**
     * Format: date-time
     * @description Null when the contact has never written.
     */
    windowExpiresAt: string | null;
}
/** @description The request is invalid; the message names the failing field or rule. Change the request before retrying. */
export interface PartnerBadRequest {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerBadRequest" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description Bearer token missing, wrong, revoked, expired or malformed. */
export interface PartnerUnauthorized {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerUnauthorized" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description Key lacks the scope, or cannot reach the agency. Identical whether or not the agency exists. */
export interface PartnerForbidden {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerForbidden" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description The resource does not exist or is hidden (a conversation or the integration). */
export interface PartnerNotFound {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerNotFound" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description The conversation changed during the request (send only); retry after reading. */
export interface PartnerConflict {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerConflict" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description Service or messaging provider failed; also an `operationId` reused with a different body. Retry with backoff, and stop after a few tries. */
export interface PartnerInternalError {
    /**
     * @description The error type. (enum property replaced by openapi-typescript)
     * @enum {string}
     */
    _tag: "PartnerInternalError" | (string & {});
    /** @description Human-readable reason, safe to show or log. */
    message: string;
}
/** @description The body of every error response. Match on the status code or `_tag`, not on the text of `message`. */
export type PartnerErrorBody = PartnerBadRequest | PartnerUnauthorized | PartnerForbidden | PartnerNotFound | PartnerConflict | PartnerInternalError;
export type $defs = Record<string, never>;
export interface operations {
    "me.get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The integration, its agencies and the key's scopes. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Me;
                };
            };
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            404: components["responses"]["PartnerNotFound"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
    "conversations.list": {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                pageSize?: components["parameters"]["pageSize"];
                /** @description `nextCursor` of the previous page; omit for the first page. Opaque. */
                cursor?: components["parameters"]["conversationCursor"];
                /** @description Filter by phone or name. Three or more digits match part of a phone number; three or more letters match part of a name. */
                search?: components["parameters"]["search"];
            };
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of conversations. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": ConversationPage;
                };
            };
            400: components["responses"]["PartnerBadRequest"];
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
    "conversations.lookup": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": LookupRequest;
            };
        };
        responses: {
            /** @description One entry per number, same order as sent. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": LookupResponse;
                };
            };
            400: components["responses"]["PartnerBadRequest"];
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
    "conversations.get": {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                pageSize?: components["parameters"]["pageSize"];
                /** @description `nextCursor` of a previous message page to read older messages; omit for the newest. Opaque. */
                cursor?: components["parameters"]["messageCursor"];
            };
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
                /** @description Contact phone number, E.164, `+` encoded as `%2B`. */
                phone: components["parameters"]["phone"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation and a page of its messages. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": ConversationWithMessages;
                };
            };
            400: components["responses"]["PartnerBadRequest"];
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            404: components["responses"]["PartnerNotFound"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
    "conversations.listMessages": {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                pageSize?: components["parameters"]["pageSize"];
                /** @description `nextCursor` of a previous message page to read older messages; omit for the newest. Opaque. */
                cursor?: components["parameters"]["messageCursor"];
            };
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
                /** @description Contact phone number, E.164, `+` encoded as `%2B`. */
                phone: components["parameters"]["phone"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": MessagePage;
                };
            };
            400: components["responses"]["PartnerBadRequest"];
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            404: components["responses"]["PartnerNotFound"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
    "messages.send": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agency ID from `GET /me`. */
                agencyId: components["parameters"]["agencyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": SendMessageRequest;
            };
        };
        responses: {
            /** @description The text was sent, or queued behind a consent template. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["X-Correlation-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": SendMessageResult;
                };
            };
            400: components["responses"]["PartnerBadRequest"];
            401: components["responses"]["PartnerUnauthorized"];
            403: components["responses"]["PartnerForbidden"];
            409: components["responses"]["PartnerConflict"];
            500: components["responses"]["PartnerInternalError"];
        };
    };
}
