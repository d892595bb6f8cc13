/**
 * The client: reads conversations and sends messages.
 *
 * @module messaging-conversations
 */

export { type AgencyClient, type Client, createClient } from "./client.ts";
export type { ClientOptions } from "./client-options.ts";
export type {
	Exchange,
	ExchangeAnswer,
	ExchangeControl,
	ExchangeHead,
	ExchangeHeaders,
	ExchangeRequest,
} from "./http/exchange.ts";
export type { Fetch } from "./http/fetch-exchange.ts";

// Calls

export type { CallOptions, RetryOptions } from "./input/call-options.ts";
export type { Answered, Call, CallResponse, Result } from "./operations/call.ts";
export type { MeGroup } from "./operations/me.ts";
export type { CustomRequest, SendRequest } from "./operations/request.ts";

// Reading

export type { ConversationsGroup, ListOptions, LookupOptions } from "./operations/conversations.ts";
export type { Lookup } from "./operations/lookup.ts";
export type { LookedUp, PhoneInput, PhoneInputs } from "./operations/lookup-entries.ts";
export type { CollectOptions, PageOptions, Paginated, WalkOptions } from "./operations/pagination.ts";
export { isWindowOpen } from "./operations/window.ts";

// Sending

export { operationIdFrom } from "./input/operation-id.ts";
export type { MessagesGroup, OutgoingMessage, Sent, SentNow, SentQueued } from "./operations/messages.ts";

// Phone numbers

export { type CountryCode, type E164, isE164, type PhoneProblem, type ToE164Options, toE164 } from "./input/phone.ts";

// Errors

export {
	isPartnerError,
	type Operation,
	type OperationError,
	type OperationId,
	type Outcome,
	PartnerAbortError,
	PartnerBadRequest,
	PartnerConfigurationError,
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
	type RequestError,
	type SendError,
} from "./errors.ts";

// Observing

export type { AttemptEvent, Logger } from "./observe/attempt-event.ts";
export type { ContractDrift } from "./observe/contract-drift.ts";
export type { Span, Tracer } from "./observe/trace.ts";

// The contract's schemas

export type * from "../generated/schemas.ts";
