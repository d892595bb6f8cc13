// The client

export type { Fetch } from "./attempt.ts";
export { type AgencyClient, type Client, type ClientOptions, createClient } from "./client.ts";

// Calls

export type { Answered, Call, CallResponse, Result } from "./call.ts";
export type { CallOptions } from "./input.ts";
export type { MeGroup } from "./me.ts";
export type { RetryOptions } from "./retry.ts";

// Reading

export type { ConversationsGroup, ListOptions, LookupOptions, PageOptions, WalkOptions } from "./conversations.ts";
export type { LookedUp } from "./lookup.ts";
export type { CollectOptions, Paginated } from "./paginate.ts";
export { isWindowOpen } from "./window.ts";

// Sending

export type { MessagesGroup, OutgoingMessage, Sent, SentNow, SentQueued } from "./messages.ts";
export { operationIdFrom } from "./operation-id.ts";

// Phone numbers

export { type CountryCode, type E164, isE164, type PhoneProblem, type ToE164Options, toE164 } from "./input/phone.ts";

// Errors

export {
	isPartnerError,
	type OperationError,
	type OperationId,
	type Outcome,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConflict,
	PartnerConnectionError,
	PartnerError,
	type PartnerErrorTag,
	PartnerForbidden,
	PartnerInternalError,
	PartnerInvalidInput,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
	PartnerUnexpectedResponse,
	type SendError,
} from "./errors.ts";

// Observing

export type { ContractDrift } from "./drift.ts";
export type { AttemptEvent, Logger } from "./observe.ts";
export type { Span, Tracer } from "./trace.ts";

// The contract's schemas

export type * from "./types.ts";
