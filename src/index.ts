/**
 * The client: reads conversations and sends messages.
 *
 * @module messaging-conversations
 */

export { type AgencyClient, type Client, createClient, type DerivedOptions } from "./client/client.ts";
export type { Fetch, FetchInit, FetchResponse } from "./client/fetch-transport.ts";
export type {
	Transport,
	TransportAnswer,
	TransportControl,
	TransportFault,
	TransportHead,
	TransportHeaders,
	TransportRequest,
} from "./client/transport.ts";

// Calls

export { cachedKey } from "./client/cached-key.ts";
export type { Answered, Call, CallResponse, Result } from "./client/call.ts";
export type { CallOptions, ClientOptions, RetryOptions } from "./client/client-options.ts";
export type { MeGroup } from "./client/me.ts";
export type { CustomRequest } from "./client/request.ts";

// Reading

export type { ConversationsGroup, ListOptions, LookupOptions } from "./client/conversations.ts";
export { isWindowOpen } from "./client/is-window-open.ts";
export type { LookedUp, Lookup, PhoneInput, PhoneInputs } from "./client/lookup.ts";
export type { CollectOptions, IterationOptions, PageOptions, Paginated } from "./client/pagination.ts";

// Sending

export type { MessagesGroup, OutgoingMessage, SendOptions, Sent, SentNow, SentQueued } from "./client/messages.ts";
export { operationIdFrom } from "./client/operation-id.ts";

// Phone numbers

export { type CountryCode, type E164, isE164, type PhoneProblem, type ToE164Options, toE164 } from "./phone/phone.ts";

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
	PartnerGatewayError,
	PartnerHeldText,
	PartnerInternalError,
	PartnerInvalidInput,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
	PartnerUnexpectedResponse,
	type RequestError,
	type SendError,
} from "./client/errors.ts";

// Observing

export type { AttemptEvent, Logger } from "./client/attempt-event.ts";
export type { ContractDrift } from "./client/drift.ts";
export type { Span, SpanOptions, Tracer } from "./client/trace.ts";

// The contract's schemas

export type * from "../generated/schemas.ts";
