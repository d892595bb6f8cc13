import { type Answered, type Call, createCall } from "./call.ts";
import { captureCaller } from "./caller.ts";
import type { OperationError } from "./errors.ts";
import { type CountryCode, requirePhone } from "./input/phone.ts";
import { type CallOptions, checkOptions, isWellFormed, optionSchemas } from "./input.ts";
import { type LookedUp, lookupAll } from "./lookup.ts";
import { createPaginated, type Paginated } from "./paginate.ts";
import type { Transport } from "./transport.ts";
import type {
	ConversationPage,
	ConversationSummary,
	ConversationWithMessages,
	LookupRequest,
	Message,
	MessagePage,
} from "./types.ts";

/** What a read of one page takes: how long, and from where. */
export interface PageOptions extends CallOptions {
	/**
	 * Rows in a page, 1 to 100.
	 * @default 50
	 */
	pageSize?: number | undefined;
	/** `nextCursor` of an earlier page, or a row's `cursor`: where to begin. Opaque; not for storing (spec §8). */
	cursor?: string | undefined;
}

/** What a walk over pages takes. */
export interface WalkOptions extends PageOptions {
	/**
	 * Asks for the next page once past the middle of the current one.
	 * @default true
	 */
	readAhead?: boolean | undefined;
}

/** What `conversations.list` takes. */
export interface ListOptions extends WalkOptions {
	/**
	 * Three or more digits match part of a phone number; three or more letters match part of a name. What fewer find, the
	 * service does not say (spec §8): in the sandbox nothing.
	 */
	search?: string | undefined;
}

/** What `conversations.lookup` takes. */
export interface LookupOptions extends CallOptions {
	/**
	 * Requests under way at once; each asks about 100 numbers.
	 * @default 4
	 */
	concurrency?: number | undefined;
}

/** Reading the conversations of one agency (spec §4). All of it needs the scope `conversations:read`. */
export interface ConversationsGroup {
	/**
	 * The agency's conversations, newest last message first (spec §4, `conversations.list`). There are no webhooks: list
	 * again to see what is new; the most recent activity comes first.
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
	 * What the agency has for each of any number of phone numbers, in the order given (spec §4, `conversations.lookup`).
	 * Numbers are normalised and asked about once, 100 a request. What is no phone number has `phoneNumber` null. A request
	 * that fails for good fails all of it: a job of thousands is better cut into batches.
	 *
	 * @example
	 * for (const { input, conversation } of await agency.conversations.lookup(["0470 12 34 56", "n/a"])) {
	 *   console.log(input, conversation?.lastMessageAt ?? "no conversation");
	 * }
	 */
	lookup: (
		phoneNumbers: Iterable<string>,
		options?: LookupOptions,
	) => Call<LookedUp[], OperationError<"conversations.lookup">>;
	/**
	 * One conversation with its AI state, its window, any queued text and its newest messages (spec §4,
	 * `conversations.get`): tells whether a send would go out now or be queued.
	 *
	 * @throws PartnerNotFound when there is no conversation; a send to that number is possible all the same
	 * @example
	 * const { conversation, messagePage } = await agency.conversations.get("0470 12 34 56");
	 */
	get: (phone: string, options?: PageOptions) => Call<ConversationWithMessages, OperationError<"conversations.get">>;
	/**
	 * The messages of one conversation, newest first (spec §4, `conversations.listMessages`).
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
	const list: ConversationsGroup["list"] = (options) =>
		createPaginated(() => {
			const operation = "conversations.list";
			const checked = checkOptions(optionSchemas.list, options, operation);
			const { search, pageSize, cursor, readAhead = true, ...call } = checked;
			return {
				operation,
				cursor,
				readAhead,
				signal: call.signal,
				itemsOf: (page: ConversationPage) => page.conversations,
				nextOf: (page: ConversationPage) => page.nextCursor,
				fetchPage(from, abandon) {
					const query = { pageSize, cursor: from, search: search || undefined };
					return transport(
						operation,
						{ path: { agencyId }, query },
						{ ...call, abandon, secrets: [search, from], verify: misplaced },
					);
				},
			};
		});

	const listMessages: ConversationsGroup["listMessages"] = (phone, options) =>
		createPaginated(() => {
			const operation = "conversations.listMessages";
			const checked = checkOptions(optionSchemas.walk, options, operation);
			const { pageSize, cursor, readAhead = true, ...call } = checked;
			const number = requirePhone(phone, defaultCountry, "phone", operation);
			return {
				operation,
				cursor,
				readAhead,
				signal: call.signal,
				itemsOf: (page: MessagePage) => page.messages,
				nextOf: (page: MessagePage) => (page.hasMore ? page.nextCursor : null),
				fetchPage(from, abandon) {
					return transport(
						operation,
						{ path: { agencyId, phone: number }, query: { pageSize, cursor: from } },
						{ ...call, abandon, secrets: [number, phone, from], verify: misplaced },
					);
				},
			};
		});

	function get(phone: string, options?: PageOptions): ReturnType<ConversationsGroup["get"]> {
		const operation = "conversations.get";
		const ask = async (): Promise<Answered<ConversationWithMessages>> => {
			const { pageSize, cursor, ...call } = checkOptions(optionSchemas.page, options, operation);
			const number = requirePhone(phone, defaultCountry, "phone", operation);
			return transport(
				operation,
				{ path: { agencyId, phone: number }, query: { pageSize, cursor } },
				{ ...call, secrets: [number, phone, cursor] },
			);
		};
		return createCall(ask(), captureCaller(get));
	}

	function lookup(phoneNumbers: Iterable<string>, options?: LookupOptions): ReturnType<ConversationsGroup["lookup"]> {
		const operation = "conversations.lookup";
		const work = async (): Promise<Answered<LookedUp[]>> => {
			const { concurrency = 4, ...call } = checkOptions(optionSchemas.lookup, options, operation);
			// A deadline of this call's own is that of the whole lookup; the client's is that of each of its requests.
			const deadlineAt = call.deadlineMs && performance.now() + call.deadlineMs;
			const ask = (phoneNumbers: string[], abandon: AbortSignal) =>
				transport(
					operation,
					{ path: { agencyId }, body: JSON.stringify({ phoneNumbers } satisfies LookupRequest) },
					{
						...call,
						deadlineAt,
						abandon,
						secrets: phoneNumbers,
						verify: ({ results }) => mismatch(phoneNumbers, results),
					},
				);
			return lookupAll(phoneNumbers, { ask, concurrency, defaultCountry });
		};
		return createCall(work(), captureCaller(lookup));
	}

	return { list, lookup, get, listMessages };
}

/** Where a page says that there is more and not where, or where no URL can go: an end there would pass for the whole. */
function misplaced({ hasMore, nextCursor }: { hasMore?: boolean; nextCursor: string | null }): string | undefined {
	const isPlace = nextCursor === null ? !hasMore : hasMore === false || isWellFormed(nextCursor);
	return isPlace ? undefined : "/nextCursor";
}

/** Where an answer is not one entry a number in the order sent: by position alone, a text would find the wrong person. */
function mismatch(sent: readonly string[], results: readonly { phoneNumber: string }[]): string | undefined {
	const at = results.findIndex(({ phoneNumber }, index) => phoneNumber !== sent[index]);
	return at >= 0 ? `/results/${at}/phoneNumber` : results.length === sent.length ? undefined : "/results";
}
