import type { LookupResponse } from "../../generated/openapi.ts";
import type {
	ConversationPage,
	ConversationSummary,
	ConversationWithMessages,
	Message,
	MessagePage,
} from "../../generated/schemas.ts";
import { type CountryCode, type E164, requirePhone } from "../phone/phone.ts";
import { defined } from "./attempt-event.ts";
import { type Call, createCall } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import { type CallOptions, checkOptions, optionSchemas } from "./client-options.ts";
import type { OperationError } from "./errors.ts";
import { type Executor, parameters, type Reply } from "./execute.ts";
import { createLookup, type Lookup, type PhoneInput, type PhoneInputs } from "./lookup.ts";
import { createPaginated, type IterationOptions, notBegun, type PageOptions, type Paginated } from "./pagination.ts";

/** Options of `conversations.list`. */
export interface ListOptions extends IterationOptions {
	/**
	 * Three or more digits match part of a phone number, three or more letters part of a name. The number is in E.164: leave out
	 * the zeros that a local number begins with.
	 */
	search?: string | undefined;
}

/** Options of `conversations.lookup`. */
export interface LookupOptions extends CallOptions {
	/** Requests at the same time, 1 to 100. Each asks for up to 100 numbers. @default 4 */
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
	 * for (const { input, conversation } of await agency.conversations.lookup(["+44 7700 900101", "n/a"])) {
	 *   console.log(input, conversation?.lastMessageAt ?? "no conversation");
	 * }
	 */
	lookup: <Input extends PhoneInput>(phoneNumbers: PhoneInputs<Input>, options?: LookupOptions) => Lookup<Input>;
	/**
	 * Returns one conversation with its AI state, its window, a held text and its newest messages (`conversations.get`).
	 * It shows whether a send would go out now or be held.
	 *
	 * @throws PartnerNotFound if the conversation does not exist or is hidden. A send to the number may still be possible.
	 * @example
	 * const { conversation, messagePage } = await agency.conversations.get("+447700900101");
	 */
	get: (phone: string, options?: PageOptions) => Call<ConversationWithMessages, OperationError<"conversations.get">>;
	/**
	 * Lists the messages of one conversation, newest first (`conversations.listMessages`).
	 *
	 * @example
	 * for await (const message of agency.conversations.listMessages("+447700900101")) {
	 *   console.log(message.direction, message.body);
	 * }
	 */
	listMessages: (
		phone: string,
		options?: IterationOptions,
	) => Paginated<Message, MessagePage, OperationError<"conversations.listMessages">>;
}

/** The request of `conversations.get`. */
export function readConversation(
	{ api, run }: Executor,
	plan: CallPlan<ConversationWithMessages> & { agencyId: string },
	phone: E164,
	{ pageSize, cursor, ...call }: PageOptions,
): Promise<Reply<ConversationWithMessages>> {
	const { agencyId } = plan;
	return run(plan, call, (init) =>
		api.GET("/agencies/{agencyId}/conversations/{phone}", {
			...init,
			params: parameters({ agencyId, phone }, defined({ pageSize, cursor })),
		}),
	);
}

export function createConversations(
	executor: Executor,
	agencyId: string,
	defaultCountry: CountryCode,
): ConversationsGroup {
	const { api, run, retry } = executor;
	return {
		list: (given) =>
			createPaginated(() => {
				const plan: CallPlan<ConversationPage> = { operation: "conversations.list", agencyId };
				const { search, ...options } = checkOptions(optionSchemas.list, given, notBegun(plan));
				return {
					plan: { secrets: [search], ...plan },
					options,
					retry,
					itemsOf: (page) => page.conversations,
					request: (call, options, { pageSize, cursor }) =>
						run(call, options, (init) =>
							api.GET("/agencies/{agencyId}/conversations", {
								...init,
								params: parameters({ agencyId }, defined({ search: search || undefined, pageSize, cursor })),
							}),
						),
				};
			}),

		listMessages: (phone, given) =>
			createPaginated(() => {
				const plan: CallPlan<MessagePage> = { operation: "conversations.listMessages", agencyId };
				const options = checkOptions(optionSchemas.iteration, given, notBegun(plan));
				const number = requirePhone(phone, defaultCountry, "phone", notBegun(plan));
				return {
					plan: { secrets: [number, phone], ...plan },
					options,
					retry,
					itemsOf: (page) => page.messages,
					request: (call, options, { pageSize, cursor }) =>
						run(call, options, (init) =>
							api.GET("/agencies/{agencyId}/conversations/{phone}/messages", {
								...init,
								params: parameters({ agencyId, phone: number }, defined({ pageSize, cursor })),
							}),
						),
				};
			}),

		get: (phone, options) =>
			createCall(() => {
				const plan = { operation: "conversations.get", agencyId } as const;
				const page = checkOptions(optionSchemas.page, options, plan);
				const number = requirePhone(phone, defaultCountry, "phone", plan);
				return readConversation(executor, { secrets: [number, phone, page.cursor], ...plan }, number, page);
			}),

		lookup: (phoneNumbers, options) =>
			createLookup(phoneNumbers, () => {
				const plan: CallPlan<LookupResponse> = { operation: "conversations.lookup", agencyId };
				const { concurrency = 4, ...call } = checkOptions(optionSchemas.lookup, options, plan);
				return {
					plan,
					options: call,
					concurrency,
					defaultCountry,
					ask: (asked, numbers) =>
						run(asked, call, (init) =>
							api.POST("/agencies/{agencyId}/conversations/lookup", {
								...init,
								params: parameters({ agencyId }),
								body: { phoneNumbers: numbers },
							}),
						),
				};
			}),
	};
}
