// Generated from openapi.json by `npm run generate`. Do not edit.

/** The operations of the contract: method, path template, schemas, and the statuses listed beside 200. */
export const operationTable = {
	"me.get": { method: "GET", path: "/me", answer: "Me", refusals: [401,403,404,500] },
	"conversations.list": { method: "GET", path: "/agencies/{agencyId}/conversations", answer: "ConversationPage", refusals: [400,401,403,500] },
	"conversations.lookup": { method: "POST", path: "/agencies/{agencyId}/conversations/lookup", answer: "LookupResponse", request: "LookupRequest", refusals: [400,401,403,500] },
	"conversations.get": { method: "GET", path: "/agencies/{agencyId}/conversations/{phone}", answer: "ConversationWithMessages", refusals: [400,401,403,404,500] },
	"conversations.listMessages": { method: "GET", path: "/agencies/{agencyId}/conversations/{phone}/messages", answer: "MessagePage", refusals: [400,401,403,404,500] },
	"messages.send": { method: "POST", path: "/agencies/{agencyId}/messages", answer: "SendMessageResult", request: "SendMessageRequest", refusals: [400,401,403,409,500] },
} as const;

/** The limits of the contract. */
export const limits = {"pageSize":{"min":1,"max":100,"default":50},"phoneNumbers":{"min":1,"max":100},"phoneNumber":{"min":1,"max":32}} as const;
