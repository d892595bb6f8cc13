import * as z from "zod/mini";
import type { Fetch } from "./attempt.ts";
import { blaming } from "./caller.ts";
import { type ConversationsGroup, createConversations } from "./conversations.ts";
import type { ContractDrift } from "./drift.ts";
import { type CountryCode, countryRule, type E164, isCountry } from "./input/phone.ts";
import { callable, can, checkInput, flag, milliseconds, retry, rule } from "./input.ts";
import { createMe, type MeGroup } from "./me.ts";
import { createMessages, type MessagesGroup } from "./messages.ts";
import type { AttemptEvent, Logger } from "./observe.ts";
import { createReuseGuard } from "./operation-id.ts";
import { createBudget, defaultRetry, policyFrom, type RetryOptions } from "./retry.ts";
import { allowedRecipients, askKey, checkAgencyId, checkedBaseUrl, checkedKey, refuseBrowser } from "./safety.ts";
import type { Tracer } from "./trace.ts";
import { createTransport } from "./transport.ts";
import { userAgentOf } from "./wire.ts";

/** Options of {@link createClient}. */
export interface ClientOptions {
	/** Base URL with the version segment, as `https://host/api/v1`. https only; http for loopback hosts alone. */
	baseUrl: string | undefined;
	/** The key, or a function that gives it, asked anew for each attempt so that a rotated key is used at once. */
	apiKey: string | undefined | (() => string | undefined | Promise<string | undefined>);
	/**
	 * The fetch to use, called unbound.
	 * @default globalThis.fetch, looked up at each call
	 */
	fetch?: Fetch | undefined;
	/**
	 * The longest that one attempt may take, headers and body, in milliseconds.
	 * @default 15000 for reads, 30000 for sends
	 */
	timeoutMs?: number | undefined;
	/**
	 * The longest that a whole call may take, attempts and waits together, in milliseconds.
	 * @default 30000 for reads, 60000 for sends
	 */
	deadlineMs?: number | undefined;
	/**
	 * How often 5xx and network faults are tried again; `false` means exactly one request.
	 * @default { attempts: 4, baseDelayMs: 500, maxDelayMs: 8000, budget: 100 }
	 */
	retry?: RetryOptions | false | undefined;
	/** Gets one line of text per attempt, without key, number, name or text. */
	logger?: Logger | undefined;
	/** Called after each attempt; what it throws never changes the outcome. */
	onAttempt?: ((event: AttemptEvent) => unknown) | undefined;
	/**
	 * An OpenTelemetry tracer: one span for each request and its retries, by the HTTP semantic conventions, with the path's
	 * template and never a phone number. A walk has one for each page, a lookup one for each 100 numbers. It cannot fail a
	 * call.
	 */
	tracer?: Tracer | undefined;
	/** Told when a good answer has something that the contract does not know: once an answer for each place. */
	onContractDrift?: ((drift: ContractDrift) => unknown) | undefined;
	/** The only numbers that may be sent to, or a function that returns exactly `true` for them: the seat belt of a staging system. */
	allowRecipients?: readonly string[] | ((phone: E164) => boolean) | undefined;
	/** Your application, added to the User-Agent; what is no letter, digit, `.`, `_` or `-` becomes a `-`. */
	appInfo?:
		| {
				/** 1 to 64 characters of ASCII. */
				name: string;
				/** 1 to 64 characters of ASCII. */
				version?: string | undefined;
		  }
		| undefined;
	/**
	 * Country in which a number without `+` or `00` is read.
	 * @default "BE"
	 */
	defaultCountry?: CountryCode | undefined;
	/**
	 * Lets the client run in a page, where anybody can read the key.
	 * @default false
	 */
	dangerouslyAllowBrowser?: boolean | undefined;
}

/** One agency: the calls whose paths begin with it. */
export interface AgencyClient {
	/** The agency's id. */
	id: string;
	/** Reading: `list`, `lookup`, `get` and `listMessages`. Needs the scope `conversations:read`. */
	conversations: ConversationsGroup;
	/** Sending: `send`. Needs the scope `messages:write`. */
	messages: MessagesGroup;
}

/** What {@link createClient} gives: the calls of the key, and those of each agency. Any part of it can be destructured. */
export interface Client {
	/** What the key may do and which agencies it reaches. Needs no agency. */
	me: MeGroup;
	/**
	 * The calls of one agency, by its id from `me.get`. No request.
	 * @throws PartnerInvalidInput when the id cannot be one
	 * @example
	 * const { agencies } = await client.me.get();
	 * for (const { id, name } of agencies) {
	 *   console.log(name, (await client.agency(id).conversations.list().page()).conversations.length);
	 * }
	 */
	agency: (agencyId: string) => AgencyClient;
}

const word = rule<string>(
	(value) => typeof value === "string" && /^[\x20-\x7e]{1,64}$/.test(value),
	"must be 1 to 64 characters of ASCII",
);

const optionsSchema = z.strictObject({
	baseUrl: z.optional(rule<string>((value) => typeof value === "string", "must be a string")),
	apiKey: z.optional(
		rule<NonNullable<ClientOptions["apiKey"]>>(
			(value) => typeof value === "string" || typeof value === "function",
			"must be a string, or a function that gives one",
		),
	),
	fetch: z.optional(callable<Fetch>()),
	timeoutMs: z.optional(milliseconds),
	deadlineMs: z.optional(milliseconds),
	retry: z.optional(retry),
	logger: z.optional(
		rule<Logger>((value) => can(value, "debug", "info", "warn", "error"), "must have debug, info, warn and error"),
	),
	onAttempt: z.optional(callable<(event: AttemptEvent) => unknown>()),
	onContractDrift: z.optional(callable<(drift: ContractDrift) => unknown>()),
	tracer: z.optional(rule<Tracer>((value) => can(value, "startSpan"), "must have startSpan")),
	allowRecipients: z.optional(
		rule<readonly string[] | ((phone: E164) => boolean)>(
			(value) => Array.isArray(value) || typeof value === "function",
			"must be a list of phone numbers, or a function",
		),
	),
	appInfo: z.optional(z.strictObject({ name: word, version: z.optional(word) })),
	defaultCountry: z.optional(rule<CountryCode>(isCountry, countryRule)),
	dangerouslyAllowBrowser: z.optional(flag),
});

/**
 * A client of the Messaging Conversations API. Makes no request and reads no environment. A malformed option throws at
 * once; an absent key or base URL only at the first call, as build steps construct clients without secrets.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL, // https://host/api/v1
 *   apiKey: process.env.MESSAGING_API_KEY,
 * });
 */
export function createClient(options: ClientOptions): Client {
	return blaming(createClient, () => {
		const checked = checkInput(optionsSchema, options, "options", "createClient");
		const { allowRecipients, appInfo, defaultCountry = "BE", dangerouslyAllowBrowser = false } = checked;
		refuseBrowser(dangerouslyAllowBrowser);
		const baseUrl = checkedBaseUrl(checked.baseUrl);
		const givenKey = checked.apiKey;
		const usable = (key: unknown): string => checkedKey(key, baseUrl);
		if (typeof givenKey === "string" && givenKey !== "") usable(givenKey);

		const policy = policyFrom(defaultRetry, checked.retry);
		const transport = createTransport({
			...checked,
			baseUrl,
			apiKey: () => (typeof givenKey === "function" ? askKey(givenKey).then(usable) : usable(givenKey)),
			retry: policy,
			budget: createBudget(policy.budget),
			userAgent: userAgentOf(appInfo),
		});
		const guard = createReuseGuard();
		const allows = allowedRecipients(allowRecipients, defaultCountry);

		function agency(agencyId: string): AgencyClient {
			blaming(agency, () => checkAgencyId(agencyId));
			return {
				id: agencyId,
				conversations: createConversations(transport, agencyId, defaultCountry),
				messages: createMessages(transport, { agencyId, defaultCountry, allows, guard }),
			};
		}
		return { me: createMe(transport), agency };
	});
}
