import type {
	ConversationPage,
	ConversationSummary,
	ConversationWithMessages,
	LookupRequest,
	Message,
	MessagePage,
} from "../../generated/schemas.ts";
import type { OperationError } from "../errors.ts";
import { endpointOf } from "../http/endpoint.ts";
import type { Transport } from "../http/transport.ts";
import { type CallOptions, checkOptions, optionSchemas } from "../input/call-options.ts";
import { type CountryCode, requirePhone } from "../input/phone.ts";
import { isWellFormed } from "../input/validate.ts";
import { type Call, createCall } from "./call.ts";
import { createLookup, type Lookup, type PhoneInput, type PhoneInputs } from "./lookup.ts";
import { createPaginated, type Paginated } from "./pagination.ts";

/** Options of a call that returns one page. */
export interface PageOptions extends CallOptions {
	/**
	 * Rows in a page, 1 to 100.
	 * @default 50
	 */
	pageSize?: number | undefined;
	/** `nextCursor` of an earlier page, or the `cursor` of a row, to start after it. Opaque; do not store it. */
	cursor?: string | undefined;
}

/** Options of an iteration over pages. */
export interface WalkOptions extends PageOptions {
	/**
	 * Requests the next page once past the middle of the current one.
	 * @default true
	 */
	readAhead?: boolean | undefined;
}

/** Options of `conversations.list`. */
export interface ListOptions extends WalkOptions {
	/**
	 * Three or more digits match part of a phone number, three or more letters part of a name. The number is in E.164: leave out
	 * the zeros that a local number begins with.
	 */
	search?: string | undefined;
}

/** Options of `conversations.lookup`. */
export interface LookupOptions extends CallOptions {
	/**
	 * Requests at the same time; each asks for up to 100 numbers.
	 * @default 4
	 */
	concurrency?: number | undefined;
}

/** Reading the conversations of one agency. Needs the scope `conversations:read`. */
export interface ConversationsGroup {
	/**
	 * Lists the agency's conversations, newest last message first (`conversations.list`). The service sends no webhooks:
	 * list again to see what is new, or use `messaging-conversations/sync`.
	 *
	 * @example
	 * for await (const conversation of agency.conversations.list({ search: "Peeters" })) {
	 *   console.log(conversation.contactName, conversation.lastMessagePreview);
	 * }
	 */
	list: (
		options?: ListOptions,
	) => Paginated<ConversationSummary, ConversationPage, OperationError<"conversations.list">>;
	/**
	 * Returns the conversation of each of any number of phone numbers, in the order given (`conversations.lookup`). Each
	 * number is normalised and looked up once, 100 in a request. An input that is not a phone number has `phoneNumber`
	 * null and a `reason`. Await it for an array, or iterate over it in constant memory. Awaited, it fails as a whole when
	 * one of its requests fails.
	 *
	 * @example
	 * for (const { input, conversation } of await agency.conversations.lookup(["0470 12 34 56", "n/a"])) {
	 *   console.log(input, conversation?.lastMessageAt ?? "no conversation");
	 * }
	 */
	lookup: <Input extends PhoneInput>(phoneNumbers: PhoneInputs<Input>, options?: LookupOptions) => Lookup<Input>;
	/**
	 * Returns one conversation with its AI state, its window, a held text and its newest messages (`conversations.get`).
	 * It tells whether a send would go out now or be held.
	 *
	 * @throws PartnerNotFound when there is no conversation, or it is hidden. A send to the number may still be possible.
	 * @example
	 * const { conversation, messagePage } = await agency.conversations.get("0470 12 34 56");
	 */
	get: (phone: string, options?: PageOptions) => Call<ConversationWithMessages, OperationError<"conversations.get">>;
	/**
	 * Lists the messages of one conversation, newest first (`conversations.listMessages`).
	 *
	 * @example
	 * for await (const message of agency.conversations.listMessages("+32470123456")) {
	 *   console.log(message.direction, message.body);
	 * }
	 */
	listMessages: (
		phone: string,
		options?: WalkOptions,
	) => Paginated<Message, MessagePage, OperationError<"conversations.listMessages">>;
}

export function createConversations(
	transport: Transport,
	agencyId: string,
	defaultCountry: CountryCode,
): ConversationsGroup {
	const endpoints = {
		list: endpointOf("conversations.list"),
		lookup: endpointOf("conversations.lookup"),
		get: endpointOf("conversations.get"),
		listMessages: endpointOf("conversations.listMessages"),
	};

	return {
		list: (options) =>
			createPaginated(() => {
				const facts = { operation: endpoints.list.operation, agencyId, cursor: null, itemsRead: 0 };
				const {
					search,
					pageSize,
					cursor,
					readAhead = true,
					...call
				} = checkOptions(optionSchemas.list, options, facts);
				return {
					facts,
					cursor,
					readAhead,
					signal: call.signal,
					itemsOf: (page: ConversationPage) => page.conversations,
					nextOf: (page: ConversationPage) => page.nextCursor,
					fetchPage: (from, abandon) =>
						transport(
							endpoints.list,
							{ path: { agencyId }, query: { pageSize, cursor: from, search: search || undefined } },
							{ ...call, abandon, secrets: [search, from], verify: brokenCursor },
						),
				};
			}),

		listMessages: (phone, options) =>
			createPaginated(() => {
				const facts = { operation: endpoints.listMessages.operation, agencyId, cursor: null, itemsRead: 0 };
				const { pageSize, cursor, readAhead = true, ...call } = checkOptions(optionSchemas.walk, options, facts);
				const number = requirePhone(phone, defaultCountry, "phone", facts);
				return {
					facts,
					cursor,
					readAhead,
					signal: call.signal,
					itemsOf: (page: MessagePage) => page.messages,
					nextOf: (page: MessagePage) => (page.hasMore ? page.nextCursor : null),
					fetchPage: (from, abandon) =>
						transport(
							endpoints.listMessages,
							{ path: { agencyId, phone: number }, query: { pageSize, cursor: from } },
							{ ...call, abandon, secrets: [number, phone, from], verify: brokenCursor },
						),
				};
			}),

		get: (phone, options) =>
			createCall(() => {
				const facts = { operation: endpoints.get.operation, agencyId };
				const { pageSize, cursor, ...call } = checkOptions(optionSchemas.page, options, facts);
				const number = requirePhone(phone, defaultCountry, "phone", facts);
				return transport(
					endpoints.get,
					{ path: { agencyId, phone: number }, query: { pageSize, cursor } },
					{ ...call, secrets: [number, phone, cursor] },
				);
			}),

		lookup: (phoneNumbers, options) =>
			createLookup(phoneNumbers, () => {
				const facts = { operation: endpoints.lookup.operation, agencyId };
				const { concurrency = 4, ...call } = checkOptions(optionSchemas.lookup, options, facts);
				return {
					facts,
					concurrency,
					defaultCountry,
					deadlineMs: call.deadlineMs,
					signal: call.signal,
					ask: (chunk, abandon, deadlineAt) =>
						transport(
							endpoints.lookup,
							{ path: { agencyId }, body: JSON.stringify({ phoneNumbers: chunk } satisfies LookupRequest) },
							{
								...call,
								abandon,
								deadlineAt,
								secrets: chunk,
								verify: ({ results }) => mismatch(chunk, results),
							},
						),
				};
			}),
	};
}

/** The path of the cursor, when a page says that there is more and has none to go on from. Such a page is not the last one. */
function brokenCursor({ hasMore, nextCursor }: { hasMore?: boolean; nextCursor: string | null }): string | undefined {
	const isUsable = nextCursor === null ? !hasMore : hasMore === false || isWellFormed(nextCursor);
	return isUsable ? undefined : "/nextCursor";
}

/** The path of the first result that is for another number than asked at its position: it would show another contact. */
function mismatch(sent: readonly string[], results: readonly { phoneNumber: string }[]): string | undefined {
	const at = results.findIndex(({ phoneNumber }, index) => phoneNumber !== sent[index]);
	if (at >= 0) return `/results/${at}/phoneNumber`;
	return results.length === sent.length ? undefined : "/results";
}
